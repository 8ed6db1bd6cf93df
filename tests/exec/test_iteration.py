"""Iterators: what loops go over, nested freely, as CPython does it; and loops over elements of
different types, whose rounds have their own types and constants."""

# ruff: noqa: B007, SIM113

import math

import gpu
import kit
import numpy as np
import pytest

X = np.array([3.5, -1.0, 2.25, 0.0, 8.0])
Y = np.array([4, -7, 2, 9], np.int64)
F = np.array([1.5, 2.5, -3.25], np.float32)


def out(n=8, dtype=np.float64):
    return np.zeros(n, dtype)


def over_array(x, o):
    for v in x:
        o[0] = o[0] * 2 + v
    o[1] = v


def over_changing_array(x, o):
    k = 0
    for v in x:
        if k + 1 < len(x):
            x[k + 1] += v
        o[0] += v
        k += 1


def over_uniform_tuple(x, o):
    for v in (x[0], x[1], x[2]):
        o[0] = o[0] * 10 + v
    for a, b in ((1, 2), (3, 4), (5, 6)):
        o[1] = o[1] * 100 + a * 10 + b


def over_empty(x, o):
    for v in ():
        o[0] = v
    else:
        o[0] = 5
    for a, b in zip((), x):
        o[1] = a + b
    for t in zip():
        o[2] = 1
    for v in x[0:0] if False else ():
        o[3] = v


def enumerated(x, o):
    for i, v in enumerate(x):
        o[i] = v * i
    o[7] = i


def enumerated_from(x, o):
    for i, v in enumerate(x, 5):
        o[0] += v * i
    for i, v in enumerate(x, start=-3):
        o[1] += v * i
    n = len(x)
    for i, v in enumerate(range(4), n):
        o[2] = o[2] * 10 + i + v


def enumerated_pair(x, o):
    for pair in enumerate(x):
        o[0] += pair[0] * pair[1]
        o[1] = pair[-1]


def zipped(x, y, o):
    for a, b in zip(x, y):
        o[0] += a * b
    for a, b, c in zip(x, range(100), (1, 2, 3)):
        o[1] += a * b + c
    for (t,) in zip(y):
        o[2] = o[2] * 2 + t


def nested(x, y, o):
    for i, (a, b) in enumerate(zip(x, y)):
        o[0] += i * a + b
    for (i, a), (j, b) in zip(enumerate(x), enumerate(y, 10)):
        o[1] += i * b - j * a
    for i, (j, (a, b)) in enumerate(enumerate(zip(x, y), 1), 2):
        o[2] += i * j * a + b


def reversed_all(x, y, o):
    for v in reversed(x):
        o[0] = o[0] * 2 + v
    for k in reversed(range(3, 20, 4)):
        o[1] = o[1] * 100 + k
    for k in reversed(range(10, -5, -3)):
        o[2] = o[2] * 10 + k
    for v in reversed((1, 2, 3)):
        o[3] = o[3] * 10 + v
    for i, v in enumerate(reversed(y)):
        o[4] += i * v
    for k in reversed(range(0)):
        o[5] = 1
    for a, b in zip(reversed(x), y):
        o[6] = o[6] * 3 + a * b


def run_time_ranges(y, o):
    a, b, c = y[0], y[1], y[2]
    for k in reversed(range(a, b, -c)):
        o[0] = o[0] * 10 + k
    for k in reversed(range(b, a, c)):
        o[1] = o[1] * 10 + k
    for k in reversed(range(a, b, c)):
        o[2] = 1
    r = range(b, a, c)
    o[3] = len(r)
    o[4] = r[1] * 100 + r[-1]
    o[5] = r.start + 10 * r.stop + 100 * r.step
    for k in r:
        o[6] += k
    for k in r:
        o[6] = o[6] * 2 + k


