"""Threads of the python device that wait for each other: barriers, grids, loops on memory."""

import os
import signal
import threading
import time

import gpu
import numpy as np
import pytest
from gpu._python import run


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int64)


def rotate(x, out):
    t = gpu.threadIdx.x
    n = gpu.blockDim.x
    for _ in range(3):
        v = x[(t + 1) % n]
        gpu.syncthreads()
        x[t] = v + 1
        gpu.syncthreads()
    out[t] = x[t]


@pytest.mark.parametrize("n", [1, 2, 33, 1024])
def test_neighbours_before_and_after_barriers(n):
    x, out = np.arange(n), ints(n)
    run(rotate, 1, n, (x, out))
    assert out.tolist() == [(t + 3) % n + 3 for t in range(n)]


def test_barriers_that_count():
    def kernel(out):
        t = gpu.threadIdx.x
        out[0, t] = gpu.syncthreads_count(t % 3 == 0)
        out[1, t] = gpu.syncthreads_and(t < 5)
        out[2, t] = gpu.syncthreads_and(t < 6)
        out[3, t] = gpu.syncthreads_or(t == 5)
        out[4, t] = gpu.syncthreads_or(t > 5)

    out = np.full((5, 6), -1)
    run(kernel, 1, 6, (out,))
    assert out.tolist() == [[2] * 6, [0] * 6, [1] * 6, [1] * 6, [0] * 6]


def test_threads_that_return_count_as_arrived():
    def kernel(out):
        t = gpu.threadIdx.x
        if t % 2:
            return
        gpu.syncthreads()
        out[t] = gpu.syncthreads_count(1)

    out = ints(9)
    run(kernel, 1, 9, (out,))
    assert out.tolist() == [5, 0] * 4 + [5]


def test_threads_that_raise_count_as_arrived():
    def kernel(out):
        t = gpu.threadIdx.x
        if t == 2:
            raise ValueError("two", t)
        gpu.syncthreads()
        out[t] = 1
        gpu.syncthreads()
        assert t != 3

    out = ints(5)
    with pytest.raises(ValueError, match="two") as caught:
        run(kernel, 1, 5, (out,))
    assert caught.value.thread == (2, 0, 0)
    assert out.tolist() == [1, 1, 0, 1, 1]


def test_barriers_at_two_places_are_one():
    def meet(out, t):
        gpu.syncthreads()
        out[t] = out[0] + 1

    def kernel(out):
        t = gpu.threadIdx.x
        if t == 0:
            out[0] = 7
            gpu.syncthreads()
        else:
            meet(out, t)

    out = ints(4)
    run(kernel, 1, 4, (out,))
    assert out.tolist() == [7, 8, 8, 8]


def test_the_order_of_threads_after_a_barrier():
    def kernel(out):
        t = gpu.threadIdx.x + 4 * gpu.threadIdx.y
        gpu.syncthreads()
        out[gpu.atomic.add(out, 8, 1)] = t

    out = ints(9)
    run(kernel, 1, (4, 2), (out,))
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_grid_meets():
    def kernel(x, out):
        i = gpu.grid(1)
        n = x.size
        x[i] = i
        gpu.cg.this_grid().sync()
        out[i] = x[n - 1 - i]

    x, out = ints(12), ints(12)
    run(kernel, 4, 3, (x, out))
    assert out.tolist() == list(range(12))[::-1]


def test_a_barrier_of_a_grid_by_hand():
    def kernel(counter, out):
        gpu.syncthreads()
        if gpu.threadIdx.x == 0:
            gpu.atomic.add(counter, 0, 1)
            while counter[0] < gpu.gridDim.x:
                pass
        gpu.syncthreads()
        out[gpu.grid(1)] = counter[0]

    out = ints(20)
    run(kernel, 5, 4, (ints(1), out))
    assert out.tolist() == [5] * 20


def test_threads_of_a_block_wait_for_memory():
    def kernel(flags, out):
        t = gpu.threadIdx.x
        while t + 1 < gpu.blockDim.x and flags[t + 1] == 0:
            pass
        out[gpu.atomic.add(out, out.size - 1, 1)] = t
        flags[t] = 1

    out = ints(41)
    run(kernel, 1, 40, (ints(40), out))
    assert out[:-1].tolist() == list(range(40))[::-1]


