"""Kernels on the suite's device and on the python device: equal, or the same exception."""

import operator

import gpu
import kit
import numpy as np
import pytest
from gpu import _python


def test_a_kernel_agrees():
    source = """
def scale(x, k=2):
    return x * k + 1

def kernel(n, a, x, y, o):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]
        s = 0.0
        for j in range(3):
            s += x[i] * j
        o[i, 0] = s
        o[i, 1] = scale(i) + N
        o[i, -1] = not i
        o[i, 2] = x[i] ** 2 + 300 // 7 + gpu.uint8(300)
"""
    x = np.arange(10, dtype=np.float32) / 3
    y, o = np.ones(10, np.float32), np.zeros((10, 5), np.float32)
    out = kit.agree(source, (10, 2.1, x, y, o), grid=2, block=8, names={"N": 3})
    assert out[2][3].tolist() == [3, 10, 87, 0, 0]
    assert y[1] != out[1][1], "the arguments stay as they are"


def test_a_difference_is_told():
    """The two sides see different globals: the kernel's text is read once, at the first launch."""
    kernel = kit.kernel("def kernel(o):\n    o[0] = gpu.threadIdx.x + K\n", names={"K": 1})
    kernel[1, 1](np.zeros(1))
    args = (np.zeros(1), np.zeros(3))
    assert kit.differences(*args[:1], np.ones(1), 0) == [(0,)]
    assert kit.differences(np.float32([1, np.nan]), np.float32([1, -np.nan]), 0) == []
    assert kit.differences(np.float32([0.0]), np.float32([-0.0]), 0) == [(0,)]
    assert kit.differences(np.float32([1 + 2**-23]), np.float32([1]), 1) == []
    assert kit.differences(np.float32([1 + 2**-22]), np.float32([1]), 1) == [(0,)]


def test_both_raise():
    error = kit.agree_raises(
        "def kernel(x):\n    x[5] = 1\n", (np.zeros(3),), IndexError, check=True
    )
    assert "index 5 is out of bounds for axis 0 of array 'x' with shape (3,)" in str(error)
    source = "def kernel(x):\n    x[0] = gpu.uint64(1) + gpu.int8(2)\n"
    kit.agree_raises(source, (np.zeros(3),), TypeError, match="uint64 and int8")
    with pytest.raises(AssertionError, match="no IndexError"):
        kit.agree_raises("def kernel(x):\n    x[2] = 1\n", (np.zeros(3),), IndexError, check=True)


@pytest.mark.parametrize("single", [False, True])
def test_weak_floats_of_one_format(single):
    source = """
def kernel(n, x, o):
    i = gpu.grid(1)
    o[0, i] = i / n + 0.1
    o[1, i] = math.sqrt(i) * 0.3 + x[i]
    o[2, i] = 0.7 * i * i + 0.2
    o[3, i] = gpu.float16(i) * 0.1 + float(n)
    o[4, i] = math.pi + 0
    o[5, i] = i ** -1 + (i + 0.5) ** 3
"""
    options = {"float": gpu.float32} if single else {}
    x = np.linspace(-1, 1, 8)
    (_, o) = kit.agree(source, (7, x, np.zeros((6, 8))), block=8, **options)
    assert (o[4, 0] == np.pi) != single


IN_PLACE = """
def kernel(x, y, z, m):
    y += x[0] * x[1]
    z[1:] -= x[0] * x[1]
    m[0][::-1] += x
    p = x[2] * x[1]
    m[1] += p
"""


@pytest.mark.parametrize("fma", [True, False])
def test_augmented_views_contract_like_elements(fma):
    x = np.array([1 + 2**-12, 1 + 2**-12, 1 - 2**-12], np.float32)
    y = np.array([-1, 3], np.float32)
    kit.agree(IN_PLACE, (x, y, y[::-1].copy(), np.full((2, 3), -1, np.float32)), fma=fma)


LOGIC = """
def kernel(x, o):
    i = gpu.grid(1)
    o[i, 0] = ~operator.truth(x[i])
    o[i, 1] = ~operator.not_(x[i])
    o[i, 2] = ~operator.contains((1.5, x[i]), x[i])
    o[i, 3] = operator.truth(x[i]) + 1
"""


def test_functions_of_operator_give_bools_of_kernels():
    x = np.array([0.0, 1.5, np.nan])
    kit.agree(LOGIC, (x, np.zeros((3, 4), np.int64)), block=3, names={"operator": operator})


def test_a_function_that_belongs_to_no_module():
    scope = {"gpu": gpu}
    exec("def kernel(o):\n    o[gpu.grid(1)] = gpu.grid(1) + 1\n", scope)
    o = np.zeros(3)
    _python.run(scope["kernel"], 1, 3, (o,))
    assert o.tolist() == [1, 2, 3]


def test_checked_atomics_convert_like_stores():
    source = "def kernel(h, x):\n    gpu.atomic.add(h, 0, x[0])\n"
    args = (np.zeros(1, np.int32), np.array([2**40 + 5]))
    kit.agree_raises(
        source, args, OverflowError, match="1099511627781 does not fit int32", check=True
    )
    kit.agree(source, args)
