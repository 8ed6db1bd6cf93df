"""Runs a case on the device and on the python device, and says where they differ."""

import linecache
import math
import operator
from typing import Any

import gpu
import numpy as np
from gpu import _python

from .explicit import explicit
from .generate import ROWS, Case

# A constant that the types allow, but no bit pattern of its partner holds: not a difference.
NO_PROGRAM = ("CONSTANT_TOO_LARGE",)


class NoProgram(Exception):
    """The text is refused for a reason that the generator cannot see."""


def function(source: str, file: str) -> Any:
    """The kernel of the text, with its lines for errors."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"gpu": gpu, "math": math, "operator": operator, "np": np}
    exec(compile(source, file, "exec"), scope)
    return scope["kernel"]


def on_device(case: Case) -> dict[str, np.ndarray]:
    data = {name: array.copy() for name, array in case.data.items()}
    kernel = gpu.jit(fma=case.fma)(function(case.source, f"<kernel {case.seed}>"))
    try:
        kernel[1, ROWS](*data.values())
    except gpu.TypingError as error:
        if error.code in NO_PROGRAM:
            raise NoProgram(str(error)) from None
        raise
    gpu.synchronize()
    return data


def on_python(case: Case) -> dict[str, np.ndarray]:
    data = {name: array.copy() for name, array in case.data.items()}
    text = explicit(case.source, case.arrays)
    reference = function(text, f"<reference {case.seed}>")
    _python.run(reference, 1, ROWS, tuple(data.values()), fma=case.fma)
    return data


def bits(array: np.ndarray) -> np.ndarray:
    """The array's bits, with one NaN."""
    if array.dtype.kind in "iub":
        return array.view(f"u{array.dtype.itemsize}")
    wide = array.astype("float64")
    return np.where(np.isnan(wide), np.float64("nan"), wide).view("u8")


def differences(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> list[str]:
    """A line per element that differs."""
    lines = []
    for name, array in got.items():
        for at in np.argwhere(bits(array) != bits(expected[name])):
            where = tuple(map(int, at))
            has = expected[name][where]
            lines.append(f"{name}{list(where)}: {array[where]!r}, the reference has {has!r}")
    return lines


def failure(case: Case) -> str | None:
    """What is wrong with a case; None if nothing is. May raise NoProgram and NoType."""
    expected = on_python(case)
    try:
        got = on_device(case)
    except gpu.Error as error:
        return f"{type(error).__name__}: {error}"
    lines = differences(got, expected)
    return "\n".join(lines[:8]) if lines else None
