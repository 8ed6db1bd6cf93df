"""Runs a case on the device and on the python device, and says where they differ."""

import linecache
import math
import operator
from typing import Any

import gpu
import numpy as np
from gpu import _python

from .case import Case, copied
from .explicit import explicit

# A constant that the types allow, but no bit pattern of its partner holds: not a difference.
NO_PROGRAM = ("CONSTANT_TOO_LARGE",)
CHECKED = (OverflowError, ValueError, ZeroDivisionError, IndexError, UnboundLocalError)


class NoProgram(Exception):
    """The text is refused for a reason that the generator cannot see."""


class Raised:
    """What check=True raised: the builtin class, and the line of the kernel's text if known."""

    def __init__(self, error: Exception, line: int):
        self.kind = next(kind for kind in CHECKED if isinstance(error, kind))
        self.line = line
        self.text = f"{self.kind.__name__} in line {line or '?'}: {error}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Raised) or other.kind is not self.kind:
            return False
        return not self.line or not other.line or self.line == other.line


Result = dict[str, Any] | Raised


def function(source: str, file: str) -> Any:
    """The kernel of the text, with its lines for errors."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"__name__": __name__, "gpu": gpu, "math": math, "operator": operator, "np": np}
    exec(compile(source, file, "exec"), scope)
    return scope["kernel"]


def on_device(case: Case) -> Result:
    data = {name: copied(value) for name, value in case.data.items()}
    kernel = gpu.jit(**case.options)(function(case.source, f"<kernel {case.seed}>"))
    try:
        kernel[case.launch](*data.values())
        gpu.synchronize()
    except gpu.TypingError as error:
        if error.code in NO_PROGRAM:
            raise NoProgram(str(error)) from None
        raise
    except CHECKED as error:
        if not case.check or not hasattr(error, "lineno"):
            raise
        return Raised(error, error.lineno or 0)
    return data


def on_python(case: Case, eager: bool = False) -> Result:
    data = {name: copied(value) for name, value in case.data.items()}
    text, lines = explicit(case.source, case.params, case.check, eager)
    file = f"<reference {case.seed}>"
    reference = function(text, file)
    fma = case.options.get("fma", True)
    try:
        _python.run(reference, *case.launch, tuple(data.values()), check=case.check, fma=fma)
    except CHECKED as error:
        if not case.check:
            raise
        return Raised(error, line_of(error, file, lines))
    return data


def line_of(error: Exception, file: str, lines: list[int]) -> int:
    """The line of the kernel's text where the reference raised; 0 at a join."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = lines[at.tb_lineno - 1]
        at = at.tb_next
    return line


def bits(array: np.ndarray) -> np.ndarray:
    """The array's bits, with one NaN."""
    if array.dtype.kind in "iub":
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    wide = np.array(array, "float64", order="C")
    return np.where(np.isnan(wide), np.float64("nan"), wide).view("u8").reshape(array.shape)


def differences(got: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """A line per element that differs."""
    lines = []
    for name, array in got.items():
        if not isinstance(array, np.ndarray):
            continue
        for at in np.argwhere(bits(array) != bits(expected[name])):
            where = tuple(map(int, at))
            has = expected[name][where]
            lines.append(f"{name}{list(where)}: {array[where]!r}, the reference has {has!r}")
    return lines


def raises_where_paths_meet(case: Case, got: Result) -> bool:
    """Whether the device looked at an int that does not fit before the reader that the reference
    raises at: where paths meet, which is the bytecode's choice."""
    if not isinstance(got, Raised) or got.kind is not OverflowError:
        return False
    early = on_python(case, eager=True)
    return isinstance(early, Raised) and early.kind is OverflowError and not early.line


def failure(case: Case) -> str | None:
    """What is wrong with a case; None if nothing is. May raise NoProgram and NoType."""
    expected = on_python(case)
    try:
        got = on_device(case)
    except gpu.Error as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(got, Raised) or isinstance(expected, Raised):
        if got == expected or raises_where_paths_meet(case, got):
            return None
        texts = [x.text if isinstance(x, Raised) else "nothing" for x in (got, expected)]
        return f"raised {texts[0]}\nthe reference raised {texts[1]}"
    lines = differences(got, expected)
    return "\n".join(lines[:8]) if lines else None
