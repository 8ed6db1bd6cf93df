"""gpu.atomic: every operation on every type of element, wherever the array is."""

import itertools

import atomics
import gpu
import kit
import numpy as np
import pytest
from atomics import CASES, INTEGERS, NUMBERS, numpy_type, same, samples, updated

SPACES = {
    "global": "    old = gpu.atomic.{op}(a, i, v[i])\n",
    "shared": (
        "    s = gpu.shared.array(64, gpu.{t})\n    t = gpu.threadIdx.x\n    s[t] = a[i]\n"
        "    gpu.syncthreads()\n    old = gpu.atomic.{op}(s, t, v[i])\n"
        "    gpu.syncthreads()\n    a[i] = s[t]\n"
    ),
    "local": (
        "    s = gpu.local.array((2, 3), gpu.{t})\n    s[1, 2] = a[i]\n"
        "    old = gpu.atomic.{op}(s, (1, i % 1 - 1), v[i])\n    a[i] = s[-1, -1]\n"
    ),
}


def in_space(space: str, op: str, dtype: str, **options):
    body = SPACES[space].format(op=op, t=dtype if dtype != "bool" else "bool_")
    return kit.kernel(
        f"def kernel(a, v, o):\n    i = gpu.grid(1)\n    if i >= a.size:\n        return\n{body}"
        "    o[i] = old\n",
        **options,
    )


def flushes(op: str, dtype: str, space: str) -> bool:
    """Sums in a GPU's global memory take subnormal numbers to be zeros."""
    on_gpu = gpu.device().kind == "cuda"
    return on_gpu and space == "global" and dtype == "float32" and op in ("add", "sub")


def old_type(dtype: str) -> str:
    """What holds an element that was read."""
    return dtype if dtype in (*atomics.FLOATS, "bool", "uint64") else "int64"


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_every_operation(op, dtype, space):
    pairs = list(itertools.product(samples(dtype), samples(dtype)))
    if flushes(op, dtype, space):
        pairs = [p for p in pairs if all(v == 0 or abs(v) > 1e-30 for v in p)]
    kind = numpy_type(dtype)
    a, v = (np.array([p[k] for p in pairs], kind) for k in (0, 1))
    old = np.zeros(len(pairs), numpy_type(old_type(dtype)))
    kit.launch(in_space(space, op, dtype), len(pairs), a, v, old)
    for k, (before, operand) in enumerate(pairs):
        assert same(old[k], before), (before, operand)
        assert same(a[k], updated(op, dtype, before, operand)), (before, operand, a[k])


CAS = {
    "global": "    old = gpu.atomic.cas(a, i, c[i], v[i])\n",
    "shared": (
        "    s = gpu.shared.array((64, 1), gpu.{t})\n    t = gpu.threadIdx.x\n    s[t, 0] = a[i]\n"
        "    gpu.syncthreads()\n    old = gpu.atomic.cas(s, (t, -1), c[i], v[i])\n"
        "    gpu.syncthreads()\n    a[i] = s[t, 0]\n"
    ),
    "local": (
        "    s = gpu.local.array(2, gpu.{t})\n    s[0] = a[i]\n"
        "    old = gpu.atomic.compare_and_swap(s, c[i], v[i])\n    a[i] = s[0]\n"
    ),
}


def bits(value) -> bytes:
    return np.asarray(value).tobytes()


@pytest.mark.parametrize("space", CAS)
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_cas(dtype, space):
    """Compares bits: zeros of two signs differ, a NaN is equal to itself."""
    numbers = samples(dtype)
    triples = [(a, c, numbers[-1]) for a, c in itertools.product(numbers, numbers)]
    kind = numpy_type(dtype)
    a, c, v = (np.array([t[k] for t in triples], kind) for k in range(3))
    old = np.zeros(len(triples), numpy_type(old_type(dtype)))
    body = CAS[space].format(t=dtype if dtype != "bool" else "bool_")
    source = (
        "def kernel(a, c, v, o):\n    i = gpu.grid(1)\n    if i >= a.size:\n        return\n"
        f"{body}    o[i] = old\n"
    )
    kit.launch(kit.kernel(source), len(triples), a, c, v, old)
    for k, (before, compared, value) in enumerate(triples):
        assert same(old[k], before)
        expected = value if bits(before) == bits(compared) else before
        assert bits(a[k]) == bits(expected), (before, compared)


