"""Compiling, launching and copying from many threads at once, and who holds the GIL meanwhile."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import gpu
import numpy as np
import pytest

N_THREADS, N_KERNELS = 16, 200


def make(n, lines=1):
    scope = {"gpu": gpu, "n": n}
    body = "".join(f"        x[i] = x[i] * {k % 3 + 1} + n\n" for k in range(lines))
    exec(f"def f(x):\n    i = gpu.grid(1)\n    if i < x.size:\n{body}", scope)
    return gpu.jit(scope["f"], cache=False)


def counted_while(work):
    """How often another thread got to run while work() did, and how long that took."""
    done, counts = threading.Event(), []

    def count():
        n = 0
        while not done.is_set():
            n += 1
            time.sleep(0.001)
        counts.append(n)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    done.set()
    thread.join()
    return counts[0], took


def test_200_kernels_from_16_threads(device):
    """Each thread launches every kernel, in an order of its own: each is compiled by whoever comes
    first, and the others wait for it."""
    kernels = [make(n) for n in range(N_KERNELS)]
    barrier = threading.Barrier(N_THREADS)

    def work(t):
        wrong = 0
        order = np.random.default_rng(t).permutation(N_KERNELS)
        barrier.wait()
        for n in order:
            x = gpu.to_device(np.arange(5.0) + t)
            kernels[n][1, 32](x)
            wrong += not np.array_equal(x.copy_to_host(), np.arange(5.0) + t + n)
        return wrong

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert list(pool.map(work, range(N_THREADS))) == [0] * N_THREADS
    for kernel in kernels:
        assert len(kernel._events()) == 1  # compiled once


def test_the_gil_is_free_while_compiling(device):
    kernel = make(1, lines=2500)
    x = gpu.zeros(8)
    count, took = counted_while(lambda: kernel[1, 8](x))
    assert took > 0.05 and count > 20 * took, (count, took)


def test_the_gil_is_free_while_waiting_for_another_thread_that_compiles(device):
    kernel = make(2, lines=2500)
    first = threading.Thread(target=lambda: kernel[1, 8](gpu.zeros(8)))

    def work():
        first.start()
        time.sleep(0.02)
        kernel[1, 8](gpu.zeros(8))  # waits for the first one
        first.join()

    count, took = counted_while(work)
    assert took > 0.05 and count > 20 * took, (count, took)
    assert len(kernel._events()) == 1


@pytest.mark.parametrize("what", ["synchronize", "stream", "event", "copy_to_host"])
def test_the_gil_is_free_while_waiting(device, what):
    @gpu.jit
    def slow(x):
        total = 0.0
        for i in range(30_000_000):
            total += x[i % x.size] * total
        x[0] = total

    x, stream, event = gpu.ones(3), gpu.stream(), gpu.event()
    slow[1, 1, stream](x)
    stream.synchronize()
    slow[1, 1, stream](x)
    event.record(stream)
    wait = {
        "synchronize": gpu.synchronize,
        "stream": stream.synchronize,
        "event": event.synchronize,
        "copy_to_host": lambda: x.copy_to_host(stream=stream),
    }[what]
    count, took = counted_while(wait)
    assert took < 0.02 or count > 20 * took, (count, took)


def test_the_gil_is_free_while_copying(memory):
    host = np.ones(1 << 25, dtype=np.float32)
    x = gpu.to_device(host)

    def work():
        for _ in range(8):
            x.copy_to_device(host)
            x.copy_to_host(host)

    count, took = counted_while(work)
    assert took < 0.02 or count > 20 * took, (count, took)


def test_a_failing_compilation_is_tried_by_each(device):
    """The one that waits gets the error of its own launch."""
    scope = {"gpu": gpu}
    exec("def f(x):\n    x[0, 0] = 1\n" + "    x[0] = x[0] + 1\n" * 200, scope)
    kernel, x = gpu.jit(scope["f"]), gpu.zeros(2)

    def work(_):
        with pytest.raises(gpu.TypingError):
            kernel[1, 1](x)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_kernels_that_change_while_others_launch(device):
    """Readings are replaced and freed while other threads are in the middle of a launch."""
    kernel, stop = make(0), threading.Event()
    scope = kernel.py_func.__globals__
    failures = []

    def launch():
        x = gpu.zeros(4)
        try:
            while not stop.is_set():
                kernel[1, 4](x)
            gpu.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=launch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for n in range(30):
        scope["n"] = n
        time.sleep(0.002)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
