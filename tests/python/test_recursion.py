"""Recursion on the CPU device: deep enough, too deep, endless."""

import os
import signal
import subprocess
import sys

import gpu
import numpy as np
import pytest


def down(n, x):
    if n == 0:
        return 0.0
    return down(n - 1, x) * 0.5 + x[n % 2]


def ping(n, x):
    return pong(n - 1, x) + x[0] if n > 0 else 1.0


def pong(n, x):
    return ping(n - 1, x) * 0.5 if n > 0 else 2.0


@gpu.jit
def one(out, n):
    out[0] = down(n, out)


@gpu.jit
def two(out, n):
    out[0] = ping(n, out)


@gpu.jit
def itself(out, n):
    if n > 0:
        itself(out, n - 1)
        out[1] += 1


@pytest.mark.parametrize("kernel", [one, two, itself])
def test_too_deep(kernel):
    out = np.zeros(2)
    kernel[1, 1](out, 1000)
    with pytest.raises(gpu.KernelRecursionError, match="stack is used up") as caught:
        kernel[2, 32](out, 10**8)
    assert isinstance(caught.value, RecursionError)
    assert caught.value.filename == __file__ and caught.value.lineno
    assert "raised by thread" in str(caught.value)
    kernel[1, 1](out, 1000)  # the device is as good as before


def test_only_recursive_functions_look():
    signature = "float64[:], int"
    assert one.ir("core", signature, "host").count("= deep") == 1
    assert two.ir("core", signature, "host").count("= deep") == 2
    assert itself.ir("core", signature, "host").count("= deep") == 1
    assert "deep" not in one.ir("core", signature, "sm_75")

    def leaf(x):
        return x + 1

    def caller(x, n):
        return leaf(leaf(x)) + down(n, x_of(x))

    def x_of(x):
        return (x, x)

    @gpu.jit
    def root(out, n):
        out[0] = caller(n, 3)

    assert root.ir("core", signature, "host").count("= deep") == 1


ENDLESS = """
import gpu, signal, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
def fibonacci(n, x):
    return n if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x) + x[0]
@gpu.jit
def kernel(out, n):
    out[0] = fibonacci(n, out)
print("ready", flush=True)
kernel[1, 1](np.zeros(1), 90)
"""


def test_interrupt():
    child = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GPUJIT_DEVICE": "cpu"},
    )
    assert child.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
