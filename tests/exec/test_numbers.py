"""Rules of numbers that the tables of operators do not show, one test each."""

import kit
import numpy as np
import pytest


def run(source: str, *args, n: int = 4, dtype: str = "float64") -> list:
    out = np.zeros(n, dtype)
    kit.single(kit.kernel(source), out, *args)
    return out.tolist()


def test_literals_beyond_int64_are_uint64():
    source = "def kernel(out):\n    a = 18446744073709551615\n    out[0] = a // 2\n    out[1] = a + 2\n    out[2] = a > 0\n"
    assert run(source, n=3, dtype="uint64") == [2**63 - 1, 1, 1]


def test_constants_wrap_when_folded():
    source = (
        "def kernel(out):\n    a = 4611686018427387904\n    b = a * 2\n    out[0] = b\n    c = b - 1\n    out[1] = c\n"
        "    out[2] = -b\n    out[3] = b // -1\n"
    )
    assert run(source, dtype="int64") == [-(2**63), 2**63 - 1, -(2**63), -(2**63)]


def test_int_with_float32_stays_float32():
    source = "def kernel(out, x, n):\n    out[0] = 2.0 * x[0] / n\n    out[1] = (x[0] + n) * 0.1\n    out[2] = n / 3\n    out[3] = n / 3 * x[0]\n"
    f4 = np.float32
    x = np.array([0.7], f4)
    expected = [f4(2) * x[0] / f4(3), (x[0] + f4(7)) * f4(0.1), 7 / 3, f4(7 / 3) * x[0]]
    expected[0] = f4(2) * x[0] / f4(7)
    assert run(source, x, 7) == [float(v) for v in expected]


def test_elements_of_uint64_arrays_are_typed():
    source = "def kernel(out, x):\n    out[0] = x[0] - 1\n    out[1] = x[0] > -1\n    out[2] = (x[1] + 5) >> 1\n"
    assert run(source, np.array([0, 2**64 - 1], "uint64"), n=3, dtype="uint64") == [2**64 - 1, 1, 2]


def test_typed_integers_wrap_at_their_width():
    source = (
        "def kernel(out, x):\n    h = gpu.uint32(2166136261)\n    for i in range(x.size):\n        h ^= x[i]\n"
        "        h *= 16777619\n    out[0] = h\n    s = gpu.int8(100)\n    s += 100\n    out[1] = s\n"
    )
    data = np.frombuffer(b"fnv-1a hash", "uint8")
    expected = 2166136261
    for byte in data.tolist():
        expected = (expected ^ byte) * 16777619 % 2**32
    assert run(source, data, n=2, dtype="int64") == [expected, -56]


def test_numpy_casts_are_casts():
    source = "def kernel(out, x):\n    out[0] = np.uint8(x[0])\n    out[1] = np.int16(x[0]) * 2\n    out[2] = np.float32(x[1])\n    out[3] = np.uint32(x[1])\n"
    x = np.array([70000, -1])
    assert run(source, x) == [70000 % 256, (70000 - 65536) * 2, -1, 2**32 - 1]


def test_negative_constant_exponents_make_floats():
    source = "def kernel(out, n):\n    out[0] = n ** -2\n    out[1] = 2 ** -1\n    k = -2\n    out[2] = n ** k\n    out[3] = n ** (n - 6)\n"
    got = run(source, 4)
    assert got[:2] == [1 / 16, 0.5]
    assert got[3] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_literal_powers_are_products(dtype):
    source = (
        "def kernel(x, out):\n    i = gpu.grid(1)\n    if i < x.size:\n        v = x[i]\n        out[0, i] = v ** 2\n"
        "        out[1, i] = v ** -1\n        out[2, i] = v ** 1\n        out[3, i] = v ** 0\n        out[4, i] = v ** 2.0\n"
    )
    x = np.random.default_rng(1).standard_normal(100).astype(dtype)
    out = np.zeros((5, 100), dtype)
    kit.launch(kit.kernel(source), 100, x, out)
    assert np.array_equal(out[0], x * x)
    assert np.array_equal(out[1], 1 / x)
    assert np.array_equal(out[2], x)
    assert (out[3] == 1).all()
    assert np.array_equal(out[4], x * x)


def test_a_variable_that_is_perhaps_undefined_reads_0():
    source = "def kernel(out, n):\n    if n > 0:\n        y = 5\n        z = 2.5\n    out[0] = y\n    out[1] = z\n"
    assert run(source, 1, n=2) == [5, 2.5]
    assert run(source, -1, n=2) == [0, 0]


