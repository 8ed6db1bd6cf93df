"""gpu.atomic when many threads of many blocks meet at few elements.

Values are chosen so that every partial result is a number of the type, whatever the order: the result is exact.
ATOMIC_UPDATES=10000000 sets how many updates each test makes (docs/testing.md).
"""

import functools
import operator
import os

import atomics
import gpu
import kit
import numpy as np
import pytest
from atomics import CASES, FLOATS, NUMBERS, numpy_type, wrapped

SLOW = gpu.device().kind == "python"
UPDATES = int(os.environ.get("ATOMIC_UPDATES", 1_500 if SLOW else 20_000))
BLOCKS, THREADS = (4, 16) if SLOW else (64, 128)
# sums of ones up to here are exact
EXACT = {"bfloat16": 256, "float16": 2048, "float32": 2**24, "float64": 2**53}
LIMIT = 100  # of inc and dec

CROWD = {
    "global": (
        "def kernel(cells, values, n, total):\n"
        "    for k in range(gpu.grid(1), n, gpu.gridsize(1)):\n"
        "        old = gpu.atomic.{op}(cells, k % cells.size, values[k % values.size])\n"
        "        {more}\n"
    ),
    "shared": (
        "def kernel(cells, values, n, total):\n"
        "    mine = gpu.shared.array({size}, gpu.{t})\n"
        "    for c in range(gpu.threadIdx.x, {size}, gpu.blockDim.x):\n        mine[c] = cells[c]\n"
        "    gpu.syncthreads()\n"
        "    for k in range(gpu.threadIdx.x, n, gpu.blockDim.x):\n"
        "        old = gpu.atomic.{op}(mine, k % {size}, values[k % values.size])\n"
        "        {more}\n"
        "    gpu.syncthreads()\n"
        "    for c in range(gpu.threadIdx.x, {size}, gpu.blockDim.x):\n        cells[c] = mine[c]\n"
    ),
}


def values_of(op: str, dtype: str, size: int) -> np.ndarray:
    """Operands; a multiple of `size` of them, so that each cell has its own."""
    random = np.random.default_rng(len(op) + len(dtype))
    n = 16 * size
    if op in ("inc", "dec"):
        return np.full(n, LIMIT, dtype)
    if dtype == "bool":
        return random.integers(0, 2, n).astype(bool)
    if op == "exch":
        return random.integers(0, 100, n).astype(numpy_type(dtype))
    if dtype in FLOATS and op in ("add", "sub"):
        ones = np.where(np.arange(n) // size % 2, 1.0, -1.0)
        return ones.astype(numpy_type(dtype))
    if dtype in FLOATS:
        values = random.normal(0, 100, n).astype(numpy_type(dtype))
        values[:: size + 3] = np.nan
        values[1 :: size + 3] = 0.0
        return values
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, n, dtype, endpoint=True)


