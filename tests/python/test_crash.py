"""A kernel that breaks the GPU: what is told, and that everything afterwards tells the same."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, gpu, numpy as np, os

@gpu.jit
def entry(n, a, x, y):
    i = gpu.grid(1)
    y[i] = a * x[i + n]

def break_it(result):
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_cuda.restype = ctypes.POINTER(ctypes.c_int)
    library.fake_cuda()[3] = result  # what waits answer

def told(call):
    try:
        call()
    except gpu.DeviceLostError as error:
        return error
    raise AssertionError("nothing was told")

gpu.select_device("cuda")
x = gpu.to_device(np.ones((3, 40), np.float32))[0]
y = gpu.zeros(40, np.float32)
"""


def run(program, **env):
    if "fake_cuda" not in os.environ.get("GPUJIT_CUDA_LIBRARY", ""):
        pytest.skip("needs the stand-in for the driver")
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM + program],
        capture_output=True, text=True, env={**os.environ, **env}, check=False, timeout=120,
    )  # fmt: skip


def test_one_launch_is_named():
    done = run("""
entry[1, 32](0, 1.0, x, y)
gpu.synchronize()
entry[(2, 1, 3), 40](1 << 40, 2.5, x, y)
break_it(700)
error = told(gpu.synchronize)
assert isinstance(error, RuntimeError) and error.code == "DEVICE_LOST"
assert error.lineno == 4 and error.filename == "<string>", (error.lineno, error.filename)
text = str(error)
break_it(0)
for call in (gpu.synchronize, lambda: gpu.zeros(3), lambda: x.copy_to_host(), gpu.stream,
             lambda: entry[1, 1](0, 1.0, x, y)):
    assert str(told(call)) == text
del x, y  # their memory is gone, and nothing more is said
print(text)
""")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "kernel 'entry' has broken the GPU: CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert (
        "entry: grid (2, 1, 3), block (40, 1, 1), n=1099511627776, a=2.5, x: shape (40,), "
        "y: shape (40,)" in done.stdout
    )
    assert "check=True" in done.stdout and "compute-sanitizer" in done.stdout


def test_several_launches():
    program = """
for n in range(3):
    entry[1, 32](n, 1.0, x, y)
break_it(719)
print(told(gpu.synchronize))
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert "one of the last 3 launches has broken the GPU" in done.stdout
    assert [f"n={n}," in done.stdout for n in range(4)] == [True, True, True, False]
    assert "GPUJIT_LAUNCH_BLOCKING=1" in done.stdout


@pytest.mark.parametrize("name", ["GPUJIT_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"])
def test_launches_that_are_waited_for(name):
    program = """
entry[1, 32](0, 1.0, x, y)
break_it(700)
print(told(lambda: entry[1, 32](1, 1.0, x, y)))
"""
    done = run(program, **{name: "1"})
    assert done.returncode == 0, done.stderr
    assert "kernel 'entry' has broken the GPU" in done.stdout and "n=1," in done.stdout


def test_exceptions_come_with_the_launch(device):
    program = f"""
import gpu
gpu.select_device("{device}")

@gpu.jit(check=True)
def divide(x):
    x[0] = 1 // x[1]

x = gpu.zeros(2, gpu.int64)
try:
    divide[1, 1](x)
except ZeroDivisionError:
    print("at the launch")
"""
    env = {**os.environ, "GPUJIT_LAUNCH_BLOCKING": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env,
                          check=False, timeout=120)  # fmt: skip
    assert "at the launch" in done.stdout, done.stderr
