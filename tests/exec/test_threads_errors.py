"""Threads that wait for each other in vain: the same error, line and numbers on every device."""

import gpu
import kit
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(gpu.device().kind == "cuda", reason="a GPU does not notice")

MIXED = """
def kernel(x):
    if gpu.blockIdx.x == 0 and gpu.threadIdx.x < 3:
        gpu.syncthreads()
    else:
        gpu.cg.this_grid().sync()
    x[gpu.grid(1)] = 1
"""
LANES = """
def kernel(x):
    if gpu.blockIdx.x == 1:
        if gpu.laneid == 3:
            return
        if gpu.laneid == 2:
            gpu.syncthreads()
        gpu.syncwarp()
    x[gpu.grid(1)] = 1
"""
NEVER = """
def wait(mask):
    gpu.syncwarp(mask)

def kernel(x):
    lane = gpu.laneid
    if lane < 2:
        wait(7 if lane else 3)
    if lane == 2:
        wait(6)
"""
KINDS = """
def kernel(x):
    if gpu.threadIdx.x:
        gpu.syncthreads()
    else:
        gpu.syncthreads_count(1)
"""
OPERATIONS = """
def kernel(x):
    if gpu.threadIdx.x:
        gpu.syncwarp()
    else:
        x[0] = gpu.any_sync(0xffffffff, 1)
"""
MASK = """
def kernel(x):
    if gpu.threadIdx.x >= 32:
        gpu.syncwarp(0xffff0)
"""
DEADLOCK = "block ({}, 0, 0) cannot go on: of {} threads {}"
CASES = {
    "barrier and grid": (MIXED, 2, 8, "DEADLOCK", 4, DEADLOCK.format(
        0, 8, "3 wait in gpu.syncthreads() at line 4, 5 wait in gpu.cg.GridGroup.sync() at line 6, "
        "0 have ended")),
    "barrier and warp": (LANES, 3, 4, "DEADLOCK", 7, DEADLOCK.format(
        1, 4, "1 waits in gpu.syncthreads() at line 7, 2 wait in gpu.syncwarp() at line 8, "
        "1 has ended")),
    "masks in a ring": (NEVER, 1, 3, "DEADLOCK", 3, DEADLOCK.format(
        0, 3, "3 wait in gpu.syncwarp() at line 3, 0 have ended")),
    "barriers": (KINDS, 1, 2, "BARRIER_KINDS", 4,
        "threads of block (0, 0, 0) wait in different barriers: gpu.syncthreads_count() at line 6 "
        "and gpu.syncthreads() at line 4"),
    "operations": (OPERATIONS, 1, 32, "MEET_KINDS", 4,
        "lanes of a warp of block (0, 0, 0) meet in different operations: gpu.any_sync() at line 6 "
        "and gpu.syncwarp() at line 4"),
    "a mask without the lane": (MASK, 1, 40, "MEET_MASK", 4,
        "gpu.syncwarp() of lane 0 of warp 1 names others only: its mask is 0x000ffff0"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_threads_that_wait_in_vain(case):
    text, grid, block, code, line, message = CASES[case]
    x = np.zeros(grid * block)
    error = kit.agree_raises(text, (x,), RuntimeError, grid=grid, block=block, match=message)
    assert (error.code, error.lineno) == (code, line)


def test_the_device_is_well_behind():
    def kernel(x):
        gpu.syncthreads()
        x[gpu.threadIdx.x] += 1

    test_threads_that_wait_in_vain("barrier and grid")
    kit.run(gpu.jit(kernel), 1, 64, (np.zeros(64),))
