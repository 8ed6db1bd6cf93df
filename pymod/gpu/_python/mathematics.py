"""The functions of `math`.

They compute in double and round to the type; what is not defined gives IEEE's result instead of an
exception.
"""

from __future__ import annotations

import math
from fractions import Fraction

from gpu._python import formats, operations, precise
from gpu._python.functions import number, to_int
from gpu._python.scalars import Bool, Int, Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Where math raises ValueError and IEEE has an infinity: function, argument -> result.
POLES = {"log": {0.0: -math.inf}, "log2": {0.0: -math.inf}, "log10": {0.0: -math.inf},
         "log1p": {-1.0: -math.inf}, "atanh": {1.0: math.inf, -1.0: -math.inf}}  # fmt: skip
ODD = ("sinh", "gamma")  # overflow has the sign of the argument
PLAIN = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf",
         "erfc", "exp", "exp2", "expm1", "fabs", "gamma", "lgamma", "log10", "log1p", "log2",
         "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "copysign")  # fmt: skip


def ieee(name: str, function: Callable[..., float], *x: float) -> float:
    """A function of math, with infinity and NaN where it raises."""
    try:
        return function(*x)
    except OverflowError:
        return math.copysign(math.inf, x[0]) if name in ODD else math.inf
    except ValueError:
        if name == "gamma" and x[0] == 0:
            return math.copysign(math.inf, x[0])
        if name == "lgamma" and math.isfinite(x[0]):
            return math.inf
        return POLES.get(name, {}).get(x[0], math.nan)


def converted(name: str, *args: Any) -> tuple[Any, list[float]]:
    """The float type of the arguments, and their values in it."""
    numbers = [number(x, f"math.{name}") for x in args]
    cls = operations.common_float(*map(type, numbers))
    return cls, [cls.of(x).value for x in numbers]


def plain(name: str) -> Callable[..., Scalar]:
    function = getattr(precise, name, None) or getattr(math, name)
    n_args = 2 if name in ("atan2", "remainder", "copysign") else 1

    def call(*args: Any) -> Scalar:
        operations.check_count(f"math.{name}", args, n_args)
        cls, values = converted(name, *args)
        return cls(formats.round_float(ieee(name, function, *values), cls.format))

    return call


def exact(name: str, function: Callable[..., float]) -> Callable[..., Scalar]:
    """A function of values that needs the type's format."""

    def call(*args: Any) -> Scalar:
        cls, values = converted(name, *args)
        return cls(function(*values, cls.format))

    return call


def log(x: Any, base: Any = None) -> Scalar:
    if base is None:
        cls, (value,) = converted("log", x)
        return cls(formats.round_float(ieee("log", math.log, value), cls.format))
    cls = operations.common_float(type(number(x, "math.log")), type(number(base, "math.log")))
    x, base = cls.of(number(x, "math.log")), cls.of(number(base, "math.log"))
    steps = formats.steps_of(cls.format)
    logs = [formats.round_float(ieee("log", math.log, v.value), steps) for v in (x, base)]
    return cls(formats.round_float(formats.divide(*logs, steps), cls.format))


def scaled(constant: float) -> Callable[[float, str], float]:
    def call(x: float, name: str) -> float:
        steps = formats.steps_of(name)
        result = formats.multiply(x, formats.round_float(constant, steps), steps)
        return formats.round_float(result, name)

    return call


def unit(x: float, name: str) -> float:
    """The distance between floats at x, a finite number."""
    bits, _, smallest = formats.FLOATS[name]
    exponent = math.frexp(x)[1] - 1 if x else smallest
    return math.ldexp(1.0, max(exponent, smallest) - bits + 1)


def ulp(x: float, name: str) -> float:
    return unit(x, name) if math.isfinite(x) else math.fabs(x)


def nextafter(x: float, y: float, name: str) -> float:
    if name == "float64" or math.isnan(x) or math.isnan(y) or x == y:
        return math.nextafter(x, y)
    if x == 0:
        return math.copysign(unit(0.0, name), y)
    if math.isinf(x):
        return math.copysign(formats.largest(name), x)
    step = unit(x, name)
    if (y > x) != (x > 0) and math.frexp(x)[0] in (0.5, -0.5):  # toward 0 from a power of two
        step = max(step / 2, unit(0.0, name))
    result = formats.round_float(x + step if y > x else x - step, name)
    return math.copysign(result, x)


