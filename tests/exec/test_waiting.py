"""Loops that wait until other threads change memory: locks, flags, hand-written barriers, scans.

GPUJIT_STRESS=1000 repeats each race so many times; without it 100 times on the CPU device, 20 times
on a GPU.
"""

import os

import gpu
import kit
import numpy as np
import pytest

KIND = gpu.device().kind
TIMES = int(os.environ.get("GPUJIT_STRESS", {"cpu": 100, "python": 1}.get(KIND, 20)))

# --- What waits, and what only looks like it ------------------------------------------------------


def flag(x, y):
    while x[0] == 0:
        pass


def bounded(x, y):
    tries = 0
    while x[0] == 0 and tries < 1000:
        tries += 1
    y[0] = tries


def rounds(x, y):
    for _ in range(1000):
        if x[3] != 0:
            break


def either(x, y):
    done = False
    while not done:
        done = x[0] == 1 or y[0] == 2


def function(x, y):
    def ready(f):
        return f[0] != 0

    while not ready(x):
        pass


def look_back(x, y):
    j, acc = 5, 0
    while j >= 0:
        s = x[j]
        if s == 2:
            acc += y[j]
            break
        if s == 1:
            acc += y[j]
            j -= 1
    y[0] = acc


def vote(x, y):
    while gpu.syncthreads_or(x[0] == 0):
        pass


def lock(x, y):
    while gpu.atomic.cas(x, 0, 0, 1) != 0:
        pass


def queue(x, y):
    i = gpu.atomic.add(x, 0, 1)
    while i < y.size:
        y[i] = i
        i = gpu.atomic.add(x, 0, 1)


def partition(x, y):
    i = 0
    while x[i] > 3:
        i += 1
    y[0] = i


def count_to(x, y):
    i = 0
    while i < x[0]:
        y[i] = 1
        i += 1


def chase(x, y):
    n = 0
    while n != -1:
        n = x[n]


def bisect(x, y):
    low, high = 0, x.size
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 7:
            low = middle + 1
        else:
            high = middle
    y[0] = low


def shared_variable(x, y):
    n = 0

    def next_one():
        nonlocal n
        n += 1

    while n < 10:
        next_one()
    y[0] = n


SIGNATURE = "int32[::1], int32[::1]"


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("kernel", [flag, bounded, rounds, either, function, look_back, vote])
def test_waits_for_loads(kernel, level):
    jitted = gpu.jit(opt_level=level)(kernel)
    assert "volatile" in jitted.ptx(SIGNATURE, arch="sm_80")
    assert ".resume" in jitted.llvm(SIGNATURE, arch="host")


@pytest.mark.parametrize("kernel", [lock, queue])
def test_waits_for_atomics(kernel):
    jitted = gpu.jit(kernel)
    assert "volatile" not in jitted.ptx(SIGNATURE, arch="sm_80")
    assert ".resume" in jitted.llvm(SIGNATURE, arch="host")


@pytest.mark.parametrize("kernel", [partition, count_to, chase, bisect, shared_variable])
def test_does_not_wait(kernel):
    jitted = gpu.jit(kernel)
    assert "volatile" not in jitted.ptx(SIGNATURE, arch="sm_80")
    assert ".resume" not in jitted.llvm(SIGNATURE, arch="host")


# --- Races ----------------------------------------------------------------------------------------


@gpu.jit
def chain(f, out):
    """Each block waits for the one before."""
    b = gpu.blockIdx.x
    while f[0] != b:
        pass
    out[b, gpu.threadIdx.x] = b
    gpu.syncthreads()
    if gpu.threadIdx.x == 0:
        gpu.threadfence()
        f[0] = b + 1


def test_blocks_in_turn():
    f, out = np.zeros(1, np.int32), np.full((300, 32), -1, np.int32)
    chain[300, 32](f, out)
    gpu.synchronize()
    assert f[0] == 300
    assert (out == np.arange(300)[:, None]).all()


@gpu.jit
def backwards(f, out):
    """Each block waits for the one behind: all of them have to be under way."""
    b = gpu.blockIdx.x
    if gpu.threadIdx.x == 0:
        while f[0] != gpu.gridDim.x - 1 - b:
            pass
        gpu.threadfence()
        f[0] += 1
    gpu.syncthreads()
    out[b, gpu.threadIdx.x] = f[0]


def test_blocks_in_reverse():
    f, out = np.zeros(1, np.int32), np.zeros((40, 64), np.int32)
    backwards[40, 64](f, out)
    gpu.synchronize()
    assert f[0] == 40
    assert (out >= 40 - np.arange(40)[:, None]).all()


@gpu.jit
def locked_count(mutex, counter, times):
    for _ in range(times):
        while gpu.atomic.cas(mutex, 0, 0, 1) != 0:
            pass
        gpu.threadfence()
        before = gpu.atomic.add(counter, 0, 0)
        counter[0] = before + 1
        gpu.threadfence()
        gpu.atomic.exch(mutex, 0, 0)


def test_spin_lock():
    for _ in range(TIMES):
        mutex, counter = np.zeros(1, np.int32), np.zeros(1, np.int64)
        locked_count[16, 32](mutex, counter, 3)
        gpu.synchronize()
        assert (mutex[0], counter[0]) == (0, 16 * 32 * 3)


