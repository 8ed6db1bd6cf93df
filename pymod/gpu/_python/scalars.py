"""The numbers of kernels: bool, int, typed integers, weak and typed floats.

One class per type, written from the number rules of docs/semantics.md. A number is immutable; an
operation makes a new one of the type that the rules give. Which class an operation takes its type
from is in `types_of`, what it computes in `operations`.
"""

from __future__ import annotations

import sys

from gpu._python import operations
from gpu._python.formats import from_bits, round_float, round_int, saturate, to_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

BOOL, INT, FLOAT = range(3)  # kinds; the highest wins where types meet


class Scalar:
    """A number of one type. `product` has the factors where it is the value of `p * q`."""

    __slots__ = ("product", "value")
    name: ClassVar[str] = ""
    kind: ClassVar[int] = BOOL
    typed: ClassVar[bool] = False
    bits: ClassVar[int] = 1  # of integers
    signed: ClassVar[bool] = False
    format: ClassVar[str] = ""  # of floats: what the value is exact in
    low: ClassVar[int] = 0  # the smallest integer
    mask: ClassVar[int] = 1  # all bits

    def __init__(self, value: Any) -> None:
        """value is a Python number that the type holds exactly."""
        self.value = value
        self.product: tuple[float, float] | None = None

    def __init_subclass__(cls) -> None:
        cls.mask = (1 << cls.bits) - 1
        cls.low = -(1 << cls.bits - 1) if cls.signed else 0

    @classmethod
    def limits(cls) -> tuple[int, int]:
        """Smallest and largest integer."""
        return cls.low, cls.low + cls.mask

    @classmethod
    def wrap(cls, value: int) -> int:
        """The low bits of an integer, read as this type."""
        low = cls.low
        return ((value - low) & cls.mask) + low

    @classmethod
    def of(cls, x: Scalar) -> Scalar:
        """x converted: a cast, a store, a join."""
        if type(x) is cls:
            return x
        value = x.value
        if cls.kind == BOOL:
            return cls(value != 0)
        if cls.kind == FLOAT:
            if x.kind == FLOAT:
                return cls(round_float(value, cls.format))
            return cls(round_int(int(value), cls.format))
        if x.kind == FLOAT:
            return cls(saturate(value, *cls.limits()))
        return cls(cls.wrap(int(value)))

    def host(self) -> Any:
        """The number as Python has it, a typed one as NumPy has it."""
        if not self.typed:
            return self.value
        import numpy as np

        if self.name != "bfloat16":
            return np.dtype(self.name).type(self.value)
        try:
            import ml_dtypes  # type: ignore[import-not-found]
        except ImportError:
            return self.value
        return ml_dtypes.bfloat16(self.value)

    def __repr__(self) -> str:
        return repr(self.host())

    def __str__(self) -> str:
        return str(self.host())

    def __format__(self, spec: str) -> str:
        return format(self.host(), spec)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    # --- Methods and attributes of numbers ---

    @property
    def real(self) -> Any:
        return operations.positive(self)

    @property
    def imag(self) -> Any:
        return self.real.of(Int(0))

    def conjugate(self) -> Any:
        return self.real

    @property
    def dtype(self) -> Any:
        from gpu._python.types import type_object

        if not self.typed:
            message = (
                f"{self.name} has no attribute 'dtype'\n  Hint: a.dtype of an array has the type"
            )
            raise operations.error("TypingError", message)
        return type_object(type(self))

    def item(self) -> Scalar:
        return (Bool, Int, Float)[self.kind].of(self)

    def astype(self, dtype: Any) -> Scalar:
        from gpu._python.types import type_of

        return operations.cast(self, type_of(dtype).cls)

    def view(self, dtype: Any) -> Scalar:
        from gpu._python.types import type_object, type_of

        old, new = type_object(type(self)), type_of(dtype)
        if old.size != new.size:
            message = f"the bits of {old.name} cannot be seen as {new.name}"
            raise operations.error(
                "TypingError", message + "\n  Hint: give a type of the same width"
            )
        cls, value = new.cls, self.value
        bits = to_bits(value, self.format) if self.kind == FLOAT else int(value)
        if cls.kind == FLOAT:
            return cls(from_bits(bits % (1 << 8 * old.size), cls.format))
        return cls.of(Int(bits))

    def is_integer(self) -> Scalar:
        return Bool(self.kind != FLOAT or float(self.value).is_integer())

    def bit_count(self) -> Scalar:
        return self._bits("bit_count")

    def bit_length(self) -> Scalar:
        return self._bits("bit_length")

    def _bits(self, method: str) -> Scalar:
        """A method of integers."""
        if self.kind == FLOAT:
            message = f"{self.name} has no {method}()\n  Hint: bits are defined for integers"
            raise operations.error("TypingError", message)
        return Int(getattr(int(self.value), method)())

    def __neg__(self) -> Any:
        return operations.negative(self)

    def __pos__(self) -> Any:
        return operations.positive(self)

    def __abs__(self) -> Any:
        return operations.absolute(self)


