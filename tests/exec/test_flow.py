"""Statements: the same function run by CPython on lists and by a kernel on arrays must agree.

The functions keep to numbers for which Python's own results are the rule: ints of 64 bits and double
floats. A list in the arguments becomes an array, of int64 or float64 by its elements.
"""

import copy

import gpu
import kit
import numpy as np
import pytest
from kit import same_float

BIG = 2**63 - 1


def agree(function, *args) -> None:
    """Runs it both ways and compares what is in the lists afterwards."""
    lists = copy.deepcopy(args)
    function(*lists)
    arrays = [np.array(a, "float64" if any(isinstance(v, float) for v in a) else "int64")
              if isinstance(a, list) else a for a in args]  # fmt: skip
    kit.single(gpu.jit(function), *arrays)
    for expected, got in zip(lists, arrays):
        if not isinstance(expected, list):
            continue
        for k, (e, g) in enumerate(zip(expected, got.tolist())):
            ok = same_float(g, float(e)) if isinstance(g, float) else g == int(e)
            assert ok, f"element {k}: {g!r}, Python has {e!r} in {expected}"


def if_elif_else(x, out):
    for k in range(len(x)):
        v = x[k]
        if v < -10:
            out[k] = 1
        elif v < 0:
            out[k] = 2
        elif v == 0:
            out[k] = 3
        else:
            out[k] = 4
            if v > 100:
                out[k] = 5


def while_loop(n, out):
    k = 0
    total = 0
    while k < n:
        total += k * k
        k += 1
    out[0] = total
    out[1] = k


def while_true_with_breaks(x, out):
    k = 0
    while True:
        if k >= len(x):
            out[0] = -1
            break
        if x[k] == 7:
            out[0] = k
            break
        k += 1
    out[1] = k


def while_else(x, out):
    k = 0
    while k < len(x):
        if x[k] < 0:
            out[0] = k
            break
        k += 1
    else:
        out[0] = 100


def for_else(x, out):
    for k in range(len(x)):
        if x[k] == 0:
            break
    else:
        out[1] = 1
    out[0] += 1


def continue_in_for(x, out):
    for k in range(len(x)):
        if x[k] % 2:
            continue
        if x[k] == 8:
            out[1] += 1
            continue
        out[0] += x[k]


def continue_in_while(n, out):
    k = 0
    while k < n:
        k += 1
        if k % 3 == 0:
            continue
        out[0] += k


def nested_loops(n, m, out):
    for i in range(n):
        for j in range(m):
            if j > i:
                break
            if (i + j) % 2:
                continue
            out[0] += i * 10 + j
        else:
            out[1] += 1
    for i in range(n):
        j = i
        while j > 0:
            j //= 2
            out[2] += 1


def three_deep(n, out):
    for i in range(n):
        for j in range(i, n):
            for k in range(j, n):
                if i + j == k:
                    out[0] += 1
                if k > 5:
                    break
            if j > 4:
                break


def early_return(x, out):
    for k in range(len(x)):
        if x[k] > 50:
            out[0] = k
            return
        out[1] += 1
    if out[1] > 2:
        return
    out[0] = -1


def loop_variable_after_the_loop(n, out):
    i = -5
    for i in range(n):  # noqa: B007
        pass
    out[0] = i
    for i in range(3):
        if i == 1:
            break
    out[1] = i


def changing_the_loop_variable(n, out):
    for i in range(n):
        out[0] += i
        i = i * 2
        out[1] += i


def range_bounds_are_read_once(n, out):
    m = n
    for i in range(m):
        m = 0
        out[0] += i


def conditional_expressions(x, out):
    for k in range(len(x)):
        v = x[k]
        out[k] = 1 if v < 0 else 2 if v == 0 else 3
        out[k] += (v if v > 5 else -v) * (2 if k else 1)


def and_or_not_values(x, y, out):
    for k in range(len(x)):
        a = x[k]
        b = y[k]
        out[4 * k] = a and b
        out[4 * k + 1] = a or b
        out[4 * k + 2] = (a or 3) and (b or 4)
        out[4 * k + 3] = not a and not b or a > b


def short_circuit(x, out):
    for k in range(len(x) + 1):
        if k < len(x) and x[k] > 0:
            out[0] += 1
        if k >= len(x) or x[k] == 0:
            out[1] += 1


def chained_comparisons(x, out):
    for k in range(len(x)):
        v = x[k]
        out[k] = (0 < v < 10) + 2 * (0 <= v <= 3 < 4) + 4 * (v != 5 == 5) + 8 * (1 < v > 3)
        if -3 < v < 3 and not 0 <= v < 1:
            out[k] += 16


