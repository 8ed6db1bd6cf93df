"""Warp operations of the python device, against what PTX says, by hand."""

import gpu
import numpy as np
import pytest
from gpu._python import run

ALL = 0xFFFFFFFF


def ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


def lanes(kernel, n: int = 32, rows: int = 1, *args) -> list:
    out = ints(rows, n)
    run(kernel, 1, n, (out, *args))
    return out[0].tolist() if rows == 1 else out.tolist()


def test_shuffles():
    def kernel(out):
        lane = gpu.laneid
        x = 100 + lane
        out[0, lane] = gpu.shfl_sync(ALL, x, 5)
        out[1, lane] = gpu.shfl_sync(ALL, x, lane + 1)
        out[2, lane] = gpu.shfl_up_sync(ALL, x, 3)
        out[3, lane] = gpu.shfl_down_sync(ALL, x, 30)
        out[4, lane] = gpu.shfl_xor_sync(ALL, x, 17)
        out[5, lane] = gpu.shfl_sync(ALL, x, -1)
        out[6, lane] = gpu.shfl_up_sync(-1, x, 33)

    got = lanes(kernel, 32, 7)
    assert got[0] == [105] * 32
    assert got[1] == [100 + (i + 1) % 32 for i in range(32)]
    assert got[2] == [100, 101, 102, *range(100, 129)]
    assert got[3] == [130, 131, *range(102, 132)]
    assert got[4] == [100 + (i ^ 17) for i in range(32)]
    assert got[5] == [131] * 32
    assert got[6] == [100, *range(100, 131)]


def test_shuffles_in_groups():
    def kernel(out):
        lane = gpu.laneid
        out[0, lane] = gpu.shfl_sync(ALL, lane, 9, 8)
        out[1, lane] = gpu.shfl_up_sync(ALL, lane, 3, width=4)
        out[2, lane] = gpu.shfl_down_sync(ALL, lane, 1, 2)
        out[3, lane] = gpu.shfl_xor_sync(ALL, lane, 5, width=16)
        out[4, lane] = gpu.shfl_xor_sync(ALL, lane, 24, 16)

    got = lanes(kernel, 32, 5)
    assert got[0] == [1] * 8 + [9] * 8 + [17] * 8 + [25] * 8
    assert got[1] == [i - 3 if i % 4 == 3 else i for i in range(32)]
    assert got[2] == [i | 1 for i in range(32)]
    assert got[3] == [i ^ 5 for i in range(32)]
    assert got[4] == [*range(16), *[i ^ 24 for i in range(16, 32)]]  # earlier groups are seen


def test_tuples_move():
    def kernel(out):
        lane = gpu.laneid
        a, (b, c) = gpu.shfl_down_sync(ALL, (lane, (lane / 2, lane > 30)), 1)
        out[lane] = a * 100 + b * 2 + c

    out = ints(32)
    run(kernel, 1, 32, (out,))
    assert out.tolist() == [101 * i + (i == 31) for i in [*range(1, 32), 31]]


def test_reductions_of_floats():
    def kernel(x, out):
        lane = gpu.laneid
        out[0, lane] = gpu.reduce_add_sync(ALL, x[lane])
        out[1, lane] = gpu.reduce_min_sync(ALL, x[lane])
        out[2, lane] = gpu.reduce_max_sync(ALL, x[lane] * 0 if lane else x[lane] / 0)
        if lane < 3:
            out[3, lane] = gpu.reduce_add_sync(7, x[lane])
        out[4, lane] = gpu.reduce_add_sync(ALL, lane > 7)

    x = np.ones(32, np.float16)
    x[:3] = 2048, 1, 1
    x[16] = 1
    out = np.zeros((5, 32))
    run(kernel, 1, 32, (x, out))
    # halves: 2048 + 1 is 2048; then 2 + 4 + 8 + 16 are added
    assert set(out[0]) == {2078.0} and set(out[1]) == {1.0}
    assert set(out[2]) == {np.inf}
    assert out[3, :3].tolist() == [2048.0] * 3
    assert set(out[4]) == {24}