class Integer(Scalar):
    """bool and the integers: what may be an index."""

    __slots__ = ()

    def __index__(self) -> int:
        return int(self.value)

    def __invert__(self) -> Any:
        return operations.invert(self)


class Bool(Integer):
    """There are two, as of Python's: `x is True` asks for the value."""

    __slots__ = ()
    name = "bool"
    made: ClassVar[dict[bool, Bool]] = {}

    def __new__(cls, value: Any) -> Bool:
        value = bool(value)
        if value not in cls.made:
            cls.made[value] = super().__new__(cls)
        return cls.made[value]


class Int(Integer):
    """Python's int, in 64 bits."""

    __slots__ = ()
    name, kind, bits, signed = "int", INT, 64, True


class Float(Scalar):
    """Python's float: weak, it takes the type of a typed float that it meets."""

    __slots__ = ()
    name, kind, format = "float", FLOAT, "float64"

    @classmethod
    def of(cls, x: Scalar) -> Scalar:
        return super(Float, weak_float()).of(x)


class SingleFloat(Float):
    """The weak float of kernels with float=gpu.float32."""

    __slots__ = ()
    format = "float32"


def weak_float() -> type[Float]:
    return operations.weak_float()


def _typed_int(name: str) -> type[Integer]:
    bits, signed = int(name.lstrip("uint")), name[0] == "i"
    fields = {"name": name, "kind": INT, "typed": True, "bits": bits, "signed": signed}
    return type(name.capitalize(), (Integer,), {"__slots__": (), **fields})


def _typed_float(name: str) -> type[Scalar]:
    fields = {"name": name, "kind": FLOAT, "typed": True, "format": name}
    return type(name.capitalize(), (Scalar,), {"__slots__": (), **fields})


TYPED_INTS = tuple(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))
TYPED_FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES: dict[str, Any] = {cls.name: cls for cls in (Bool, Int, Float)}
TYPES |= {name: _typed_int(name) for name in TYPED_INTS}
TYPES |= {name: _typed_float(name) for name in TYPED_FLOATS}
operations.TYPES.update(TYPES, single=SingleFloat)


def integer(value: int) -> Scalar:
    """An integer literal: int, or uint64 from 2**63 to 2**64 - 1."""
    if -(1 << 63) <= value < 1 << 63:
        return Int(value)
    if 0 <= value < 1 << 64:
        return TYPES["uint64"](value)
    raise operations.error("TypingError", f"the constant {value} does not fit 64 bits")


def literal(value: Any) -> Any:
    """A constant of the program: one beyond 64 bits is an error where it is used, not before."""
    try:
        lifted = lift(value)
    except TypeError:
        return value
    return value if lifted is NotImplemented else lifted


def lift(value: Any) -> Any:
    """A Python number as a kernel's; anything else is NotImplemented."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        cls = weak_float()
        return cls(round_float(float(value), cls.format))
    return NotImplemented


def _binary(symbol: str) -> tuple[Any, Any]:
    """The method of an operator, and the reflected one."""

    def method(self: Scalar, other: Any) -> Any:
        other = lift(other)
        if other is NotImplemented:
            return other
        return operations.binary(symbol, self, other, sys._getframe(1))

    def reflected(self: Scalar, other: Any) -> Any:
        other = lift(other)
        if other is NotImplemented:
            return other
        return operations.binary(symbol, other, self, sys._getframe(1))

    return method, reflected


def _comparison(symbol: str) -> Any:
    def method(self: Scalar, other: Any) -> Any:
        other = lift(other)
        return other if other is NotImplemented else operations.compare(symbol, self, other)

    return method


METHODS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
for _name, _symbol in METHODS.items():
    _method, _reflected = _binary(_symbol)
    setattr(Scalar, f"__{_name}__", _method)
    setattr(Scalar, f"__r{_name}__", _reflected)
COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
for _name, _symbol in COMPARISONS.items():
    setattr(Scalar, f"__{_name}__", _comparison(_symbol))
Scalar.__divmod__ = lambda a, b: operations.divmod_(a, lift(b), sys._getframe(1))  # type: ignore
Scalar.__rdivmod__ = lambda a, b: operations.divmod_(lift(b), a, sys._getframe(1))  # type: ignore
