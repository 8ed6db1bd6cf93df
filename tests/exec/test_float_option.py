"""gpu.jit(float=gpu.float32): Python's floats compute in float32 and stay weak."""

import math

import gpu
import kit
import numpy as np
import pytest

F = np.float32


def run(source: str, *args, n: int = 4, **options) -> list:
    out = np.zeros(n)
    kit.single(kit.kernel(source, **{"float": gpu.float32, **options}), out, *args)
    return out.tolist()


def test_operators_and_arguments():
    source = (
        "def kernel(out, n, a):\n    out[0] = n / 3\n    out[1] = a * 0.1\n    out[2] = (n + 0.1) - a\n"
        "    out[3] = a ** 2\n"
    )
    a, tenth = F(0.7), F(0.1)
    expected = [F(7) / F(3), a * tenth, (F(7) + tenth) - a, a * a]
    assert run(source, 7, 0.7) == [float(v) for v in expected]
    assert run(source, 7, 0.7, float=None) == [7 / 3, 0.7 * 0.1, 7.1 - 0.7, 0.7 * 0.7]


def test_large_ints_round_once():
    source = "def kernel(out, n):\n    out[0] = n * 1.0\n    out[1] = float(n)\n    k = 9007199791611905\n    out[2] = k * 1.0\n"
    n = 2**53 + 2**29 + 1  # by way of a double it would become 2**53 + 2**30
    expected = float(F(2**53 + 2**30))
    assert n == 9007199791611905
    assert run(source, n, n=3) == [expected] * 3


def test_constants_fold_as_at_run_time():
    source = (
        "def kernel(out, a):\n    t = 0.1\n    u = t + t + t\n    out[0] = u\n    out[1] = a + a + a\n"
        "    out[2] = u == a + a + a\n    e = 1e-60\n    out[3] = e == 0 and not e\n"
    )
    three = float(F(0.1) + F(0.1) + F(0.1))
    assert run(source, 0.1) == [three, three, 1, 1]


def test_float64_is_the_stronger():
    source = (
        "def kernel(out, x, n):\n    out[0] = x[0] * 0.5 / n\n    out[1] = gpu.float64(n) / 3\n"
        "    acc = 0.0\n    for i in range(2):\n        acc += x[i]\n    out[2] = acc\n"
    )
    x = np.array([0.1, 0.7])
    assert run(source, x, 3, n=3) == [0.1 * 0.5 / 3, 1.0, 0.0 + 0.1 + 0.7]


def test_joins_tuples_and_device_functions():
    source = (
        "def half(v):\n    return v / 2, v * 0.3\n"
        "def kernel(out, n):\n    if n > 3:\n        t = 0.1\n    else:\n        t = n\n    out[0] = t\n"
        "    p = half(n)\n    out[1] = p[0] + p[1]\n    out[2] = (0.1, 0.2)[n - 6]\n    out[3] = max(0.1, n - 7)\n"
    )
    expected = [F(0.1), F(7) / F(2) + F(7) * F(0.3), F(0.2), F(0.1)]
    assert run(source, 7, fma=False) == [float(v) for v in expected]


def test_math_and_rounding():
    source = (
        "def kernel(out, n):\n    out[0] = math.sqrt(n)\n    out[1] = math.ulp(float(n))\n    out[2] = round(n / 3, 2)\n"
        "    m, e = math.frexp(n / 3)\n    out[3] = m\n"
    )
    third = F(7) / F(3)
    expected = [np.sqrt(F(7)), np.spacing(F(7)), np.round(third, 2), math.frexp(float(third))[0]]
    assert run(source, 7) == [float(v) for v in expected]


def test_code_has_no_doubles():
    def kernel(out, n):
        i = gpu.grid(1)
        if i < n:
            out[i] = (i + 0.5) / n * 0.299 + math.sqrt(i)

    text = gpu.jit(float=gpu.float32)(kernel).ptx("float32[:], int", arch="sm_80")
    assert "f64" not in text and ".f32" in text
    assert "f64" in gpu.jit(kernel).ptx("float32[:], int", arch="sm_80")


@pytest.mark.parametrize(
    "value", [gpu.float32, np.float32, "float32", np.dtype("float32")], ids=str
)
def test_spellings(value):
    assert gpu.jit(float=value)(lambda x: None).options["single"] == 1


@pytest.mark.parametrize("value", [gpu.float64, np.float64, "float64", float], ids=str)
def test_spellings_of_the_default(value):
    assert gpu.jit(float=value)(lambda x: None).options["single"] == 0


@pytest.mark.parametrize("value", [gpu.int32, "half", 32, gpu.uint8], ids=str)
def test_other_types(value):
    with pytest.raises(ValueError, match=r"option 'float': must be gpu\.float32 or gpu\.float64"):
        gpu.jit(float=value)