def test_shuffles_keep_types():
    def kernel(out):
        lane = gpu.laneid
        out[0] = gpu.shfl_sync(ALL, gpu.uint16(lane) - 1, 0)
        out[1] = gpu.shfl_sync(ALL, gpu.float16(lane) / 3, 1)
        out[2] = gpu.shfl_sync(ALL, lane == 2, 2)
        out[3] = gpu.shfl_sync(ALL, (1 << 62) + lane, 3)
        out[4] = gpu.shfl_sync(ALL, lane / 10, 4)
        out[5] = gpu.shfl_sync(ALL, gpu.uint64(2) ** 63 + lane, 31) >> 60

    out = np.zeros(6)
    run(kernel, 1, 32, (out,))
    assert out.tolist() == [65535, 0.333251953125, 1, 2.0**62, 0.4, 8]


def test_votes():
    def kernel(out):
        lane = gpu.laneid
        out[0, lane] = gpu.all_sync(ALL, lane < 32)
        out[1, lane] = gpu.all_sync(ALL, lane < 31)
        out[2, lane] = gpu.any_sync(ALL, lane == 31)
        out[3, lane] = gpu.any_sync(ALL, 0)
        out[4, lane] = gpu.eq_sync(ALL, lane > 50)
        out[5, lane] = gpu.eq_sync(ALL, lane > 5)
        out[6, lane] = gpu.ballot_sync(ALL, lane % 4 == 3)

    assert [set(row) for row in lanes(kernel, 32, 7)] == [
        {1},
        {0},
        {1},
        {0},
        {1},
        {0},
        {0x88888888},
    ]


