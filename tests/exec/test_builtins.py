"""Python's builtins in kernels."""

# ruff: noqa: UP018, SIM113

import math

import gpu
import kit
import numpy as np
import pytest

X = np.array([3.5, -1.0, 2.25, 0.0, 8.0])
Y = np.array([4, -7, 2, 9], np.int64)
F = np.array([0.1, 0.2, -0.3, 1e8, 1.0], np.float32)


def sums(x, y, o):
    o[0] = sum(x)
    o[1] = sum(y)
    o[2] = sum(y, 100)
    o[3] = sum(x, start=0.5)
    o[4] = sum((x[0], 2, y[0]))
    o[5] = sum(())
    o[6] = sum(range(10))
    o[7] = sum(range(y[0], y[1], -2), y[2])
    o[8] = sum((True, True, x[0] > 1))
    o[9] = sum(x[k] for k in range(2)) if False else 0
    o[10] = sum((), x[1])
    o[11] = sum(tuple(range(5)))


def extremes(x, y, o):
    o[0] = min(x)
    o[1] = max(x)
    o[2] = min(y) * 10 + max(y)
    o[3] = min(y[0], x[0], 2)
    o[4] = max((y[0], x[0], 2))
    o[5] = max(y[0], 2.5, y[3])
    o[6] = min(range(3, 20, 4)) * 100 + max(range(3, 20, 4))
    o[7] = min(range(10, y[2], -3)) * 100 + max(range(10, y[2], -3))
    o[8] = min((), default=y[0])
    o[9] = max(x, default=1)
    o[10] = max(range(0), default=y[3])
    o[11] = max((1, 2, y[1]), default=100)
    o[12] = min(True, y[1])
    o[13] = max(-0.0, 0.0)


def first_of_equals(x, o):
    o[0] = 1 / max(-0.0, x[3])
    o[1] = max(x[5], 1.0)
    o[2] = max(1.0, x[5])
    o[3] = min(x)


def divisions(x, y, o):
    o[0], o[1] = divmod(y[3], y[1])
    o[2], o[3] = divmod(x[0], -1.25)
    o[4], o[5] = divmod(y[1], 2.5)
    q, r = divmod(-17, 5)
    o[6] = q * 100 + r
    o[7] = divmod(y[3], 4)[1]
    o[8], o[9] = divmod(True, y[2])


def powers(x, y, o):
    o[0] = pow(y[0], 3)
    o[1] = pow(x[0], 2)
    o[2] = pow(y[0], 1000003, 1000007)
    o[3] = pow(y[1], 5, y[3])
    o[4] = pow(y[0], 5, y[1])
    o[5] = pow(y[2], 0, 1)
    o[6] = pow(3, y[0], mod=10)


def modular(a, e, m, o):
    for k in range(len(a)):
        o[k] = pow(a[k], e[k], m[k])


def test_modular_power():
    rng = np.random.default_rng(7)
    big = 2**63 - 1
    edge = [0, 1, -1, 2, -2, big, -big - 1, big - 1, 2**32, 2**32 + 1, -(2**32), 3]
    a = np.array(edge + rng.integers(-big, big, 200).tolist(), np.int64)
    m = np.concatenate([np.roll(a[:12], 5), rng.integers(-(2**40), 2**62, 200)]).astype(np.int64)
    m[m == 0] = 5
    e = rng.integers(0, 2**62, a.size, np.int64)
    e[:4] = [0, 1, 2, big]
    o = np.zeros_like(a)
    kit.single(gpu.jit(modular), a, e, m, o)
    expected = [pow(int(p), int(q), int(r)) for p, q, r in zip(a, e, m)]
    assert o.tolist() == expected


def test_modular_power_of_no_modulus():
    one = np.array([5, 5], np.int64)
    o = np.ones(2, np.int64)
    kit.single(gpu.jit(modular), one, np.array([3, -1]), np.array([0, 7]), o)
    assert o.tolist() == [0, 0]


def lengths(x, y, o):
    o[0] = len(x)
    o[1] = len((1, 2, 3))
    o[2] = len(range(3, 50, 7))
    o[3] = len(range(y[0], y[1]))
    o[4] = len(range(y[0], y[1], -2))
    o[5] = len(range(y[3], 100, y[2]))


def casts(x, y, o):
    o[0] = int()
    o[1] = float()
    o[2] = bool()
    o[3] = int(x[0]) + int(-x[0]) * 10 + int(True) * 100
    o[4] = float(y[0]) / 3
    o[5] = bool(x[3]) + 2 * bool(y[0])
    o[6] = int(x[0] > 1)
    o[7] = bool(()) + 2 * bool((1,)) + 4 * bool(None)
    o[8] = float(True) + gpu.float32() + gpu.int8()
    o[9] = abs(y[1]) + abs(x[1]) + abs(True)


def rounds(x, y, o):
    o[0] = round(x[0])
    o[1] = round(x[2], 1)
    o[2] = round(y[0] * 1234, -2)
    o[3] = round(number=x[0]) if False else round(x[0], ndigits=0)


def instances(x, f, y, flags, o):
    k = 0
    for v in (
        1,
        True,
        1.5,
        x[0],
        f[0],
        y[0],
        flags[0],
        gpu.int8(3),
        gpu.uint64(4),
        (1,),
        None,
        x,
        "t",
        range(3),
    ):
        o[k] = (
            isinstance(v, int)
            + 2 * isinstance(v, bool)
            + 4 * isinstance(v, float)
            + 8 * isinstance(v, tuple)
            + 16 * isinstance(v, np.float32)
            + 32 * isinstance(v, (int, np.float32))
            + 64 * isinstance(v, gpu.int8)
            + 128 * isinstance(v, np.integer)
            + 256 * isinstance(v, np.floating)
            + 512 * isinstance(v, (np.number, tuple))
            + 1024 * isinstance(v, range)
            + 2048 * isinstance(v, np.unsignedinteger)
        )
        k += 1


