"""Python's builtins, as kernels have them."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction

from gpu._python import formats, operations
from gpu._python.arrays import Array, integer_of
from gpu._python.context import context
from gpu._python.formats import saturate
from gpu._python.scalars import TYPES, Bool, Float, Int, Scalar, lift
from gpu._python.types import AbstractType, TypeObject, type_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


def number(x: Any, function: str, i: int = 1) -> Scalar:
    """Argument i, which must be a number."""
    lifted = lift(x)
    if lifted is NotImplemented:
        kind = "an array" if isinstance(x, Array) else type(x).__name__
        raise operations.error("TypingError", f"argument {i} of {function} cannot be {kind}")
    return lifted


def bits(x: Scalar) -> int:
    """Those that say that two numbers of a type are the same."""
    return formats.to_bits(x.value, x.format) if x.kind == 2 else int(x.value)


def bits_of(x: Scalar, function: str) -> int:
    """The absolute value of an integer, whose bits a function counts."""
    if x.kind == 2:
        message = (
            f"argument 1 of {function} cannot be {x.name}\n  Hint: bits are defined for integers"
        )
        raise operations.error("TypingError", message)
    return abs(int(x.value))


class Range:
    """range() of kernels: any integers, no overflow; a step of 0 runs no round."""

    def __init__(self, *args: Any) -> None:
        if not 1 <= len(args) <= 3:
            message = f"range takes 1 to 3 arguments, {len(args)} given"
            raise operations.error("TypingError", message)
        ints = [Int.wrap(integer_of(x, "an argument of range")) for x in args]
        start, stop, step = (0, *ints, 1) if len(ints) == 1 else (*ints, 1)[:3]
        self.range = builtins.range(start, stop, step) if step else builtins.range(0)

    def __iter__(self) -> Iterator[Int]:
        return map(Int, self.range)

    def __reversed__(self) -> Iterator[Int]:
        return map(Int, builtins.reversed(self.range))

    def __len__(self) -> int:
        return builtins.len(self.range)

    def __getitem__(self, index: Any) -> Int:
        return Int(self.range[integer_of(index)])

    def __contains__(self, x: Any) -> bool:
        return isinstance(x, Scalar) and x.value in self.range

    @property
    def start(self) -> Int:
        return Int(self.range.start)

    @property
    def stop(self) -> Int:
        return Int(self.range.stop)

    @property
    def step(self) -> Int:
        return Int(self.range.step)


def absolute(x: Any) -> Scalar:
    return operations.absolute(number(x, "abs"))


def least(symbol: str, function: str, args: tuple, default: tuple) -> Any:
    """The default, if there is one, joins the type; without it there must be a value."""
    values = tuple(args[0] if len(args) == 1 else args)
    if values and all(isinstance(x, tuple) for x in values):
        return least_tuple(symbol, function, values)
    numbers = [number(x, function) for x in values or default]
    best = operations.least(symbol, *numbers)
    if values and default and not isinstance(args[0], tuple):
        best = operations.join(type(best), type(lift(default[0]))).of(best)
    return best


def meet(values: list[Any], function: str) -> list[Any]:
    """Numbers, or tuples of one length, converted to what their types are joined."""
    if not all(isinstance(x, tuple) for x in values):
        numbers = [number(x, function) for x in values]
        cls = operations.join(*map(type, numbers))
        return [cls.of(x) for x in numbers]
    if len(set(map(len, values))) != 1:
        raise operations.error("TypingError", f"the tuples of {function} have different lengths")
    elements = [meet(list(x), function) for x in zip(*values, strict=True)]
    return [tuple(x) for x in zip(*elements, strict=True)] if elements else values


def least_tuple(symbol: str, function: str, values: tuple) -> Any:
    """The first of equals of tuples in Python's order; all convert before they are compared."""
    best, *others = meet(list(values), function)
    for x in others:
        if operations.COMPARES[symbol](x, best):
            best = x
    made = getattr(type(values[0]), "_make", None)
    return made(best) if made and all(type(x) is type(values[0]) for x in values) else best