def range_ends(o):
    big = 2**63 - 1
    for k in reversed(range(big - 3, big, 2)):
        o[0] = o[0] // 2 + k
    for k in reversed(range(-big - 1, big, big)):
        o[1] = k
        o[2] += 1
    o[3] = len(range(-big, big, 3))
    for k in reversed(range(big, -big - 1, -big)):
        o[4] = k
        o[5] += 1


def members_of_ranges(y, o):
    n = y[0]
    r = range(0, n * 5, 3)
    for k in range(-5, 30):
        if k in r:
            o[0] += 1 << k
        if k not in range(20, n, -4):
            o[1] += 1
        if k in range(7):
            o[2] += k
    o[3] = 6.0 in r
    o[4] = 6.5 in r
    o[5] = (0 in range(0)) * 2 + (2**63 - 1 in range(2**63 - 1))
    o[6] = float("inf") in r if False else 0


def chosen_range(y, o):
    for k in range(3) if y[0] > 0 else range(10, 4, -2):
        o[0] = o[0] * 10 + k
    for k in range(3) if y[0] < 0 else range(10, 4, -2):
        o[1] = o[1] * 100 + k


def breaks(x, y, o):
    for i, v in enumerate(x):
        if v < 0:
            continue
        if v == 0:
            o[0] = i
            break
        o[1] += v
    else:
        o[2] = 1
    for a in x:
        for b in y:
            if b > a:
                break
            o[3] += 1
        else:
            o[4] += 1
    for v in reversed(y):
        if v == 1000:
            break
    else:
        o[5] = v


def variable_after(x, o):
    i = -1
    for i, v in enumerate(x):
        if v > 3:
            break
    o[0] = i
    for k in range(0):
        pass
    for k in (4, 5, 6):
        pass
    o[1] = k


def accumulates(f, o):
    total = 0
    for v in f:
        total += v
    o[0] = total
    best = f[0]
    for v in f:
        best = max(best, v)
    o[1] = best


def rows(m, o):
    for i, row in enumerate(m):
        row[0] += 10
        o[i] = sum(row)
    for row in reversed(m):
        for v in row:
            o[4] = o[4] * 2 + v
    for a, b in zip(m, m[1:]):
        o[5] += a[1] * b[-1]
    for plane in (m, m[:, 1:], m[::-1]):
        o[6] += len(plane) * 10 + plane[0, 0]
        for row in plane:
            o[7] += row[0]


def columns(m, o):
    for column in m.T:
        for v in column[::-1]:
            o[0] = o[0] * 2 + v
    for row in m[1:, ::2]:
        o[1] += sum(row) * max(row)


M = np.arange(12.0).reshape(3, 4)

UNIFORM = [
    (rows, M), (columns, M), (rows, np.asfortranarray(M)), (rows, np.arange(24).reshape(3, 8)[:, ::2]),
    (over_array, X), (over_changing_array, X), (over_uniform_tuple, X), (over_empty, X), (enumerated, X),
    (enumerated_from, X), (enumerated_pair, X), (zipped, X, Y), (zipped, F, X), (nested, X, Y), (nested, Y, F),
    (reversed_all, X, Y), (run_time_ranges, Y), (members_of_ranges, Y), (chosen_range, Y), (breaks, X, Y),
    (variable_after, X), (accumulates, F), (accumulates, Y), (over_array, np.zeros(0) + 1), (zipped, X[:1], Y),
]  # fmt: skip


@pytest.mark.parametrize("case", UNIFORM, ids=lambda case: case[0].__name__)
def test_loop(case):
    function, *args = case
    if len(args[0]) == 0 and function is over_array:
        pytest.skip("the loop variable has no value")
    kit.agree(function, (*args, out()))


def test_ends_of_int64():
    o = np.zeros(6, np.int64)
    expected = np.zeros(6, np.int64)
    kit.single(gpu.jit(range_ends), o)
    range_ends(expected)
    assert o.tolist() == expected.tolist()


def test_strided_array():
    o = out()
    kit.single(gpu.jit(over_array), gpu.to_device(np.arange(10.0))[::2], o)
    expected = out()
    over_array(np.arange(10.0)[::2], expected)
    assert o.tolist() == expected.tolist()