def cells_of(op: str, dtype: str) -> int:
    """Few, but enough that the sums of floats stay exact."""
    if dtype in FLOATS and op in ("add", "sub"):
        return max(4, -(-UPDATES // (2 * EXACT[dtype])))
    return 5 if atomics.is_one_instruction(op, dtype) else 1001


def expected_cell(op: str, dtype: str, start, operands: np.ndarray, n: int):
    """What a cell is after `n` updates with the operands in turn, in whatever order."""
    times = np.bincount(np.arange(n) % len(operands), minlength=len(operands))
    if op in ("inc", "dec"):
        return (int(start) + (n if op == "inc" else -n)) % (LIMIT + 1)
    if op in ("add", "sub"):
        sign = 1 if op == "add" else -1
        if dtype in FLOATS:
            return float(start) + sign * float((operands.astype(float) * times).sum())
        return wrapped(
            int(start) + sign * sum(int(v) * int(t) for v, t in zip(operands, times)), dtype
        )
    used = [v for v, t in zip(operands, times) if t]
    if op == "xor":
        used = [v for v, t in zip(operands, times) if t % 2]
    return functools.reduce(lambda a, b: atomics.updated(op, dtype, a, b), used, start)


def start_of(op: str, dtype: str):
    kind = numpy_type(dtype)
    if op in ("nanmin", "nanmax") and dtype in FLOATS:
        return kind(np.nan)
    return kind(7 if op in ("inc", "dec", "exch") else 0)


@pytest.mark.parametrize("space", CROWD)
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_crowd(op, dtype, space):
    size = cells_of(op, dtype)
    if space == "shared":
        size = min(size, 1001)
    n = UPDATES if space == "global" or size >= cells_of(op, dtype) else size * 2 * EXACT[dtype]
    start, values = start_of(op, dtype), values_of(op, dtype, size)
    cells, total = np.full(size, start, numpy_type(dtype)), np.zeros(1, "int64")
    more = "gpu.atomic.add(total, 0, int(old))" if op == "exch" else "pass"
    t = "bool_" if dtype == "bool" else dtype
    source = CROWD[space].format(op=op, more=more, t=t, size=size)
    kernel = kit.kernel(source)
    kernel[BLOCKS if space == "global" else 1, THREADS](cells, values, n, total)
    gpu.synchronize()
    if op == "exch":  # what came out and what is left is what was there and what came in
        put = sum(int(v) * -(-(n - k) // len(values)) for k, v in enumerate(values) if k < n)
        assert int(total[0]) + sum(map(int, cells)) == size * int(start) + put
        return
    for c in range(size):
        expected = expected_cell(op, dtype, start, values[c::size], len(range(c, n, size)))
        assert atomics.same(cells[c], expected), c


CAS = (
    "def next_of(old):\n    return 0 if old >= 100 else old + 1\n"
    "def kernel(cells, n):\n    for k in range(gpu.grid(1), n, gpu.gridsize(1)):\n"
    "        c = k % cells.size\n        old = cells[c]\n        while True:\n"
    "            seen = gpu.atomic.cas(cells, c, old, next_of(old))\n"
    "            if seen == old:\n                break\n            old = seen\n"
)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_crowd_at_cas(dtype):
    cells = np.zeros(1001, numpy_type(dtype))
    kit.kernel(CAS)[BLOCKS, THREADS](cells, UPDATES)
    gpu.synchronize()
    expected = [len(range(c, UPDATES, 1001)) % 101 for c in range(1001)]
    assert cells.astype(float).tolist() == expected


def test_crowd_at_cas_of_bool():
    """One winner in each round that opens the gate."""
    source = (
        "def kernel(gate, won):\n    i = gpu.grid(1)\n    if gpu.atomic.cas(gate, i % 7, False, True) == False:\n"
        "        gpu.atomic.add(won, i % 7, 1)\n"
    )
    gate, won = np.zeros(7, bool), np.zeros(7, "int32")
    kit.kernel(source)[BLOCKS, THREADS](gate, won)
    gpu.synchronize()
    assert gate.all()
    assert won.tolist() == [1] * 7


@pytest.mark.parametrize(
    ("op", "dtype"), [c for c in CASES if c[0] in ("add", "sub", "inc", "dec")]
)
def test_tickets(op, dtype):
    """Each old value is handed out once."""
    n = 127 if np.dtype(numpy_type(dtype)).itemsize == 1 else 256 if dtype == "bfloat16" else 2000
    source = (
        "def kernel(x, out, n):\n    i = gpu.grid(1)\n    if i < n:\n"
        f"        out[i] = gpu.atomic.{op}(x, 1, {'n - 1' if op in ('inc', 'dec') else '1'})\n"
    )
    start = n if op == "sub" else 0
    x, out = np.full(3, start, numpy_type(dtype)), np.zeros(n, "int64")
    kit.launch(kit.kernel(source), n, x, out, n, reference=False)
    assert sorted(out) == list(range(1, n + 1) if op == "sub" else range(n))
    assert x.astype(int).tolist() == [start, {"add": n}.get(op, 0), start]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "float16", "bool"])
def test_neighbours_in_a_word(dtype):
    """Bytes and halves of one word, each with a thread and an operation of its own; the rest is as before."""
    source = (
        "def kernel(x, n):\n    i = gpu.grid(1)\n    for k in range(n):\n"
        "        if i == 0:\n            gpu.atomic.exch(x, 1, k % 2)\n"
        "        elif i == 64:\n            gpu.atomic.{a}(x, 2, 1)\n"
        "        elif i == 128:\n            gpu.atomic.{b}(x, 4, 1)\n"
        "        elif i == 192:\n            gpu.atomic.cas(x, 5, k % 2, (k + 1) % 2)\n"
    )
    names = {"bool": ("or_", "xor"), "float16": ("add", "max")}.get(dtype, ("add", "xor"))
    x, rounds = np.zeros(8, dtype), 101 if SLOW else 1001
    kit.kernel(source.format(a=names[0], b=names[1]))[4, 64](x, rounds)
    gpu.synchronize()
    sums = {"bool": 1, "float16": rounds}.get(dtype)
    expected = [0, 0, wrapped(rounds, dtype) if sums is None else sums, 0, 1, 1, 0, 0]
    assert x.astype(float).tolist() == expected


def test_a_histogram_by_bytes():
    x = np.random.default_rng(1).integers(0, 256, UPDATES).astype("uint8")
    bins = np.zeros(256, "uint16")
    kit.kernel(
        "def kernel(x, bins):\n    for i in range(gpu.grid(1), x.size, gpu.gridsize(1)):\n"
        "        gpu.atomic.add(bins, x[i], 1)\n"
    )[BLOCKS, THREADS](x, bins)
    gpu.synchronize()
    assert np.array_equal(bins, np.bincount(x, minlength=256).astype("uint16"))


def test_xor_of_everything():
    x = np.random.default_rng(2).integers(0, 2**63, UPDATES)
    out = np.zeros(1, "int64")
    kit.launch(
        kit.kernel("def kernel(x, o):\n    i = gpu.grid(1)\n    if i < x.size:\n        gpu.atomic.xor(o, 0, x[i])\n"),
        x.size, x, out, reference=False,
    )  # fmt: skip
    assert out[0] == functools.reduce(operator.xor, x.tolist())
