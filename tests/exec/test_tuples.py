"""Tuples as values: comparison, membership, joining, cutting, unpacking."""

# ruff: noqa: SIM300, SIM113, E741, C408, C409, F632

import math

import gpu
import kit
import numpy as np
import pytest

X = np.array([3.5, -1.0, 2.25, 0.0, 8.0])
Y = np.array([4, -7, 2, 9], np.int64)
NAN = float("nan")


def equality(x, y, o):
    t = (x[0], y[0], True)
    o[0] = t == (3.5, 4, 1)
    o[1] = t != (3.5, 4, 1)
    o[2] = t == (3.5, 4)
    o[3] = t != (3.5,)
    o[4] = (x[0], (y[0], 2)) == (3.5, (4, 2.0))
    o[5] = () == ()
    o[6] = t == 3
    o[7] = (x[0], None) == (3.5, None)
    o[8] = (x[0], math.sin) == (3.5, math.cos)
    o[9] = ("a", x[0]) != ("b", x[0])


def order(x, y, o):
    k = 0
    for a in ((x[0], y[0]), (x[1], y[1]), (x[0], y[1])):
        for b in ((3.5, 4.0), (3.5, 5.0), (-2.0, 0.0), (x[0], 4.0)):
            o[k] = (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b)
            k += 1
    o[k] = (1, x[0]) < (1, x[0], 0)
    o[k + 1] = (1, x[0], 0) <= (1, x[0])
    o[k + 2] = (1, (x[0], y[0])) < (1, (3.5, 5))
    o[k + 3] = (x[0], "same", 1) < (3.5, "same", y[0])
    o[k + 4] = ("a", 1) != ("b", x[0])


def order_of_nan(x, o):
    nan = x[0] * 0 / 0 if False else x[5]
    o[0] = (nan, 1) < (nan, 2)
    o[1] = (1, nan) < (1, 2.0)
    o[2] = (1, nan) == (1, nan)
    o[3] = (0, nan) < (1, nan)
    o[4] = nan in (nan, 1.0)
    o[5] = nan not in (1.0, 2)


GROUP = (1, 5, 9)


def membership(x, y, o):
    n = y[0]
    o[0] = n in (1, 2, 4)
    o[1] = n in (1, 2.5, x[0], 4.0)
    o[2] = n not in (1, 2)
    o[3] = n in ()
    o[4] = (n, 1) in ((4, 1), (5, 2))
    o[5] = (n, 1) in ((4, 2), 4, None)
    o[6] = n in {1, 2, 4}
    o[7] = x[0] in (y[0], 3.5)
    o[8] = n + 1 in GROUP
    o[9] = n in (None, "four", math.sin)
    o[10] = "four" in ("three", "four")
    o[11] = math.sin in (math.cos, math.sin)
    o[12] = None in (1, None)
    o[13] = np.float32 in (np.float64, np.float32)
    o[14] = x.dtype in (np.float64, np.int64)
    o[15] = "ou" in "four"
    o[16] = 1 if n in (4, 5) and x[1] not in (1, 2) else 2


def is_none(x, o):
    k = 0
    for v in (x, x[0], 3, True, None, (1, 2), "text", math.sin, np.float32, ()):
        o[k] = (v is None) + 2 * (v is not None)
        k += 1


def joined(x, y, o):
    a = (x[0], y[0])
    b = a + (1, 2.5)
    o[0] = len(b)
    for v in b:
        o[1] = o[1] * 10 + v
    b += (x,)
    o[2] = b[4][2]
    c = (y[0], 7) * 3
    o[3] = len(c) * 100 + c[4] + c[5]
    d = 2 * (x[0],)
    o[4] = d[0] + d[1]
    o[5] = len(a * 0) + len(a * -3) + len(() + ())
    o[6] = ((1, 2) + (3,))[y[2]]


def sliced(x, y, o):
    t = (x[0], y[0], 3, x, True, 6.5)
    o[0] = len(t[1:]) * 10 + len(t[:2])
    o[1] = t[1:][0]
    o[2] = t[::-1][0]
    o[3] = t[-3:][0][2]
    o[4] = len(t[5:1]) * 10 + len(t[5:1:-2])
    o[5] = t[::2][2]
    o[6] = t[-100:100][1]
    o[7] = len(t[:]) + len(t[10:]) + len(t[:-10])
    o[8] = t[4:0:-3][1]
    o[9] = t[1:][1:][1:][0][4]
    first, rest = t[0], t[1:]
    o[10] = first + rest[0]