@gpu.jit
def own_grid_barrier(arrived, x, rounds):
    """All threads of the grid take their neighbour's value, between barriers made of an atomic."""
    n = gpu.gridDim.x * gpu.blockDim.x
    i = gpu.grid(1)
    for r in range(rounds):
        value = x[(i + 1) % n]
        for half in range(2):
            gpu.syncthreads()
            if gpu.threadIdx.x == 0:
                gpu.threadfence()
                gpu.atomic.add(arrived, 0, 1)
                while arrived[0] < gpu.gridDim.x * (2 * r + half + 1):
                    pass
                gpu.threadfence()
            gpu.syncthreads()
            if half == 0:
                x[i] = value + 1


def test_own_grid_barrier():
    for k in range(TIMES):
        blocks, threads = 8 + k % 9, 32 + k % 33
        x = np.arange(blocks * threads, dtype=np.int64)
        expected = x.copy()
        for _ in range(3):
            expected = np.roll(expected, -1) + 1
        arrived = np.zeros(1, np.int32)
        own_grid_barrier[blocks, threads](arrived, x, 3)
        gpu.synchronize()
        assert np.array_equal(x, expected)


@gpu.jit
def scan(x, out, state, total):
    """One pass: each block adds up its part, then looks back at what the blocks before have."""
    b, t = gpu.blockIdx.x, gpu.threadIdx.x
    i = gpu.grid(1)
    # the part's running sums, by doubling
    out[i] = x[i]
    gpu.syncthreads()
    step = 1
    while step < gpu.blockDim.x:
        value = out[i - step] if t >= step else 0
        gpu.syncthreads()
        out[i] += value
        gpu.syncthreads()
        step *= 2
    if t == gpu.blockDim.x - 1:
        own = out[i]
        total[b, 0] = own
        gpu.threadfence()
        state[b] = 1
        before, j = 0, b - 1
        while j >= 0:
            s = state[j]
            if s == 2:
                gpu.threadfence()
                before += total[j, 1]
                break
            if s == 1:
                gpu.threadfence()
                before += total[j, 0]
                j -= 1
        total[b, 1] = before + own
        gpu.threadfence()
        state[b] = 2
        total[b, 2] = before
    gpu.syncthreads()
    out[i] += total[b, 2]


@pytest.mark.skipif(KIND == "python", reason="compiles nothing")
def test_address_of_many_operations():
    """Each value is used twice, so there are 2**40 ways through the address."""
    far = "def far(a, i):\n" + "    i = i * i + i\n" * 40 + "    return a[i]\n"
    main = "def main(a, i):\n" + "".join(
        f"    while far(a, i) == {k}:\n        pass\n" for k in range(2)
    )
    ptx = kit.kernel(far + main, "main").ptx("int32[::1], int", arch="sm_75")
    assert "ld.volatile.global" in ptx


def test_look_back_scan():
    rng = np.random.default_rng(3)
    for k in range(TIMES):
        blocks, threads = 20 + k % 7, 32 << k % 3
        x = rng.integers(-1000, 1000, blocks * threads)
        out, state = np.zeros_like(x), np.zeros(blocks, np.int32)
        scan[blocks, threads](x, out, state, np.zeros((blocks, 3), np.int64))
        gpu.synchronize()
        assert np.array_equal(out, np.cumsum(x))


def test_work_queue():
    """Threads fetch numbers from a counter until none is left."""
    x, y = np.zeros(1, np.int32), np.zeros(5000, np.int32)
    gpu.jit(queue)[8, 32](x, y)
    gpu.synchronize()
    assert np.array_equal(y, np.arange(5000))
    assert x[0] == 5000 + 8 * 32


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    "meet", ["gpu.syncthreads()", "gpu.syncwarp()", "gpu.all_sync(0xffffffff, True)"]
)
def test_lanes_in_turn_and_then_together(meet, level):
    """What a lane stores for the next one is not left behind the place where both must be."""
    source = (
        "def main(x, y):\n"
        "    turn = gpu.shared.array(1, gpu.int32)\n"
        "    total = gpu.shared.array(1, gpu.int32)\n"
        "    t = gpu.threadIdx.x\n"
        "    turn[0] = 0\n"
        "    total[0] = 1\n"
        "    gpu.syncthreads()\n"
        "    while turn[0] != t:\n"
        "        gpu.nanosleep(10)\n"
        "    gpu.threadfence()\n"
        "    total[0] = (total[0] * 3 + x[t]) % 10007\n"
        "    a = total[0]\n"
        "    gpu.threadfence()\n"
        "    turn[0] = t + 1\n"
        f"    {meet}\n"
        "    gpu.syncthreads()\n"
        "    y[t] = a\n"
    )
    x, y, expected = np.arange(96) % 50, np.zeros(96, int), []
    total = 1
    for v in x.tolist():
        total = (total * 3 + v) % 10007
        expected.append(total)
    kit.kernel(source, "main", opt_level=level)[1, 96](x, y)
    gpu.synchronize()
    assert y.tolist() == expected