# ---- Elements of different types ----


def own_types(o):
    for v in (7, 7.0, True):
        o[0] = o[0] * 100 + v / 2
        o[1] = o[1] * 100 + v // 2
        o[2] = o[2] * 10 + isinstance(v, int)


def functions(x, o):
    for i, f in enumerate((math.sin, math.cos, math.exp)):
        o[i] = f(x[0])
    for f, g in zip((math.sqrt, math.floor), (math.ceil, abs)):
        o[3] += f(x[2]) * g(x[2])


def arrays(x, y, f, o):
    for i, a in enumerate((x, y, f)):
        a[1] = i + 2.75
        o[i] = a[0] + len(a)
    for a in (x, y):
        for i, v in enumerate(a):
            o[3] += i * v


def with_break(x, o):
    for i, f in enumerate((math.sin, math.cos, math.exp, math.log)):
        if i == int(x[0]):
            o[1] = f(x[2])
            break
        o[0] += f(x[2])
    else:
        o[2] = 1
    o[3] = i


def with_continue(x, o):
    for i, (f, scale) in enumerate(zip((math.sin, abs, math.exp), (1, 2.5, 3))):
        if x[i] < 0:
            o[1] += scale
            continue
        o[0] += f(x[i]) * scale
    else:
        o[2] = 1
    o[3] = scale


def nested_unrolled(x, o):
    for f in (math.sqrt, abs, math.exp):
        for k, g in enumerate((abs, math.floor)):
            for n in range(3):
                if n > k + 1:
                    break
                o[0] += f(g(x[2])) * (n + 1)
        o[1] += 1
    for i in range(3):
        for v in (i, i * 0.5):
            o[2] = o[2] * 3 + v
        if i == 1:
            continue
        o[3] += 1


def in_while(x, o):
    n = 3
    while n:
        for f in (math.floor, math.exp):
            if n == 2 and f(0.0) == 1:
                break
            o[0] += f(x[0]) * n
        else:
            o[1] += n
        n -= 1


def carried(x, o):
    a = 1
    last = 0.0
    for v in (2, x[0], 3):
        a = a * v
        last = last + a
    o[0] = a
    o[1] = last


def returned(v, kind):
    for n, name in ((1, "one"), (2.0, "two"), (3, "three")):
        if name == kind:
            return n * v
    return -1


def returns(x, o):
    o[0] = returned(x[0], "two")
    o[1] = returned(x[0], "three")
    o[2] = returned(x[0], "four")


def recursion(x, depth):
    total = 0.0
    for f in (math.floor, math.sqrt):
        total += f(x)
    if depth > 0:
        total += recursion(x + 1, depth - 1)
    return total


def recursive(x, o):
    o[0] = recursion(x[0], 3)


def constant_index(x, y, o):
    both = (x, y)
    for k in gpu.unroll(range(2)):
        o[k] = both[k][0]
    for k, scale in enumerate((2, 0.5)):
        o[2] += both[k][1] * scale
    for k in gpu.literal_unroll((1, 0)):
        o[3] = o[3] * 10 + both[k][2]


def mixed_lengths(x, o):
    for i, f in zip(range(int(x[4])), (math.sin, math.cos, math.exp)):
        o[0] += f(x[0]) * i
    for i, f in zip(range(2), (math.sin, math.cos, math.exp)):
        o[1] += f(x[0]) * i
    for v, f in zip(x, (math.sin, abs)):
        o[2] += f(v)


def reversed_mixed(x, o):
    for v in reversed((1, 2.5, x[0])):
        o[0] = o[0] * 10 + v
    for i, f in enumerate(reversed((math.floor, math.exp))):
        o[1] += f(x[0]) * (i + 1)


def of_tuples(x, o):
    for a, (b, c) in ((1, (2.5, 3)), (4.5, (5, 6.5))):
        o[0] = o[0] * 100 + a * b + c
    for t in ((1,), (1, 2.5), (1, 2, 3)):
        o[1] = o[1] * 10 + len(t)
        for v in t:
            o[2] += v


