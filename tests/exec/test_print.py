"""print in kernels: what plain Python prints for the same values, typed numbers being NumPy's scalars.

Each body is a device function that prints values of each kind; plain Python calls the very function
with NumPy's scalars. Threads print in any order, each its own lines in order.
"""

import contextlib
import gc
import io
import os
import subprocess
import sys
import threading
from typing import Any, NamedTuple

import gpu
import kit
import numpy as np
import pytest

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SPECIAL = [0.0, -0.0, 0.1, 1 / 3, 1.0, 100.0, 1e16, 1e22, 1e-5, 123456789.0, -2.6875,
           float("inf"), -float("inf"), float("nan"), 5e-324, 1.7976931348623157e308]  # fmt: skip

COMPILED = gpu.device().kind != "python"


class Point(NamedTuple):
    x: int
    y: float


class Shown(NamedTuple):
    x: int

    def __repr__(self) -> str:
        return f"<{self.x}>"


def printed(run: Any, *args: Any) -> str:
    """What is printed while it runs, and until everything is done."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run(*args)
        gpu.synchronize()
    return out.getvalue()


def shown(source: str, *args: Any, grid: int = 1, block: int = 1, names: Any = None) -> str:
    main = kit.kernel(source, "main", names)
    return printed(lambda: main[grid, block](*args))


def plain(function: Any, *args: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args)
    return out.getvalue()


BODIES = [
    "print()",
    "print(i)",
    "print('text')",
    "print('i is', i, 'and f', f, sep=' ')",
    "print(i, f, b, None, True, 3, 2.5, 'x')",
    "print(i8, u64, f16, f32, f64)",
    "print((i8, f32, (f16, 'deep', None)), b)",
    "print((), (1,), ((i,),))",
    "print((-i, f * 1e300, -0.0))",
    "print(f'{i} {f} {b} {i8} {f32} {f16}')",
    "print(f'{{{i:>8}}} {f:.3f} {f:e} {b!r:>6} {i:#x} {i!s} {i!a} {f32!r} {i8!r}')",
    "print(f'{i:08b}|{i:,}|{f:+.2g}|{f32:10.4f}|{u64:x}|{\"s\":^5}|')",
    "print(f'{i=} {f32=} {f32=:.2f}')",
    "print('%d of %.2f is %s, %r' % (i, f, b, f32))",
    "print(i, f, sep=', ', end=';\\n')",
    "print(i, f, b, sep='')",
    "print(i, sep=None, end=None)",
    "print(i, end='')\n    print(f, end='|')\n    print()",
    "print(i, f, b, sep=f'<{i8}>', end=f'[{f32:.1f}]\\n')",
    "print('gr\u00fc\u00df\u4e2d {} % \\\\ \\t \\x00 end')",
    "print('one\\ntwo', i, end='\\n\\n')",
    "print(i, flush=True)\n    print(f, flush=False)",
    "print(*(i, f, b), *('x', 1), sep='-')",
    "print(i) or print(f)",
    "print(i < 3, f32 > 1, not b, i8 == i)",
    "text = f'<{i}>'\n    print(f'[{text}]', text)",
    "print(ValueError('bad', i))",
    "for k in range(3):\n        print(k, k * f, end=' ')\n    print()",
    "k = 0\n    while k < 40:\n        k += 13\n        if k % 2:\n            print(k)",
    "for v in (i, f32, 'text', None):\n        print(v)",
    "print(Point(i, f), Point(y=f32, x=i8), (Point(1, 2.0), 'z'), Shown(i))",
    "p = Point(i, f)\n    print(p, p.x, p[1], f'{p}')",
    "print(print(i))",
    "show = print\n    show(i, 'by another name')",
    "print((i, f, b, i8) * 16)",
    "print(str(i) + '!', str(f32), repr(f32), str(u64), ascii('\u00fc'), repr('x'))",
    "print(format(f, '.3f'), format(i, '>6') + '|', format(b, ''))",
    "text = 'i' + '=' + str(i)\n    text += f', {f}'\n    print(text, text + '.')",
    "print(isinstance(f'{i}', str), isinstance(i, str), isinstance('x', (int, str)))",
]


@pytest.mark.parametrize("body", BODIES)
def test_same_as_python(body: str) -> None:
    source = f"def show(i, f, b, i8, u64, f16, f32, f64):\n    {body}\n"
    show = kit.function(source, "show", Point=Point, Shown=Shown)
    values = (5, -2.6875, True, np.int8(-7), np.uint64(2**64 - 1), np.float16(0.1),
              np.float32(0.1), np.float64(0.1))  # fmt: skip
    main = (
        "def main(i, f, b, x8, x64, x16, x32, xd):\n"
        "    show(i, f, b, gpu.int8(x8[0]), x64[0], x16[0], x32[0], xd[0])\n"
    )
    arrays = [np.array([x]) for x in values[3:]]
    assert shown(main, *values[:3], *arrays, names={"show": show}) == plain(show, *values)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind: str) -> None:
    limits = np.iinfo(kind)
    x = np.array([limits.min, limits.min + 1, 0, 1, 99, limits.max - 1, limits.max], kind)
    source = (
        "def main(x, y):\n    for i in range(len(x)):\n"
        f"        print(x[i], gpu.{kind}(x[i]), (gpu.{kind}(x[i]),), f'{{gpu.{kind}(x[i]):>25}}')\n"
        f"        y[i] = gpu.{kind}(x[i])\n"
    )
    y = np.zeros_like(x)
    expected = "".join(f"{v} {v} ({v!r},) {v:>25}\n" for v in x)
    assert shown(source, x, y) == expected
    assert (x == y).all()


@pytest.mark.parametrize("kind", FLOATS)
def test_floats(kind: str) -> None:
    with np.errstate(over="ignore"):
        special = np.array(SPECIAL).astype(kind)
    info = np.finfo(kind)
    numbers = np.array([info.max, info.min, info.tiny, info.smallest_subnormal, info.eps], kind)
    rng = np.random.default_rng(7)
    x = np.concatenate([special, numbers, rng.normal(size=40).astype(kind)])
    source = (
        "def main(x):\n    for i in range(len(x)):\n"
        "        print(x[i], (x[i],), f'{x[i]}', f'{x[i]!r}', f'{x[i]:.4f}', '%g' % x[i])\n"
    )
    expected = "".join(f"{v!s} ({v!r},) {v} {v!r} {v:.4f} {v:g}\n" for v in x)
    assert shown(source, x) == expected


def test_weak_floats_are_pythons() -> None:
    x = np.array(SPECIAL)
    source = (
        "def main(x):\n    for i in range(len(x)):\n        print(float(x[i]), (float(x[i]), 1))\n"
    )
    assert shown(source, x) == "".join(f"{float(v)} ({float(v)}, 1)\n" for v in x)


def test_bfloat16() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.array([0.1, 1.5, -3e38, 0.0], "float32")
    source = (
        "def main(x):\n    for i in range(len(x)):\n"
        "        h = gpu.bfloat16(x[i])\n        print(h, (h,))\n"
    )
    expected = "".join(f"{bfloat16(v)!s} ({bfloat16(v)!r},)\n" for v in x)
    assert shown(source, x) == expected


def test_indices() -> None:
    source = "def main():\n    print(gpu.threadIdx, gpu.blockIdx, gpu.blockDim, gpu.gridDim, gpu.grid(1))\n"
    lines = sorted(shown(source, grid=2, block=2).splitlines())
    assert lines == [
        f"({t}, 0, 0) ({b}, 0, 0) (2, 1, 1) (2, 1, 1) {2 * b + t}" for t in (0, 1) for b in (0, 1)
    ]


def test_lines_of_many_threads() -> None:
    source = (
        "def line(i, k, v):\n    print(i, k, v, sep=':')\n\n"
        "def main(n, x):\n    i = gpu.grid(1)\n    if i < n:\n"
        "        for k in range(i % 4):\n            line(i, k, x[i])\n"
    )
    n = 1000
    x = np.arange(n, dtype="float32") / np.float32(3)
    lines = shown(source, n, x, grid=8, block=128).splitlines()
    expected = [f"{i}:{k}:{x[i]!s}" for i in range(n) for k in range(i % 4)]
    assert sorted(lines) == sorted(expected)
    at = {line: place for place, line in enumerate(lines)}
    for i in range(n):  # each thread in the order of its program
        places = [at[f"{i}:{k}:{x[i]!s}"] for k in range(i % 4)]
        assert places == sorted(places)


def test_a_kernel_that_does_not_print_beside_one_that_does() -> None:
    quiet = kit.kernel("def main(x):\n    x[gpu.grid(1)] += 1\n", "main")
    loud = kit.kernel("def main(x):\n    print(x[0])\n    x[0] += 1\n", "main")
    x = gpu.to_device(np.zeros(1, "int32"))

    def run() -> None:
        for _ in range(3):
            quiet[1, 1](x)
            loud[1, 1](x)

    assert printed(run) == "1\n3\n5\n"


def test_kernels_print_in_the_order_of_their_launches() -> None:
    kernels = [
        kit.kernel(f"def main(i):\n    print('kernel {k}', i, i * {k})\n", "main") for k in range(5)
    ]

    def run() -> None:
        for i in range(200):
            kernels[i % 5][1, 1](i)

    assert printed(run) == "".join(f"kernel {i % 5} {i} {i * (i % 5)}\n" for i in range(200))


def test_streams() -> None:
    main = kit.kernel("def main(i):\n    print('stream', i)\n", "main")
    one, two = gpu.stream(), gpu.stream()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main[1, 1, one](1)
        one.synchronize()
        assert "stream 1\n" in out.getvalue()
        main[1, 1, two](2)
        main[1, 1, one](3)
        two.synchronize()
        assert "stream 2\n" in out.getvalue()
        gpu.synchronize()
    assert sorted(out.getvalue().splitlines()) == ["stream 1", "stream 2", "stream 3"]


def test_a_copy_prints() -> None:
    main = kit.kernel("def main(x):\n    print('before the copy')\n    x[0] = 1\n", "main")
    x = gpu.to_device(np.zeros(1))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main[1, 1](x)
        assert x.copy_to_host()[0] == 1
        assert out.getvalue() == "before the copy\n"


def test_a_launch_with_host_arrays_prints() -> None:
    main = kit.kernel("def main(x):\n    print('on the host', x[0])\n", "main")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main[1, 1](np.ones(1))
        assert out.getvalue() == "on the host 1.0\n"


def test_capsys(capsys: pytest.CaptureFixture) -> None:
    kit.kernel("def main(i):\n    print(f'{i:>5}|')\n", "main")[1, 1](42)
    gpu.synchronize()
    assert capsys.readouterr().out == "   42|\n"


def test_kernel_and_its_function_are_gone() -> None:
    def launch() -> None:
        class Local(NamedTuple):
            a: int

        main = kit.kernel(
            "def main(i):\n    print('kept', i, Local(i)[0])\n", "main", {"Local": Local}
        )
        main[1, 1](7)
        del main

    def run() -> None:
        launch()
        gc.collect()

    assert printed(run) == "kept 7 7\n"


def test_what_came_before_an_exception_comes_out_before_it() -> None:
    main = kit.kernel(
        "def main(x):\n    print('first', x[0])\n    x[0] = 2\n    if x[0] == 2:\n"
        "        raise ValueError(x[0])\n    print('never')\n",
        "main",
    )
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with pytest.raises(ValueError, match="2"):  # noqa: PT012
            main[1, 1](np.ones(1, "int32"))
            gpu.synchronize()
        assert out.getvalue() == "first 1\n"
    gpu.synchronize()


def test_stores_and_prints_keep_their_order() -> None:
    source = (
        "def main(x):\n    print(x[0])\n    x[0] = 5\n    print(x[0])\n    x[0] += 1\n"
        "    print(x[0], x[0] + 1)\n"
    )
    assert shown(source, np.ones(1, "int64")) == "1\n5\n6 7\n"


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


def test_writing_fails() -> None:
    main = kit.kernel("def main(i):\n    print('to nobody', i)\n", "main")
    with contextlib.redirect_stdout(Closed()), pytest.raises(BrokenPipeError):  # noqa: PT012
        main[1, 1](1)
        gpu.synchronize()
    gpu.synchronize()
    assert printed(lambda: main[1, 1](2)) == "to nobody 2\n"


@pytest.mark.skipif(not COMPILED, reason="the python device's thread ends where it prints")
def test_both_writing_and_the_kernel_fail() -> None:
    main = kit.kernel("def main(i):\n    print('to nobody', i)\n    raise KeyError(i)\n", "main")
    with contextlib.redirect_stdout(Closed()), pytest.raises(BrokenPipeError):  # noqa: PT012
        main[1, 1](1)
        gpu.synchronize()
    with pytest.raises(KeyError):
        gpu.synchronize()


def test_no_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    main = kit.kernel("def main(i):\n    print('to nobody', i)\n", "main")
    monkeypatch.setattr(sys, "stdout", None)
    main[1, 1](1)
    gpu.synchronize()


def test_a_format_that_its_value_does_not_take() -> None:
    main = kit.kernel(
        "def main(x):\n    print('before')\n    print(f'{x[0]:d}')\n    print('after')\n", "main"
    )
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with pytest.raises(ValueError, match="Unknown format code 'd'") as caught:  # noqa: PT012
            main[1, 1](np.ones(1))
            gpu.synchronize()
        assert out.getvalue() == ("before\nafter\n" if COMPILED else "before\n")
    error = caught.value
    assert (error.lineno, error.kernel, error.function) == (3, "main", "main")
    assert error.code == ("NOT_PRINTED" if COMPILED else "RAISED")
    (note,) = error.__notes__
    assert "in kernel 'main'" in note and "print(f'{x[0]:d}')" in note


def test_a_stdout_that_waits_itself() -> None:
    main = kit.kernel("def main(i):\n    print('line', i)\n", "main")

    class Waiting(io.StringIO):
        def write(self, text: str) -> int:
            gpu.synchronize()
            return super().write(text)

    with contextlib.redirect_stdout(Waiting()) as out:
        main[1, 1](1)
        gpu.synchronize()
    assert out.getvalue() == "line 1\n"


def test_threads_of_the_host() -> None:
    main = kit.kernel("def main(t, n):\n    for k in range(n):\n        print(t, k)\n", "main")

    def work(t: int) -> None:
        for _ in range(5):
            main[1, 1](t, 10)
            gpu.synchronize()

    def run() -> None:
        threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    lines = printed(run).splitlines()
    assert len(lines) == 200
    for t in range(4):
        assert [x for x in lines if x.startswith(f"{t} ")] == [f"{t} {k}" for k in range(10)] * 5


LOST = """
import sys, warnings
import gpu
@gpu.jit
def main(n):
    i = gpu.grid(1)
    if i < n:
        print("line", i)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", gpu.PerformanceWarning)  # a small grid
    main[3907, 256](1000000)
    gpu.synchronize()
    main[1, 1](5)
    gpu.synchronize()