def test_tuples_join_by_element():
    source = (
        "def kernel(out, x, n):\n    t = (1, x[0]) if n > 0 else (2.5, 4)\n    out[0] = t[0] / 2\n    out[1] = t[1] * 0.1\n"
        "    a, b = t\n    out[2] = a\n    out[3] = b\n"
    )
    x = np.array([3], "float32")
    tenth = np.float32(0.1)
    assert run(source, x, 1) == [0.5, float(np.float32(3) * tenth), 1, 3]
    assert run(source, x, -1) == [1.25, float(np.float32(4) * tenth), 2.5, 4]


def test_tuples_indexed_at_run_time():
    source = "def kernel(out, n):\n    t = (10, 20, 30)\n    out[0] = t[n]\n    out[1] = t[n - 3]\n    out[2] = t[-1]\n"
    for n in range(3):
        assert run(source, n, n=3) == [(n + 1) * 10, (n + 1) * 10, 30]


def test_mixed_tuples_indexed_at_run_time_join():
    source = "def kernel(out, n):\n    t = (1, 2.5)\n    out[0] = t[n] / 2\n    out[1] = t[n - 2]\n"
    assert run(source, 0, n=2) == [0.5, 1]
    assert run(source, 1, n=2) == [1.25, 2.5]


def test_returns_join():
    source = (
        "def f(x, n):\n    if n == 0:\n        return x\n    if n == 1:\n        return 0.1\n    return 7\n"
        "def kernel(out, x):\n    for n in range(3):\n        out[n] = f(x[0], n) * 3\n"
    )
    f4 = np.float32
    expected = [float(f4(0.3) * f4(3)), float(f4(0.1) * f4(3)), 21]
    assert run(source, np.array([0.3], f4), n=3) == expected


def test_the_float_of_an_int_is_rounded_once():
    source = "def kernel(x, out):\n    out[0] = x[0]\n    out[1] = gpu.float32(x[0])\n    out[2] = x[0] * gpu.float32(1)\n"
    x = np.array([2**60 + 2**36 + 1])
    out = np.zeros(3, "float32")
    kit.single(kit.kernel(source), x, out)
    assert out.tolist() == [2.0**60 + 2.0**37] * 3


def test_floats_between_int_and_float_stay_exact():
    """x - floor(x) for numbers beyond 64 bits and for infinities is what floats give, or saturates."""
    source = "def kernel(x, out):\n    i = gpu.grid(1)\n    if i < x.size:\n        out[i] = x[i] - math.floor(x[i])\n"
    x = np.array([2.75, -2.25, 0.0, 1e15 + 0.5])
    out = np.zeros(4)
    kit.launch(kit.kernel(source), 4, x, out)
    assert out.tolist() == [0.75, 0.75, 0, 0.5]


@pytest.mark.parametrize("digits", [-2, -1, 0, 1, 2, 3])
def test_round_to_digits(digits):
    source = f"def kernel(x, n, out):\n    i = gpu.grid(1)\n    if i < x.size:\n        out[0, i] = round(x[i], {digits})\n        out[1, i] = round(n[i], {digits})\n"
    x = np.array([0.125, 2.5, -2.5, 1234.5678, -0.05, 1e10 / 3, 0.0])
    n = np.array([15, 25, -15, 12345, 250, 350, -50])
    out = np.zeros((2, x.size))
    kit.launch(kit.kernel(source), x.size, x, n, out)
    assert out[0] == pytest.approx(np.round(x, digits), rel=1e-15)  # as NumPy, not as decimals
    assert out[1].tolist() == [round(v, digits) for v in n.tolist()]


def test_bools_are_ints_in_arithmetic():
    source = (
        "def kernel(out, x):\n    a = x[0] > 1\n    b = x[0] < 10\n    out[0] = a + b\n    out[1] = -a\n    out[2] = ~a\n"
        "    out[3] = a & b\n    out[4] = a ^ b\n    out[5] = a * 0.5\n    out[6] = (a | 6) - b\n    out[7] = a / 2\n"
    )
    assert run(source, np.array([5]), n=8) == [2, -1, 0, 1, 0, 0.5, 6, 0.5]


def test_only_what_comes_out_of_and_and_or_counts_for_the_type():
    """The x of (x and y) or z is false and goes no further, in every version of Python."""
    source = (
        "def kernel(x, y, out):\n    a = (x[0] and y[0]) or y[0]\n    out[0] = -a // 3\n"
        "    b = (x[0] or y[0]) and y[0]\n    out[1] = -b // 3\n    c = x[1] and y[0] and y[1]\n"
        "    out[2] = c + 0.5\n"
    )
    x, y = np.array([0, 7], np.uint64), np.array([1, 2], np.int8)
    out = np.zeros(3)
    kit.single(kit.kernel(source), x, y, out)
    assert out.tolist() == [-1, -1, 2.5]
