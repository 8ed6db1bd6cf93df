"""Number types, and rounding to them.

A float of any format is held as a Python float that is exact in the format, an integer as a Python
int within its limits. Everything that rounds does so once, from the exact value.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# Bits of the significand (the hidden one too), exponent of the largest binade, of the smallest.
FLOATS: Final = {
    "float16": (11, 15, -14),
    "bfloat16": (8, 127, -126),
    "float32": (24, 127, -126),
    "float64": (53, 1023, -1022),
}


BYTES: Final = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
CODES: Final = {"float16": ("<e", "<H"), "float32": ("<f", "<I"), "float64": ("<d", "<Q")}


def to_bits(value: float, name: str) -> int:
    """The bits of a float of the format; a bfloat16 is the upper half of a float32."""
    if name == "bfloat16":
        return to_bits(value, "float32") >> 16
    of_float, of_int = CODES[name]
    return struct.unpack(of_int, struct.pack(of_float, value))[0]


def from_bits(bits: int, name: str) -> float:
    if name == "bfloat16":
        return from_bits(bits << 16, "float32")
    of_float, of_int = CODES[name]
    return struct.unpack(of_float, struct.pack(of_int, bits))[0]


def largest(name: str) -> float:
    """The largest finite float of the format."""
    bits, exponent, _ = FLOATS[name]
    return math.ldexp(2.0 - math.ldexp(1.0, 1 - bits), exponent)


def round_fraction(x: Fraction, name: str, zero: float = 0.0) -> float:
    """x to the nearest float of the format, ties to even; `zero` has the sign of an exact 0."""
    if not x:
        return math.copysign(0.0, zero)
    bits, largest, smallest = FLOATS[name]
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:  # 2**exponent <= size < 2**(exponent + 1)
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, smallest) - bits + 1)
    count = round(size / unit)  # Python's round() is to even
    size = count * unit
    if size >= Fraction(2) ** (largest + 1):
        return -math.inf if x < 0 else math.inf
    result = size.numerator / size.denominator  # exact
    return -result if x < 0 else result


def round_float(x: float, name: str) -> float:
    """A double to the format."""
    if name == "float64" or x == 0 or not math.isfinite(x):
        return x
    if name == "bfloat16":
        bits, exponent, smallest = FLOATS[name]
        if abs(x) >= math.ldexp(1.0, exponent + 1):
            return math.copysign(math.inf, x)
        unit = max(math.frexp(x)[1] - 1, smallest) - bits + 1
        size = math.ldexp(round(math.ldexp(abs(x), -unit)), unit)  # round() is to even
        return math.copysign(size if size < math.ldexp(1.0, exponent + 1) else math.inf, x)
    code = "<f" if name == "float32" else "<e"
    try:
        return struct.unpack(code, struct.pack(code, x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def round_int(x: int, name: str) -> float:
    """An integer to the format."""
    if name == "float64" or abs(x) <= 1 << 53:  # exact as a double, or rounded once by Python
        return round_float(float(x), name)
    return round_fraction(Fraction(x), name)


def steps_of(name: str) -> str:
    """The format in which the steps of a function are rounded: 16-bit formats take float32."""
    return "float32" if name in ("float16", "bfloat16") else name


def fma(a: float, b: float, c: float, name: str) -> float:
    """a * b + c of floats of one format, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c  # infinite or NaN: nothing to round
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    exact = product + Fraction(c)
    if exact:
        return round_fraction(exact, name)
    # An exact 0: -0.0 only as the sum of two negative zeros.
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    negative = product == 0 and sign < 0 and math.copysign(1.0, c) < 0
    return -0.0 if negative else 0.0


def multiply(a: float, b: float, name: str) -> float:
    return round_float(a * b, name)


def divide(a: float, b: float, name: str) -> float:
    """IEEE's division: by zero infinity, or NaN of 0 / 0.

    Quotients of two floats of at most 24 bits round the same over a double.
    """
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return round_float(a / b, name)


def fmod(a: float, b: float) -> float:
    """The exact remainder with the sign of a."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def divmod_floor(a: float, b: float, name: str) -> tuple[float, float]:
    """np.floor_divide and np.remainder; every step rounds to the format.

    16-bit formats take the steps in float32 and round the results.
    """
    steps = steps_of(name)
    quotient = divide(a, b, steps)
    mod = fmod(a, b)
    if b == 0:
        return round_float(quotient, name), mod
    moved = mod != 0 and not math.isnan(mod) and (b < 0) != (mod < 0)
    div = divide(round_float(a - mod, steps), b, steps)
    if mod == 0:
        mod = math.copysign(0.0, b)
    elif moved:
        mod = round_float(mod + b, steps)
        div = round_float(div - 1.0, steps)
    if div == 0:
        floor = math.copysign(0.0, quotient)
    elif math.isfinite(div):
        floor = float(math.floor(div))
        if round_float(div - floor, steps) > 0.5:
            floor = round_float(floor + 1.0, steps)
    else:
        floor = div
    return round_float(floor, name), round_float(mod, name)


def power(x: float, y: float) -> float:
    """pow of C, in double: a negative base with a fractional exponent gives NaN."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


def saturate(x: float, low: int, high: int) -> int:
    """A float toward zero, kept inside the limits; NaN is 0."""
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return low if x < 0 else high
    return max(low, min(high, int(x)))
