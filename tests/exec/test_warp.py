"""Operations of a warp against hand-written semantics of its lanes, and against the python device.

Whole and partial masks, the last warp of a block that is not full, lanes that have ended, blocks of
several dimensions, call sites on different paths.
"""

import gpu
import kit
import numpy as np
import pytest

RNG = np.random.default_rng(5)
FULL = 0xFFFFFFFF
NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
           "float32", "float64"]  # fmt: skip
KINDS = [*NUMBERS, "bool", "int", "float", "bfloat16"]


def of_kind(kind: str) -> str:
    """Text that makes a value of the kind of an element of x."""
    if kind in ("int", "float"):
        return f"{kind}(x[i])"
    return "x[i] > 0" if kind == "bool" else f"gpu.{kind}(x[i])"


def stored(kind: str) -> str:
    return {"int": "int64", "float": "float64", "bfloat16": "float32"}.get(kind, kind)


def values(kind: str, n: int) -> np.ndarray:
    if kind == "bool":
        return RNG.integers(0, 2, n)
    dtype = np.dtype(stored(kind))
    if dtype.kind == "f":
        if kind == "bfloat16":
            return RNG.integers(-100, 100, n).astype(dtype)
        return RNG.normal(0, 100, n).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, n, dtype, endpoint=True)


# --- Shuffles --------------------------------------------------------------------------------------


def source(mode: str, lane: int, b: int, width: int = 32) -> int:
    """The lane that is read, by the definition in the PTX ISA."""
    b &= 31
    first = lane // width * width
    last = first + width - 1
    if mode == "up":
        return lane - b if lane - b >= first else lane
    j = {"": first + b % width, "down": lane + b, "xor": lane ^ b}[mode]
    return j if j <= last else lane


NAMES = {"": "shfl_sync", "up": "shfl_up_sync", "down": "shfl_down_sync", "xor": "shfl_xor_sync"}


