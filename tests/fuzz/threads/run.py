"""Runs a case on the device at each optimisation level and on the python device, bit for bit."""

import os
import traceback
from typing import Any

import gpu
import numpy as np
from gpu import _python
from kernels.run import differences, function

from .generate import Case, generate


def levels(case: Case) -> tuple[int, ...]:
    """Without LLVM's passes, and one of the others: compiling takes most of the time."""
    return (0, 1, 2, 3) if os.environ.get("GPUJIT_FUZZ_LEVELS") else (0, 1 + case.seed % 3)


def copied(data: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in data.items()}


def on_python(case: Case) -> tuple[dict[str, Any], str]:
    data = copied(case.data)
    try:
        _python.run(
            function(case.source, f"<reference {case.seed}>"), *case.launch, tuple(data.values()),
            check=case.options.get("check", False), fma=case.options["fma"],
        )  # fmt: skip
    except (ArithmeticError, ValueError, IndexError) as error:
        return data, kind(error)
    return data, ""


def on_device(case: Case, level: int) -> tuple[dict[str, Any], str]:
    data = copied(case.data)
    kernel = gpu.jit(opt_level=level, **case.options)(
        function(case.source, f"<kernel {case.seed}>")
    )
    try:
        kernel[case.launch](*data.values())
        gpu.synchronize()
    except (ArithmeticError, ValueError, IndexError) as error:
        if isinstance(error, gpu.Error) and not hasattr(error, "lineno"):
            raise
        return data, kind(error)
    return data, ""


def kind(error: Exception) -> str:
    classes = (ZeroDivisionError, OverflowError, IndexError, ValueError)
    return next(c.__name__ for c in classes if isinstance(error, c))


def failure(case: Case) -> str:
    """What is wrong with a case; empty if nothing is."""
    expected, raised = on_python(case)
    for level in levels(case):
        got, error = on_device(case, level)
        if error != raised:
            return f"opt_level={level}: raised '{error}', the reference '{raised}'"
        lines = differences(got, expected)[:8]
        if lines:
            return f"opt_level={level}\n" + "\n".join(lines)
    return ""


def check(seed: int) -> tuple[str, str]:
    """("same" | "differs", what to print)."""
    text = ""
    try:
        case = generate(seed)
        text = f"\n{case.source}launch={case.launch} {case.options}\n"
        found = failure(case)
    except Exception:
        found = traceback.format_exc()
    return ("differs", found + text) if found else ("same", "")
