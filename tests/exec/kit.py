"""What the tests share: kernels from text, launches, and comparison with the oracle."""

import linecache
import math
import struct
from itertools import count
from typing import Any

import gpu
import numpy as np
from oracle import Num

_numbers = count()

# The dtype whose elements are read to make a value of a kind, and how the kernel makes it of one.
SOURCE_DTYPE = {"int": "int64", "float": "float64"}
READ = {"int": "{}", "bool": "{}", "uint64": "{}", "float32": "{}", "float64": "{}",
        "float": "float({})"}  # fmt: skip


def read(kind: str, element: str) -> str:
    """Text that makes a value of the kind of an array element of source_dtype(kind)."""
    return READ.get(kind, f"gpu.{kind}({{}})").format(element)


def source_dtype(kind: str) -> str:
    return SOURCE_DTYPE.get(kind, kind)


def function(source: str, name: str = "kernel", **names: Any) -> Any:
    """The Python function that the text defines. Errors can show its lines."""
    file = f"<kernel {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"gpu": gpu, "math": math, "np": np, **names}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def kernel(source: str, name: str = "kernel", names: dict | None = None, **options: Any) -> Any:
    """The kernel that the text defines, jitted with the options."""
    return gpu.jit(**options)(function(source, name, **(names or {})))


def launch(kernel: Any, n: int, *args: Any) -> None:
    """At least n threads in blocks of 64, and the end of them."""
    kernel[max(1, (n + 63) // 64), 64](*args)
    gpu.synchronize()


def single(kernel: Any, *args: Any) -> None:
    """One thread, and its end."""
    kernel[1, 1](*args)
    gpu.synchronize()


def same_float(a: float, b: float) -> bool:
    """Bit for bit, but for the payload and the sign of NaNs."""
    return a != a and b != b or struct.pack("d", a) == struct.pack("d", b)


def close_float(a: float, b: float, kind: str, ulps: float) -> bool:
    """Within so many units in the last place of the type."""
    if same_float(a, b) or a == b:
        return True
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    if kind == "float32":
        return abs(a - b) <= ulps * max(float(np.spacing(np.float32(abs(b)))), 2.0**-149)
    return abs(a - b) <= ulps * math.ulp(b)


def same(got: Any, expected: Num) -> bool:
    """An element that was stored in int64, uint64 or float64, against the oracle."""
    if isinstance(expected.value, float):
        return same_float(float(got), expected.value)
    return int(got) == int(expected.value)
