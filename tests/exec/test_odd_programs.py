"""More odd kernels: programs of some size that mix everything."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007, E731, E741, SIM300

import math
import operator

import gpu
import kit
import numpy as np
import pytest
from odd import Cases, floats, ints, out

CASES = Cases()
case = CASES.add


@case(ints(3, 1, 2), ints(10, 20, 30), out(8))
def zips_and_enumerates_nested(x, y, o):
    for i, ((a, b), c) in enumerate(zip(zip(x, y[::-1]), (1, 2, 3)), 5):
        o[i - 5] = a * 100 + b + c
    for i, j in zip(range(3, 0, -1), reversed(range(10))):
        o[3] += i * j
    for i, v in reversed(tuple(enumerate(x))) if False else enumerate(reversed(x)):
        o[4] = o[4] * 10 + i * v
    n = 0
    for t in zip((1, 2, 3), (4, 5)):
        n += t[0] * t[1]
        for k in t:
            n -= k
    else:
        n += 1000
    o[5] = n
    for (i, a), b in zip(enumerate(x, -1), y):
        if i == 0:
            continue
        o[6] += i * a * b
    o[7] = sum(x[:2], sum(y))


@case(floats(1.0, 2.0, 3.0, 4.0, 5.0), out(5, dtype=np.float64))
def smoothing_with_walrus_windows(x, o):
    n = len(x)
    i = -1
    while (i := i + 1) < n:
        w = x[(a := max(0, i - 1)) : (b := min(n, i + 2))]
        o[i] = sum(w) / (b - a) + (w[-1] - w[0] if len(w) > 2 else 0.0)


@case(ints(1, 2, 3, 4), out(2, 2))
def matrix_powers_by_tuples(x, o):
    def times(p, q):
        (a, b), (c, d) = p
        (e, f), (g, h) = q
        return (a * e + b * g, a * f + b * h), (c * e + d * g, c * f + d * h)

    m = (x[0], x[1]), (x[2], x[3])
    r = (1, 0), (0, 1)
    n = 11
    while n:
        if n & 1:
            r = times(r, m)
        m = times(m, m)
        n >>= 1
    for i, row in enumerate(r):
        for j, v in enumerate(row):
            o[i, j] = v


@case(ints(48, 18, 0, 7), out(6))
def euclid_in_four_ways(x, o):
    def loop(a, b):
        while b:
            a, b = b, a % b
        return a

    def recur(a, b):
        return a if b == 0 else recur(b, a % b)

    def steps(a, b, n=0):
        match b:
            case 0:
                return a, n
            case _:
                return steps(b, a % b, n + 1)

    o[0] = loop(x[0], x[1])
    o[1] = recur(x[0], x[1])
    o[2], o[3] = steps(x[0], x[1])
    o[4] = math.gcd(x[0], x[1], 4)
    o[5] = loop(x[2], x[3]) * 10 + recur(x[3], x[2])


@case(np.array([[0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]]), out(4, 4))
def life_with_wrapped_views(m, o):
    h, w = m.shape
    for i, row in enumerate(m):
        for j, alive in enumerate(row):
            n = 0
            for di in (-1, 0, 1):
                r = m[(i + di) % h]
                for dj in (-1, 0, 1):
                    if di or dj:
                        n += r[(j + dj) % w]
            match (alive, n):
                case (1, 2 | 3) | (0, 3):
                    o[i, j] = 1
                case _:
                    pass


@case(ints(5, 1, 4, 2, 3, 9, 0, 7), out(8))
def merge_sort_on_views(x, o):
    def merge(a, b, into):
        i = j = 0
        for k in range(len(into)):
            if j >= len(b) or (i < len(a) and a[i] <= b[j]):
                into[k] = a[i]
                i += 1
            else:
                into[k] = b[j]
                j += 1

    source, target = x, o
    n = 1
    while n < len(x):
        for k in range(0, len(x), 2 * n):
            merge(source[k : k + n], source[k + n : k + 2 * n], target[k : k + 2 * n])
        source, target = target, source
        n *= 2
    if n != 4:
        o[:] = source


@case(ints(7, 2), out(6))
def conditional_values_of_all_kinds(x, o):
    t = (1, 2) if x[0] > 5 else (3, 4)
    o[0] = t[1] if t[0] == 1 else -1
    v = x[::-1] if x[1] else x
    o[1] = v[0]
    f = abs if True else len
    o[2] = f(-3)
    o[3] = (x[0] if x[0] < 0 else x[1] if x[1] > 5 else x[0] - x[1]) * 2
    a, (b, c) = (x[0], (1, 2)) if x[0] else (0, (3, 4))
    o[4] = a + b * c
    o[5] = None is None and (x[1] or 9)


@case(ints(4), out(6))
def loops_whose_else_returns(x, o):
    def search(n, limit):
        for i in range(2, limit):
            if n % i == 0:
                break
        else:
            return 1 if n > 1 else 0
        while n % i == 0:
            n //= i
            if n == 1:
                return -i
        else:
            for j in range(n):
                if j * j > n:
                    return j
            else:
                return n * 100

    for k in range(6):
        o[k] = search(k * x[0] + k % 2 + 1, 5)


@case(ints(2, 3), out(4))
def nested_functions_with_equal_names(x, o):
    def f(n):
        def f(m):
            return m + n

        return f(n) * 2

    def g(f):
        def h(x):
            return f(x) + x

        return h

    x0 = x[0]
    o[0] = f(x0)
    o[1] = g(f)(x[1])
    o[2] = g(g(g(lambda x: x)))(x0)

    def x1():
        x0 = 50
        return x0

    o[3] = x1() + x0


@case(ints(1, 2, 3, 4, 5, 6), out(3, 2))
def reshaped_by_hand(x, o):
    for i, row in enumerate(o):
        row[:] = x[2 * i : 2 * i + 2][:: -1 if i % 2 else 1] if i != 1 else x[3:1:-1]
    o.T[0][...] += o.T[1]
    o[...] *= 2


@case(floats(3.0, 4.0, 12.0), out(7, dtype=np.float64))
def numpy_on_scalars(x, o):
    o[0] = np.hypot(x[0], x[1]) + np.sqrt(x[1]) * np.square(x[0])
    o[1] = np.clip(x[2], 1.0, 5.0) - np.clip(x[0], None, 2) + np.clip(x[1], min=6.0)
    o[2] = np.where(x[0] > x[1], x[0], x[2]) + np.sign(-x[0])
    o[3] = np.maximum(x[0], np.nan) != np.maximum(x[0], np.nan)
    o[4] = np.floor(-x[0] / 2) + np.ceil(x[1] / 3) + np.rint(2.5) + np.trunc(-1.5)
    o[5] = np.nan_to_num(np.inf * x[0]) > 1e308
    o[6] = int(np.logical_xor(x[0], 0.0)) + int(np.signbit(-x[0])) + np.isfinite(x[0]) * 2


@case(ints(6, 3), floats(1.5), out(8, dtype=np.float64))
def operators_as_values(x, f, o):
    table = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.lt)
    for k, op in enumerate(table):
        o[k] = op(x[0], x[1]) if k < 5 else op(f[0], x[1])
    o[6] = operator.getitem(x, -1) + operator.neg(x[0]) + operator.truth(f[0])
    operator.setitem(o, 7, operator.contains((1, 2, 3), x[1]))


@case(ints(2**62, -(2**62), 3), out(6), options=({}, {"opt_level": 0}))
def sums_that_wrap(x, o):
    n = x[0] + x[0]
    o[0] = n
    o[1] = x[1] * 4 + 1
    o[2] = x[0] * x[2]
    for k in range(3):
        n -= x[0]
    o[3] = n
    o[4] = x[1] - x[0] - 1
    o[5] = x[2] << 62


@case(np.array([3, 200], np.uint8), np.array([70000, -5], np.int32), out(4), python=False,
      expect=[200 * 200 * 200, -5 * 70000, 1, 197])  # fmt: skip
def narrow_arrays_compute_as_ints(a, b, o):
    o[0] = a[1] * a[1] * a[1]
    o[1] = b[0] * b[1]
    o[2] = a[0] - a[1] < 0
    o[3] = abs(a[0] - a[1])


@case(np.arange(12, dtype=np.float32).reshape(3, 4), out(4, dtype=np.float32))
def columns_and_rows_of_float32(m, o):
    best = (m[0, 0] - 1, -1, -1)
    for i, row in enumerate(m):
        for j, v in enumerate(row):
            if (score := v * (j - i)) > best[0]:
                best = (score, i, j)
    o[0], *rest = best
    o[1], o[2] = rest
    for c in m.T[::2]:
        s = c[0] - c[0]
        for v in c[::-1]:
            s = s / 2 + v
        o[3] += s


def test_halves_in_tuples_views_and_closures():
    source = """