(warning,) = caught
print(warning.category.__name__, warning.message, file=sys.stderr)
"""


def run_python(source: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=True,
        env={**os.environ, **env},
    )  # fmt: skip


@pytest.mark.skipif(not COMPILED, reason="the python device prints at once")
@pytest.mark.parametrize("size", [65536, 4194304])
def test_a_million_lines_and_the_buffer_is_full(size: int, tmp_path: Any) -> None:
    """Warns of LINES_LOST, once."""
    script = tmp_path / "many.py"
    script.write_text(LOST)
    done = subprocess.run(
        [sys.executable, "-Wignore", str(script)], capture_output=True, text=True, timeout=300, check=True,
        env={**os.environ, "GPUJIT_PRINT_BYTES": str(size)},
    )  # fmt: skip
    *lines, last = done.stdout.splitlines()
    assert last == "line 0"
    numbers = [int(line.removeprefix("line ")) for line in lines]
    assert len(set(numbers)) == len(numbers) and set(numbers) <= set(range(1000000))
    category, lost, rest = done.stderr.split(" ", 2)
    assert category == "OutputWarning"
    assert len(numbers) == size // 16 or gpu.device().kind == "cpu"  # each record has two words
    assert len(numbers) + int(lost) == 1000000
    assert f"buffer of {size} bytes" in rest and "GPUJIT_PRINT_BYTES" in rest


@pytest.mark.skipif(not COMPILED, reason="the python device prints at once")
def test_a_large_buffer_takes_a_million_lines(tmp_path: Any) -> None:
    script = tmp_path / "many.py"
    script.write_text(LOST.replace("(warning,) = caught", "warning = caught[0] if caught else None")
                          .replace("print(warning.category", "warning and print(warning.category"))  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-Wignore", str(script)], capture_output=True, text=True, timeout=300, check=True,
        env={**os.environ, "GPUJIT_PRINT_BYTES": "32000000"},
    )  # fmt: skip
    numbers = sorted(int(line.removeprefix("line ")) for line in done.stdout.splitlines())
    assert numbers == [0, *range(1000000)] and not done.stderr


ENDING = """
import gpu
@gpu.jit
def main(i):
    print("at the end", i)
