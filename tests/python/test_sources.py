"""Kernels whose source is nowhere: bytecode is enough."""

import linecache
import subprocess
import sys
import types

import gpu
import pytest

SAXPY = """
import gpu

@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]

x, y = gpu.ones(4, gpu.float32), gpu.ones(4, gpu.float32)
saxpy[1, 4](4, 2.0, x, y)
assert y.copy_to_host().tolist() == [3.0] * 4
"""


def value(kernel):
    x = gpu.zeros(1)
    kernel[1, 1](x)
    return x.copy_to_host()[0]


@pytest.mark.parametrize("args", [["-c", SAXPY], ["-"]])
def test_without_a_file(args):
    done = subprocess.run([sys.executable, *args], input=SAXPY, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_exec(device):
    scope = {}
    exec(SAXPY, scope)
    assert scope["saxpy"].py_func.__code__.co_filename == "<string>"


def test_lambda(device):
    double = lambda v: 2 * v  # noqa: E731

    @gpu.jit
    def kernel(x):
        x[0] = double(2.0)

    assert value(kernel) == 4.0
    total = gpu.zeros(1)

    def add(x, v):
        gpu.atomic.add(x, 0, v)

    gpu.jit(lambda x: add(x, 1.0))[2, 3](total)
    gpu.jit(lambda x: gpu.atomic.add(x, 0, 2.0))[1, 2](total)
    assert total.copy_to_host()[0] == 10.0


def test_a_deleted_file(device, tmp_path):
    path = tmp_path / "gone.py"
    path.write_text("def kernel(x):\n    x[0] = 5.0\n\n\ndef wrong(x):\n    x[0, 1] = 5.0\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.unlink()
    linecache.clearcache()
    assert value(gpu.jit(scope["kernel"])) == 5.0
    with pytest.raises(gpu.TypingError) as caught:
        value(gpu.jit(scope["wrong"]))
    assert caught.value.lineno == 6
    assert f'File "{path}", line 6, in wrong' in str(caught.value)


def test_lines_of_interactive_input():
    source = "def wrong(x):\n    x[0, 1] = 5.0\n"
    name = "<ipython-input-1>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {}
    exec(compile(source, name, "exec"), scope)
    with pytest.raises(gpu.TypingError) as caught:
        value(gpu.jit(scope["wrong"]))
    assert "    x[0, 1] = 5.0\n" in str(caught.value)


def test_code_without_positions(device):
    def function(x):
        x[0] = 3.0

    code = function.__code__.replace(co_linetable=b"", co_filename="<none>")
    assert value(gpu.jit(types.FunctionType(code, globals()))) == 3.0
