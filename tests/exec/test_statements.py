"""Statements that every version of Python compiles in its own way."""

# ruff: noqa: B007, F722, PIE790

import gpu
import kit
import numpy as np
import pytest

X = np.array([3.5, -1.0, 2.25, 0.0, 8.0])
Y = np.array([4, -7, 2, 9], np.int64)
SCALE = 3


def match_numbers(y, o):
    for i, v in enumerate(y):
        match v:
            case 4:
                o[i] = 1
            case -7 | 9:
                o[i] = 2
            case w if w > 1:
                o[i] = w * 10
            case _:
                o[i] = 3


def match_constants(y, o):
    for i, kind in enumerate((None, True, "a", 1, 2.5, "b")):
        match kind:
            case None:
                o[i] = 1
            case True:
                o[i] = 2
            case "a" | "c":
                o[i] = 3
            case 1:
                o[i] = 4
            case other:
                o[i] = 5


def walrus(x, o):
    k = 0
    while (v := x[k]) != 0:
        o[0] += v
        k += 1
    if (n := len(x)) > 3 and (m := n * 2) > 5:
        o[1] = n + m
    o[2] = (p := 5) + p


def chains(x, y, o):
    o[0] = 0 < x[0] < 4
    o[1] = 0 < x[0] < 4 < x[4] != y[0]
    o[2] = x[0] > y[1] == -7
    o[3] = not (1 <= y[2] <= 2 <= y[0])
    a = b = c = y[0]
    o[4] = a + b + c
    o[5] = y[0] in (4, 5) in (True, 2) if False else 1


def conditional(x, y, o):
    o[0] = x[0] if y[0] > 0 else y[0]
    o[1] = (1 if x[0] > 5 else 2 if x[0] > 3 else 3) + (y[0] and x[1]) + (y[0] or x[1])
    o[2] = x[3] or y[1] or 7
    o[3] = (x[0] > 1 and x[1] > 1) or (y[2] if x[4] else 0)


def loops_with_else(x, y, o):
    k = 0
    while k < 3:
        k += 1
    else:
        o[0] = k
    while True:
        k += 1
        if k > 10:
            break
    else:
        o[1] = 1
    for v in y:
        if v == 2:
            break
    else:
        o[2] = 1
    for v in x:
        pass
    else:
        o[3] = v


def deleted(x, y, o):
    a = x[0]
    b, c = y[0], 2
    o[0] = a + b
    del a
    del b, c
    a = y[1]
    o[1] = a
    for k in range(3):
        t = k * a
        o[2] += t
        del t
    (b, c) = (1, 2)
    del (b, c)
    if o[0] > 0:
        del x
    o[3] = 1


def annotated(x, o):
    """A kernel may have a docstring."""
    a: int = 3
    b: float
    b = x[0]
    c: "any text" = a + b
    ...
    pass
    o[0] = c


def reads_globals(x, o):
    global SCALE
    o[0] = SCALE * x[0]


def targets(x, y, o):
    (a, b), c = (x[0], y[0]), 3
    [d, e] = a, b
    o[0] = a + b + c + d + e
    for i, (p, (q, r)) in enumerate(((1, (2, 3)), (4, (5, 6)))):
        o[1 + i] = p * 100 + q * 10 + r
    o[3], o[4] = o[0], o[1] = 7, 8
    k = 0
    k, o[k + 5] = 1, 9
    o[6] += (k := k + 1)


def augmented(x, y, o):
    a = y[0]
    a += 2
    a *= 3
    a -= 1
    a //= 2
    a **= 2
    a %= 50
    a <<= 3
    a |= 5
    a ^= 9
    a &= 0xFFFF
    a >>= 1
    o[0] = a
    x[1] += 2
    x[0] /= 4
    o[1] = x[0] + x[1]
    t = (1, 2)
    t += (y[0],)
    o[2] = t[2]


def early(x, o):
    for i, v in enumerate(x):
        if v == 0:
            o[0] = i
            return
        for w in x:
            if w == v:
                continue
            if w > 100:
                return
            o[1] += 1


CASES = [match_numbers, walrus, chains, conditional, loops_with_else, deleted, annotated,
         reads_globals, targets, augmented, early]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_statement(function):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    arrays = {"x": X.copy(), "y": Y.copy(), "o": np.zeros(8)}
    kit.agree(function, tuple(arrays[name] for name in names))


def test_against_cpython():
    for function, expected in (
        (match_numbers, [1, 2, 20, 2]),
        (match_constants, [1, 2, 3, 4, 5, 5]),
    ):
        o = np.zeros(8)
        kit.single(gpu.jit(function), Y, o)
        assert o[: len(expected)].tolist() == expected
