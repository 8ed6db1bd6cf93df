"""Barriers of a block: results that no order of threads gives by chance, and every wrong use."""

import inspect
import subprocess
import sys

import gpu
import kit
import numpy as np
import pytest

LEVELS = [0, 1, 2, 3]
BLOCKS = [1, 2, 31, 32, 33, 64, 257, 1000, 1024, (8, 4), (3, 5, 7), (1, 1, 64), (33, 31), (2, 512)]


def threads(block) -> int:
    return int(np.prod(block))


def rank():
    """The index of a thread in its block."""
    return gpu.threadIdx.x + gpu.blockDim.x * (gpu.threadIdx.y + gpu.blockDim.y * gpu.threadIdx.z)


# --- Values -------------------------------------------------------------------------------------


def rotate(x, rounds):
    """Each thread takes its neighbour's value, again and again: wrong without both barriers."""
    i = rank()
    n = gpu.blockDim.x * gpu.blockDim.y * gpu.blockDim.z
    for _ in range(rounds):
        neighbour = x[gpu.blockIdx.x, (i + 1) % n]
        gpu.syncthreads()
        x[gpu.blockIdx.x, i] = neighbour * 3 + 1
        gpu.syncthreads()


def rotated(x, rounds):
    for _ in range(rounds):
        x = np.roll(x, -1, axis=1) * 3 + 1
    return x


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("block", BLOCKS)
def test_neighbours(level, block):
    x = np.arange(3 * threads(block), dtype=np.int64).reshape(3, -1)
    expected = rotated(x, 5)
    gpu.jit(opt_level=level)(rotate)[3, block](x, 5)
    gpu.synchronize()
    assert np.array_equal(x, expected)


def test_many_blocks():
    x = np.arange(500 * 64, dtype=np.int64).reshape(500, -1)
    expected = rotated(x, 3)
    gpu.jit(rotate)[500, 64](x, 3)
    gpu.synchronize()
    assert np.array_equal(x, expected)


def test_branches_and_early_returns():
    """Barriers in a uniform branch; threads that have returned are not waited for."""

    @gpu.jit
    def kernel(x, way):
        i = gpu.threadIdx.x
        if i >= 40:
            return
        if way[gpu.blockIdx.x] > 0:
            x[gpu.blockIdx.x, i] += 1
            gpu.syncthreads()
            other = x[gpu.blockIdx.x, (i + 7) % 40]
            gpu.syncthreads()
            x[gpu.blockIdx.x, i] = other
        else:
            other = x[gpu.blockIdx.x, 39 - i]
            gpu.syncthreads()
            x[gpu.blockIdx.x, i] = -other

    x = np.arange(4 * 64, dtype=np.int64).reshape(4, 64)
    way = np.array([1, 0, 0, 1], np.int32)
    expected = x.copy()
    for b in range(4):
        row = x[b, :40]
        expected[b, :40] = np.roll(row + 1, -7) if way[b] else -row[::-1]
    kernel[4, 64](x, way)
    gpu.synchronize()
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("level", LEVELS)
def test_device_functions_and_nested_loops(level):
    """A tree of sums whose steps wait inside functions of functions."""

    def wait():
        gpu.syncthreads()

    def step(x, row, i, width):
        if i < width:
            x[row, i] += x[row, i + width]
        wait()

    @gpu.jit(opt_level=level)
    def kernel(x, rounds):
        i = gpu.threadIdx.x
        for r in range(rounds):
            width = gpu.blockDim.x // 2
            while width > 0:
                step(x, gpu.blockIdx.x, i, width)
                width //= 2
            total = x[gpu.blockIdx.x, 0]
            wait()
            x[gpu.blockIdx.x, i] = total + i + r
            wait()

    x = np.arange(2 * 128, dtype=np.int64).reshape(2, 128)
    expected = x.copy()
    for r in range(3):
        expected = expected.sum(axis=1, keepdims=True) + np.arange(128) + r
    kernel[2, 128](x, 3)
    gpu.synchronize()
    assert np.array_equal(x, expected)