def test_isinstance():
    o = np.zeros(14, np.int64)
    kit.single(gpu.jit(instances), X, F, Y, np.array([True]), o)
    typed8 = 64 + 128 + 512
    assert o.tolist() == [33, 35, 4, 4 + 256 + 512, 16 + 32 + 256 + 512, 33, 35, typed8, 128 + 512 + 2048,
                          8 + 512, 0, 0, 0, 1024]  # fmt: skip


def chosen(v):
    if isinstance(v, tuple):
        return v[0] + v[1]
    if isinstance(v, int):
        return v // 2
    return v / 2


def dispatch(x, y, o):
    o[0] = chosen(y[0])
    o[1] = chosen(x[0])
    o[2] = chosen((x[0], y[0]))


CASES = [(sums, X, Y), (sums, X[:0], Y), (extremes, X, Y), (divisions, X, Y), (powers, X, Y), (lengths, X, Y),
         (casts, X, Y), (rounds, X, Y), (dispatch, X, Y)]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_builtin(case):
    function, *args = case
    if function is sums:
        function = kit.function(
            "def kernel(x, y, o):\n"
            "    o[0] = sum(x)\n    o[1] = sum(y)\n    o[2] = sum(y, 100)\n    o[3] = sum(x, start=0.5)\n"
            "    o[4] = sum((y[0], 2, 1.5))\n    o[5] = sum(())\n    o[6] = sum(range(10))\n"
            "    o[7] = sum(range(y[0], y[1], -2), y[2])\n    o[8] = sum((True, True, y[0] > 1))\n"
            "    o[10] = sum((), y[1])\n    o[11] = sum(tuple(range(5)))\n"
        )
    kit.agree(function, (*args, np.zeros(16)))


def float_sums(f, o):
    o[0] = sum(f)
    o[1] = sum(f, 1)
    o[2] = sum(f, 0.25)
    o[3] = sum((f[0], f[1], f[3]))


def test_sum_of_float32_is_float32():
    o = np.zeros(4)
    kit.single(gpu.jit(float_sums), F, o)
    expected = []
    for start, values in ((0, F), (1, F), (0.25, F), (0, F[[0, 1, 3]])):
        total = np.float32(start)
        for v in values:
            total = np.float32(total + v)
        expected.append(float(total))
    assert o.tolist() == expected


def test_nan_and_zeros():
    o = np.zeros(4)
    kit.single(gpu.jit(first_of_equals), np.append(X, np.nan), o)
    assert o[0] == -math.inf and math.isnan(o[1]) and o[2] == 1 and o[3] == -1


def smallest(x, o):
    o[0] = min(x)


def smallest_or(x, o):
    o[0] = min(x, default=7)


def test_min_of_an_empty_array():
    o = np.zeros(1)
    kit.single(gpu.jit(smallest_or), np.zeros(0), o)
    assert o[0] == 7


def unsigned(o, u):
    o[0] = sum(u) == 2**64 - 1
    o[1] = max(u) > 2**63
    o[2] = divmod(u[0], 10)[0] == (2**64 - 3) // 10
    o[3] = pow(u[0], 3, u[0])
    o[4] = u[0] in range(-10, 10)
    o[5] = min(u[0], -1) == -1 if False else 1


def test_uint64():
    o = np.zeros(6)
    kit.single(gpu.jit(unsigned), o, np.array([2**64 - 3, 2], np.uint64))
    assert o.tolist() == [1, 1, 1, 0, 0, 1]


SETTLED = {
    # The type that counts is the one of all paths, whichever of them the compiler looks at first.
    "a path that is seen later": """
        a = x[i]
        match i:
            case 4 | 5:
                a = x[0] * 2
            case _:
                if x[i] > 1:
                    a = 9223372036854775808 if x[0] > 1 else 1
                o[i] = 1 if isinstance(a, np.integer) else 2
        """,
    "a result of a function": """
        a = pick(x[i], y[i])
        o[i] = 1 if isinstance(a, float) else 2 if isinstance(a, np.floating) else 3
        """,
    "a value kept": """
        a = y[i]
        b = isinstance(a, int)
        if x[i] > 1:
            a = x[i]
        c = isinstance(a, int)
        o[i] = (1 if b else 2) + (10 if c else 20)
        """,
}
LATER = {"a path that is seen later": [2, 2, 2, 2, 0], "a result of a function": [1] * 5,
         "a value kept": [21] * 5}  # fmt: skip


@pytest.mark.parametrize("name", SETTLED)
def test_isinstance_of_joined_types(name):
    lines = "\n".join(line[4:] for line in SETTLED[name].splitlines())
    source = (f"def pick(a, b):\n    if a > 1:\n        return b\n    return a\n"
              f"def kernel(x, y, o):\n    i = gpu.grid(1)\n{lines}\n")  # fmt: skip
    o = np.zeros(5, np.int64)
    gpu.jit(kit.function(source))[1, 5](X, np.arange(5), o)
    gpu.synchronize()
    assert o.tolist() == LATER[name]


def test_isinstance_of_a_type_that_rises_around_a_loop():
    """The answer changes what the loop makes of the type: the last type counts."""
    source = (
        "def kernel(n, o):\n"
        "    a = 0\n"
        "    for _ in range(n[0]):\n"
        "        if isinstance(a, int):\n"
        "            a = a + 0.5\n"
        "        else:\n"
        "            a = a + 1\n"
        "    o[0] = a\n"
    )
    o = np.zeros(1)
    gpu.jit(kit.function(source))[1, 1](np.array([3]), o)
    gpu.synchronize()
    assert o.tolist() == [3]
