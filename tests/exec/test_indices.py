"""Where a thread is, in one to three dimensions, and atomic additions."""

import gpu
import kit
import numpy as np
import pytest

SHAPES = [
    (1, 1),
    (3, 5),
    ((2, 3), (4, 2)),
    ((3,), (7,)),
    ((2, 3, 4), (3, 2, 2)),
    ((1, 5), (2, 3, 1)),
    (4, (2, 2, 2)),
]


def full(dims) -> tuple:
    dims = dims if isinstance(dims, tuple) else (dims,)
    return (*dims, 1, 1)[:3]


@pytest.mark.parametrize("grid, block", SHAPES, ids=str)
def test_every_thread_once(grid, block):
    source = (
        "def kernel(out):\n"
        "    b = gpu.blockIdx.x + gpu.gridDim.x * (gpu.blockIdx.y + gpu.gridDim.y * gpu.blockIdx.z)\n"
        "    t = gpu.threadIdx.x + gpu.blockDim.x * (gpu.threadIdx.y + gpu.blockDim.y * gpu.threadIdx.z)\n"
        "    i = b * (gpu.blockDim.x * gpu.blockDim.y * gpu.blockDim.z) + t\n"
        "    out[i, 0] += 1\n"
        "    out[i, 1] = gpu.blockIdx.x\n    out[i, 2] = gpu.blockIdx.y\n    out[i, 3] = gpu.blockIdx.z\n"
        "    out[i, 4] = gpu.threadIdx.x\n    out[i, 5] = gpu.threadIdx.y\n    out[i, 6] = gpu.threadIdx.z\n"
        "    x, y, z = gpu.grid(3)\n    out[i, 7] = x\n    out[i, 8] = y\n    out[i, 9] = z\n"
        "    u, v = gpu.grid(2)\n    out[i, 10] = u\n    out[i, 11] = v\n    out[i, 12] = gpu.grid(1)\n"
        "    sx, sy, sz = gpu.gridsize(3)\n    out[i, 13] = sx\n    out[i, 14] = sy\n    out[i, 15] = sz\n"
        "    out[i, 16] = gpu.gridsize(1)\n    out[i, 17] = gpu.gridsize(2)[1]\n"
    )
    g, b = full(grid), full(block)
    expected = []
    for bz, by, bx in np.ndindex(g[::-1]):
        for tz, ty, tx in np.ndindex(b[::-1]):
            x, y, z = bx * b[0] + tx, by * b[1] + ty, bz * b[2] + tz
            size = [g[k] * b[k] for k in range(3)]
            expected.append([1, bx, by, bz, tx, ty, tz, x, y, z, x, y, x, *size, size[0], size[1]])
    out = np.zeros((len(expected), 18), "int64")
    kit.kernel(source)[grid, block](out)
    gpu.synchronize()
    assert out.tolist() == expected


def test_a_grid_stride_loop():
    source = "def kernel(x, out):\n    for i in range(gpu.grid(1), x.size, gpu.gridsize(1)):\n        out[i] = x[i] * 2\n"
    x = np.arange(1000)
    out = np.zeros(1000, "int64")
    kit.kernel(source)[3, 32](x, out)
    gpu.synchronize()
    assert np.array_equal(out, 2 * x)


ADD = (
    "def kernel(x, bins, old):\n    i = gpu.grid(1)\n    if i < x.size:\n"
    "        old[i] = gpu.atomic.add(bins, {index}, x[i])\n"
)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64"])
def test_atomic_add(dtype):
    """The sum is right, and the old values are the partial sums, each once."""
    n = 1000
    x = np.ones(n, dtype)
    bins = np.zeros(1, dtype)
    old = np.zeros(n, dtype)
    kit.launch(kit.kernel(ADD.format(index="0")), n, x, bins, old, reference=False)  # order
    assert bins[0] == n
    assert np.array_equal(np.sort(old), np.arange(n).astype(dtype))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_atomic_add_with_any_index(dtype):
    x = np.arange(600).astype(dtype)
    bins = np.zeros((3, 4), dtype)
    old = np.zeros(600, dtype)
    kernel = kit.kernel(ADD.format(index="(i % 3, -1 - i % 4)"))
    kit.launch(kernel, 600, x, bins, old, reference=False)  # the old values are by order
    expected = np.zeros((3, 4))
    for i in range(600):
        expected[i % 3, -1 - i % 4] += i
    assert np.array_equal(bins, expected.astype(dtype))


def test_atomics_wrap_and_convert():
    source = (
        "def kernel(a, b, f):\n    gpu.atomic.add(a, 0, 2 ** 32 + 5)\n    gpu.atomic.add(b, 0, -1)\n"
        "    gpu.atomic.add(f, 0, 3)\n    gpu.atomic.add(f, -1, 0.25)\n"
    )
    a, b, f = np.array([7], "int32"), np.zeros(1, "uint64"), np.zeros(2, "float32")
    kit.single(kit.kernel(source), a, b, f)
    assert a[0] == 12
    assert b[0] == 2**64 - 1
    assert f.tolist() == [3, 0.25]


def test_histogram():
    source = "def kernel(x, bins):\n    i = gpu.grid(1)\n    if i < x.size:\n        gpu.atomic.add(bins, x[i], 1)\n"
    x = np.random.default_rng(0).integers(0, 16, 5000).astype("uint8")
    bins = np.zeros(16, "int32")
    kit.launch(kit.kernel(source), x.size, x, bins)
    assert np.array_equal(bins, np.bincount(x, minlength=16))


def test_old_values_are_ints():
    """An old value is what reading the element would give: an int, which does not wrap at 32 bits."""
    source = "def kernel(a, out):\n    out[0] = gpu.atomic.add(a, 0, 1) * 4\n"
    out = np.zeros(1, "int64")
    kit.single(kit.kernel(source), np.array([2**31 - 1], "int32"), out)
    assert out[0] == 4 * (2**31 - 1)
