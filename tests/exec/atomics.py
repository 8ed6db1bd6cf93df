"""What gpu.atomic computes, in Python and NumPy alone: the oracle of test_atomics.py."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from ml_dtypes import bfloat16
except ImportError:
    bfloat16 = None

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64"] + (["bfloat16"] if bfloat16 else [])
NUMBERS = INTEGERS + FLOATS


def numpy_type(dtype: str) -> Any:
    return bfloat16 if dtype == "bfloat16" else np.dtype(dtype).type


def is_less(x: float, y: float) -> bool:
    """Of numbers, with -0.0 below 0.0; no NaN is less than anything."""
    return x < y or (x == y == 0 and math.copysign(1, x) < math.copysign(1, y))


def _add(a: Any, b: Any) -> Any:
    return a + b


def _sub(a: Any, b: Any) -> Any:
    return a - b


def _min(a: Any, b: Any) -> Any:
    return b if is_less(b, a) else a


def _max(a: Any, b: Any) -> Any:
    return b if is_less(a, b) else a


def _nanmin(a: Any, b: Any) -> Any:
    return b if a != a else _min(a, b)


def _nanmax(a: Any, b: Any) -> Any:
    return b if a != a else _max(a, b)


OPERATIONS: dict[str, tuple[Callable, list[str]]] = {
    "add": (_add, NUMBERS),
    "sub": (_sub, NUMBERS),
    "min": (_min, NUMBERS),
    "max": (_max, NUMBERS),
    "nanmin": (_nanmin, NUMBERS),
    "nanmax": (_nanmax, NUMBERS),
    "inc": (lambda a, b: 0 if a >= b else a + 1, INTEGERS),
    "dec": (lambda a, b: b if a == 0 or a > b else a - 1, INTEGERS),
    "and_": (lambda a, b: a & b, [*INTEGERS, "bool"]),
    "or_": (lambda a, b: a | b, [*INTEGERS, "bool"]),
    "xor": (lambda a, b: a ^ b, [*INTEGERS, "bool"]),
    "exch": (lambda a, b: b, [*NUMBERS, "bool"]),
}
CASES = [(name, dtype) for name, (_, dtypes) in OPERATIONS.items() for dtype in dtypes]


def wrapped(value: int, dtype: str) -> int:
    """An integer's low bits, by the sign of the type."""
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype in SIGNED and value >> (bits - 1) else value


def updated(name: str, dtype: str, a: Any, b: Any) -> Any:
    """The element that was `a` after the operation with `b`, a number of its type."""
    function = OPERATIONS[name][0]
    if dtype in INTEGERS:
        return numpy_type(dtype)(wrapped(function(int(a), int(b)), dtype))
    if dtype == "bool":
        return np.bool_(function(bool(a), bool(b)))
    kind = numpy_type(dtype)
    with np.errstate(all="ignore"):
        # float32 holds enough of a sum of halves to round it once more
        wide = np.float32 if dtype in ("float16", "bfloat16") else kind
        return kind(function(wide(a), wide(b)))


def samples(dtype: str) -> list[Any]:
    """Numbers that matter."""
    if dtype == "bool":
        return [False, True]
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        mine = [0, 1, 2, 5, 100, info.max, info.max - 1, info.max // 2 + 1]
        mine += [info.min, info.min + 1, -1, -5] if info.min else [200]
        return [numpy_type(dtype)(v) for v in mine]
    kind = numpy_type(dtype)
    largest = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.79e308}
    small = {"float16": 6e-8, "bfloat16": 1e-40, "float32": 1e-44, "float64": 5e-324}
    mine = [0.0, -0.0, 1.0, -1.0, 0.1, 3.5, -1000.25, math.inf, -math.inf, math.nan]
    return [kind(v) for v in (*mine, largest[dtype], small[dtype], -small[dtype])]


def same(got: Any, expected: Any) -> bool:
    """Equal bit for bit, but for what a NaN's bits are."""
    if got != got and expected != expected:
        return True
    return bool(got == expected) and bool(np.signbit(got) == np.signbit(expected))


def is_one_instruction(name: str, dtype: str) -> bool:
    """Whether a GPU has it as one; else threads that meet at one element take turns."""
    if dtype in ("int32", "int64", "uint32", "uint64"):
        return name not in ("inc", "dec") or dtype == "uint32"
    return dtype in ("float32", "float64") and name in ("add", "sub", "exch")