def starred(x, y, o):
    a, *b, c = (x[0], y[0], 3, 4.5)
    o[0] = a + c + len(b) + b[0] * b[1]
    *d, e = (x[0], x)
    o[1] = d[0] + e[1]
    f, *g = (y[0],)
    o[2] = f + len(g)
    h, *i, (j, *k) = (1, 2, 3, (4, 5, x[0]))
    o[3] = h + i[0] * i[1] + j * k[0] + k[1]
    (l, m), *n = ((x[0], 2), (3, 4), (5, 6))
    o[4] = l * m + n[0][0] + n[1][1]
    for first, *others in ((1, 2, 3), (4, 5.5, 6)):
        o[5] = o[5] * 10 + first + others[0] + len(others)


def displays(x, y, o):
    a = (x[0], 2)
    b = (*a, 1)
    o[0] = len(b) + b[0] + b[2]
    c = (0, *a, *b, *(), y[0])
    o[1] = len(c) * 10 + c[-1] + c[1]
    d = (*range(3), *a)
    o[2] = d[0] + d[1] * 10 + d[2] * 100 + d[3]
    e = (*(a if True else b), 9)
    o[3] = e[2]
    f = tuple((*a, x))
    o[4] = f[2][4]
    g = 1, *a
    o[5] = sum(g)
    h = tuple([x[0], y[0], 3])
    o[6] = h[0] + h[1] + h[2]


def long_display(x, o):
    t = (x[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
         28, 29, 30, 31, 32, 33, 34, 35, x[1])  # fmt: skip
    for v in t:
        o[0] = o[0] * 0.5 + v
    o[1] = t[int(x[2])] + t[36]


def made(x, y, o):
    t = tuple(range(4))
    o[0] = t[y[2]] + len(t)
    u = tuple((x[0], 2))
    o[1] = u[0] + u[1]
    v = tuple(enumerate((x[0], y[0], 2.5)))
    o[2] = v[1][0] * 10 + v[2][1]
    w = tuple(zip((x[0], 1), (y[0], 2.5, 3)))
    o[3] = len(w) * 100 + w[0][1] + w[1][1]
    z = tuple(reversed((1, x[0], 3)))
    o[4] = z[0] * 10 + z[1]
    o[5] = len(tuple())
    a, b, c = tuple(range(10, 0, -4))
    o[6] = a * 10000 + b * 100 + c


def pair(x):
    return x[0], (x[1], x)


def nested_results(x, o):
    a, (b, c) = pair(x)
    o[0] = a + b + c[2]
    t = pair(x)
    o[1] = t[1][1][4]
    o[2] = t[0] == x[0]


def identity(x, o):
    flag = x[0] > 1
    o[0] = flag is True
    o[1] = flag is not False
    o[2] = x[0] is True
    o[3] = 1 is not True


def test_identity_of_bools():
    o = np.zeros(4)
    kit.single(gpu.jit(identity), X, o)
    assert o.tolist() == [1, 1, 0, 1]


def truth(x, o):
    t = (x[0],)
    o[0] = 1 if t else 2
    o[1] = 1 if () else 2
    o[2] = not t[1:]
    o[3] = len(t and (1, 2))


def swapped(x, y, o):
    a, b, c = x[0], x[1], x[2]
    a, b, c = c, a, b
    o[0], o[1] = a, b
    o[2], (o[3], o[4]) = c, (a + b, y[0])
    p, q = r = (x[0], 5)
    o[5] = p + q + r[1]


CASES = [equality, order, membership, is_none, joined, sliced, starred, displays, long_display, made,
         nested_results, truth, swapped]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_tuples(function):
    two = "y" in function.__code__.co_varnames[: function.__code__.co_argcount]
    kit.agree(function, (X, Y, np.zeros(24)) if two else (X, np.zeros(24)))


def test_nan_in_tuples():
    o = np.zeros(24)
    kit.single(gpu.jit(order_of_nan), np.append(X, NAN), o)
    assert o[:6].tolist() == [0, 0, 0, 1, 0, 1]


def test_hand_computed():
    o = np.zeros(24)
    kit.single(gpu.jit(membership), X, Y, o)
    assert o[:17].tolist() == [1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    o = np.zeros(24)
    kit.single(gpu.jit(sliced), X, Y, o)
    assert o[:11].tolist() == [52, 4, 6.5, 2.25, 2, 1, 4, 6, 4, 8, 7.5]


def outside(t, y, o):
    o[0] = t[y[3]]


def repeated(k, x):
    t = (x, 1.0) * k
    return len(t)


def demanded(x, o):
    o[0] = repeated(3, x[0])


def test_repetition_by_a_constant_argument():
    kit.agree(demanded, (X, np.zeros(1)))