def kernel(x, o):
    def blend(a, b, k=x[0]):
        return a * k + b

    t = (gpu.{0}(x[0]), gpu.{0}(0.1))
    for i, v in enumerate(x[::-1]):
        t = (t[1], blend(*t))
        a, b = t
        o[i, 0] = a
        o[i, 1] = b if b < 100 else -a
        o[i, 2] = max(a, b, v) // gpu.{0}(0.3)
        o[i, 3] = (a, b) < (b, a)
        o[i, 4] = a % gpu.{0}(1) + b ** 2 - round(v, 1)
    w = o[:, 1]
    w[1:] = w[:-1]
    w += t[0]
"""
    x = np.array([1.5, -0.75, 3.25, 0.1, 20.0])
    for half in ("float16", "bfloat16"):
        for options in ({}, {"fma": False}, {"check": True}, {"opt_level": 0}):
            first = kit.agree(source.format(half), (x, out(5, 5, dtype=np.float64)), **options)
            assert np.isfinite(first[1]).all()


def test_a_tree_sum_of_many_threads():
    def kernel(x, o):
        i, n = gpu.grid(1), gpu.gridsize(1)
        if i >= len(o):
            return
        chunk = x[i::n] if i % 2 == 0 else x[i::n][::-1]

        def tree(v):
            match len(v):
                case 0:
                    return 0
                case 1:
                    return v[0]
                case m:
                    return tree(v[: m // 2]) + tree(v[m // 2 :])

        o[i] = tree(chunk)

    x = np.arange(100) ** 2
    got = kit.agree(kernel, (x, out(12)), grid=3, block=4)[1]
    assert got.tolist() == [x[i::12].sum() for i in range(12)]


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