def unpacking_and_swaps(x, out):
    a, b = x[0], x[1]
    a, b = b, a
    c = d = a
    (e, f), g = (a, b), c + d
    a, b, c = c, a, b
    x[0], x[1] = x[1], x[0]
    out[0] = a
    out[1] = b
    out[2] = c
    out[3] = d + 2 * e + 3 * f + 5 * g
    t = (a, b, (c, d))
    out[4] = t[0] + t[1] * t[2][1] + len(t)
    (p, (q, r)) = (1, (2, 3))
    out[5] = p + 10 * q + 100 * r


def fibonacci(n, out):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    out[0] = a
    out[1] = b


def augmented(x, out):
    v = x[0]
    v += 3
    v -= 1
    v *= 5
    v //= 2
    v %= 17
    v <<= 3
    v >>= 1
    v |= 5
    v &= 29
    v ^= 7
    v **= 2
    out[0] = v
    out[1] += v
    out[1] -= 2
    out[1] *= 3
    out[2] |= 12
    out[-1] ^= 3


def retyped_in_straight_line(x, out):
    v = x[0] > 0
    out[0] = v
    v = x[0] * 2
    out[1] = v
    v = v / 4
    out[2] = v * 8
    v = (v, 1)
    out[3] = v[1]


def defined_on_one_path(x, out):
    if x[0] > 0:
        y = 5
        z = 7
    else:
        z = 1
    if x[0] > 0:
        out[0] = y
    out[1] = z


def many_carried(n, out):
    a = 1
    b = 2
    c = 0.5
    d = 0
    for i in range(n):
        t = a
        a = b
        b = t + i
        c = c * 0.5 + a
        if i % 3 == 0:
            d += b
            a, b = b, a
    out[0] = a + b + d
    out[1] = c


def collatz(x, out):
    for k in range(len(x)):
        v = x[k]
        steps = 0
        while v != 1 and steps < 200:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            steps += 1
        out[k] = steps


def bubble_sort(x):
    n = len(x)
    for i in range(n):
        changed = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                changed = True
        if not changed:
            return


def walrus(x, out):
    k = 0
    while (v := x[k]) != 0:
        out[0] += v
        k += 1
    out[1] = (w := v + 5) + w


def annotated(x, out):
    total: int = 0
    k: int
    for k in range(len(x)):
        total += x[k]
    out[0] = total


def sieve(n, flags, out):
    for i in range(2, n):
        flags[i] = 1
    i = 2
    while i * i < n:
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = 0
        i += 1
    for i in range(n):
        out[0] += flags[i]


