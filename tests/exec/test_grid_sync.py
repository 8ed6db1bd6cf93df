"""All threads of a launch wait for each other: gpu.cg.this_grid().sync()."""

import shutil
import subprocess

import gpu
import numpy as np
import pytest


def turn(x, rounds):
    grid = gpu.cg.this_grid()
    n, i = gpu.gridsize(1), gpu.grid(1)
    for _ in range(rounds):
        value = x[(i + 1) % n]
        grid.sync()
        x[i] = value + 1
        gpu.cg.this_grid().sync()


# The python device has an OS thread for each thread that waits.
LARGE = (64, 256) if gpu.device().kind != "python" else (8, 64)


def turned(x, rounds):
    for _ in range(rounds):
        x = np.roll(x, -1) + 1
    return x


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (1, 64), (2, 33), (17, 32), LARGE])
def test_turn(level, blocks, threads):
    x = np.arange(blocks * threads, dtype=np.int64)
    expected = turned(x, 6)
    kernel = gpu.jit(opt_level=level)(turn)
    kernel[blocks, threads](x, 6)
    gpu.synchronize()
    assert np.array_equal(x, expected)
    kernel[blocks, threads](x, 1)  # the next launch finds all as it should be
    gpu.synchronize()
    assert np.array_equal(x, turned(expected, 1))


def test_grids_of_three_dimensions_and_functions():
    def wait(group):
        group.sync()

    @gpu.jit
    def kernel(x, total):
        b = gpu.blockIdx.x + gpu.gridDim.x * (gpu.blockIdx.y + gpu.gridDim.y * gpu.blockIdx.z)
        t = gpu.threadIdx.x + gpu.blockDim.x * gpu.threadIdx.y
        gpu.atomic.add(total, 0, x[b, t])
        wait(gpu.cg.this_grid())
        x[b, t] = total[0] - x[b, t]

    x = np.arange(24 * 30, dtype=np.int64).reshape(24, 30)
    expected = x.sum() - x
    kernel[(2, 3, 4), (10, 3)](x, np.zeros(1, np.int64))
    gpu.synchronize()
    assert np.array_equal(x, expected)


def test_with_the_blocks_own_barriers():
    """Sums of blocks, then of all: barriers of both kinds, and a block that leaves early."""

    @gpu.jit
    def kernel(x, sums, out):
        t, b = gpu.threadIdx.x, gpu.blockIdx.x
        width = gpu.blockDim.x // 2
        while width:
            if t < width:
                x[b, t] += x[b, t + width]
            gpu.syncthreads()
            width //= 2
        if t == 0:
            sums[b] = x[b, 0]
        gpu.cg.this_grid().sync()
        if b == 0 and t == 0:
            for v in sums:
                out[0] += v
        gpu.cg.this_grid().sync()
        x[b, t] = out[0]

    x = np.arange(10 * 64, dtype=np.int64).reshape(10, 64)
    total = x.sum()
    kernel[10, 64](x, np.zeros(10, np.int64), np.zeros(1, np.int64))
    gpu.synchronize()
    assert (x == total).all()


def test_too_many_blocks():
    with pytest.raises(gpu.LaunchError, match="the 2000000 blocks .* wait for each other") as error:
        gpu.jit(turn)[2_000_000, 256](np.zeros(2, np.int64), 1)
    assert error.value.code == "GRID_WAITS"
    assert "launch at most" in str(error.value)


@pytest.mark.skipif(gpu.device().kind != "cpu", reason="found by the CPU device")
def test_some_wait_for_the_grid_and_some_for_the_block():
    @gpu.jit
    def kernel():
        if gpu.threadIdx.x < 3:
            gpu.cg.this_grid().sync()
        else:
            gpu.syncthreads()

    with pytest.raises(gpu.KernelError, match=r"3 wait in gpu.cg.GridGroup.sync\(\)"):
        kernel[4, 32]()
        gpu.synchronize()


def test_wrong_use():
    @gpu.jit
    def given():
        gpu.cg.this_grid(1)

    @gpu.jit
    def unknown():
        gpu.cg.this_grid().wait()

    with pytest.raises(TypeError, match="takes 0 arguments, 1 given"):
        given.ptx("()", arch="sm_80")
    with pytest.raises(NameError, match="GridGroup.* has no attribute 'wait'"):
        unknown.ptx("()", arch="sm_80")


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx(arch, tmp_path):
    ptx = gpu.jit(turn).ptx("int64[::1], int", arch=arch)
    assert ptx.count("call.uni gpujit_grid_sync") >= 1 and "atom.global.add.u32" in ptx
    (tmp_path / "k.ptx").write_text(ptx)
    subprocess.run(["ptxas", f"-arch={arch}", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, check=True)
