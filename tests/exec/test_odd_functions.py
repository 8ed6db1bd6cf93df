"""Odd functions: closures, lambdas, defaults, compile-time values; by CPython and by both devices."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007, E731, E741

import functools
import math
import operator

import gpu
import kit
import numpy as np
import pytest
from odd import Cases, floats, ints, out

CASES = Cases()
case = CASES.add

LIMIT = 4
OPERATORS = (operator.add, operator.sub, operator.mul)


def accumulate(f, x, start=0, *, step=1):
    for i in range(0, len(x), step):
        start = f(start, x[i])
    return start


@case(ints(3, 1, 4, 1, 5), out(6))
def functions_as_arguments(x, o):
    o[0] = accumulate(lambda a, b: a * 2 + b, x)
    o[1] = accumulate(max, x, step=2)
    o[2] = accumulate(operator.xor, x, 7)
    o[3] = accumulate(lambda a, b: a if a > b else b, x[::-1], start=-9)
    o[4] = accumulate(f=min, x=x, start=LIMIT)
    o[5] = accumulate(lambda a, b, k=LIMIT: a + b * k, x, step=LIMIT - 1)


@case(ints(1, 2, 3), out(6))
def late_binding(x, o):
    k = x[0]
    f = lambda v: v * k
    o[0] = f(10)
    k = x[2]
    o[1] = f(10)
    g = lambda v, k=k: v * k
    k = 100
    o[2] = g(10)
    o[3] = f(10)
    for k in range(3):
        o[4] += f(1)

    def h():
        return later

    later = x[1]
    o[5] = h()


def make(kind):
    if kind is None:
        return lambda x: x + 1
    if kind:

        def inner(x):
            return x * LIMIT

        return inner
    return operator.neg


@case(ints(5, 6), out(5))
def functions_that_are_returned(x, o):
    o[0] = make(None)(x[0])
    o[1] = make(True)(x[1])
    o[2] = make(False)(x[1])
    f = make(None)
    o[3] = f(f(f(x[0])))
    o[4] = (lambda a: lambda b: lambda c: a * 100 + b * 10 + c)(x[0])(x[1])(7)


@case(ints(6, 10), out(4))
def recursion_through_cells(x, o):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    o[0] = fib(x[1])
    o[1] = even(x[0])
    o[2] = odd(x[0])
    f = lambda n: 1 if n < 2 else n * f(n - 1)
    o[3] = f(x[0])


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def hanoi(n, a=1, b=2, *, c=3):
    if n == 0:
        return 0, 0
    i, j = hanoi(n - 1, a, c, c=b)
    k, l = hanoi(n - 1, c, b=b, c=a)
    return i + 1 + k, (j * 7 + a * 3 + b + l) % 10007


@case(ints(2, 3, 5), out(3))
def recursion_with_keywords(x, o):
    o[0] = ackermann(x[0], x[1])
    o[1], o[2] = hanoi(x[2])


def collect(first, *rest, scale=1):
    total = first
    for i, r in enumerate(rest):
        total += r * scale * (i + 1)
    return total + len(rest) * 1000


def forward(*args):
    return collect(*args, scale=2)


def tail(first, *rest):
    if len(rest) == 0:
        return first
    return first * 2 + tail(*rest)


@case(ints(1, 2, 3), out(7))
def star_arguments(x, o):
    o[0] = forward(x[0])
    o[1] = forward(x[0], x[1], 5)
    t = (x[1], x[2])
    o[2] = forward(*t, *t, 1)
    o[3] = collect(*t[:1], scale=3)
    o[4] = tail(1, x[1], x[2], 4)
    o[5] = (lambda *a: a[-1] - a[0])(*t, 9)
    o[6] = (lambda a, *b, c=5: a + len(b) * c)(1, *t, c=x[2])


@case(ints(9, 4), floats(2.25, -1.5), out(8, dtype=np.float64))
def compile_time_values(x, f, o):
    def compute(kind, flag, v, fallback=None):
        r = kind(v)
        if flag is None:
            return r
        if flag:
            r = r + 1
        if fallback is not None:
            r = r + fallback
        return r

    o[0] = compute(int, True, f[0])
    o[1] = compute(float, None, x[0])
    o[2] = compute(int, False, f[1], 10)
    o[3] = compute(np.float64, True, x[1], fallback=0.5)
    o[4] = compute(bool, True, f[0])
    for k, op in enumerate(OPERATORS):
        o[5 + k] = op(x[0], x[1]) * compute(float, flag=None, v=f[0])


@case(ints(2, 5), out(5))
def composition(x, o):
    def compose(*functions):
        def run(v):
            for f in functions:
                v = f(v)
            return v

        return run

    inc = lambda v: v + 1
    o[0] = compose(inc, inc, abs)(x[0])
    o[1] = compose()(x[1])
    o[2] = compose(lambda v: -v, compose(inc, lambda v: v * 3), abs)(x[1])
    twice = lambda f: lambda v: f(f(v))
    o[3] = twice(twice(inc))(x[0])
    o[4] = twice(lambda v: v * v)(x[0])


@case(ints(4), out(6))
def defaults_are_made_once(x, o):
    k = x[0]

    def f(a, b=k * 2, *, c=k + 1):
        return a * 100 + b * 10 + c

    k = 1000
    o[0] = f(1)
    o[1] = f(1, 2)
    o[2] = f(1, c=k)
    o[3] = f(c=1, b=2, a=3)

    def g(a, /, b, *, c):
        return a - b + c

    o[4] = g(1, c=10, b=5)
    o[5] = g(1, 5, c=20)


class Config:
    scale = 3
    shift = (1, 2)
    call = staticmethod(lambda v: v * 2)

    class inner:
        flag = True
        limit = np.int64(70)


@case(ints(5), out(5))
def values_of_classes(x, o):
    o[0] = x[0] * Config.scale + Config.shift[1]
    o[1] = Config.inner.limit if Config.inner.flag else 0
    o[2] = Config.call(x[0])
    a, b = Config.shift
    o[3] = a * 10 + b
    o[4] = len(Config.shift)


@case(ints(1, 2, 3, 4), out(4, dtype=np.float64))
def a_function_at_many_types(x, o):
    def same(v):
        return v

    def add(a, b):
        return a + b

    o[0] = add(same(x[0]), 1)
    o[1] = add(same(0.5), same(x[1]))
    o[2] = add(same((1, 2.5)), (x[2],))[2]
    o[3] = add(same(True), same(True))


@case(ints(3, 4, 5), out(4))
def methods_and_attributes_of_results(x, o):
    o[0] = int(float(x[0]).is_integer()) + int(x[1]).bit_length()
    o[1] = (x[0] + x[1]).bit_count()
    o[2] = (lambda: (x, o))()[0][1]
    o[3] = ((x, 1)[0].shape + (7, 8))[1]


@case(ints(10, 20, 30, 40), out(4, 2))
def arrays_through_functions(x, o):
    def put(target, *where, value):
        target[where] = value

    def swap(a, b):
        return b, a

    for i in range(4):
        put(o, i, 0, value=x[-1 - i])
    a, b = swap(x, o[:, 0])
    put(a, 2, value=77)
    put(o, 1, 1, value=b[0])
    for i, (p, q) in enumerate(zip(*swap(a, b))):
        o[i, 1] += p - q


@case(ints(3), out(3))
def names_that_shadow(x, o):
    max = lambda *a: a[0]
    len = 5
    o[0] = max(1, 2, 3) + len

    def range(n):
        return (n, n + 1)

    for i in range(x[0]):
        o[1] += i
    abs = x[0]
    o[2] = abs * len


def made(text, **names):
    return kit.function(text, "f", **names)


def test_functions_made_by_exec():
    parts = [made(f"def f(v):\n    return v * {k} + {k % 3}\n") for k in range(5)]
    chained = made("def f(v):\n    return g(h(v))\n", g=parts[2], h=parts[4])
    power = made("def f(v, n=3):\n    r = 1\n    for _ in range(n): r *= v\n    return r\n")

    def kernel(x, o):
        o[0] = chained(x[0])
        o[1] = power(x[0]) + power(x[0], 2)
        o[2] = parts[3](x[1]) if False else power(n=1, v=x[1])

    x = ints(7, 8)
    assert kit.agree(kernel, (x, out(3)))[1].tolist() == [60, 343 + 49, 8]


def test_a_kernel_made_by_a_factory_for_each_value():
    def factory(n, f):
        def kernel(x, o):
            for i in range(n):
                o[i] = f(x[i], n)

        return kernel

    for n in (0, 1, 4):
        for f in (operator.add, pow, lambda a, b: a - b * LIMIT, divmod_first):
            x = ints(5, -6, 7, 8)
            expected = out(4)
            factory(n, f)(x, expected)
            got = kit.agree(factory(n, f), (x, out(4)))
            assert got[1].tolist() == expected.tolist()


def divmod_first(a, b):
    return divmod(a, b)[0]


def test_compile_time_arguments_of_a_kernel():
    def kernel(f, kind, flag, none, x, o):
        if none is None and flag:
            o[0] = f(kind(x[0]))
        else:
            o[0] = kind(x[0]) * 2

    x = floats(-2.75)
    for f, kind, flag, none, expected in (
        (abs, int, True, None, 2),
        (abs, float, True, None, 2.75),
        (math.floor, np.float32, True, None, -3),
        (abs, int, False, None, -4),
        (abs, int, True, 5, -4),
    ):
        got = kit.agree(kernel, (f, kind, flag, none, x, out(1, dtype=np.float64)))
        assert got[1][0] == expected, (f, kind, flag, none)


def test_threads_with_closures_of_their_own():
    def kernel(x, o):
        i = gpu.grid(1)
        state = i

        def step(v):
            nonlocal state
            state = (state * 31 + v) % 1009
            return state

        def walk(v, f):
            for e in v:
                if f(e) % 7 == 3:
                    return e
            return -1

        if i < len(o):
            o[i, 0] = walk(x, step)
            o[i, 1] = state

    x = np.arange(20) * 13 % 17
    got = kit.agree(kernel, (x, out(50, 2)), grid=4, block=16)[1]
    for i in range(50):
        state, found = i, -1
        for e in x.tolist():
            state = (state * 31 + e) % 1009
            if state % 7 == 3:
                found = e
                break
        assert got[i].tolist() == [found, state]


def test_partial_calls():
    add = functools.partial(collect, 5, scale=3)

    def kernel(x, o):
        o[0] = add(x[0])
        o[1] = add(x[0], *(x[1], 2), scale=x[1])
        o[2] = accumulate(functools_add, x)

    functools_add = functools.partial(operator.add)
    x, expected = ints(1, 4), out(3)
    kernel(x, expected)
    assert kit.agree(kernel, (x, out(3)))[1].tolist() == expected.tolist()


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