def test_bytes_that_are_neither_0_nor_1_are_true():
    raw = np.array([2, 0, 2, 0, 2, 2, 2, 0], "uint8")
    source = (
        "def kernel(a, o):\n    o[0] = gpu.atomic.xor(a, 0, True)\n    o[1] = gpu.atomic.xor(a, 1, True)\n"
        "    o[2] = gpu.atomic.and_(a, 2, True)\n    o[3] = gpu.atomic.or_(a, 3, 5)\n"
        "    o[4] = gpu.atomic.cas(a, 4, True, False)\n    o[5] = gpu.atomic.cas(a, 5, False, False)\n"
        "    o[6] = gpu.atomic.exch(a, 6, 3)\n    o[7] = gpu.atomic.and_(a, 7, True)\n"
    )
    old = np.zeros(8, "bool")
    kit.single(kit.kernel(source), raw.view("bool"), old)
    assert old.tolist() == [True, False, True, False, True, True, True, False]
    assert [bool(v) for v in raw] == [False, True, True, True, False, True, True, False]
    assert raw[6] == 1
    assert raw[1] == 1


# --- Indices --------------------------------------------------------------------------------------

INDICES = [
    ((), "()"),
    ((5,), "1"),
    ((5,), "-1"),
    ((5,), "(3,)"),
    ((5,), "gpu.uint32(4)"),
    ((5,), "gpu.int8(-2)"),
    ((5,), "gpu.uint64(4)"),
    ((3, 4), "(1, 2)"),
    ((3, 4), "(-1, -4)"),
    ((3, 4), "(n, -n)"),
    ((2, 3, 4), "(1, -1, 2)"),
    ((2, 3, 4), "(-n, n, -n)"),
    ((2, 1, 3, 2), "(1, 0, -1, 1)"),
]
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: a.copy(order="F"),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: a[::-1] if a.ndim else a,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "index"), INDICES, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64", "float16"])
def test_index(shape, index, layout, dtype):
    """The element that plain indexing names, and no other."""
    size = int(np.prod(shape))
    a = LAYOUTS[layout](np.arange(1, size + 1).reshape(shape).astype(dtype))
    expected, old = a.copy(), np.zeros(2, dtype)
    at = eval(index, {"gpu": gpu, "n": 1}) if "gpu" not in index else int(index[:-1].split("(")[1])
    source = (
        f"def kernel(a, n, o):\n    o[0] = gpu.atomic.add(a, {index}, 3)\n"
        f"    o[1] = gpu.atomic.cas(a, {index}, a[{index}], 9)\n"
    )
    kit.single(kit.kernel(source), a, 1, old)
    assert old.tolist() == [expected[at], expected[at] + 3]
    expected[at] = 9
    assert np.array_equal(a, expected)


def test_the_first_element():
    source = (
        "def kernel(a, b, c, o):\n    o[0] = gpu.atomic.compare_and_swap(a, 1, 5)\n"
        "    o[1] = gpu.atomic.compare_and_swap(b, 1, 6)\n    o[2] = gpu.atomic.compare_and_swap(c, 2, 7)\n"
        "    o[3] = gpu.atomic.compare_and_swap(b[1, ::-1], 6, 8)\n"
    )
    a, b, c = np.array(1), np.arange(1, 7).reshape(2, 3), np.arange(1, 4)
    old = np.zeros(4, "int64")
    kit.single(kit.kernel(source), a, b, c, old)
    assert old.tolist() == [1, 1, 1, 6]
    assert a == 5
    assert b.tolist() == [[6, 2, 3], [4, 5, 8]]
    assert c.tolist() == [1, 2, 3]


def test_views_and_functions():
    """A part of an array, handed to a function that returns what was there."""
    source = (
        "def bump(x, i, by):\n    return gpu.atomic.add(x, i, by)\n"
        "def kernel(a, o):\n    t = gpu.grid(1)\n    row = a[t % 3]\n"
        "    if bump(row, -1, 1) + bump(a[:, 0], t % 3, 2.0) >= 0:\n        gpu.atomic.max(a[1:, ::2], (0, 1), t)\n"
        "    gpu.atomic.sub(o.T, (1, 0), bump(o[0], 0, 1) * 0 + 1)\n"
    )
    a, o = np.zeros((3, 4)), np.zeros((2, 2), "int32")
    kit.launch(kit.kernel(source), 64, a, o)
    assert a[:, -1].tolist() == [22, 21, 21]
    assert a[:, 0].tolist() == [44, 42, 42]
    assert a[1].tolist() == [42, 0, 63, 21]
    assert o.tolist() == [[64, -64], [0, 0]]


# --- Operands -------------------------------------------------------------------------------------