def test_every_call_site_counts():
    """Halves of a block that wait in different lines pass together, as on hardware."""
    if kit.is_under_sanitizer():
        pytest.skip("compute-sanitizer takes barriers in two lines to be a fault")

    @gpu.jit
    def kernel(x):
        i = gpu.threadIdx.x
        if i < 32:
            x[i] += 1
            gpu.syncthreads()
            x[i] += x[63 - i]
        else:
            x[i] *= 2
            gpu.syncthreads()
        gpu.syncthreads()

    x = np.arange(64, dtype=np.int64)
    expected = np.concatenate([x[:32] + 1 + (2 * x[32:])[::-1], 2 * x[32:]])
    kernel[1, 64](x)
    gpu.synchronize()
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("block", [1, 5, 32, 100, 1024])
def test_predicates(block):
    @gpu.jit
    def kernel(x, counts, flags):
        i = gpu.threadIdx.x
        if i == 3:
            return
        for bound in range(4):
            counts[bound, i] = gpu.syncthreads_count(x[i] > bound)
            flags[bound, i] = gpu.syncthreads_and(x[i] > bound)
            flags[bound, i] += 2 * gpu.syncthreads_or(x[i] > bound)

    x = np.random.default_rng(block).integers(1, 4, block)
    counts = np.full((4, block), -1, np.int32)
    flags = np.full((4, block), -1, np.int32)
    kernel[1, block](x, counts, flags)
    gpu.synchronize()
    there = np.arange(block) != 3
    for bound in range(4):
        above = x[there] > bound
        assert (counts[bound, there] == above.sum()).all()
        assert (flags[bound, there] == above.all() + 2 * above.any()).all()
    assert (counts[:, ~there] == -1).all()


def test_local_state_lives_over_barriers():
    """Floats, tuples, arrays' views and loop counters keep their values while others run."""

    @gpu.jit
    def kernel(x, out):
        i = gpu.threadIdx.x
        row = x[i]
        a, b, c = float(i), (i, i * i), gpu.float32(0.5) * i
        for k in range(row.size):
            gpu.syncthreads()
            a += row[k] * b[1]
            c += row[k]
            if k % 2:
                gpu.syncthreads()
        out[i, 0] = a
        out[i, 1] = c
        out[i, 2] = b[0] - b[1]

    x = np.arange(33 * 6, dtype=np.float64).reshape(33, 6)
    out = np.zeros((33, 3))
    kernel[1, 33](x, out)
    gpu.synchronize()
    i = np.arange(33)
    assert np.array_equal(out[:, 0], i + x.sum(axis=1) * i * i)
    assert np.array_equal(out[:, 1], 0.5 * i + x.sum(axis=1))
    assert np.array_equal(out[:, 2], i - i * i)


@pytest.mark.parametrize("level", LEVELS)
def test_arrays_of_blocks_and_threads(level):
    """Shared and local arrays and variables that functions share, over barriers."""

    @gpu.jit(opt_level=level, lineinfo=True)
    def kernel(x, out):
        i = gpu.threadIdx.x
        n = gpu.blockDim.x
        tile = gpu.shared.array(64, gpu.float32)
        mine = gpu.local.array(5, gpu.int32)
        count = 0

        def more():
            nonlocal count
            count += 1

        for k in range(5):
            tile[i] = x[gpu.blockIdx.x, i] * (k + 1)
            gpu.syncthreads()
            mine[(i + k) % 5] = tile[(i + k) % n]
            more()
            gpu.syncthreads()
        total = 0
        for k in range(5):
            total += mine[(i + k) % 5] * (k + 1)
        out[gpu.blockIdx.x, i] = total + count

    x = np.arange(3 * 64, dtype=np.float32).reshape(3, 64)
    out = np.zeros((3, 64))
    expected = sum(np.roll(x, -k, axis=1) * (k + 1) * (k + 1) for k in range(5)) + 5
    kernel[3, 64](x, out)
    gpu.synchronize()
    assert np.array_equal(out, expected)