def test_a_loop_that_looks_at_many_places():
    def kernel(flags, out):
        if gpu.threadIdx.x == 0:
            found = -1
            while found < 0:
                for i in range(flags.size):
                    if flags[i]:
                        found = i
            out[0] = found
        elif gpu.threadIdx.x == 5:
            flags[77] = 1

    out = ints(1)
    run(kernel, 1, 6, (ints(100), out))
    assert out[0] == 77


def mixed(x):
    if gpu.threadIdx.x < 3:
        gpu.syncthreads()
    else:
        gpu.cg.this_grid().sync()
    x[gpu.threadIdx.x] = 1


def test_a_barrier_that_never_fills():
    x = ints(8)
    with pytest.raises(RuntimeError) as caught:
        run(mixed, 2, 8, (x,))
    assert x.tolist() == [0] * 8
    assert caught.value.lineno == mixed.__code__.co_firstlineno + 2
    line = caught.value.lineno
    message = (f"block (0, 0, 0) cannot go on: of 8 threads 3 wait in gpu.syncthreads() at line "
               f"{line}, 5 wait in gpu.cg.GridGroup.sync() at line {line + 2}, 0 have ended")  # fmt: skip
    assert str(caught.value).startswith(message)
    assert caught.value.code == "DEADLOCK"


def test_barriers_of_two_kinds_do_not_meet():
    def kernel(x):
        if gpu.threadIdx.x:
            gpu.syncthreads()
        else:
            gpu.syncthreads_count(1)

    with pytest.raises(RuntimeError) as caught:
        run(kernel, 1, 2, (ints(1),))
    line = kernel.__code__.co_firstlineno
    message = ("threads of block (0, 0, 0) wait in different barriers: gpu.syncthreads_count() at "
               f"line {line + 4} and gpu.syncthreads() at line {line + 2}")  # fmt: skip
    assert str(caught.value).startswith(message)
    assert caught.value.lineno == line + 2


def test_a_deadlock_ends_the_launch():
    def kernel(x):
        if gpu.blockIdx.x == 0:
            if gpu.laneid == 3:
                return
            if gpu.laneid == 2:
                gpu.syncthreads()
            gpu.syncwarp()
        x[gpu.grid(1)] = 1

    x = ints(12)
    with pytest.raises(RuntimeError) as caught:
        run(kernel, 3, 4, (x,))
    line = kernel.__code__.co_firstlineno
    message = (f"block (0, 0, 0) cannot go on: of 4 threads 1 waits in gpu.syncthreads() at line "
               f"{line + 5}, 2 wait in gpu.syncwarp() at line {line + 6}, 1 has ended")  # fmt: skip
    assert str(caught.value).startswith(message)
    assert caught.value.lineno == line + 5 and caught.value.thread == (2, 0, 0)
    assert not x.any()


def os_threads(kernel, *sizes):
    seen = set()
    n = threading.active_count()
    run(kernel, *sizes, (ints(64), lambda: seen.add(threading.get_ident())))
    assert threading.active_count() == n
    return seen


def test_only_threads_that_wait_have_an_os_thread():
    def plain(x, look):
        look()
        x[gpu.threadIdx.x] += x[0]

    def waits(x, look):
        look()
        if gpu.blockIdx.x == 1:
            gpu.syncthreads()

    def alone(x, look):
        look()
        gpu.syncthreads()
        for _ in range(100):
            x[1] = x[0]

    here = {threading.get_ident()}
    assert os_threads(plain, 3, 64) == here
    assert os_threads(alone, 3, 1) == here
    assert len(os_threads(waits, 4, 8)) <= 8


def spin(x):
    while x[gpu.threadIdx.x % 2] == 0:
        pass


def compute(x):
    if gpu.threadIdx.x == 0:
        gpu.syncthreads()
    i = 0
    while True:
        i += 1


@pytest.fixture
def sigint():
    """A shell's background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kernel", [spin, compute])
def test_ctrl_c(kernel, sigint):
    n = threading.active_count()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(kernel, 2, 4, (ints(2),))
    assert time.monotonic() - start < 20
    timer.join()
    assert threading.active_count() == n


def test_too_many_os_threads(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(gpu.DeviceError, match="worker threads cannot be started: can't start"):
        run(rotate, 1, 8, (ints(8), ints(8)))
