"""The functions of NumPy that neither operators nor `math` have.

What NumPy computes is asked of NumPy, in the type of the steps; which type the result has is
written from docs/semantics.md, section "NumPy's functions".
"""

from __future__ import annotations

import functools
import math

from gpu._python import formats, functions, mathematics, operations
from gpu._python.arrays import integer_of
from gpu._python.scalars import TYPES, Bool, Int, Scalar, weak_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def number(x: Any, name: str) -> Scalar:
    return functions.number(x, f"numpy.{name}")


def arithmetic(x: Any, name: str) -> Scalar:
    """An argument; a bool is an int."""
    return operations.positive(number(x, name))


# Names that newer NumPys warn of -> what they recommend.
RENAMED = {"fix": "trunc"}


def ask(name: str, cls: Any, *args: Any, **options: Any) -> float:
    """NumPy's function of values of the float type, its steps in that type (halves: float32)."""
    import numpy as np

    steps = np.dtype(operations.steps_type(cls).format).type
    with np.errstate(all="ignore"):
        return float(getattr(np, RENAMED.get(name, name))(*map(steps, args), **options))


# --- Functions of floats --------------------------------------------------------------------------


def converted(name: str, *args: Any) -> tuple[Any, list[float]]:
    """The float type of the arguments, and their values in it."""
    numbers = [number(x, name) for x in args]
    cls = operations.common_float(*map(type, numbers))
    return cls, [cls.of(x).value for x in numbers]


def floats(name: str, n_args: int) -> Callable[..., Scalar]:
    """A function whose result is the float of its arguments."""

    def call(*args: Any) -> Scalar:
        operations.check_count(f"numpy.{name}", args, n_args)
        cls, values = converted(name, *args)
        return cls(formats.round_float(ask(name, cls, *values), cls.format))

    return call


def angle(z: Any, deg: Any = False) -> Scalar:
    cls, (value,) = converted("angle", z)
    result = ask("angle", cls, value, deg=bool(deg))
    return cls(formats.round_float(result, cls.format))


def spacing(x: Any) -> Scalar:
    """To the next number away from 0: of the largest one infinity."""
    cls, (value,) = converted("spacing", x)
    away = math.copysign(math.inf, value) if value else math.inf
    return cls(mathematics.nextafter(value, away, cls.format) - value)


def float_power(x: Any, y: Any) -> Scalar:
    x, y = number(x, "float_power"), number(y, "float_power")
    typed = operations.common_float(type(x), type(y)).typed
    cls = TYPES["float64"] if typed else weak_float()
    a, b = cls.of(x).value, cls.of(y).value
    return cls(formats.round_float(formats.power(a, b), cls.format))


# --- Functions that keep the type -----------------------------------------------------------------


def same(name: str, integers: Callable[[int], int]) -> Callable[[Any], Scalar]:
    """NumPy's function of floats, another one of integers."""

    def call(x: Any) -> Scalar:
        x = arithmetic(x, name)
        cls = type(x)
        if x.kind != 2:
            return cls(cls.wrap(integers(x.value)))
        return cls(formats.round_float(ask(name, cls, x.value), cls.format))

    return call


def rounded(a: Any, decimals: Any = 0) -> Scalar:
    digits = integer_of(decimals, "the number of decimals")
    return functions.round_digits(arithmetic(a, "round"), digits)