def walk(o):
    total = 0
    for k in gpu.unroll(range(10, 0, -3)):
        total = total * 10 + k
    o[0] = total


MIXED = [
    (own_types,), (functions, X), (arrays, X, Y, F), (with_break, X), (with_continue, X), (nested_unrolled, X),
    (in_while, X), (carried, X), (carried, F), (returns, X), (constant_index, X, Y), (mixed_lengths, X),
    (reversed_mixed, X), (of_tuples, X), (recursive, X),
]  # fmt: skip


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case[0].__name__)
def test_rounds_of_their_own_types(case):
    function, *args = case
    kit.agree(function, (*args, out()), ulps=4)


def test_unrolled_range():
    o = out()
    kit.single(gpu.jit(walk), o)
    assert o[0] == 10741


def test_array_types_are_kept():
    x, y, f = X.copy(), Y.copy(), F.copy()
    kit.single(gpu.jit(arrays), x, y, f, out())
    assert (x[1], y[1], f[1]) == (2.75, 3, 4.75)


def test_rounds_are_written_out():
    signature = "float64[::1], int64[::1], float32[::1], float64[::1]"
    text = gpu.jit(arrays).ptx(signature, arch="sm_75")
    assert text.count("st.global") >= 6
    assert gpu.jit(over_uniform_tuple).ptx("float64[::1], float64[::1]", arch="sm_90")


@pytest.mark.parametrize("over", ["(v, n, v)", "enumerate((v, n, v))", "reversed((v, n, v))",
                                  "zip((v, n, v), (n, n, n))"])  # fmt: skip
def test_elements_that_are_of_one_type_in_the_end(over):
    """`n` is uint64, though the way on which it is an int is looked at first: the loop is a loop, so v
    may have kept its first value, a uint64, and an int that joins it wraps no uint8."""
    source = f"""
def kernel(c, u, out):
    v = u[0]
    n = 2**63 if c[0] else 1
    for e in {over}:
        v = c[1]
    out[0] = (v + gpu.uint8(200)) * 2
"""
    out = np.zeros(1, np.int64)
    # The python device joins nothing.
    kit.single(kit.kernel(source), np.array([0, 5]), np.array([7], np.uint64), out, reference=False)
    assert out[0] == 410


# ---- Tuples whose elements come to be of one type ----


@pytest.mark.parametrize(
    "each", ["(c, *t)", "(*t, c)", "(first, *t)", "(c, c, *t)", "reversed((c, *t))"]
)
def test_what_is_uniform_in_the_end_is_a_loop(each):
    """c is a uint64, though the 1 comes first; around the loop b is a float16, as it was before."""
    source = (
        "def main(x, out):\n"
        "    b = x[0]\n"
        "    c = 9223372036854775808 if x[1] else 1\n"
        "    t = (c, c)\n"
        "    first, *rest = t\n"
        f"    for v in {each}:\n"
        "        b = v\n"
        "    out[0] = b\n"
    )
    out = np.zeros(1)
    kit.kernel(source, "main")[1, 1](np.ones(2, np.float16), out)
    gpu.synchronize()
    assert out[0] == np.inf


@pytest.mark.parametrize("outer", ["(x, 1)", "gpu.unroll(range(2))"])
def test_rounds_are_written_out_from_the_outside(outer):
    """In the second round the inner loop is over two ints, so that v, which was a float16 before,
    stays one."""
    source = (
        "def main(x, out):\n"
        "    a = x[0]\n"
        f"    for w in {outer}:\n"
        "        for v in (1, a):\n"
        "            pass\n"
        "        a = 1\n"
        "    out[0] = v / 3\n"
    )
    out = np.zeros(1)
    kit.kernel(source, "main")[1, 1](np.ones(2, np.float16), out)
    gpu.synchronize()
    assert out[0] == np.float16(1) / np.float16(3)
