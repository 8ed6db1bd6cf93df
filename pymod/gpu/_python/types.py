"""Types as values of kernels: `gpu.float32`, `np.int16`, `float`, an array's dtype."""

from __future__ import annotations

from functools import cache

from gpu._python import formats, operations
from gpu._python.scalars import TYPES, Bool, Int, Scalar, lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TYPED = {"int": "int64", "float": "float64"}  # NumPy's types for Python's


class TypeObject:
    """A scalar type: called it converts, as a cast does. `type_object` has the one of a class."""

    constant_attributes = True

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __call__(self, x: Any = 0) -> Scalar:
        if self.cls.name == "bool" and (x is None or isinstance(x, tuple)):
            return self.cls(bool(x))
        lifted = lift(x)
        if lifted is NotImplemented:
            message = f"argument 1 of {self.cls.name} cannot be {type(x).__name__}"
            raise operations.error("TypingError", message)
        return operations.cast(lifted, self.cls)

    def equals(self, other: object) -> bool:
        """As dtypes are equal, also to what names one."""
        try:
            return self.name == type_of(other).name
        except Exception:
            return False

    def __eq__(self, other: object) -> Any:
        return Bool(self.equals(other))

    def __ne__(self, other: object) -> Any:
        return Bool(not self.equals(other))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.cls.name

    @property
    def type(self) -> TypeObject:
        return self

    @property
    def name(self) -> str:
        return TYPED.get(self.cls.name, self.cls.name)

    @property
    def kind(self) -> str:
        return "biuf"[self.cls.kind + (self.cls.kind == 2 or self.name.startswith("u"))]

    @property
    def str(self) -> str:
        return ("|" if self.size == 1 else "<") + f"{self.kind}{self.size}"

    @property
    def itemsize(self) -> Int:
        return Int(self.size)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return formats.BYTES.get(self.cls.format) or max(self.cls.bits // 8, 1)

    def holds(self, x: Any) -> bool:
        """isinstance(x, this): as Python has it for the values that types stand for."""
        if not isinstance(x, Scalar):
            return False
        if self.cls.typed:
            return type(x) is self.cls
        if self.cls.name == "int":
            return not x.typed and x.kind < 2
        return type(x) is self.cls or (self.cls.name == "float" and x.name in ("float", "float64"))


@cache
def type_object(cls: Any) -> TypeObject:
    return TypeObject(cls)


class RecordType:
    """A numpy.dtype with fields: what arrays are made of, no cast."""

    constant_attributes = True
    kind = "V"

    def __init__(self, dtype: Any) -> None:
        self.held, self.name = dtype, str(dtype)
        self.size = dtype.itemsize
        self.itemsize, self.names = Int(dtype.itemsize), dtype.names

    def __eq__(self, other: object) -> Any:
        return Bool(isinstance(other, RecordType) and self.held == other.held)

    def __ne__(self, other: object) -> Any:
        return Bool(not (isinstance(other, RecordType) and self.held == other.held))

    __hash__ = object.__hash__


def type_of(x: Any) -> TypeObject:
    """np.dtype(x): the type that a class or a text names; typed."""
    if isinstance(x, RecordType):
        return x
    if isinstance(x, TypeObject):
        return type_object(TYPES[x.name])
    if not isinstance(x, str):
        raise operations.error("TypingError", f"{x!r} names no number type")
    import numpy as np

    name = x
    if x != "bfloat16":
        try:
            name = np.dtype(x).name
        except TypeError:
            name = ""
    if name not in TYPES:
        message = f"'{x}' names no number type\n  Hint: write np.dtype(np.float32)"
        raise operations.error("TypingError", message)
    return type_object(TYPES[name])


class AbstractType:
    """np.integer and the like: a class of typed numbers, for isinstance."""

    def __init__(self, name: str, includes: Callable[[Any], bool]) -> None:
        self.name, self.includes = name, includes

    def holds(self, x: Any) -> bool:
        return isinstance(x, Scalar) and x.typed and self.includes(x)

    def __repr__(self) -> str:
        return f"numpy.{self.name}"


ABSTRACT = {
    name: AbstractType(name, includes)
    for name, includes in {
        "generic": lambda x: True,
        "number": lambda x: True,
        "integer": lambda x: x.kind == 1,
        "signedinteger": lambda x: x.kind == 1 and x.signed,
        "unsignedinteger": lambda x: x.kind == 1 and not x.signed,
        "inexact": lambda x: x.kind == 2,
        "floating": lambda x: x.kind == 2,
    }.items()
}


class Limits:
    """np.finfo or np.iinfo of a type: NumPy's own, with the numbers of kernels."""

    constant_attributes = True

    def __init__(self, info: Any, what: str) -> None:
        self._info, self._what = info, what

    def __getattr__(self, name: str) -> Any:
        from gpu._python.objects import number, numpy_type

        try:
            found = getattr(self._info, name)
        except AttributeError:
            raise operations.error(
                "TypingError", f"{self._what} has no attribute '{name}'"
            ) from None
        lifted = numpy_type(found) or number(found)
        return found if lifted is NotImplemented else lifted


def limits_of(x: Any, function: str, kind: int) -> Limits:
    t = type_of(type_object(type(x)) if isinstance(x, Scalar) else x)
    if t.cls.kind != kind:
        example = "np.finfo(np.float32)" if kind == 2 else "np.iinfo(np.int32)"
        message = f"argument 1 of numpy.{function} cannot be {t.name}\n  Hint: write {example}"
        raise operations.error("TypingError", message)
    import numpy as np

    if t.name != "bfloat16":
        return Limits(getattr(np, function)(t.name), f"numpy.{function}.{t.name}")
    import ml_dtypes  # type: ignore[import-not-found]

    return Limits(ml_dtypes.finfo("bfloat16"), "ml_dtypes.finfo.bfloat16")