CASES = [
    (if_elif_else, [-50, -3, 0, 5, 500], [0] * 5),
    (while_loop, 0, [0, 0]), (while_loop, 10, [0, 0]),
    (while_true_with_breaks, [1, 2, 7, 7], [0, 0]), (while_true_with_breaks, [1, 2], [0, 0]),
    (while_else, [1, 2, 3], [0]), (while_else, [1, -2, 3], [0]),
    (for_else, [1, 2, 3], [0, 0]), (for_else, [1, 0, 3], [0, 0]), (for_else, [0], [0, 0]),
    (continue_in_for, [1, 2, 8, 3, 4], [0, 0]), (continue_in_while, 10, [0]),
    (nested_loops, 6, 4, [0, 0, 0]), (nested_loops, 0, 4, [0, 0, 0]), (nested_loops, 4, 0, [0, 0, 0]),
    (three_deep, 8, [0]),
    (early_return, [1, 2, 60, 3], [0, 0]), (early_return, [1, 2], [0, 0]), (early_return, [1, 2, 3, 4], [9, 0]),
    (loop_variable_after_the_loop, 4, [0, 0]), (loop_variable_after_the_loop, 0, [0, 0]),
    (changing_the_loop_variable, 5, [0, 0]), (range_bounds_are_read_once, 5, [0]),
    (conditional_expressions, [-3, 0, 4, 9], [0] * 4),
    (and_or_not_values, [0, 1, 0, 5], [0, 0, 7, 3], [0] * 16),
    (short_circuit, [0, 1, 2, 0], [0, 0]), (chained_comparisons, [-2, 0, 1, 3, 5, 9, 12], [0] * 7),
    (unpacking_and_swaps, [3, 4], [0] * 6), (fibonacci, 0, [0, 0]), (fibonacci, 50, [0, 0]),
    (augmented, [9], [1, 2, 3, 4]), (retyped_in_straight_line, [7], [0.0] * 4),
    (defined_on_one_path, [1], [0, 0]), (defined_on_one_path, [-1], [0, 0]),
    (many_carried, 10, [0.0, 0.0]), (collatz, [1, 2, 7, 27, 97], [0] * 5),
    (bubble_sort, [5, 3, 9, -1, 0, 5, 2]), (bubble_sort, [1, 2, 3]), (walrus, [3, 4, 0, 9], [0, 0]),
    (annotated, [1, 2, 3], [0]), (sieve, 50, [0] * 50, [0]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_like_python(case):
    agree(*case)


RANGES = [
    (0,), (5,), (-3,), (2, 7), (7, 2), (0, 10, 3), (0, 9, 3), (1, 10, 3), (10, 0, -1), (10, 0, -3), (0, 10, -1),
    (9, -1, -3), (-5, 5, 4), (5, 5), (5, 5, -1), (BIG - 3, BIG), (BIG - 10, BIG, 4), (BIG - 1, BIG, BIG),
    (-BIG - 1, -BIG + 3), (-BIG + 5, -BIG - 1, -3), (-BIG - 1, BIG, BIG), (BIG, -BIG - 1, -BIG), (0, 1, BIG),
    (-BIG - 1, BIG, BIG // 2), (0, -1, -BIG - 1), (3, 4, BIG), (-BIG - 1, BIG, 2**62),
]  # fmt: skip


def walk(r, out) -> None:
    k = 0
    for i in range(r[0], r[1], r[2]):
        out[k] = i
        k += 1
    out[-1] = k


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_ranges_with_run_time_bounds(bounds):
    start, stop, step = (
        (0, *bounds, 1) if len(bounds) == 1 else bounds if len(bounds) == 3 else (*bounds, 1)
    )
    agree(walk, [start, stop, step], [0] * 16)


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_ranges_with_constants(bounds):
    source = f"def kernel(out):\n    k = 0\n    for i in range{bounds}:\n        out[k] = i\n        k += 1\n    out[15] = k\n"
    out = np.zeros(16, "int64")
    kit.single(kit.kernel(source.replace(",)", ")")), out)
    expected = list(range(*bounds))
    assert out[: len(expected)].tolist() == expected
    assert out[15] == len(expected)


def test_a_step_of_zero_runs_nothing():
    out = [7] * 16
    r = np.array([0, 5, 0])
    array = np.array(out)
    kit.single(gpu.jit(walk), r, array)
    assert array.tolist() == [7] * 15 + [0]


def test_range_takes_any_integers():
    source = "def kernel(x, out):\n    for i in range(x[0] > 0, gpu.uint8(x[1]), gpu.int16(x[2])):\n        out[i] = 1\n"
    out = np.zeros(12, "int32")
    kit.single(kit.kernel(source), np.array([1, 256 + 10, 3]), out)
    assert out.nonzero()[0].tolist() == [1, 4, 7]


JOINS = [
    ("acc = 0.0", "acc += x[i]", "float32", "float32"),
    ("acc = 0", "acc += x[i]", "float32", "float32"),
    ("acc = 0", "acc += x[i]", "float64", "float64"),
    ("acc = 0", "acc += x[i]", "int8", "int"),
    ("acc = 0.0", "acc += x[i]", "int32", "float"),
    ("acc = False", "acc = acc or x[i] > 2", "int32", "bool"),
    ("acc = gpu.uint8(0)", "acc += x[i]", "int32", "uint8"),
    ("acc = 0", "acc += x[i]", "uint64", "uint64"),
    ("acc = x[0]", "acc = acc * 0.5", "float32", "float32"),
    ("acc = x[0]", "acc = acc * 0.5", "int32", "float"),
]


@pytest.mark.parametrize("first, step, dtype, kind", JOINS)
def test_joins_of_accumulators(first, step, dtype, kind):
    """The type of a variable that loops carry shows in its product with a narrow partner."""
    from oracle import Num, convert
    from test_operators import probe

    array = "f" if "float" in kind else "u" if kind == "uint64" else "s"
    text = {"bool": "~acc", "uint64": "acc // 3"}.get(
        kind, "acc * gpu.float32(3)" if "float" in kind else "acc * gpu.int8(3)"
    )
    source = (f"def kernel(x, n, s, u, f):\n    {first}\n    for i in range(n):\n        {step}\n"
              f"    {array}[0] = acc\n    {array}[1] = {text}\n")  # fmt: skip
    x = np.array([1, 2, 3, 100, 101, 7], dtype)
    s, u, f = (np.zeros(2, t) for t in ("int64", "uint64", "float64"))
    kit.single(kit.kernel(source), x, len(x), s, u, f)
    scope = {"x": x.tolist(), "gpu": type("G", (), {"uint8": staticmethod(int)})}
    exec(f"{first}\nfor i in range({len(x)}):\n    {step}\n", scope)
    value = convert(Num("float" if isinstance(scope["acc"], float) else "int", scope["acc"]), kind)
    out = {"f": f, "u": u, "s": s}[array]
    assert kit.same(out[0], value)
    assert kit.same(out[1], probe(value))


def test_a_branch_that_cannot_run_is_not_typed():
    source = (
        "def kernel(out):\n"
        "    if LIMIT > 5:\n"
        "        out[0] = undefined_name + 'text'\n"
        "    else:\n"
        "        out[0] = 4\n"
    )
    out = np.zeros(1, "int32")
    kit.single(kit.kernel(source, names={"LIMIT": 3}), out)
    assert out[0] == 4


@pytest.mark.parametrize("body", [
    "    if n > 0:\n        v = 1\n",
    "    for i in range(3):\n        if LIMIT > 5:\n            v = 5\n    if n > 0:\n        v = 1\n",
    "    while LIMIT > 5:\n        v = 2\n    if n > 0:\n        v = 1\n    elif LIMIT > 5:\n        v = 3\n",
])  # fmt: skip
def test_a_variable_without_a_value_reads_0(body):
    kernel = kit.kernel(f"def kernel(out, n):\n{body}    out[0] = v\n", names={"LIMIT": 3})
    for n in (1, -1):
        out = np.full(1, 9, "int32")
        kit.single(kernel, out, n)
        assert out[0] == (n > 0)


def test_a_value_converts_once_from_its_assignment_to_each_reader():
    """However many joins lie between, and whatever other readers see."""
    nested = """
def kernel(x, c, out):
    b = x[0]
    if c[0]:
        if c[1]:
            b = gpu.uint32(7)
    v = b
    if c[2]:
        v = 0.5
    out[0] = v
"""
    returned = """
def pick(x, c):
    if c[2]:
        return 0.5
    return x if c[0] else gpu.uint32(3)

def kernel(x, c, out):
    out[0] = pick(x[0], c)
"""
    read = nested.replace("    v = b\n", "    v = b\n    out[1] = v\n")
    carried = """
def kernel(x, c, out):
    v = x[0]
    for k in range(3):
        if c[k]:
            v = gpu.uint8(7)
        out[k + 1] = v
    if c[3]:
        v = 0.5
    out[0] = v
"""
    cases = {
        nested: {(0, 0, 0): -5.0, (1, 0, 0): -5.0, (1, 1, 0): 7.0, (0, 0, 1): 0.5},
        returned: {(0, 0, 0): 3.0, (1, 0, 0): -5.0, (0, 0, 1): 0.5},
        read: {
            (0, 0, 0): (-5.0, 2.0**32 - 5),
            (1, 1, 0): (7.0, 7.0),
            (0, 0, 1): (0.5, 2.0**32 - 5),
        },
        carried: {
            (0, 0, 0, 0): (-5.0, 251.0, 251.0, 251.0),
            (0, 1, 0, 0): (7.0, 251.0, 7.0, 7.0),
            (0, 0, 0, 1): (0.5, 251.0, 251.0, 251.0),
        },
    }
    for source, results in cases.items():
        kernel = kit.kernel(source)
        for flags, want in results.items():
            out = np.zeros(4)
            # The python device joins nothing.
            kit.single(kernel, np.array([-5]), np.array(flags), out, reference=False)
            wants = want if isinstance(want, tuple) else (want,)
            assert tuple(out[: len(wants)]) == wants, (source, flags)


def test_only_a_float_joins_uint64_with_signed_integers():
    text = """
def kernel(x, c, out):
    v = x[0]
    if c[0]:
        v = gpu.uint64(7)
    {read}
    if c[1]:
        v = 0.5
    out[0] = v
"""
    kernel = kit.kernel(text.format(read="pass").replace("x[0]", "gpu.int8(x[0])"))
    for flags, want in {(0, 0): -5.0, (1, 0): 7.0, (0, 1): 0.5}.items():
        out = np.zeros(1)
        kit.single(kernel, np.array([-5]), np.array(flags), out, reference=False)
        assert out[0] == want
    source = text.format(read="out[0] = v").replace("x[0]", "gpu.int8(x[0])")
    with pytest.raises(gpu.TypingError, match="'v' is int8 on one path and uint64 on another"):
        kit.single(kit.kernel(source), np.array([-5]), np.array([0, 0]), np.zeros(1))