def test_operands_convert_as_by_a_store():
    source = (
        "def kernel(a, f, h, b, u):\n    gpu.atomic.add(a, 0, 257)\n    gpu.atomic.exch(a, 1, -1)\n"
        "    gpu.atomic.max(a, 2, True)\n    gpu.atomic.min(a, 3, gpu.uint16(65535))\n"
        "    gpu.atomic.add(f, 0, 2 ** 24 + 1)\n    gpu.atomic.exch(f, 1, 0.1)\n"
        "    gpu.atomic.exch(h, 0, 1e6)\n    gpu.atomic.sub(h, 1, gpu.float32(0.1))\n"
        "    gpu.atomic.exch(b, 0, 256)\n    gpu.atomic.or_(b, 1, 0)\n"
        "    gpu.atomic.cas(a, 4, 256 + 7, 512 + 9)\n    gpu.atomic.max(u, 0, -1)\n"
        "    gpu.atomic.inc(u, 1, 2 ** 64 - 1)\n"
    )
    a = np.array([3, 5, 0, 200, 7], "uint8")
    f, h = np.zeros(2, "float32"), np.array([0, 1], "float16")
    b, u = np.zeros(2, "bool"), np.array([5, 2**63], "uint64")
    kit.single(kit.kernel(source), a, f, h, b, u)
    assert a.tolist() == [4, 255, 1, 200, 9]
    assert f.tolist() == [2.0**24, np.float32(0.1)]
    assert h.tolist() == [np.inf, np.float16(1 - float(np.float16(0.1)))]
    assert b.tolist() == [True, False]
    assert u.tolist() == [2**64 - 1, 2**63 + 1]


def test_with_single_precision_floats():
    source = "def kernel(x, n):\n    gpu.atomic.add(x, 0, n / 3)\n    gpu.atomic.cas(x, 1, n / 3, 1 / n)\n"
    x = np.array([0, np.float32(1) / np.float32(3)], "float64")
    kit.single(kit.kernel(source, float=gpu.float32), x, 1)
    assert x.tolist() == [np.float32(1) / np.float32(3), 1.0]


def test_old_values_are_elements_that_were_read():
    """An int, which does not wrap at the element's width; typed floats stay typed."""
    source = (
        "def kernel(a, f, o, g):\n    o[0] = gpu.atomic.exch(a, 0, 1) * 4\n    o[1] = gpu.atomic.cas(a, 1, 127, 0) + 1\n"
        "    g[0] = gpu.atomic.add(f, 0, 1) / 3\n"
    )
    a, f = np.array([127, 127], "int8"), np.array([1], "float32")
    o, g = np.zeros(2, "int64"), np.zeros(1, "float64")
    kit.single(kit.kernel(source), a, f, o, g)
    assert o.tolist() == [508, 128]
    assert g[0] == np.float32(1) / np.float32(3)


def test_plain_loads_see_atomics():
    source = (
        "def kernel(a, o):\n    o[0] = a[0]\n    gpu.atomic.add(a, 0, 5)\n    o[1] = a[0]\n"
        "    a[0] = 7\n    o[2] = gpu.atomic.exch(a, -3, 8)\n    o[3] = a[0]\n"
    )
    o = np.zeros(4, "int64")
    kit.single(kit.kernel(source), np.array([1, 2, 3]), o)
    assert o.tolist() == [1, 6, 7, 8]


# --- Checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["add(x, (n, 3), 1)", "cas(x, (0, -n), 1, 2)", "exch(x[1:], (n, 0), 1)"]
)
def test_indices_are_checked(call):
    kernel = kit.kernel(f"def kernel(x, n):\n    gpu.atomic.{call}\n", check=True)
    with pytest.raises(IndexError, match="out of bounds for axis"):
        kit.single(kernel, np.zeros((3, 4), "int32"), 5)
        gpu.synchronize()


def test_the_first_element_of_nothing():
    kernel = kit.kernel("def kernel(x):\n    gpu.atomic.compare_and_swap(x, 0, 1)\n", check=True)
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 of array 'x'"):
        kit.single(kernel, np.zeros(0, "int32"))
        gpu.synchronize()


@pytest.mark.parametrize(
    "call", ["add(x, 0, 300)", "cas(x, 0, n, 0)", "exch(x, 0, n)", "sub(x, 0, -n)"]
)
def test_operands_are_checked(call):
    kernel = kit.kernel(f"def kernel(x, n):\n    gpu.atomic.{call}\n", check=True)
    x = np.zeros(1, "uint8")
    with pytest.raises(OverflowError, match="does not fit uint8"):
        kit.single(kernel, x, 300)
        gpu.synchronize()
    assert x[0] == 0