def test_fences_keep_results():
    @gpu.jit
    def kernel(x):
        i = gpu.grid(1)
        x[i] += 1
        gpu.threadfence_block()
        x[i] *= 2
        gpu.threadfence()
        x[i] += 1
        gpu.threadfence_system()

    x = np.arange(64, dtype=np.int64)
    kernel[2, 32](x)
    gpu.synchronize()
    assert np.array_equal(x, (np.arange(64) + 1) * 2 + 1)


# --- Threads that end -----------------------------------------------------------------------------


def test_raised_threads_count_as_arrived():
    @gpu.jit
    def kernel(x, limit):
        i = gpu.threadIdx.x
        if x[i] > limit:
            raise ValueError(x[i])
        gpu.syncthreads()
        x[i] = x[(i + 1) % 32] + 100
        gpu.syncthreads()
        x[i] += 1000

    x = np.arange(32, dtype=np.int64)
    with pytest.raises(ValueError, match="31"):
        kernel[1, 32](x, 30)
        gpu.synchronize()
    kernel[1, 32](np.arange(32), 31)  # the device is well
    gpu.synchronize()


def test_faults_between_barriers():
    @gpu.jit(check=True)
    def kernel(x, k):
        i = gpu.threadIdx.x
        for j in range(10):
            gpu.syncthreads()
            if j == 5 and i == 7:
                x[k] = 1
            gpu.syncthreads()
            if x[i] != 0:
                raise AssertionError("not zero")

    with pytest.raises(IndexError, match="index 99"):
        kernel[3, 64](np.zeros(64), 99)
        gpu.synchronize()
    with pytest.raises(AssertionError, match="not zero"):
        kernel[3, 64](np.zeros(64), 9)
        gpu.synchronize()
    x = np.zeros(64, np.int8)

    @gpu.jit(check=True)
    def checked(x):
        gpu.syncthreads()
        x[gpu.threadIdx.x] = 100 * gpu.threadIdx.x
        gpu.syncthreads()

    with pytest.raises(OverflowError):
        checked[1, 64](x)
        gpu.synchronize()