def nan_to_num(
    x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Scalar:
    x = arithmetic(x, "nan_to_num")
    if x.kind != 2 or math.isfinite(x.value):
        return x
    cls = type(x)
    if math.isnan(x.value):
        return cls.of(number(nan, "nan_to_num"))
    limit = posinf if x.value > 0 else neginf
    if limit is not None:
        return cls.of(number(limit, "nan_to_num"))
    return cls(math.copysign(formats.largest(cls.format), x.value))


# --- Functions that join types --------------------------------------------------------------------


def is_nan(x: Scalar) -> bool:
    return x.kind == 2 and math.isnan(x.value)


def choose(name: str, symbol: str, with_nan: bool) -> Callable[[Any, Any], Scalar]:
    """The greater or the smaller; the second of equals. `with_nan`: NaN wins, else it loses."""

    def call(x1: Any, x2: Any) -> Scalar:
        a, b = number(x1, name), number(x2, name)
        cls = operations.join(type(a), type(b))
        if is_nan(a) or is_nan(b):
            return cls.of(a if is_nan(a) == with_nan else b)
        return cls.of(a if operations.compare(symbol, a, b) else b)

    return call


def clip(a: Any, a_min: Any = None, a_max: Any = None, **limits: Any) -> Scalar:
    low, high = limits.pop("min", a_min), limits.pop("max", a_max)
    if limits:
        message = f"numpy.clip has no argument '{next(iter(limits))}'"
        raise operations.error("TypingError", message)
    x = number(a, "clip")
    bounds = [(s, number(v, "clip")) for s, v in (("<", low), (">", high)) if v is not None]
    # Floats first: uint64 and signed integers join where one is there.
    types = sorted((type(v) for v in (x, *(v for _, v in bounds))), key=lambda c: c.kind != 2)
    cls = functools.reduce(operations.join, types)
    as_result = cls.of if cls.kind == 2 else lambda v: v  # floats compare in the result's type
    best = as_result(x)
    for symbol, bound in bounds:
        if is_nan(bound) or operations.compare(symbol, best, as_result(bound)):
            best = as_result(bound)
    return cls.of(best)


def where(condition: Any, x: Any, y: Any) -> Scalar:
    c, a, b = (number(v, "where") for v in (condition, x, y))
    return operations.join(type(a), type(b)).of(a if c else b)


# --- Bools and integers ---------------------------------------------------------------------------


def test(name: str, function: Callable[[float], bool]) -> Callable[[Any], Bool]:
    """Of one number, which converts to double."""
    return lambda x: Bool(function(float(number(x, name).value)))


def logical(name: str, function: Callable[..., bool]) -> Callable[..., Bool]:
    """Of truth values, all of which are computed."""
    return lambda *args: Bool(function(*(bool(number(x, name)) for x in args)))


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Bool:
    cls, (x, y) = converted("isclose", a, b)
    steps = operations.steps_type(cls)
    tolerances = [steps.of(number(t, "isclose")).value for t in (rtol, atol)]
    close = ask("isclose", cls, x, y, *tolerances)
    return Bool(bool(close) or (bool(equal_nan) and math.isnan(x) and math.isnan(y)))


def fmod(x1: Any, x2: Any) -> Scalar:
    """The sign of the first; by zero 0 of integers, NaN of floats."""
    a, b = arithmetic(x1, "fmod"), arithmetic(x2, "fmod")
    if a.kind == 2 or b.kind == 2:
        return mathematics.FUNCTIONS["fmod"](a, b)
    cls = operations.common_int(type(a), type(b))
    x, y = cls.of(a).value, cls.of(b).value
    rest = abs(x) % abs(y) if y else 0
    return cls(-rest if x < 0 else rest)


def bitwise_count(x: Any) -> Int:
    x = number(x, "bitwise_count")
    return Int(functions.bits_of(x, "numpy.bitwise_count").bit_count())


FUNCTIONS: dict[str, Any] = {
    name: floats(name, n)
    for name, n in {"heaviside": 2, "logaddexp": 2, "logaddexp2": 2, "rint": 1, "sinc": 1}.items()
}
FUNCTIONS |= {
    name: same(name, rule)
    for name, rule in {
        "sign": lambda x: (x > 0) - (x < 0),
        "square": lambda x: x * x,
        "reciprocal": lambda x: int(1 / x) if x else 0,
        "conjugate": lambda x: x, "floor": lambda x: x, "ceil": lambda x: x, "trunc": lambda x: x,
        "fix": lambda x: x, "real": lambda x: x, "imag": lambda x: 0,
    }.items()
}  # fmt: skip
FUNCTIONS |= {
    "maximum": choose("maximum", ">", True), "minimum": choose("minimum", "<", True),
    "fmax": choose("fmax", ">", False), "fmin": choose("fmin", "<", False),
    "signbit": test("signbit", lambda x: math.copysign(1.0, x) < 0),
    "isposinf": test("isposinf", lambda x: x == math.inf),
    "isneginf": test("isneginf", lambda x: x == -math.inf),
    "logical_and": logical("logical_and", lambda x, y: x and y),
    "logical_or": logical("logical_or", lambda x, y: x or y),
    "logical_xor": logical("logical_xor", lambda x, y: x != y),
    "logical_not": logical("logical_not", lambda x: not x),
    "angle": angle, "bitwise_count": bitwise_count, "clip": clip, "float_power": float_power,
    "fmod": fmod, "isclose": isclose, "nan_to_num": nan_to_num, "round": rounded,
    "around": rounded, "spacing": spacing, "where": where,
}  # fmt: skip
__all__ = ["FUNCTIONS"]