def test_matches():
    def kernel(out, zero):
        lane = gpu.laneid
        out[0, lane] = gpu.match_any_sync(ALL, lane % 3)
        mask, same = gpu.match_all_sync(ALL, lane // 32)
        out[1, lane] = gpu.uint64(mask) * 2 + same
        mask, same = gpu.match_all_sync(ALL, lane // 31)
        out[2, lane] = gpu.uint64(mask) * 2 + same
        out[3, lane] = gpu.match_any_sync(ALL, -zero if lane & 1 else zero)

    got = lanes(kernel, 32, 4, 0.0)
    thirds = [0x49249249, 0x92492492, 0x24924924]
    assert got[0] == [thirds[i % 3] for i in range(32)]
    assert got[1] == [2 * ALL + 1] * 32
    assert got[2] == [0] * 32
    assert got[3] == [0x55555555, 0xAAAAAAAA] * 16


def test_reductions():
    def kernel(out):
        lane = gpu.laneid
        out[0, lane] = gpu.reduce_add_sync(ALL, lane)
        out[1, lane] = gpu.reduce_min_sync(ALL, gpu.int32(lane) - 7)
        out[2, lane] = gpu.reduce_max_sync(ALL, gpu.uint32(lane) - 1)
        out[3, lane] = gpu.reduce_and_sync(ALL, gpu.uint32(lane) | 40)
        out[4, lane] = gpu.reduce_or_sync(ALL, gpu.uint32(1) << lane)
        out[5, lane] = gpu.reduce_xor_sync(ALL, gpu.uint32(lane) * lane)
        out[6, lane] = gpu.reduce_add_sync(ALL, gpu.uint32(ALL))

    squares = 0
    for i in range(32):
        squares ^= i * i
    expected = [496, -7, ALL, 40, ALL, squares, 2**32 - 32]
    assert [set(row) for row in lanes(kernel, 32, 7)] == [{x} for x in expected]


def test_partial_masks():
    def kernel(out):
        lane = gpu.laneid
        if lane < 8:
            out[0, lane] = gpu.shfl_down_sync(0xFF, lane, 1)
            out[1, lane] = gpu.ballot_sync(0xFF, lane > 2)
        elif lane & 1:
            out[0, lane] = gpu.reduce_add_sync(0xAAAAAA00, lane)
            gpu.syncwarp(0xAAAAAA00)
        gpu.syncwarp()

    got = lanes(kernel, 32, 2)
    assert got[0][:7] == list(range(1, 8))
    assert got[0][8:] == [0, sum(range(9, 32, 2))] * 12
    assert got[1][:8] == [0xF8] * 8


def test_short_warps_and_lanes_that_have_ended():
    def kernel(out):
        t = gpu.threadIdx.x
        if t == 1:
            return
        out[t] = gpu.ballot_sync(ALL, 1)

    out = ints(40)
    run(kernel, 1, 40, (out,))
    assert out.tolist() == [ALL - 2, 0, *[ALL - 2] * 30, *[255] * 8]


def test_warps_are_of_threads_in_order_of_x_y_z():
    def kernel(out):
        t = gpu.threadIdx.x + 4 * (gpu.threadIdx.y + 2 * gpu.threadIdx.z)
        out[t] = 100 * gpu.laneid + gpu.warpsize + gpu.shfl_sync(ALL, t, 0)

    out = ints(40)
    run(kernel, 1, (4, 2, 5), (out,))
    assert out.tolist() == [100 * (t % 32) + 32 + t // 32 * 32 for t in range(40)]


def test_lane_masks():
    def kernel(out):
        lane = gpu.laneid
        out[0, lane] = gpu.lanemask_lt()
        out[1, lane] = gpu.lanemask_le()
        out[2, lane] = gpu.lanemask_eq()
        out[3, lane] = gpu.lanemask_ge()
        out[4, lane] = gpu.lanemask_gt()

    got = lanes(kernel, 32, 5)
    assert [row[0] for row in got] == [0, 1, 1, ALL, ALL - 1]
    assert [row[31] for row in got] == [2**31 - 1, ALL, 2**31, 2**31, 0]
    assert [row[4] for row in got] == [15, 31, 16, ALL - 15, ALL - 31]


def test_activemask_has_the_lanes_that_come_together():
    def kernel(out):
        lane = gpu.laneid
        if lane % 3 == 0:
            mask = gpu.activemask()
            out[0, lane] = mask
            out[1, lane] = gpu.reduce_add_sync(mask, 1)
        else:
            out[0, lane] = gpu.activemask()
        gpu.syncthreads()

    got = lanes(kernel, 32, 2)
    assert got[0][::3] == [0x49249249] * 11
    assert got[0][1::3] == [ALL - 0x49249249] * 11
    assert got[1][::3] == [11] * 11


def test_activemask_does_not_wait_for_lanes_that_wait_for_memory():
    def kernel(flag, out):
        if gpu.laneid:
            while flag[0] == 0:
                pass
        else:
            out[0] = gpu.activemask()
            flag[0] = 1

    out = ints(1)
    run(kernel, 1, 32, (ints(1), out))
    assert out[0] == 1


def test_a_lane_that_never_comes():
    def kernel(out):
        if gpu.laneid == 3:
            gpu.syncthreads()
        else:
            gpu.syncwarp()

    with pytest.raises(RuntimeError) as caught:
        lanes(kernel)
    assert caught.value.lineno == kernel.__code__.co_firstlineno + 2
    assert "of 32 threads 1 waits in gpu.syncthreads() at line" in str(caught.value)


def test_two_operations_do_not_meet():
    def kernel(out):
        if gpu.laneid:
            gpu.syncwarp()
        else:
            gpu.any_sync(ALL, 1)

    with pytest.raises(RuntimeError) as caught:
        lanes(kernel)
    line = kernel.__code__.co_firstlineno
    message = ("lanes of a warp of block (0, 0, 0) meet in different operations: gpu.any_sync() at "
               f"line {line + 4} and gpu.syncwarp() at line {line + 2}")  # fmt: skip
    assert str(caught.value).startswith(message)


def test_a_mask_without_the_own_lane():
    def kernel(out):
        gpu.syncwarp(0xFFFF)

    message = "gpu.syncwarp.. of lane 16 of warp 0 names others only: its mask is 0x0000ffff"
    with pytest.raises(RuntimeError, match=message):
        lanes(kernel)


@pytest.mark.parametrize("name", ["shfl_sync", "all_sync", "match_any_sync", "reduce_add_sync"])
def test_what_is_no_number(name):
    def kernel(out):
        call(ALL, out, *more)

    call, more = getattr(gpu, name), (0,) * (name == "shfl_sync")
    with pytest.raises(TypeError, match=f"argument 2 of gpu.{name} cannot be an array"):
        lanes(kernel)


def test_names_that_are_imported():
    names: dict = {}
    exec(IMPORTED, names)
    out = ints(32)
    run(names["kernel"], 1, 32, (out,))
    assert out.tolist() == [31 - i + i * i + 100 * i for i in range(32)]


IMPORTED = """
import gpu as cuda
from gpu import atomic, cg, laneid, shared, shfl_sync, syncthreads
add = cuda.atomic.add
meet = cg.this_grid

def kernel(out):
    a = shared.array(32, cuda.int32)
    a[laneid] = laneid
    syncthreads()
    grid = meet()
    grid.sync()
    i = laneid
    atomic.add(out, i, a[31 - laneid])
    add(out, i, laneid * laneid + 100 * shfl_sync(-1, cuda.laneid, i))
"""
