"""Warnings: category, file and line, once per place, and filters that make errors of them.

A test names the code of support/warnings.def that it is about: DOUBLE, UINT32_GROWS, HALF_SUM,
HALF_RANGE, HOST_COPY, SMALL_GRID.
"""

import linecache
import math
import re
import subprocess
import sys
import warnings
from itertools import count
from pathlib import Path

import gpu
import numpy as np
import pytest

TABLE = (Path(__file__).parents[2] / "support" / "warnings.def").read_text()
FORMATS = dict(re.findall(r'^SP_WARNING\((\w+), \w+, "(.*)"\)$', TABLE, re.MULTILINE))
CLASSES = dict(re.findall(r'^SP_WARNING\((\w+), (\w+), "', TABLE, re.MULTILINE))
_numbers = count()


def code_of(text):
    for code, form in FORMATS.items():
        pattern = re.sub(r"%(?:lld|d|s|\\\.1f)", ".*?", re.escape(form))
        if re.fullmatch(pattern, text):
            return code
    raise AssertionError(text)


def found(source, signature, **options):
    """Codes and lines of what compiling the text's last function warns of."""
    file = f"<warned {next(_numbers)}>"
    scope = {"gpu": gpu, "math": math, "np": np, "__name__": "warned"}
    exec(compile(source, file, "exec"), scope)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    functions = [value for value in scope.values() if isinstance(value, type(found))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gpu.jit(**options)(functions[-1]).ptx(signature, arch="sm_80")
    result = []
    for one in caught:
        code = code_of(str(one.message))
        assert one.filename == file
        assert one.category.__name__.upper() == f"{CLASSES[code]}WARNING"
        result.append((code, one.lineno))
    return sorted(result, key=lambda pair: pair[1])


def lines_of(source, signature, code, **options):
    """The lines that are warned of: those that end in `# here`."""
    expected = [i for i, line in enumerate(source.splitlines(), 1) if line.endswith("# here")]
    assert found(source, signature, **options) == [(code, line) for line in expected]


def test_categories():
    for name in ("PerformanceWarning", "NumericWarning"):
        category = getattr(gpu, name)
        assert issubclass(category, gpu.Warning) and category.__module__ == "gpu"
    assert issubclass(gpu.Warning, UserWarning)
    assert "Warning" not in gpu.__all__ and "NumericWarning" in gpu.__all__


DOUBLES = """
def half(v):
    return v / 2  # here
def kernel(n, a, x, y):
    i = gpu.grid(1)
    y[i] = i / n  # here
    y[i] = (i + .5) / n  # here
    y[i] = 0.299 * x[i]  # here
    y[i] = a * a  # here
    y[i] = math.sqrt(i) * 3  # here
    t = float(i) * 2  # here
    y[i] = t * t + t - -a
    y[i] = half(i)
    if i > 3:
        t = 2 * t
    y[i] = t * 3
    y[i] = abs(-a)  # here
"""
SINGLES = """
def kernel(n, a, x, y):
    i = gpu.grid(1)
    y[i] = a * y[i] + 0.5
    y[i] = y[i] / n * 2.0
    y[i] = gpu.float32(i) / n
    y[i] = math.sqrt(y[i]) + 1.0 / 3.0
    if a < 0.5 and y[i] > a:
        y[i] = a
    y[i] = i // n + int(a)
"""


def test_double_arithmetic():
    signature = "int, float, uint8[:], float32[:]"
    lines_of(DOUBLES, signature, "DOUBLE")
    assert found(SINGLES, signature) == []


def test_doubles_that_are_meant():
    for signature in ("int, float, uint8[:], float64[:]", "int, float64, uint8[:], float32[:]"):
        assert found(DOUBLES, signature) == []
    cast = DOUBLES + "    y[i] = gpu.float64(i)\n"
    assert found(cast, "int, float, uint8[:], float32[:]") == []
    assert found(DOUBLES, "int, float, uint8[:], float32[:]", float=gpu.float32) == []


HASHES = """
def mix(h, c):
    return h * c
def kernel(x, y, f):
    i = gpu.grid(1)
    h = x[i]
    h = h * 1664525 + 1013904223
    y[i] = h
    y[i] = h & 65535
    y[i] = (h & 0xFFFFFFFF) >> 16
    y[i] = h >> 16  # here
    f[i] = h  # here
    f[i] = h / 4294967296.0  # here
    s = x[i]
    for j in range(4):
        s ^= s << 13
        s ^= s >> 17  # here
    if mix(x[i], 0x9E3779B1) % 7:  # here
        y[i] = 3
    if x[i] * x[i + 1] < 5:  # here
        y[i] = ~x[i] >> 3  # here
    f[i] = gpu.float32(x[i] + 0x9E3779B9)  # here
"""
SUMS = """
def kernel(x, y, f):
    i = gpu.grid(1)
    s = gpu.uint32(x[i])
    s ^= s << 13
    y[i] = s >> 17
    y[i] = (x[i] + x[i + 1]) // 2
    y[i] = x[i] * 3 > y[i]
    y[i] = (x[i] - 1) % 10
    y[i] = x[i] >> 16
    f[i] = x[i] * 0.5
    total = 0
    for j in range(x.size):
        total += x[j]
    f[i] = total / x.size
    y[i] = (i * 1664525) >> 3
    y[i] = 1 << x[i]
    y[i] = (x[i] << 4 & 255) // 3
"""


def test_hashes_of_uint32():
    lines_of(HASHES, "uint32[:], uint32[:], float64[:]", "UINT32_GROWS")
    assert found(SUMS, "uint32[:], uint32[:], float64[:]") == []
    assert found(HASHES, "int32[:], int32[:], float64[:]") == []


def test_seeds_that_are_declared():
    source = "def kernel(seed, y):\n    y[0] = (seed * 1664525) >> 16\n"
    assert found(source, "uint32, uint32[:]") == [("UINT32_GROWS", 2)]
    assert found(source, "int, uint32[:]") == []


HALVES = """
def kernel(n, x, b, y):
    acc = x[0]
    other = b[0]
    single = gpu.float32(0)
    for i in range(n):
        acc += x[i]  # here
        if x[i] > 0:
            other = other - b[i]  # here
        single += x[i]
        y[i] = x[i] + x[i + 1]
    y[0] = acc + other + single
"""
RANGES = """
def kernel(n, x, b, y):
    y[0] = x[0] * 65519
    y[1] = x[1] * 65520  # here
    if x[2] < -70000:  # here
        y[2] = b[2] * 100000
    y[3] = gpu.float32(x[3]) * 100000
    y[4] = x[4] + n
"""


def test_halves():
    signature = "int, float16[:], bfloat16[:], float32[:]"
    lines_of(HALVES, signature, "HALF_SUM")
    assert found(HALVES, "int, float32[:], float32[:], float32[:]") == []
    lines_of(RANGES, signature, "HALF_RANGE")
    assert found(RANGES, "int, float32[:], float32[:], float32[:]") == []


def doubled(x):
    x[0] = x.size / 2


def test_once_per_place_with_the_kernels_line():
    x = np.zeros(2, "float32")
    for twice, expected in (("default", 1), ("always", 2)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(twice)
            for _ in range(2):
                kernel = gpu.jit(doubled)
                for _ in range(3):
                    kernel[1, 1](x)
        assert len(caught) == expected
        assert caught[0].filename == __file__
        assert caught[0].lineno == doubled.__code__.co_firstlineno + 1


def test_a_filter_that_raises():
    kernel = gpu.jit(doubled)
    x = np.zeros(2, "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error", gpu.PerformanceWarning)
        for _ in range(2):
            with pytest.raises(gpu.PerformanceWarning, match="'/' of int and int"):
                kernel[1, 1](x)
            with pytest.raises(gpu.PerformanceWarning):
                kernel.ptx()
        assert x[0] == 0
        warnings.simplefilter("ignore", gpu.PerformanceWarning)
        kernel[1, 1](x)
    assert x[0] == 1


def test_a_filter_that_raises_keeps_nothing():
    kernel, x = gpu.jit(doubled), np.zeros(2, "float32")
    before = sys.getrefcount(x), sys.getrefcount(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(50):
            with pytest.raises(gpu.PerformanceWarning):
                kernel[1, 1](x)
    assert (sys.getrefcount(x), sys.getrefcount(kernel)) == before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            kernel[1, 1](x)
            gpu.synchronize()
    assert (sys.getrefcount(x), sys.getrefcount(kernel)) == before
    assert x.tolist() == [1, 0]


def test_a_warning_that_launches():
    """What shows a warning is Python code, which may use the kernel that is warned of."""
    kernel = gpu.jit(doubled)
    x = np.zeros(2, "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *info: kernel[1, 1](x)
        kernel[1, 1](x)
    assert x[0] == 1


def test_switched_off_by_the_command_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import gpu\n@gpu.jit\ndef k(x):\n    x[0] = x.size / 2\nk[1, 1](gpu.zeros(2, 'float32'))\n"
    )
    for switch, wanted in (("default", True), ("ignore::UserWarning", False)):
        done = subprocess.run(
            [sys.executable, "-W", switch, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env={"GPUJIT_DEVICE": "cpu", "PYTHONPATH": str(Path(gpu.__file__).parents[1])},
        )
        shown = f"{script}:4: PerformanceWarning: '/' of int and int is computed in float64"
        assert (shown in done.stderr) == wanted, done.stderr
        assert ("  x[0] = x.size / 2\n" in done.stderr) == wanted


def fake_kernel():
    """The stand-in for the driver knows one kernel, by this name."""
    scope = {"gpu": gpu}
    exec("def entry(x, y):\n    y[0] = x[0]\n", scope)
    return gpu.jit(scope["entry"])


def launched(launch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch()
    return [(code_of(str(w.message)), w.lineno, str(w.message), w.filename) for w in caught]


def test_large_host_arrays_are_copied(fake):
    kernel, x, y = fake_kernel(), np.zeros(1 << 20), np.zeros(3 << 17)

    def launch():
        kernel[1 << 10, 32](x, y)  # the line
        kernel[1 << 10, 32](x, y)

    (one,) = launched(launch)
    assert one[0] == "HOST_COPY" and one[3] == __file__
    assert linecache.getline(__file__, one[1]).endswith("# the line\n")
    assert "'entry' like this copies 11.0 MiB" in one[2] and "and 3.0 MiB back" in one[2]
    small = fake_kernel()
    assert launched(lambda: small[1 << 10, 32](x[:1000], y[:1000])) == []
    a, b = gpu.to_device(x), gpu.to_device(y)
    assert launched(lambda: small[1 << 10, 32](a, b)) == []


def test_small_grids(fake):
    kernel, x = fake_kernel(), gpu.zeros(4)

    def launch():
        for n in (1, 1, 2):
            kernel[n, 64](x, x)

    (one,) = launched(launch)
    assert one[0] == "SMALL_GRID" and one[3] == __file__
    assert re.search(r"with 1 block of 64 threads, the GPU has (\d+) multiprocessors", one[2])
    kernel = fake_kernel()
    assert launched(lambda: kernel[1 << 10, 64](x, x)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(gpu.PerformanceWarning, match="have nothing to do"):
                kernel[1, 64](x, x)


def test_neither_on_the_cpu_device():
    kernel, x = fake_kernel(), np.zeros(1 << 20)
    assert launched(lambda: kernel[1, 1](x, x)) == []