def test_read_only_arrays():
    x = np.zeros(3, "int32")
    x.flags.writeable = False
    with pytest.raises(gpu.Error, match="read-only"):
        kit.single(kit.kernel("def kernel(x):\n    gpu.atomic.cas(x, 0, 0, 1)\n"), x)


@pytest.mark.parametrize("op", [*atomics.OPERATIONS, "cas"])
def test_arrays_that_only_atomics_write_come_back(op):
    """Every operation counts as a write of its array: NumPy arrays are copied back."""
    x = np.full(2, 6, "int32")
    more = ", 3" if op == "cas" else ""
    kit.single(kit.kernel(f"def kernel(x):\n    gpu.atomic.{op}(x, 1, 6{more})\n"), x)
    expected = 3 if op == "cas" else updated(op, "int32", np.int32(6), np.int32(6))
    assert x.tolist() == [6, expected]


# --- Programs -------------------------------------------------------------------------------------


def test_a_ticket_decides():
    """The last of the threads that arrive adds up."""
    source = (
        "def kernel(x, part, tickets, total):\n    i = gpu.grid(1)\n"
        "    gpu.atomic.add(part, 0, x[i])\n    gpu.threadfence()\n"
        "    if gpu.atomic.inc(tickets, 0, gpu.gridsize(1) - 1) == gpu.gridsize(1) - 1:\n"
        "        gpu.threadfence()\n        total[0] = gpu.atomic.add(part, 0, 0)\n"
    )
    x = np.arange(512)
    part, tickets, total = np.zeros(1, "int64"), np.zeros(1, "uint32"), np.zeros(1, "int64")
    kit.launch(kit.kernel(source), 512, x, part, tickets, total)
    assert total[0] == x.sum()
    assert tickets[0] == 0


MULTIPLY = (
    "def multiply(x, i, by):\n    old = x[i]\n    while True:\n"
    "        seen = gpu.atomic.cas(x, i, old, old * by)\n        if seen == old:\n            return old\n"
    "        old = seen\n"
    "def kernel(x):\n    multiply(x, gpu.grid(1) % x.size, 2)\n"
)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64"])
def test_an_operation_of_ones_own(dtype):
    x = np.ones(64, dtype)
    kit.launch(kit.kernel(MULTIPLY), 384, x)
    assert (x == np.float64(2**6)).all()


@pytest.mark.parametrize("take", ["exch(lock, 0, 1)", "compare_and_swap(lock, 0, 1)"])
def test_a_spin_lock(take):
    """Threads of different blocks; in a block one thread, for threads of a warp could wait for each other."""
    source = (
        f"def kernel(lock, x):\n    while gpu.atomic.{take} != 0:\n        pass\n    gpu.threadfence()\n"
        "    x[0] = x[0] * 3 % 1000003\n    x[1] += 1\n    gpu.threadfence()\n    gpu.atomic.exch(lock, 0, 0)\n"
    )
    lock, x = np.zeros(1, "int32"), np.array([1, 0])
    kit.kernel(source)[300, 1](lock, x)
    gpu.synchronize()
    assert x.tolist() == [pow(3, 300, 1000003), 300]
    assert lock[0] == 0


def test_a_spin_lock_within_blocks():
    """The lock is given back in the round that took it, so threads of a warp get their turns."""
    source = (
        "def kernel(lock, x):\n    done = False\n    while not done:\n"
        "        if gpu.atomic.cas(lock, 0, False, True) == False:\n            gpu.threadfence()\n"
        "            x[0] = x[0] * 3 % 1000003\n            x[1] += 1\n            gpu.threadfence()\n"
        "            gpu.atomic.exch(lock, 0, False)\n            done = True\n"
    )
    lock, x = np.zeros(1, bool), np.array([1, 0])
    kit.run(kit.kernel(source), 10, 32, (lock, x))
    assert x.tolist() == [pow(3, 320, 1000003), 320]
    assert not lock[0]


def test_a_linked_list():
    """Every thread pushes an element; all are on the list."""
    source = (
        "def kernel(head, link):\n    i = gpu.grid(1)\n    old = gpu.atomic.exch(head, (), i)\n"
        "    link[i] = old\n"
    )
    head, link = np.array(-1), np.zeros(1000, "int64")
    kit.run(kit.kernel(source), 20, 50, (head, link), reference=False)
    seen, at = [], int(head)
    while at != -1:
        seen.append(at)
        at = link[at]
    assert sorted(seen) == list(range(1000))
