"""Two GPUs in one process; skipped where there are fewer."""

import os
import threading

import gpu
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def two_gpus():
    if not gpu.is_available() or "GPUJIT_CUDA_LIBRARY" in os.environ:
        pytest.skip("no NVIDIA GPU here")
    try:
        gpu.select_device("cuda:1")
    except gpu.DeviceError:
        pytest.skip("fewer than two NVIDIA GPUs here")
    yield
    gpu.select_device("cpu")


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def arrays(name, seed):
    gpu.select_device(name)
    x = np.random.default_rng(seed).random(1000, dtype=np.float32)
    return x, gpu.to_device(x), gpu.zeros(1000, np.float32)


def test_each_computes_on_its_own_memory():
    kept = [(name, *arrays(name, seed)) for seed, name in enumerate(["cuda:0", "cuda:1"])]
    for name, _, dx, dy in kept:
        gpu.select_device(name)
        assert gpu.device().ordinal == int(name[-1])
        saxpy[4, 256](1000, 2.0, dx, dy)
    for name, x, _, dy in kept:
        gpu.select_device(name)
        gpu.synchronize()
        np.testing.assert_array_equal(dy.copy_to_host(), 2 * x)


def test_memory_of_the_other_is_refused():
    _, dx, dy = arrays("cuda:1", 3)
    gpu.select_device("cuda:0")
    with pytest.raises(gpu.ArgumentTypeError, match="memory of cuda:1, the kernel runs on cuda:0"):
        saxpy[4, 256](1000, 2.0, dx, dy)


def test_tensors_of_the_second_gpu():
    torch = pytest.importorskip("torch")
    gpu.select_device("cuda:1")
    x, y = torch.ones(1000, device="cuda:1"), torch.zeros(1000, device="cuda:1")
    saxpy[4, 256](1000, 3.0, x, y)
    gpu.synchronize()
    assert y.sum().item() == 3000
    with pytest.raises(gpu.ArgumentTypeError, match="memory of cuda:0"):
        saxpy[4, 256](1000, 3.0, torch.ones(1000, device="cuda:0"), y)


def test_a_thread_without_a_context():
    """A thread that never touched the driver copies from the second GPU."""
    x, dx, dy = arrays("cuda:1", 4)
    saxpy[4, 256](1000, 2.0, dx, dy)
    found = []
    thread = threading.Thread(target=lambda: found.append(dy.copy_to_host()))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], 2 * x)