@pytest.mark.parametrize("kind", KINDS)
def test_shuffles_of_every_type(kind):
    text = f"""def kernel(x, a, b, c, d):
    i = gpu.threadIdx.x
    v = {of_kind(kind)}
    a[i] = gpu.shfl_sync(0xffffffff, v, 5)
    b[i] = gpu.shfl_up_sync(0xffffffff, v, 3)
    c[i] = gpu.shfl_down_sync(0xffffffff, v, 1)
    d[i] = gpu.shfl_xor_sync(0xffffffff, v, 16)
"""
    x = values(kind, 64)
    outs = [np.zeros(64, stored(kind)) for _ in NAMES]
    kit.run(kit.kernel(text), 1, 64, (x, *outs))
    for out, (mode, b) in zip(outs, [("", 5), ("up", 3), ("down", 1), ("xor", 16)], strict=True):
        expected = [x[i // 32 * 32 + source(mode, i % 32, b)] for i in range(64)]
        assert out.tolist() == np.array(expected).astype(stored(kind)).tolist(), (kind, mode)


def test_shuffles_keep_the_type_and_the_bits():
    def kernel(f, out):
        i = gpu.threadIdx.x
        v = gpu.shfl_xor_sync(-1, gpu.uint8(200 + i), 1)
        out[i, 0] = v + gpu.uint8(100)  # wraps
        w = gpu.shfl_up_sync(-1, f[i], 0)
        out[i, 1] = w.view(np.uint32)
        out[i, 2] = gpu.shfl_down_sync(-1, i, 1) - (1 << 40)  # an int

    f = np.array([-0.0, np.inf, 1e-45, -1e-45] * 8, np.float32)
    out = np.zeros((32, 3), np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (f, out))
    for i in range(32):
        assert out[i].tolist() == [
            ((200 + (i ^ 1)) % 256 + 100) % 256,
            int(f.view(np.uint32)[i]),
            min(i + 1, 31) - (1 << 40),
        ]


@pytest.mark.parametrize("mode", NAMES)
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
def test_groups_and_lanes_outside(mode, width):
    text = f"""def kernel(out):
    i = gpu.threadIdx.x
    for b in range(-3, 70):
        out[b + 3, i] = gpu.{NAMES[mode]}(0xffffffff, i, b, {width})
        by_lane = gpu.{NAMES[mode]}(0xffffffff, gpu.int32(i), b + i, width={width})
        out[b + 3, 32 + i] = by_lane
"""
    out = np.zeros((73, 64), np.int64)
    kit.run(kit.kernel(text), 1, 32, (out,))
    for b in range(-3, 70):
        for i in range(32):
            assert out[b + 3, i] == source(mode, i, b, width)
            assert out[b + 3, 32 + i] == source(mode, i, b + i, width)


def test_tuples_move_as_a_whole():
    def kernel(x, out):
        i = gpu.threadIdx.x
        best = (x[i], i, (x[i] > 0, gpu.float16(i)))
        value, place, (positive, half) = gpu.shfl_sync(0xFFFFFFFF, best, 31 - i)
        out[i, 0] = value
        out[i, 1] = place
        out[i, 2] = positive
        out[i, 3] = half

    x = RNG.normal(0, 1, 32)
    out = np.zeros((32, 4))
    kit.run(gpu.jit(kernel), 1, 32, (x, out))
    for i in range(32):
        assert out[i].tolist() == [x[31 - i], 31 - i, x[31 - i] > 0, 31 - i]


@pytest.mark.parametrize("kind", NUMBERS)
def test_sum_by_a_butterfly(kind):
    text = f"""def kernel(x, out):
    i = gpu.grid(1)
    v = {of_kind(kind)}
    step = 16
    while step > 0:
        v += gpu.shfl_xor_sync(0xffffffff, v, step)
        step //= 2
    out[i] = v
"""
    dtype = np.dtype(kind)
    x = RNG.integers(-3 if dtype.kind != "u" else 0, 3, 128).astype(dtype)
    out = np.zeros(128, dtype)
    kit.run(kit.kernel(text), 2, 64, (x, out))
    for w in range(4):
        assert (out[32 * w :][:32] == x[32 * w :][:32].sum(dtype=dtype)).all()


def test_scan_by_shuffles():
    def kernel(x, out):
        i = gpu.grid(1)
        v = x[i]
        for k in range(5):
            below = gpu.shfl_up_sync(0xFFFFFFFF, v, 1 << k)
            if gpu.laneid >= 1 << k:
                v += below
        out[i] = v

    x = RNG.integers(-1000, 1000, 96)
    out = np.zeros(96, np.int64)
    kit.run(gpu.jit(kernel), 3, 32, (x, out))
    assert out.tolist() == np.cumsum(x.reshape(3, 32), axis=1).ravel().tolist()


def test_reduction_of_a_block():
    def kernel(x, out):
        partial = gpu.shared.array(32, gpu.float32)
        i = gpu.grid(1)
        v = x[i] if i < x.size else gpu.float32(0)
        for k in range(5):
            v += gpu.shfl_down_sync(0xFFFFFFFF, v, 16 >> k)
        warp = gpu.threadIdx.x // gpu.warpsize
        if gpu.laneid == 0:
            partial[warp] = v
        gpu.syncthreads()
        if warp == 0:
            n = gpu.blockDim.x // gpu.warpsize
            v = partial[gpu.laneid] if gpu.laneid < n else gpu.float32(0)
            for k in range(5):
                v += gpu.shfl_down_sync(0xFFFFFFFF, v, 16 >> k)
            if gpu.laneid == 0:
                gpu.atomic.add(out, 0, v)

    x = RNG.integers(-50, 50, 1000).astype(np.float32)
    out = np.zeros(1, np.float32)
    kit.run(gpu.jit(kernel), 4, 256, (x, out))
    assert out[0] == x.sum()


# --- Votes and matches -----------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [FULL, 0x0000FFFF, 0x55555555, 1 << 31, 0xF0000001])
def test_votes_of_some_lanes(mask):
    def kernel(x, mask, out):
        i = gpu.threadIdx.x
        if mask >> i & 1:
            out[i, 0] = gpu.all_sync(mask, x[i])
            out[i, 1] = gpu.any_sync(mask, x[i] > 8)
            out[i, 2] = gpu.eq_sync(mask, x[i] > 8)
            out[i, 3] = gpu.ballot_sync(mask, x[i] % 2)

    for x in (np.arange(32), np.zeros(32, np.int64), np.full(32, 9), np.arange(32)[::-1] - 3):
        out = np.full((32, 4), -1, np.int64)
        kit.run(gpu.jit(kernel), 1, 32, (np.ascontiguousarray(x), mask, out))
        lanes = [i for i in range(32) if mask >> i & 1]
        big = [int(x[i]) > 8 for i in lanes]
        ballot = sum(1 << i for i in lanes if int(x[i]) % 2)
        for i in range(32):
            expected = [all(x[k] for k in lanes), any(big), len(set(big)) == 1, ballot]
            assert out[i].tolist() == (expected if i in lanes else [-1] * 4)


def test_results_of_votes_have_their_types():
    def kernel(out):
        out[0] = gpu.ballot_sync(1, True) - 2  # typed uint32: wraps
        out[1] = gpu.all_sync(1, 0.5) + gpu.all_sync(1, 2)  # bools
        out[2] = gpu.popc(gpu.ballot_sync(1, 1))
        out[3] = gpu.popc(gpu.match_any_sync(gpu.lanemask_eq(), 1.5))
        out[4] = gpu.popc(gpu.activemask())

    out = np.zeros(5, np.int64)
    kit.single(gpu.jit(kernel), out)
    assert out.tolist() == [2**32 - 1, 2, 1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_matches(kind):
    text = f"""def kernel(x, any_, all_, truth):
    i = gpu.threadIdx.x
    v = {of_kind(kind)}
    any_[i] = gpu.match_any_sync(0xffffffff, v)
    mask, same = gpu.match_all_sync(0xffffffff, v)
    all_[i, 0], truth[i, 0] = mask, same
    mask, same = gpu.match_all_sync(0xffffffff, {of_kind(kind)[:-1].replace("x[i]", "x[0]")}{of_kind(kind)[-1]})
    all_[i, 1], truth[i, 1] = mask, same
"""
    few = values(kind, 4)
    x = few[RNG.integers(0, 4, 32)]
    any_, all_, truth = np.zeros(32, np.int64), np.zeros((32, 2), np.int64), np.zeros((32, 2), bool)
    kit.run(kit.kernel(text), 1, 32, (x, any_, all_, truth))
    for i in range(32):
        assert any_[i] == sum(1 << k for k in range(32) if x[k] == x[i])
    same = len(set(x.tolist())) == 1
    assert all_.tolist() == [[FULL if same else 0, FULL]] * 32
    assert truth.tolist() == [[same, True]] * 32


def test_matches_are_of_bits():
    def kernel(x, out):
        i = gpu.threadIdx.x
        out[i] = gpu.match_any_sync(0xF, x[i])

    x = np.array([0.0, -0.0, np.nan, np.nan], np.float32)
    out = np.zeros(4, np.int64)
    kit.run(gpu.jit(kernel), 1, 4, (x, out))
    assert out.tolist() == [1, 2, 12, 12]


def test_groups_by_key_with_match_any():
    def kernel(keys, counts):
        i = gpu.grid(1)
        if i < keys.size:
            here = gpu.activemask()
            peers = gpu.match_any_sync(here, keys[i])
            if gpu.popc(peers & gpu.lanemask_lt()) == 0:
                gpu.atomic.add(counts, keys[i], gpu.popc(peers))

    keys = RNG.integers(0, 10, 500)
    counts = np.zeros(10, np.int64)
    kit.run(gpu.jit(kernel), 8, 64, (keys, counts))
    assert counts.tolist() == np.bincount(keys, minlength=10).tolist()


# --- Reductions ------------------------------------------------------------------------------------


REDUCTIONS = {"add": "+", "min": min, "max": max, "and": "&", "or": "|", "xor": "^"}


def reduced(name: str, given: list[int]) -> int:
    if name in ("min", "max"):
        return REDUCTIONS[name](given)
    result = given[0]
    for v in given[1:]:
        result = {"+": result + v, "&": result & v, "|": result | v, "^": result ^ v}[
            REDUCTIONS[name]
        ]
    return result


@pytest.mark.parametrize("mask", [FULL, 0x0F0F00F1, 1 << 7])
@pytest.mark.parametrize("kind", [k for k in KINDS if "float" not in k and k != "bool"])
def test_reductions_of_integers(kind, mask):
    calls = "\n".join(f"        out[{k}, i] = gpu.reduce_{name}_sync(mask, v)"
                      for k, name in enumerate(REDUCTIONS))  # fmt: skip
    text = f"""def kernel(x, mask, out):
    i = gpu.threadIdx.x
    v = {of_kind(kind)}
    if mask >> i & 1:
{calls}
"""
    dtype = np.dtype(stored(kind))
    x = values(kind, 32)
    out = np.zeros((6, 32), dtype)
    kit.run(kit.kernel(text), 1, 32, (x, mask, out))
    lanes = [i for i in range(32) if mask >> i & 1]
    for k, name in enumerate(REDUCTIONS):
        bits = 8 * dtype.itemsize
        r = reduced(name, [int(x[i]) for i in lanes]) % (1 << bits)
        if dtype.kind == "i" and r >> bits - 1:
            r -= 1 << bits
        assert out[k].tolist() == [r if i in lanes else 0 for i in range(32)], name


def test_reductions_of_narrow_elements_are_exact():
    def kernel(x, out):
        i = gpu.threadIdx.x
        out[i, 0] = gpu.reduce_add_sync(0xFFFFFFFF, x[i])
        out[i, 1] = gpu.reduce_min_sync(0xFFFFFFFF, x[i])
        out[i, 2] = gpu.reduce_max_sync(0xFFFFFFFF, x[i])
        out[i, 3] = gpu.reduce_xor_sync(0xFFFFFFFF, x[i])
        out[i, 4] = gpu.reduce_add_sync(0xFFFFFFFF, x[i] > 0)
        out[i, 5] = gpu.reduce_or_sync(0xFFFFFFFF, x[i] > 0)
        out[i, 6] = gpu.reduce_max_sync(0xFFFFFFFF, x[i] > 0)

    for dtype in ("int32", "uint32", "int16", "uint8"):
        limits = np.iinfo(dtype)
        for x in (
            np.full(32, limits.max, dtype),
            np.full(32, limits.min, dtype),
            values(dtype, 32),
        ):
            out = np.zeros((32, 7), np.int64)
            kit.run(gpu.jit(kernel), 1, 32, (x, out))
            wide = x.astype(np.int64)
            positive = int((x > 0).sum())
            expected = [wide.sum(), wide.min(), wide.max(), np.bitwise_xor.reduce(wide), positive,
                        positive > 0, positive > 0]  # fmt: skip
            assert out.tolist() == [[int(v) for v in expected]] * 32


def butterfly(x: np.ndarray) -> np.floating:
    """The order of a whole warp's sum."""
    v = x.copy()
    for step in (16, 8, 4, 2, 1):
        v = v + v[np.arange(32) ^ step]
    assert len(set(v.tolist())) == 1
    return v[0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_reductions_of_floats(dtype):
    def kernel(x, mask, out):
        i = gpu.threadIdx.x
        if mask >> i & 1:
            out[0, i] = gpu.reduce_add_sync(mask, x[i])
            out[1, i] = gpu.reduce_min_sync(mask, x[i])
            out[2, i] = gpu.reduce_max_sync(mask, x[i])

    for mask in (FULL, 0x80000013, 1 << 4):
        x = RNG.normal(0, 10, 32).astype(dtype)
        out = np.zeros((3, 32), dtype)
        kit.run(gpu.jit(kernel), 1, 32, (x, mask, out))
        lanes = [i for i in range(32) if mask >> i & 1]
        total = x[lanes[0]]
        for i in lanes[1:]:
            total = total + x[i]
        if mask == FULL:
            total = butterfly(x)
        for k, r in enumerate([total, x[lanes].min(), x[lanes].max()]):
            assert out[k].tolist() == [r if i in lanes else 0 for i in range(32)]


def test_nan_and_zeros_in_reductions():
    def kernel(x, out):
        i = gpu.threadIdx.x
        out[i, 0] = gpu.reduce_min_sync(0xFFFFFFFF, x[i])
        out[i, 1] = gpu.reduce_max_sync(0xFFFFFFFF, x[i])

    for n in (32, 5):
        x, out = np.zeros(n), np.zeros((n, 2))
        x[3], x[1] = np.nan, -5
        kit.run(gpu.jit(kernel), 1, n, (x, out))
        assert np.isnan(out).all()
        x[:] = 0
        x[2::3] = -0.0
        kit.run(gpu.jit(kernel), 1, n, (x, out))
        assert len({np.signbit(v) for v in out[:, 0]}) == 1  # the same bits everywhere


# --- Partial warps, paths, shapes ------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 31, 33, 40, 70])
def test_the_last_warp_is_not_full(n):
    def kernel(out):
        i = gpu.threadIdx.x
        out[i, 0] = gpu.ballot_sync(0xFFFFFFFF, True)
        out[i, 1] = gpu.reduce_add_sync(0xFFFFFFFF, i)
        out[i, 2] = gpu.all_sync(0xFFFFFFFF, i < 1000)
        out[i, 3] = gpu.activemask()
        out[i, 4] = gpu.shfl_sync(0xFFFFFFFF, i, 0)
        out[i, 5] = gpu.match_any_sync(0xFFFFFFFF, 7)

    out = np.zeros((n, 6), np.int64)
    kit.run(gpu.jit(kernel), 1, n, (out,))
    for i in range(n):
        first, last = i // 32 * 32, min(i // 32 * 32 + 32, n)
        mask = (1 << last - first) - 1
        assert out[i].tolist() == [mask, sum(range(first, last)), 1, mask, first, mask]


def test_lanes_that_have_ended_do_not_count():
    def kernel(out):
        i = gpu.threadIdx.x
        if i % 4 == 3:
            return
        out[i, 0] = gpu.ballot_sync(0xFFFFFFFF, i % 2)
        out[i, 1] = gpu.reduce_max_sync(0xFFFFFFFF, i)
        if i > 16:
            return
        out[i, 2] = gpu.ballot_sync(0xFFFFFFFF, 1)
        out[i, 3] = gpu.reduce_add_sync(0xFFFFFFFF, 1.0)

    out = np.zeros((32, 4), np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (out,))
    here = [i for i in range(32) if i % 4 != 3]
    low = [i for i in here if i <= 16]
    for i in range(32):
        expected = [0, 0, 0, 0]
        if i in here:
            expected[:2] = [sum(1 << k for k in here if k % 2), max(here)]
        if i in low:
            expected[2:] = [sum(1 << k for k in low), len(low)]
        assert out[i].tolist() == expected


def test_halves_of_a_warp_work_apart():
    def kernel(out):
        i = gpu.threadIdx.x
        if i < 16:
            for k in range(5):
                out[i] += gpu.shfl_xor_sync(0x0000FFFF, i, k)
        else:
            for k in range(3):
                out[i] += gpu.reduce_add_sync(0xFFFF0000, i + k)

    out = np.zeros(32, np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (out,))
    low = [sum(i ^ k for k in range(5)) for i in range(16)]
    high = sum(sum(i + k for i in range(16, 32)) for k in range(3))
    assert out.tolist() == low + [high] * 16


def test_other_call_sites_meet_by_the_same_mask():
    def kernel(out):
        i = gpu.threadIdx.x
        if i % 2:
            out[i] = gpu.ballot_sync(0xFFFFFFFF, i < 8)
        else:
            out[i] = gpu.ballot_sync(0xFFFFFFFF, i > 20) + 1

    out = np.zeros(32, np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (out,))
    ballot = sum(1 << i for i in range(32) if (i < 8 if i % 2 else i > 20))
    assert out.tolist() == [ballot + (i % 2 == 0) for i in range(32)]


def test_masks_of_groups():
    def kernel(out):
        i = gpu.threadIdx.x
        group = i // 8 * 8
        mask = 0xFF << group
        out[i, 0] = gpu.reduce_add_sync(mask, i)
        out[i, 1] = gpu.ballot_sync(mask, i % 3 == 0)
        out[i, 2] = gpu.shfl_down_sync(mask, i, 1, 8)

    out = np.zeros((32, 3), np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (out,))
    for i in range(32):
        lanes = range(i // 8 * 8, i // 8 * 8 + 8)
        ballot = sum(1 << k for k in lanes if k % 3 == 0)
        assert out[i].tolist() == [sum(lanes), ballot, min(i + 1, lanes[-1])]


@pytest.mark.parametrize("block", [(8, 8), (5, 7), (4, 4, 4), (2, 3, 11)])
def test_warps_of_blocks_of_several_dimensions(block):
    def kernel(out):
        x, y, z = gpu.threadIdx.x, gpu.threadIdx.y, gpu.threadIdx.z
        i = (z * gpu.blockDim.y + y) * gpu.blockDim.x + x
        out[i, 0] = gpu.reduce_add_sync(0xFFFFFFFF, i)
        out[i, 1] = gpu.shfl_xor_sync(0xFFFFFFFF, i, 1)
        out[i, 2] = gpu.ballot_sync(0xFFFFFFFF, y == 1)

    n = int(np.prod(block))
    out = np.zeros((n, 3), np.int64)
    kit.run(gpu.jit(kernel), 1, block, (out,))
    for i in range(n):
        first, last = i // 32 * 32, min(i // 32 * 32 + 32, n)
        ys = [k // block[0] % block[1] for k in range(first, last)]
        ballot = sum(1 << k for k, y in enumerate(ys) if y == 1)
        assert out[i, ::2].tolist() == [sum(range(first, last)), ballot]
        if (i ^ 1) < n:
            assert out[i, 1] == i ^ 1
        elif gpu.device().kind != "cuda":  # where a lane that does not exist gives anything
            assert out[i, 1] == i


def test_warp_operations_in_loops_and_functions():
    def warp_sum(v):
        for k in range(5):
            v += gpu.shfl_xor_sync(0xFFFFFFFF, v, 16 >> k)
        return v

    def kernel(x, out):
        total = 0
        for row in range(x.shape[0]):
            total += warp_sum(x[row, gpu.threadIdx.x])
            if gpu.any_sync(0xFFFFFFFF, x[row, gpu.threadIdx.x] == 7):
                break
        out[gpu.threadIdx.x] = total

    x = RNG.integers(-9, 7, (6, 32))
    x[4, 3] = 7
    out = np.zeros(32, np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (x, out))
    assert out.tolist() == [int(x[:5].sum())] * 32


def test_aggregated_counter():
    def kernel(x, counter, out):
        i = gpu.grid(1)
        keep = i < x.size and x[i] > 0
        votes = gpu.ballot_sync(0xFFFFFFFF, keep)
        start = 0
        if gpu.laneid == 0:
            start = gpu.atomic.add(counter, 0, gpu.popc(votes))
        start = gpu.shfl_sync(0xFFFFFFFF, start, 0)
        if keep:
            out[start + gpu.popc(votes & gpu.lanemask_lt())] = x[i]

    x = RNG.integers(-10, 10, 300)
    counter, out = np.zeros(1, np.int64), np.zeros(300, np.int64)
    kit.run(gpu.jit(kernel), 5, 64, (x, counter, out), reference=False)  # blocks in any order
    kept = x[x > 0]
    assert counter[0] == kept.size
    assert sorted(out[: kept.size].tolist()) == sorted(kept.tolist())


def test_active_lanes_by_path():
    def kernel(out):
        i = gpu.threadIdx.x
        if i < 5:
            out[i] = gpu.activemask()
        else:
            mask = gpu.activemask()
            out[i] = gpu.reduce_add_sync(mask, 1)

    out = np.zeros(32, np.int64)
    kit.run(gpu.jit(kernel), 1, 32, (out,))
    assert out.tolist() == [31] * 5 + [27] * 27


# --- Errors of running kernels ---------------------------------------------------------------------

on_cpu = pytest.mark.skipif(gpu.device().kind != "cpu", reason="undefined behaviour on a GPU")


@on_cpu
def test_a_lane_outside_its_mask():
    def kernel(out):
        out[gpu.threadIdx.x] = gpu.ballot_sync(0xFE, 1)

    kernel = gpu.jit(kernel)
    with pytest.raises(gpu.Error) as caught:
        kernel[1, 8](np.zeros(8, np.int64))
        gpu.synchronize()
    assert caught.value.code == "MEET_MASK"
    assert "gpu.ballot_sync" in str(caught.value)
    assert caught.value.lineno == kernel.py_func.__code__.co_firstlineno + 1


@on_cpu
def test_different_operations_do_not_meet():
    def kernel(out):
        i = gpu.threadIdx.x
        if i < 4:
            out[i] = gpu.ballot_sync(0xFF, 1)
        else:
            out[i] = gpu.any_sync(0xFF, 1)

    kernel = gpu.jit(kernel)
    with pytest.raises(gpu.Error) as caught:
        kernel[1, 8](np.zeros(8, np.int64))
        gpu.synchronize()
    line = kernel.py_func.__code__.co_firstlineno
    shown = str(caught.value)
    assert caught.value.code == "MEET_KINDS"
    assert "gpu.ballot_sync" in shown and "gpu.any_sync" in shown
    assert f"line {line + 3}" in shown and f"line {line + 5}" in shown


@on_cpu
def test_lanes_that_never_come():
    def kernel(out):
        i = gpu.threadIdx.x
        if i < 4:
            out[i] = gpu.shfl_sync(0xFF, i, 0)
        else:
            gpu.syncthreads()

    with pytest.raises(gpu.Error, match="gpu.shfl_sync") as caught:
        gpu.jit(kernel)[1, 8](np.zeros(8, np.int64))
        gpu.synchronize()
    assert caught.value.code == "DEADLOCK"


# --- Time ------------------------------------------------------------------------------------------


def test_clocks_run():
    def kernel(out):
        a, b, t = gpu.clock(), gpu.clock64(), gpu.globaltimer()
        for k in range(3):
            gpu.nanosleep(1000)
            gpu.nanosleep(k - 5)
        out[0] = gpu.clock() - a  # modulo 2**32
        out[1] = gpu.clock64() - b
        out[2] = gpu.globaltimer() - t
        out[3] = gpu.globaltimer()

    out = np.zeros(4, np.int64)
    kit.single(gpu.jit(kernel), out, reference=False)
    assert 0 < out[0] < 2**32 and out[1] > 0 and out[2] >= 0
    assert out[3] > 0
