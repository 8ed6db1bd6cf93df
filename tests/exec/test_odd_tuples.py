"""Odd tuples: each kernel run by CPython, the python device and the suite's device."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007, E741, SIM300

from typing import NamedTuple

import kit
import numpy as np
import pytest
from odd import Cases, floats, ints, out

CASES = Cases()
case = CASES.add


class Point(NamedTuple):
    x: int
    y: int = 3


def scaled(p, k):
    return Point(p.x * k, y=p.y * k)


class Box(NamedTuple):
    low: Point
    high: Point
    name: str = "box"


@case(ints(1, 2, 3), out(6))
def nested_and_starred(x, o):
    t = (x[0], (x[1], (x[2], 7)), 9)
    a, (b, (c, d)), e = t
    o[0] = a + b * 10 + c * 100 + d * 1000
    f, *g = t
    o[1] = len(g) * 100 + g[0][1][0] * 10 + g[1]
    *h, i = t[1]
    o[2] = len(h) + h[0] + i[1]
    (j, *k), l, *m = (1, 2, 3), 4
    o[3] = j + k[1] + l + len(m)
    o[4] = (*t[1], *t[1][1], 5)[3]
    o[5] = len((*(), *t, *t[1][1]))


@case(ints(4, 8, 15), out(4))
def swapped_in_loops(x, o):
    a, b, c = x[0], x[1], x[2]
    t = (a, (b, c))
    for i in range(5):
        a, b, c = c, a, b
        p, (q, r) = t
        t = (r, (p, q + i))
    o[0], o[1], o[2] = a, b, c
    o[3] = t[0] + 100 * t[1][0] + 10000 * t[1][1]


def both(x):
    return x, -x


def nest(x):
    return both(x), both(x + 1)


def deep(x):
    a = nest(x)
    if x > 2:
        return a, nest(x * 2)
    return nest(0), a


@case(ints(1, 2, 3, 4), out(4, 2))
def returned_through_functions(x, o):
    for i in range(4):
        (a, b), ((c, d), (e, f)) = deep(x[i])
        o[i, 0] = a[0] + b[1] * 10 + c * 100
        o[i, 1] = d + e * f


@case(ints(3, 1), out(14))
def comparisons(x, o):
    t = (x[0], x[1])
    o[0] = t < (3, 2)
    o[1] = t > (3,)
    o[2] = t == (3, 1)
    o[3] = t != (3, 1, 0)
    o[4] = (t, 1) < (t, 2)
    o[5] = () < t
    o[6] = t >= t
    o[7] = min(t, (3, 0)) == (3, 0)
    o[8] = (x[0], 2.5) > (3, 2)
    o[9] = (1, (2, x[1])) == (1.0, (2.0, True))
    o[10] = (t == t) + (t != t)
    o[11] = max((1, 5), t)[1]
    o[12] = sum((t < (4,), t <= (3, 1), t > ()))
    o[13] = (2, 3) == (2, 3) < (2, x[0] + 1)


@case(ints(5, 2), out(8))
def membership(x, o):
    t = (x[1], 3, x[0])
    o[0] = 5 in t
    o[1] = 4 not in t
    o[2] = 2.0 in t
    o[3] = (x[0], 1) in ((5, 1), (2, 2))
    o[4] = x[0] in () or x[0] not in (5,)
    o[5] = None in (1, None) and None not in (1, 2)
    o[6] = True in (0, x[0] == 5)
    o[7] = "a" in ("b", "a")


@case(ints(1, 2, 3, 4, 5), out(8))
def sliced_and_joined(x, o):
    t = (x[0], x[1], x[2], x[3], x[4])
    u = t[::-1]
    v = t[1:-1] + u[-2:] + (9,)
    o[0] = u[0] * 10 + u[-1]
    o[1] = len(v) * 100 + v[3] * 10 + v[-2]
    w = t[::2] * 2
    o[2] = len(w) * 10 + w[-1]
    o[3] = len(t[5:]) + len(t[-100:100]) * 10
    o[4] = sum(t[3:0:-2])
    o[5] = (t + u)[5] * 100 + (0 * t == ()) + (-1 * t + (4,))[0]
    i = 0
    t += (i,)
    o[6] = len(t) + t[-1]
    for k in range(3):
        t = t[1:] + t[:1]
    o[7] = t[0] * 10 + t[5]


@case(ints(1, 2), floats(0.5, 2.25), out(4, dtype=np.float64))
def loops_over_mixed_types(x, f, o):
    for k, v in enumerate((x[0], f[0], True, f[1] * 2, x)):
        if k == 4:
            o[3] = v[1]
        else:
            o[0] += v
            o[1] = o[1] * 2 + v / 2
    for a, (b, c) in zip((1, 2.5), ((x[1], f[1]), (f[0], x[0]))):
        if a == 2.5:
            continue
        o[2] += a * b + c
    else:
        o[2] += 100


def x_pair(x):
    return x[0], x[1]


@case(ints(3, 4), out(8))
def namedtuples(x, o):
    p = Point(x[0], x[1])
    q = Point(x[1])
    o[0] = p.x * 10 + p.y + q.y * 100
    o[1] = Point(y=x[0], x=1).y + Point(*x_pair(x)).y * 10
    o[2] = scaled(p, 2).y
    b = Box(p, high=q)
    o[3] = b.high.x * 10 + b[0][1]
    (a, c), d, *_ = b
    o[4] = a + c * d.y
    o[5] = p == (3, 4)
    o[6] = Point(p.x, y=50).y
    o[7] = len(b) + sum(p)


@case((3, (4.5, np.arange(3))), Point(7, 8), Box(Point(1), Point(5, 6)), out(6))
def as_arguments(t, p, b, o):
    a, (f, v) = t
    o[0] = a + v[1] + int(f * 2)
    v[0] = 50
    o[1] = p.y * 10 + p[0]
    o[2] = b.high.y + b.low.y * 100
    o[3] = b.high > b.low
    for k, q in enumerate(b[:2]):
        o[4 + k] = q.x - q.y


@case(ints(0, 1, 2), out(3, dtype=np.float64), python=False, expect=[1.0, 2.5, 9.0])
def joins_that_change_elements(x, o):
    t = (1, 2)
    for i in range(3):
        if x[i] == 1:
            t = (t[0], 2.5)
        elif x[i] == 2:
            t = (4.5, t[1] * 2 - 1)
        o[i] = t[x[i] % 2] if i < 2 else t[0] + t[1] + 0.5


@case(ints(0, 1, 2, -1), out(4, 2))
def run_time_indices(x, o):
    t = (10, 20, 30)
    u = ((1, 2), (3, 4), (5, 6))
    for i in range(4):
        o[i, 0] = t[x[i]]
        o[i, 1] = u[x[i]][x[i] % 2] + u[-1 - x[i] % 3][0] * 10


@case(ints(6, 3), out(6))
def builtins_on_tuples(x, o):
    t = (x[0], x[1], 4)
    o[0] = max(t) * 100 + min(t) * 10 + sum(t, 5)
    o[1] = sum(a * b for a, b in ()) if False else len(t)
    o[2] = tuple(reversed((1, 2)))[0] if False else max(t[1:], default=0)
    q, r = divmod(*t[:2])
    o[3] = q * 10 + r
    o[4] = max(*t, 5, 2)
    o[5] = pow(*t[1:]) + abs(min(*(-v for v in ()), *t)) if False else pow(*t[1:])


@case(ints(5), out(5))
def tuples_of_functions(x, o):
    t = (abs, lambda v: v * 2, both, Point)
    o[0] = t[0](-x[0])
    o[1] = t[1](x[0])
    o[2] = t[2](x[0])[1]
    o[3] = t[-1](x[0]).y
    for k, f in enumerate(t[:2]):
        o[4] = o[4] * 10 + f(k - 3)


@case(ints(7, 2), out(4))
def tuples_carried_in_loops(x, o):
    state = (x[0], x[1], (0, 1))
    while state[0] > 0:
        n, s, (a, b) = state
        if n % 3 == 0:
            state = (n - 1, s, (b, a + b))
            continue
        if n == 100:
            break
        state = n - 1, s * 2, (a + 1, b)
    else:
        o[3] = 1
    o[0], o[1], (o[2], _) = state


@case(ints(1, 2, 3), out(3))
def a_tuple_grows_by_branches(x, o):
    t = ()
    if len(t) == 0:
        t = (x[0],)
    t = (*t, x[1])
    t = (t, x[2])
    o[0] = len(t)
    o[1] = t[0][1]
    (o[2],) = (t[1],)


def test_arguments_of_tuples_are_like_the_call():
    def kernel(t, o):
        o[0] = t.x + t.y
        o[1] = t[0] * 10

    for p, expected in ((Point(2, 5), [7, 20]), (Point(-1), [2, -10])):
        assert kit.agree(kernel, (p, out(2)))[-1].tolist() == expected


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