def frexp(x: Any) -> tuple[Scalar, Int]:
    cls, (value,) = converted("frexp", x)
    mantissa, exponent = math.frexp(value)
    return cls(mantissa), Int(exponent)


def modf(x: Any) -> tuple[Scalar, Scalar]:
    cls, (value,) = converted("modf", x)
    rest, whole = math.modf(value)
    return cls(rest), cls(whole)


def ldexp(x: Any, exponent: Any) -> Scalar:
    cls, (value,) = converted("ldexp", x)
    e = number(exponent, "math.ldexp")
    if e.kind == 2:
        raise operations.error("TypingError", f"argument 2 of math.ldexp cannot be {e.name}")
    e = max(-5000, min(5000, int(e.value)))
    if value == 0 or not math.isfinite(value):
        return cls(value)
    return cls(formats.round_fraction(Fraction(value) * Fraction(2) ** e, cls.format, value))


def hypot(*args: Any) -> Scalar:
    """A chain from the left."""
    cls, values = converted("hypot", *args)
    result = math.fabs(values[0]) if values else 0.0
    for x in values[1:]:
        result = formats.round_float(math.hypot(result, x), formats.steps_of(cls.format))
    return cls(formats.round_float(result, cls.format))


def isclose(a: Any, b: Any, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Bool:
    cls, (x, y) = converted("isclose", a, b)
    cls = operations.steps_type(cls)
    rel, absolute = (cls.of(number(t, "math.isclose")).value for t in (rel_tol, abs_tol))
    if x == y:
        return Bool(True)
    if math.isinf(x) or math.isinf(y):
        return Bool(False)
    diff = math.fabs(formats.round_float(y - x, cls.format))
    by_x = math.fabs(formats.multiply(rel, x, cls.format))
    by_y = math.fabs(formats.multiply(rel, y, cls.format))
    return Bool(diff <= by_x or diff <= by_y or diff <= absolute)


def test(name: str) -> Callable[[Any], Bool]:
    function = getattr(math, name)

    def call(x: Any) -> Bool:
        x = number(x, f"math.{name}")
        return Bool(function(x.value) if x.kind == 2 else function(0))

    return call


def whole(name: str) -> Callable[[Any], Scalar]:
    function = getattr(math, name)
    return lambda x: to_int(number(x, f"math.{name}"), function)


def integers(name: str, args: tuple) -> tuple[Any, list[int]]:
    numbers = [number(x, f"math.{name}") for x in args]
    cls = Int
    for i, x in enumerate(numbers, 1):
        if x.kind == 2:
            raise operations.error("TypingError", f"argument {i} of math.{name} cannot be {x.name}")
        cls = operations.common_int(cls, type(x))
    return cls, [cls.of(x).value for x in numbers]


def of_integers(name: str) -> Callable[..., Scalar]:
    """math.gcd, math.lcm."""

    def call(*args: Any) -> Scalar:
        cls, values = integers(name, args)
        return cls(cls.wrap(getattr(math, name)(*values)))

    return call


def isqrt(x: Any) -> Scalar:
    cls, (value,) = integers("isqrt", (x,))
    return cls(math.isqrt(max(value, 0)))


FUNCTIONS: dict[str, Any] = {name: plain(name) for name in PLAIN if hasattr(math, name)}
FUNCTIONS |= {name: test(name) for name in ("isfinite", "isinf", "isnan")}
FUNCTIONS |= {name: whole(name) for name in ("floor", "ceil", "trunc")}
FUNCTIONS |= {
    "degrees": exact("degrees", scaled(180 / math.pi)),
    "fma": exact("fma", formats.fma),
    "fmod": exact("fmod", lambda x, y, name: formats.fmod(x, y)),
    "frexp": frexp, "gcd": of_integers("gcd"), "hypot": hypot, "isclose": isclose,
    "isqrt": isqrt, "lcm": of_integers("lcm"), "ldexp": ldexp, "log": log,
    "modf": modf,
    "nextafter": exact("nextafter", nextafter),
    "pow": exact("pow", lambda x, y, name: formats.round_float(formats.power(x, y), name)),
    "radians": exact("radians", scaled(math.pi / 180)),
    "ulp": exact("ulp", ulp),
}  # fmt: skip
NUMBERS = {name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")}
