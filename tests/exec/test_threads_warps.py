"""Programs whose warps work together: shuffles, votes, matches, against NumPy.

Small launches are compared with the python device too (kit.run).
"""

import gpu
import kit
import numpy as np
import pytest

ALL = 0xFFFFFFFF


# --- Sums and scans -------------------------------------------------------------------------------


def warp_sum(x):
    for k in (16, 8, 4, 2, 1):
        x += gpu.shfl_down_sync(ALL, x, k)
    return x


@gpu.jit
def block_sums(x, out):
    """A sum per warp by shuffles, then of the warps by the first warp."""
    part = gpu.shared.array(32, gpu.int64)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    s = warp_sum(x[i] if i < x.size else 0)
    if gpu.laneid == 0:
        part[t // 32] = s
    gpu.syncthreads()
    if t < 32:
        s = warp_sum(part[t] if t < gpu.blockDim.x // 32 else 0)
        if t == 0:
            out[gpu.blockIdx.x] = s


@pytest.mark.parametrize(
    ("n", "block"), [(20, 32), (300, 128), pytest.param(60_000, 1024, marks=kit.large)]
)
def test_sums_of_blocks(n, block):
    x = kit.numbers(n)
    out = np.zeros(-(-n // block), np.int64)
    kit.run(block_sums, len(out), block, (x, out))
    assert out.tolist() == [int(x[i : i + block].sum()) for i in range(0, n, block)]


@gpu.jit
def scans(x, out, total):
    """Inclusive, of a block: in each warp by shuffles up, then over the sums of warps."""
    sums = gpu.shared.array(32, gpu.float32)
    t = gpu.threadIdx.x
    lane, warp = gpu.laneid, gpu.threadIdx.x // 32
    v = x[gpu.blockIdx.x, t]
    step = 1
    while step < 32:
        u = gpu.shfl_up_sync(ALL, v, step)
        if lane >= step:
            v += u
        step *= 2
    if lane == 31:
        sums[warp] = v
    gpu.syncthreads()
    if warp == 0:
        s = sums[lane] if lane < gpu.blockDim.x // 32 else gpu.float32(0)
        for k in range(5):
            u = gpu.shfl_up_sync(ALL, s, 1 << k)
            if lane >= 1 << k:
                s += u
        sums[lane] = s
    gpu.syncthreads()
    if warp:
        v += sums[warp - 1]
    out[gpu.blockIdx.x, t] = v
    if t == gpu.blockDim.x - 1:
        total[gpu.blockIdx.x] = v


@pytest.mark.parametrize(
    ("rows", "n"), [(2, 32), (3, 160), pytest.param(50, 1024, marks=kit.large)]
)
def test_scans_of_blocks(rows, n):
    x = kit.numbers(rows, n, seed=n).astype(np.float32)
    out, total = np.zeros_like(x), np.zeros(rows, np.float32)
    kit.run(scans, rows, n, (x, out, total))
    assert np.array_equal(out, x.cumsum(axis=1))
    assert np.array_equal(total, x.sum(axis=1))


@gpu.jit
def groups(x, out):
    """Sums of 4, 8 and 16 neighbours, all in one warp's groups; the group's least and its place."""
    t = gpu.grid(1)
    v = x[t]
    for width in gpu.unroll((4, 8, 16)):
        s = v
        step = width // 2
        while step:
            s += gpu.shfl_xor_sync(ALL, s, step, width)
            step //= 2
        out[width // 8, t] = s
    best = (v, gpu.laneid)
    step = 4
    while step:
        other = gpu.shfl_down_sync(ALL, best, step, 8)
        best = min(best, other)
        step //= 2
    least, place = gpu.shfl_sync(ALL, best, 0, 8)
    out[3, t] = least * 100 + place


def test_groups_of_lanes():
    x = kit.numbers(128)
    out = np.zeros((4, 128), np.int64)
    kit.run(groups, 2, 64, (x, out))
    for row, width in enumerate((4, 8, 16)):
        assert np.array_equal(out[row], x.reshape(-1, width).sum(axis=1).repeat(width))
    eights = x.reshape(-1, 8)
    places = eights.argmin(axis=1) + np.arange(16) * 8 % 32
    assert np.array_equal(out[3], (eights.min(axis=1) * 100 + places).repeat(8))


# --- Sorting --------------------------------------------------------------------------------------


@gpu.jit
def warp_sort(x):
    i = gpu.grid(1)
    lane = gpu.laneid
    v = x[i]
    size = 2
    while size <= 32:
        step = size // 2
        while step:
            other = gpu.shfl_xor_sync(ALL, v, step)
            keeps_less = (lane & step == 0) == (lane & size == 0 or size == 32)
            v = min(v, other) if keeps_less else max(v, other)
            step //= 2
        size *= 2
    x[i] = v


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint64"])
def test_a_sort_in_a_warp(dtype):
    x = np.random.default_rng(1).integers(0, 1000, 128).astype(dtype)
    expected = np.sort(x.reshape(-1, 32), axis=1).ravel()
    kit.run(warp_sort, 2, 64, (x,))
    assert np.array_equal(x, expected)


# --- Lanes that choose ----------------------------------------------------------------------------


@gpu.jit
def compact(x, out, count):
    """What is positive, in any order, with one atomic for each warp."""
    i = gpu.grid(1)
    v = x[i] if i < x.size else 0
    keep = v > 0
    mask = gpu.ballot_sync(ALL, keep)
    lane = gpu.laneid
    first = 0
    if lane == 0:
        first = gpu.atomic.add(count, 0, gpu.popc(mask))
    first = gpu.shfl_sync(ALL, first, 0)
    if keep:
        out[first + gpu.popc(mask & gpu.lanemask_lt())] = v


@pytest.mark.parametrize(
    ("n", "block"), [(1, 32), (500, 64), pytest.param(100_000, 256, marks=kit.large)]
)
def test_a_compaction(n, block):
    x = kit.numbers(n, seed=3)
    out, count = np.zeros(n, np.int64), np.zeros(1, np.int32)
    # Which warp comes first is open, so the python device's order is not the device's.
    kit.run(compact, -(-n // block), block, (x, out, count), reference=False)
    assert count[0] == (x > 0).sum()
    assert np.array_equal(np.sort(out[: count[0]]), np.sort(x[x > 0]))
    assert not out[count[0] :].any()


@gpu.jit
def compact_block(x, out, counts):
    """In order: ballots of the warps, whose counts the block adds up."""
    sums = gpu.shared.array(32, gpu.int32)
    t = gpu.threadIdx.x
    v = x[gpu.blockIdx.x, t]
    mask = gpu.ballot_sync(ALL, v % 3 == 0)
    if gpu.laneid == 0:
        sums[t // 32] = gpu.popc(mask)
    gpu.syncthreads()
    first, total = 0, 0
    for w in range(gpu.blockDim.x // 32):
        first += sums[w] if w < t // 32 else 0
        total += sums[w]
    if v % 3 == 0:
        out[gpu.blockIdx.x, first + gpu.popc(mask & gpu.lanemask_lt())] = v
    counts[gpu.blockIdx.x] = total


def test_a_compaction_in_order():
    x = kit.numbers(4, 160)
    out, counts = np.zeros_like(x), np.zeros(4, np.int64)
    kit.run(compact_block, 4, 160, (x, out, counts))
    for i in range(4):
        kept = x[i][x[i] % 3 == 0]
        assert counts[i] == len(kept)
        assert np.array_equal(out[i, : len(kept)], kept)


@gpu.jit
def grouped_counts(keys, bins, sums, values):
    """Lanes with one key elect the lowest, which adds for all of them."""
    i = gpu.grid(1)
    key = keys[i]
    mask = gpu.match_any_sync(ALL, key)
    leader = gpu.ffs(mask) - 1
    total = gpu.reduce_add_sync(mask, values[i])
    if gpu.laneid == leader:
        gpu.atomic.add(bins, key, gpu.popc(mask))
        gpu.atomic.add(sums, key, total)


@pytest.mark.parametrize(
    ("n", "block"), [(32, 32), (640, 64), pytest.param(1 << 16, 256, marks=kit.large)]
)
def test_atomics_of_lanes_with_one_key(n, block):
    keys = np.random.default_rng(n).integers(0, 11, n, dtype=np.uint8)
    values = kit.numbers(n)
    bins, sums = np.zeros(11, np.int32), np.zeros(11, np.int64)
    kit.run(grouped_counts, n // block, block, (keys, bins, sums, values))
    assert np.array_equal(bins, np.bincount(keys, minlength=11))
    assert sums.tolist() == [int(values[keys == k].sum()) for k in range(11)]


@gpu.jit
def opportunistic(x, count, slots):
    """Whoever is here shares one atomic."""
    i = gpu.grid(1)
    if x[i] > 20:
        mask = gpu.activemask()
        leader = gpu.ffs(mask) - 1
        first = 0
        if gpu.laneid == leader:
            first = gpu.atomic.add(count, 0, gpu.popc(mask))
        first = gpu.shfl_sync(mask, first, leader)
        slots[first + gpu.popc(mask & gpu.lanemask_lt())] = i + 1


@pytest.mark.parametrize("n", [64, 512])
def test_an_atomic_for_the_lanes_that_are_here(n):
    x = kit.numbers(n, seed=n)
    count, slots = np.zeros(1, np.int32), np.zeros(n, np.int64)
    kit.run(opportunistic, n // 64, 64, (x, count, slots), reference=False)
    chosen = np.flatnonzero(x > 20)
    assert count[0] == len(chosen)
    assert np.array_equal(np.sort(slots[: count[0]]), chosen + 1)
    assert not slots[count[0] :].any()


@gpu.jit
def searches(haystack, needles, out):
    """A warp looks for one value, 32 places at a time, and stops together."""
    w = gpu.grid(1) // 32
    lane = gpu.laneid
    found = -1
    start = 0
    while start < haystack.size:
        hit = start + lane < haystack.size and haystack[start + lane] == needles[w]
        mask = gpu.ballot_sync(ALL, hit)
        if mask:
            found = start + gpu.ffs(mask) - 1
            break
        start += 32
    if gpu.all_sync(ALL, found < 0):
        found = -2
    out[w] = found


def test_a_search_by_warps():
    haystack = np.random.default_rng(2).permutation(200)
    needles = np.array([0, 199, 300, 57, -1, 120, 3, 77])
    out = np.zeros(8, np.int64)
    kit.run(searches, 4, 64, (haystack, needles, out))
    expected = [int(np.flatnonzero(haystack == v)[0]) if v in haystack else -2 for v in needles]
    assert out.tolist() == expected


@gpu.jit
def halves(x, out):
    """Both halves of a warp meet apart, in loops of other lengths, then together."""
    lane = gpu.laneid
    v = x[gpu.grid(1)]
    if lane < 16:
        for k in range(3):
            v += gpu.shfl_xor_sync(0xFFFF, v, 1 << k)
    else:
        for _ in range(5):
            v = gpu.shfl_sync(0xFFFF0000, v, 16 + (lane + 1) % 16)
        gpu.syncwarp(0xFFFF0000)
    gpu.syncwarp()
    out[gpu.grid(1)] = gpu.shfl_xor_sync(ALL, v, 16)


def test_halves_of_a_warp():
    x = kit.numbers(64)
    out = np.zeros(64, np.int64)
    kit.run(halves, 2, 32, (x, out))
    expected = []
    for warp in x.reshape(2, 32):
        low = warp[:16].reshape(2, 8).sum(axis=1).repeat(8)
        expected += [*np.roll(warp[16:], -5), *low]
    assert out.tolist() == [int(v) for v in expected]


@gpu.jit
def polynomial_hash(text, out):
    """Horner's rule over the lanes of a warp: hashes that are joined in pairs."""
    lane = gpu.laneid
    w = gpu.grid(1) // 32
    h = gpu.uint32(text[w, lane])
    base = gpu.uint32(31)
    step = 1
    while step < 32:
        right = gpu.shfl_down_sync(ALL, h, step)
        h = h * base + right
        base *= base
        step *= 2
    if lane == 0:
        out[w] = h


def test_a_hash():
    text = np.random.default_rng(5).integers(0, 256, (4, 32), dtype=np.uint8)
    out = np.zeros(4, np.uint32)
    kit.run(polynomial_hash, 2, 64, (text, out))
    expected = []
    for row in text.tolist():
        h = 0
        for c in row:
            h = (h * 31 + c) % 2**32
        expected.append(h)
    assert out.tolist() == expected


@gpu.jit
def votes(x, out):
    """Rounds of votes until every lane has seen enough."""
    i = gpu.grid(1)
    v = x[i]
    rounds = 0
    while gpu.any_sync(ALL, v > 0):
        v -= 7
        rounds += 1
    out[i, 0] = rounds
    out[i, 1] = gpu.all_sync(ALL, v < -10)
    out[i, 2] = gpu.eq_sync(ALL, v < 0)
    mask, same = gpu.match_all_sync(ALL, rounds)
    out[i, 3] = same and mask == gpu.uint32(ALL)


def test_votes():
    x = kit.numbers(96)
    out = np.zeros((96, 4), np.int64)
    kit.run(votes, 1, 96, (x, out))
    for w in range(3):
        v, rounds = x[32 * w : 32 * w + 32].copy(), 0
        while (v > 0).any():
            v -= 7
            rounds += 1
        same = (v < 0).all() or not (v < 0).any()
        assert (out[32 * w : 32 * w + 32] == [rounds, (v < -10).all(), same, True]).all()