# --- Warps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [32, 64, 100, 1])
def test_syncwarp(block):
    """Lanes pass values to their neighbours through memory; each warp for itself."""

    @gpu.jit
    def kernel(x, rounds):
        i = gpu.threadIdx.x
        n = min(32, gpu.blockDim.x - i // 32 * 32)
        j = i // 32 * 32 + (i % 32 + 1) % n
        for _ in range(rounds):
            value = x[j]
            gpu.syncwarp()
            x[i] = value * 3 + 1
            gpu.syncwarp(mask=0xFFFFFFFF)

    x = np.arange(block, dtype=np.int64)
    expected = x.copy()
    for _ in range(4):
        for w in range(0, block, 32):
            expected[w : w + 32] = np.roll(expected[w : w + 32], -1) * 3 + 1
    kernel[1, block](x, 4)
    gpu.synchronize()
    assert np.array_equal(x, expected)


def test_syncwarp_of_parts():
    """Halves of a warp go their own ways; a lane that has ended is not waited for."""

    @gpu.jit
    def kernel(x):
        i = gpu.threadIdx.x
        if i == 5:
            return
        if i < 16:
            for k in range(i % 2 + 1):
                value = x[(i + 1) % 16]
                if k == 0:
                    gpu.syncwarp(0xFFFF)
                    x[i] = value + 1
        else:
            for _ in range(3):
                value = x[16 + (i + 1) % 16]
                gpu.syncwarp(0xFFFF0000)
                x[i] = value * 2
                gpu.syncwarp(0xFFFF0000)

    x = np.arange(32, dtype=np.int64)
    low, high = x[:16].copy(), x[16:].copy()
    low = np.where(np.arange(16) == 5, low, np.roll(low, -1) + 1)
    for _ in range(3):
        high = np.roll(high, -1) * 2
    kernel[1, 32](x)
    gpu.synchronize()
    assert np.array_equal(x, np.concatenate([low, high]))


# --- Wrong use ------------------------------------------------------------------------------------

on_cpu = pytest.mark.skipif(gpu.device().kind != "cpu", reason="found by the CPU device")


def line_of(kernel, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.py_func)
    return first + next(i for i, line in enumerate(lines) if text in line)


@on_cpu
def test_barrier_that_never_fills():
    @gpu.jit
    def kernel(x):
        i = gpu.threadIdx.x
        if i < 10:
            return
        if i == 40:
            gpu.syncwarp()
        gpu.syncthreads()
        x[i] = 1

    @gpu.jit
    def warps(x):
        if gpu.threadIdx.x == 33:
            gpu.syncwarp(1 << 1 | 1 << 2)
        else:
            gpu.syncthreads()

    with pytest.raises(gpu.KernelError, match="cannot go on") as error:
        kernel[2, 64](np.zeros(64))
        gpu.synchronize()
    text = str(error.value)
    assert "of 64 threads" in text and "10 have ended" in text
    assert f"53 wait in gpu.syncthreads() at line {line_of(kernel, 'syncthreads')}" in text
    assert f"1 waits in gpu.syncwarp() at line {line_of(kernel, 'syncwarp')}" in text
    with pytest.raises(gpu.KernelError, match="1 waits in gpu.syncwarp.* 63 wait"):
        warps[1, 64](np.zeros(1))
        gpu.synchronize()


@on_cpu
def test_kinds_of_barriers():
    @gpu.jit
    def kernel(x):
        if gpu.threadIdx.x % 2:
            gpu.syncthreads()
        else:
            x[0] = gpu.syncthreads_count(True)

    with pytest.raises(gpu.KernelError, match="different barriers") as error:
        kernel[1, 64](np.zeros(1))
        gpu.synchronize()
    for name in ("gpu.syncthreads()", "gpu.syncthreads_count("):
        line = line_of(kernel, name)
        assert f"{name.rstrip('(').removesuffix('()')}() at line {line}" in str(error.value)


@on_cpu
def test_lane_outside_its_mask():
    @gpu.jit
    def kernel(x):
        gpu.syncwarp(0xFFFF)

    with pytest.raises(gpu.KernelError, match="of lane 16 of warp 0 .* 0x0000ffff"):
        kernel[1, 32](np.zeros(1))
        gpu.synchronize()


@on_cpu
def test_too_many_blocks_wait():
    """A grid barrier of more blocks than memory holds says so and does not hang."""

    @gpu.jit
    def kernel(arrived, x):
        i = gpu.threadIdx.x
        for k in range(x.shape[0]):
            gpu.syncthreads()
            x[k, i] += 1
        if i == 0:
            gpu.atomic.add(arrived, 0, 1)
            while arrived[0] < gpu.gridDim.x:
                pass
        gpu.syncthreads()

    x = np.zeros((2, 1024), np.int32)
    with pytest.raises(MemoryError, match="blocks of 'kernel|blocks of .*kernel"):
        kernel[30000, 1024](np.zeros(1, np.int32), x)
        gpu.synchronize()


@on_cpu
def test_too_large_threads():
    """Local arrays of threads that wait are kept for the whole block, of a grid that waits for all."""

    @gpu.jit
    def kernel(x, k):
        a = gpu.local.array(20_000, gpu.float64)
        b = gpu.local.array(20_000, gpu.float64)
        c = gpu.local.array(20_000, gpu.float64)
        for j in range(3):
            a[j * k] = gpu.threadIdx.x
            b[j * k + 1] = j
            c[j * k + 2] = 10 * j
        gpu.cg.this_grid().sync()
        x[gpu.threadIdx.x] = a[k] + b[k + 1] + c[2 * k + 2]

    x = np.zeros(8)
    kernel[1, 8](x, 9_990)
    gpu.synchronize()
    assert np.array_equal(x, np.arange(8) + 21)
    with pytest.raises(gpu.LaunchError, match="of such blocks this device runs 2 at the same time"):
        kernel[4, 1024](np.zeros(1024), 0)


@on_cpu
def test_recursion_that_waits():
    """Its code is NYI_WAITING_CALL."""

    def down(n):
        gpu.syncthreads()
        if n > 0:
            down(n - 1)

    @gpu.jit
    def kernel(n):
        down(n)

    with pytest.raises(gpu.UnsupportedError, match="'.*down' waits .* calls itself") as error:
        kernel[1, 32](3)
    assert "write a loop" in str(error.value)
    assert "bar.sync" in kernel.ptx("int", arch="sm_80")


def test_wrong_arguments():
    @gpu.jit
    def given():
        gpu.syncthreads(1)

    @gpu.jit
    def missing():
        gpu.syncthreads_count()

    @gpu.jit
    def tuples():
        gpu.syncthreads_and((1, 2))

    @gpu.jit
    def floats(x):
        gpu.syncwarp(x)

    with pytest.raises(TypeError, match=r"gpu.syncthreads takes 0 arguments, 1 given"):
        given.ptx("()", arch="sm_80")
    with pytest.raises(TypeError, match=r"gpu.syncthreads_count takes 1 argument, 0 given"):
        missing.ptx("()", arch="sm_80")
    with pytest.raises(TypeError, match=r"argument 1 of gpu.syncthreads_and"):
        tuples.ptx("()", arch="sm_80")
    with pytest.raises(TypeError, match=r"argument 1 of gpu.syncwarp"):
        floats.ptx("float", arch="sm_80")


# --- Interrupts -----------------------------------------------------------------------------------

INTERRUPTED = """
import gpu, signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
@gpu.jit
def barriers(x):
    while x[0] == 0:
        gpu.syncthreads()
@gpu.jit
def endless_barriers(x):
    while True:
        gpu.syncthreads()
@gpu.jit
def spins(x):
    while x[0] == 0:
        pass
@gpu.jit
def locked(x):
    while gpu.atomic.cas(x, 0, 1, 1) != 1:
        pass
@gpu.jit
def half(x):
    if gpu.threadIdx.x == 0:
        while x[0] == 0:
            pass
    gpu.syncthreads()
@gpu.jit
def rounds(x):
    for _ in range(10**12):
        gpu.syncthreads()
@gpu.jit
def lanes(x):
    for _ in range(10**12):
        gpu.syncwarp()
@gpu.jit
def grid(x):
    for _ in range(10**12):
        gpu.cg.this_grid().sync()
@gpu.jit
def some_blocks(x):
    if gpu.blockIdx.x > 0:
        gpu.cg.this_grid().sync()
    while x[0] == 0:
        pass
KERNELS = (barriers, endless_barriers, spins, locked, half, rounds, lanes, grid, some_blocks)
for kernel in KERNELS:
    kernel[3, 100](gpu.zeros(1, "int32"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        gpu.synchronize()
    except KeyboardInterrupt:
        print(kernel.__name__)
gpu.synchronize()
"""


@on_cpu
def test_ctrl_c():
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120
    )
    names = "barriers endless_barriers spins locked half rounds lanes grid some_blocks"
    assert (result.returncode, " ".join(result.stdout.split())) == (0, names), result.stderr


# --- All devices ----------------------------------------------------------------------------------


def test_devices_agree():
    """Barriers of every kind, warps and the grid on the python device and this one."""

    def kernel(x, out):
        b, t = gpu.blockIdx.x, gpu.threadIdx.x
        g = gpu.cg.this_grid()
        if t == 5:
            return
        for k in range(3):
            other = x[b, (t + 1) % 40]
            gpu.syncthreads()
            x[b, t] = other * 3 - k
            gpu.syncwarp()
            out[0, b, t] += gpu.syncthreads_count(x[b, t] % 2)
            out[1, b, t] += gpu.syncthreads_and(x[b, t] > 0) * 2 + gpu.syncthreads_or(x[b, t] > 99)
            g.sync()
            out[2, b, t] += x[1 - b, t]
            gpu.cg.this_grid().sync()

    x = np.random.default_rng(1).integers(-5, 50, (2, 40))
    kit.agree(kernel, (x, np.zeros((3, 2, 40), np.int64)), grid=2, block=40)
    kit.agree(rotate, (x, 4), grid=2, block=40)
    kit.agree(rotate, (x, 4), grid=2, block=(5, 4, 2), opt_level=0)
