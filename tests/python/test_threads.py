"""Many threads: compiling and launching the same kernel and different ones."""

import threading
from concurrent.futures import ThreadPoolExecutor

import gpu
import numpy as np
import pytest

N = 8


def together(work):
    """Runs work(i) in N threads that start at one moment; the results in order."""
    barrier = threading.Barrier(N)

    def one(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(N) as pool:
        return list(pool.map(one, range(N)))


def make(n=0):
    scope = {"gpu": gpu, "constant": n}
    exec(
        "@gpu.jit\ndef kernel(x, v):\n    i = gpu.grid(1)\n    if i < x.size:\n"
        "        x[i] = x[i] * 2 + v + constant\n",
        scope,
    )
    return scope["kernel"]


def launch(kernel, v):
    x = gpu.to_device(np.arange(300, dtype=np.float64))
    for _ in range(5):
        kernel[2, 256](x, v)
    return x.copy_to_host()


def expected(v):
    x = np.arange(300, dtype=np.float64)
    for _ in range(5):
        x = x * 2 + v
    return x


def test_one_kernel_is_compiled_once(device):
    kernel = make()
    for v, result in enumerate(together(lambda i: launch(kernel, i))):
        assert np.array_equal(result, expected(v))
    assert kernel.signatures == ["float64[::1], int"]


def test_one_kernel_for_many_signatures(device):
    kernel = make()
    dtypes = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.float32, np.float64]

    def work(i):
        x = gpu.zeros(10, dtypes[i])
        kernel[1, 16](x, 3)
        return x.copy_to_host().tolist()

    assert together(work) == [[3] * 10] * N
    assert len(kernel.signatures) == N


def test_different_kernels(device):
    results = together(lambda i: launch(make(i), 1))
    for i, result in enumerate(results):
        assert np.array_equal(result, expected(1 + i))


def test_an_error_reaches_every_thread(device):
    scope = {"gpu": gpu}
    exec("@gpu.jit\ndef wrong(x):\n    x[0, 0] = 1\n", scope)

    def work(i):
        with pytest.raises(gpu.TypingError) as caught:
            scope["wrong"][1, 1](gpu.zeros(3))
        return caught.value.code

    assert together(work) == ["RANK_MISMATCH"] * N


def test_globals_that_change_while_others_launch(device):
    kernel = make()
    scope = kernel.py_func.__globals__

    def work(i):
        for n in range(20):
            if i == 0:
                scope["constant"] = n % 3
            x = gpu.zeros(1)
            kernel[1, 1](x, 10)
            assert x.copy_to_host()[0] in (10, 11, 12)
        return True

    assert all(together(work))
    scope["constant"] = 5
    x = gpu.zeros(1)
    kernel[1, 1](x, 10)
    assert x.copy_to_host()[0] == 15


def test_the_gil_is_free_while_waiting(device):
    @gpu.jit
    def slow(x):
        total = 0.0
        for i in range(20_000_000):
            total += x[i % x.size] * total
        x[0] = total

    x = gpu.ones(3)
    slow[1, 1](gpu.ones(3))
    gpu.synchronize()
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    slow[1, 1](x)
    gpu.synchronize()
    done.set()
    ticker.join()
    assert ticks > 5


def test_kernels_that_die_while_they_run(device):
    def work(i):
        for n in range(10):
            x = gpu.ones(50)
            make(n)[1, 64](x, i)
        return x.copy_to_host()[0]

    assert together(work) == [2.0 + i + 9 for i in range(N)]