main[1, 1](3)
"""


def test_end_of_the_program(tmp_path: Any) -> None:
    script = tmp_path / "ending.py"
    script.write_text(ENDING)
    done = subprocess.run([sys.executable, "-Wignore", str(script)], capture_output=True, text=True,
                          timeout=120, check=True)  # fmt: skip
    assert done.stdout == "at the end 3\n" and not done.stderr


FORKED = """
import os, sys
import gpu
@gpu.jit
def main(i):
    print("of", i)
main[1, 1](0)
gpu.synchronize()
main[1, 1](1)
sys.stdout.flush()
child = os.fork()
if not child:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
gpu.synchronize()
"""


def test_a_child_does_not_print_what_is_its_parents(tmp_path: Any) -> None:
    if kit.is_under_sanitizer():
        pytest.skip("compute-sanitizer does not follow a fork, the child never ends")
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    done = subprocess.run([sys.executable, "-Wignore", str(script)], capture_output=True, text=True,
                          timeout=120, check=True)  # fmt: skip
    assert done.stdout == "of 0\nof 1\n"


@pytest.mark.skipif(gpu.device().kind != "cpu", reason="a GPU has a copy of the host's array")
def test_what_a_running_kernel_prints_comes_out_before_it_ends() -> None:
    stop = np.zeros(1, "int32")

    class Stopping(io.StringIO):
        def write(self, text: str) -> int:
            stop[0] = 1
            return super().write(text)

    main = kit.kernel(
        "def main(stop):\n    print('begins')\n    while stop[0] == 0:\n        pass\n"
        "    print('ends')\n",
        "main",
    )
    with contextlib.redirect_stdout(Stopping()) as out:
        main[1, 1](stop)
        gpu.synchronize()
    assert out.getvalue() == "begins\nends\n"


def test_threads_that_wait_for_each_other() -> None:
    source = (
        "def main(x):\n    t = gpu.threadIdx.x\n    print('before', t)\n    x[t] = t + 1\n"
        "    gpu.syncthreads()\n    print('after', x[(t + 1) % 64])\n    gpu.syncthreads()\n"
        "    if t == 0:\n        print('last')\n"
    )
    lines = shown(source, np.zeros(64, "int32"), block=64).splitlines()
    assert sorted(lines[:64]) == sorted(f"before {t}" for t in range(64))
    assert sorted(lines[64:128]) == sorted(f"after {t + 1}" for t in range(64))
    assert lines[128:] == ["last"]


INTERRUPTED = """
import os, signal, threading
import gpu, numpy as np
@gpu.jit
def main(stop):
    print("begins")
    while stop[0] == 0:
        pass