def smallest(*args: Any, **default: Any) -> Any:
    return least("<", "min", args, tuple(default.values()))


def largest(*args: Any, **default: Any) -> Any:
    return least(">", "max", args, tuple(default.values()))


def length(x: Any) -> Int:
    return Int(builtins.len(x))


def power(a: Any, b: Any, mod: Any = None) -> Any:
    a, b = number(a, "pow"), number(b, "pow")
    if mod is None:
        return a**b
    cls = type(a % number(mod, "pow"))
    base, exponent, modulus = a.value, b.value, lift(mod).value
    return cls(pow(base, exponent, modulus) if modulus and exponent >= 0 else 0)


def both(a: Any, b: Any) -> tuple[Any, Any]:
    a, b = number(a, "divmod"), number(b, "divmod")
    return a // b, a % b


def total(values: Iterable[Any], start: Any = 0) -> Any:
    result = lift(start)
    for x in values:
        result = result + x
    return result


def numbered(values: Iterable[Any], start: Any = 0) -> Iterator[tuple[Int, Any]]:
    for i, x in builtins.enumerate(values, integer_of(start)):
        yield Int(Int.wrap(i)), x


def is_instance(x: Any, types: Any) -> Bool:
    types = types if isinstance(types, tuple) else (types,)
    found = (
        t.holds(x)
        if isinstance(t, (TypeObject, AbstractType))
        else isinstance(t, type) and isinstance(x, t)
        for t in types
    )
    return Bool(any(found))


def contains(values: Any, x: Any) -> Bool:
    return Bool(any(x == element for element in values))


# Functions of `operator` for which Python makes bools of its own.
LOGIC = {
    "truth": lambda x: Bool(bool(x)),
    "not_": lambda x: Bool(not x),
    "is_": lambda a, b: Bool(a is b),
    "is_not": lambda a, b: Bool(a is not b),
    "contains": contains,
}


# --- Rounding -------------------------------------------------------------------------------------


def to_int(x: Scalar, rule: Any) -> Scalar:
    """floor, ceil, trunc or round of a number: an int, saturated; NaN is 0."""
    if x.kind != 2:
        return Int.of(x)
    if not math.isfinite(x.value):
        return operations.cast(x, Int)
    exact = rule(x.value)
    low, high = Int.limits()
    if context.check and not low <= exact <= high:
        message = f"{x.value} does not fit int"
        raise operations.error("KernelOverflowError", message, "LOSSY")
    return Int(max(low, min(high, exact)))


def round_digits(x: Scalar, digits: int) -> Scalar:
    """As np.round: scaled by a power of ten, rounded, scaled back; every step in the type."""
    if x.kind != 2:
        cls = type(operations.positive(x))
        unit = 10 ** max(-digits, 0)
        exact = builtins.round(Fraction(int(x.value), unit)) * unit  # ties to even
        return cls(cls.wrap(exact))
    name = x.format
    scale = formats.round_float(
        float(10 ** min(abs(digits), 400)) if abs(digits) < 309 else math.inf, name
    )
    first, second = (formats.multiply, formats.divide)
    if digits < 0:
        first, second = second, first
    scaled = first(x.value, scale, name)
    if math.isfinite(scaled):
        scaled = math.copysign(float(builtins.round(scaled)), scaled)
    return type(x)(second(scaled, scale, name))


def rounded(x: Any, ndigits: Any = None) -> Scalar:
    x = number(x, "round")
    if ndigits is None:
        return to_int(x, builtins.round)
    return round_digits(x, integer_of(ndigits, "the digits of round"))


FUNCTIONS = {
    "abs": absolute, "bool": type_object(Bool), "divmod": both, "enumerate": numbered,
    "float": type_object(Float), "int": type_object(Int), "isinstance": is_instance, "len": length,
    "max": largest, "min": smallest, "pow": power, "range": Range, "round": rounded, "sum": total,
}  # fmt: skip
__all__ = ["FUNCTIONS", "TYPES", "saturate"]
