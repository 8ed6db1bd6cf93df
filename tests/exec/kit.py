"""What the tests share: kernels from text, launches, and comparison with the oracle."""

import linecache
import math
import os
import struct
from itertools import count
from pathlib import Path
from typing import Any

import gpu
import numpy as np
import pytest
from oracle import Num

_numbers = count()

# The dtype whose elements are read to make a value of a kind, and how the kernel makes it of one.
SOURCE_DTYPE = {"int": "int64", "float": "float64", "bfloat16": "float32"}
READ = {"int": "{}", "bool": "{}", "uint64": "{}", "float16": "{}", "float32": "{}", "float64": "{}",
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


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers, so that sums of floats are exact."""
    return np.random.default_rng(seed).integers(-50, 50, shape)


def is_under_sanitizer() -> bool:
    """Whether compute-sanitizer has put its library into this process."""
    maps = Path("/proc/self/maps")
    return maps.exists() and "anitizer-collection" in maps.read_text()


def launch(kernel: Any, n: int, *args: Any, **options: Any) -> None:
    """At least n threads in blocks of 64, and the end of them; `run` has the options."""
    run(kernel, max(1, (n + 63) // 64), 64, args, **options)


def single(kernel: Any, *args: Any, **options: Any) -> None:
    """One thread, and its end."""
    run(kernel, 1, 1, args, **options)


def run(
    kernel: Any,
    grid: int | tuple,
    block: int | tuple,
    args: tuple,
    *,
    shared: int = 0,
    ulps: float = 0,
    of: str = "",
    reference: bool = True,
) -> None:
    """A launch. The python device must leave the same arrays, if they can be copied for it.

    shared     bytes of shared memory that the launch adds
    ulps       what floats may differ by, in units of the last place; 0: bit for bit
    of         the type whose last places count, where an array's own is wider
    reference  False where the python device differs by its limits (the test says which)

    On a GPU the test's own values count: powers differ within their last places, atomics by order.
    """
    compared = (
        reference
        and comparing
        and gpu.device().kind == "cpu"
        and math.prod(np.hstack([grid, block]).tolist()) <= REFERENCE_THREADS
        and is_comparable(args)
    )
    before = copied(args) if compared else ()
    kernel[grid, block, 0, shared](*args)
    gpu.synchronize()
    if compared:
        _run_python(kernel, grid, block, before, shared, {})
        compare(arrays_of(args), arrays_of(before), ulps, of)


# For sizes that say nothing new of the reference.
large = pytest.mark.skipif(
    os.environ.get("GPUJIT_DEVICE") == "python", reason="takes long on the python device"
)
# Grids and blocks of programs whose threads wait for each other.
GRIDS = [(1, 32), (4, 33), pytest.param(24, 128, marks=large)]
comparing = True  # False in a test that the python device's limits fail
REFERENCE_THREADS = 1024  # more would take long


def is_comparable(args: tuple) -> bool:
    """Whether copies do as well: host arrays that do not overlap, no arrays of devices."""
    arrays = arrays_of(args)
    if any(np.may_share_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
        return False
    host = (np.ndarray, np.generic, int, float, tuple, str, type(None))
    return all(isinstance(x, host) or callable(x) for x in args)


def same_float(a: float, b: float) -> bool:
    """Bit for bit, but for the payload and the sign of NaNs."""
    return a != a and b != b or struct.pack("d", a) == struct.pack("d", b)


def close_float(a: float, b: float, kind: str, ulps: float) -> bool:
    """Within so many units in the last place of the type."""
    if same_float(a, b) or a == b:
        return True
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    if kind in ("float16", "float32"):
        return abs(a - b) <= ulps * float(np.spacing(np.dtype(kind).type(abs(b))))
    return abs(a - b) <= ulps * math.ulp(b)


def same(got: Any, expected: Num) -> bool:
    """An element that was stored in int64, uint64 or float64, against the oracle."""
    if isinstance(expected.value, float):
        return same_float(float(got), expected.value)
    return int(got) == int(expected.value)


# --- Agreement with the python device -------------------------------------------------------------


def copied(args: tuple) -> tuple:
    """The arguments with their arrays copied, in tuples too."""
    return tuple(map(_copied, args))


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _like(value)
    if isinstance(value, tuple):
        parts = map(_copied, value)
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def _like(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, if the array's elements do not overlap."""
    if array.size == 0 or array.flags.c_contiguous:
        return array.copy()
    low = sum(min(0, s * (n - 1)) for s, n in zip(array.strides, array.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(array.strides, array.shape))
    memory = np.zeros(high - low + array.itemsize, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory, -low, array.strides)
    copy[...] = array
    return copy


def arrays_of(args: tuple) -> list[np.ndarray]:
    """The arrays among arguments and in their tuples."""
    found = []
    for value in args:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, tuple):
            found += arrays_of(value)
    return found


def _kernel_of(kernel: Any, name: str, names: dict | None, options: dict) -> Any:
    if isinstance(kernel, str):
        kernel = function(kernel, name, **(names or {}))
    return kernel if isinstance(kernel, gpu.Kernel) else gpu.jit(**options)(kernel)


def _run_python(
    kernel: Any, grid: Any, block: Any, args: tuple, shared: int, options: dict
) -> None:
    from gpu import _python

    of = {**kernel.options, **options}
    single = bool(of.get("single"))
    check, fma = bool(of.get("check") or of.get("debug")), bool(of.get("fma", True))
    _python.run(
        kernel.py_func, grid, block, args, check=check, fma=fma, single=single, shared=shared
    )


def differences(
    got: np.ndarray, expected: np.ndarray, ulps: float, of: str = ""
) -> list[tuple[int, ...]]:
    """Indices of elements that are not equal bit for bit; NaNs are, whatever their bits."""
    if got.dtype.name == "bool" or got.dtype.names is not None:
        return [tuple(map(int, i)) for i in np.argwhere(got != expected)]
    if got.dtype.kind in "iu":
        return [tuple(map(int, i)) for i in np.argwhere(got != expected)]
    a, b = got.astype(np.float64), expected.astype(np.float64)
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    if ulps:
        kind = np.float32 if got.dtype.name == "bfloat16" else np.dtype(of or got.dtype)
        with np.errstate(all="ignore"):
            unit = np.abs(np.spacing(expected.astype(kind))).astype(np.float64)
            unit *= 2.0**16 if got.dtype.name == "bfloat16" else 1
            same |= (np.abs(a - b) <= ulps * unit) | (a == b)
    return [tuple(map(int, i)) for i in np.argwhere(~same)]


def agree(
    kernel: Any,
    args: tuple,
    *,
    grid: Any = 1,
    block: Any = 1,
    shared: int = 0,
    name: str = "kernel",
    names: dict | None = None,
    ulps: float = 0,
    **options: Any,
) -> list[np.ndarray]:
    """Runs a kernel on the suite's device and on the python device, and compares all arrays.

    kernel   its text (which defines `name` with the globals `names`), a function, or a kernel
    args     of the launch; arrays are NumPy's, also in tuples, and stay as they are
    ulps     what floats may differ by, in units of the last place; 0: bit for bit (NaN equals NaN)
    shared   bytes of shared memory that the launch adds
    options  of gpu.jit: check, fma, ...

    Returns the arrays, in the order of the arguments, as the device left them.
    """
    kernel = _kernel_of(kernel, name, names, options)
    on_device, on_python = copied(tuple(args)), copied(tuple(args))
    kernel[grid, block, 0, shared](*on_device)
    gpu.synchronize()
    if gpu.device().kind == "python":  # the reference itself
        return arrays_of(on_device)
    _run_python(kernel, grid, block, on_python, shared, options)
    results = arrays_of(on_device)
    compare(results, arrays_of(on_python), ulps)
    return results


def compare(
    results: list[np.ndarray], expectations: list[np.ndarray], ulps: float, of: str = ""
) -> None:
    for k, (got, expected) in enumerate(zip(results, expectations)):
        places = differences(got, expected, ulps, of)
        if places:
            at = places[0]
            raise AssertionError(
                f"array {k} at {at}: {got[at]!r}, the python device has {expected[at]!r} "
                f"({len(places)} of {got.size} elements differ)"
            )


def builtin_class(error: BaseException) -> type:
    """The class of Python's own that an exception of the package also is."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def agree_raises(
    kernel: Any,
    args: tuple,
    exception: type = Exception,
    *,
    match: str = "",
    grid: Any = 1,
    block: Any = 1,
    shared: int = 0,
    name: str = "kernel",
    names: dict | None = None,
    same_text: bool = True,
    **options: Any,
) -> Any:
    """Both devices raise `exception`, of the same builtin class and with the same first line.

    `match` must be in both texts; with same_text=False the rest may differ. Returns the device's
    exception.
    """
    kernel = _kernel_of(kernel, name, names, options)
    errors = []
    for run in ("device", "python"):
        try:
            if run == "device":
                kernel[grid, block, 0, shared](*copied(tuple(args)))
                gpu.synchronize()
            else:
                _run_python(kernel, grid, block, copied(tuple(args)), shared, options)
        except exception as error:
            errors.append(error)
        else:
            raise AssertionError(f"no {exception.__name__} on the {run} side")
    classes = [builtin_class(e).__name__ for e in errors]
    assert classes[0] == classes[1], f"{classes}: {errors[0]} / {errors[1]}"
    texts = [str(e).partition("\n")[0] for e in errors]
    assert all(match in t for t in texts), texts
    assert texts[0] == texts[1] or not same_text, texts
    return errors[0]