main[1, 1](np.ones(1, "int32"))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    main[1, 1](np.zeros(1, "int32"))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(gpu.device().kind != "cpu", reason="only the CPU device stops kernels")
def test_ctrl_c(tmp_path: Any) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                          timeout=120, check=True)  # fmt: skip
    assert done.stdout == "begins\nbegins\ninterrupted\n"


NOT_WRITTEN = """
import os, signal, sys, threading
import gpu, numpy as np
class Full:
    def write(self, text):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        raise OSError("no space")
    def flush(self):
        pass
@gpu.jit
def main(stop):
    print("begins")
    while stop[0] == 0:
        pass
signal.signal(signal.SIGINT, signal.default_int_handler)
kept, sys.stdout = sys.stdout, Full()
try:
    main[1, 1](np.zeros(1, "int32"))
except BaseException as error:
    sys.stdout = kept
    print(type(error).__name__)
"""

AT_THE_END = """
import os, signal, threading
import gpu
@gpu.jit
def main(stop):
    print("begins")
    while stop[0] == 0:
        pass
signal.signal(signal.SIGINT, signal.default_int_handler)
main[1, 1](gpu.zeros(1, "int32"))
timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.daemon = True
timer.start()
"""


@pytest.mark.skipif(gpu.device().kind != "cpu", reason="only the CPU device stops kernels")
@pytest.mark.parametrize(
    ("source", "written"), [(NOT_WRITTEN, "KeyboardInterrupt\n"), (AT_THE_END, "begins\n")]
)
def test_ctrl_c_once_writing_has_failed_and_at_the_end(
    source: str, written: str, tmp_path: Any
) -> None:
    script = tmp_path / "stopped.py"
    script.write_text(source)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout == written
