"""Everyday kernels against NumPy: float32 within 1e-5 of the largest magnitude, transcendental 1e-4."""

from functools import partial
from types import SimpleNamespace

import gpu
import numpy as np
import pytest
from kernels import make


@pytest.fixture(scope="module")
def kernels():
    return make(gpu, gpu.float32, gpu.int32)


@pytest.fixture(scope="module")
def exact_kernels():
    """Every operation rounded, for results that must be exact."""
    namespace = SimpleNamespace(**{**vars(gpu), "jit": partial(gpu.jit, fma=False)})
    return make(namespace, gpu.float32, gpu.int32)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def blocks(n: int, block: int = 256) -> int:
    return max(1, -(-n // block))


def close(got, expected, operands, tolerance: float = 1e-5) -> None:
    """Within the tolerance of the largest operand's magnitude."""
    scale = max((float(np.abs(a).max()) for a in operands if np.size(a)), default=0.0)
    if np.size(got):
        assert float(np.abs(got.astype(np.float64) - expected).max()) <= tolerance * scale


@pytest.mark.parametrize("n", [0, 1, 2, 31, 255, 256, 257, 1001, 65537])
def test_saxpy(kernels, exact_kernels, rng, n):
    x, y = normal(rng, n), normal(rng, n)
    got = y.copy()
    kernels["saxpy"][blocks(n), 256](n, 2.5, x, got)
    gpu.synchronize()
    close(got, 2.5 * x.astype(np.float64) + y, (x, y, 2.5 * x))
    got = y.copy()
    exact_kernels["saxpy"][blocks(n), 256](n, 2.5, x, got)
    gpu.synchronize()
    assert np.array_equal(got, np.float32(2.5) * x + y)


def test_saxpy_leaves_the_rest_alone(kernels, rng):
    x, y = normal(rng, 100), normal(rng, 100)
    got = y.copy()
    kernels["saxpy"][1, 256](60, 2.0, x, got)
    gpu.synchronize()
    assert np.array_equal(got[60:], y[60:])
    assert not np.array_equal(got[:60], y[:60])


def test_saxpy_on_device_arrays(kernels, rng):
    x, y = normal(rng, 1000), normal(rng, 1000)
    x_device, y_device = gpu.to_device(x), gpu.to_device(y)
    for _ in range(3):
        kernels["saxpy"][blocks(1000), 256](1000, 0.5, x_device, y_device)
    expected = y + np.float32(1.5) * x
    close(y_device.copy_to_host(), expected, (x, y))
    assert np.array_equal(x_device.copy_to_host(), x)


def mandel(width, height, x0, y0, dx, dy, maxit):
    """In float32, rounding every operation, as the kernel with fma=False."""
    f4 = np.float32
    cr = (f4(x0) + np.arange(width).astype(f4) * f4(dx))[None, :] + np.zeros((height, 1), f4)
    ci = (f4(y0) + np.arange(height).astype(f4) * f4(dy))[:, None] + np.zeros((1, width), f4)
    zr, zi = np.zeros_like(cr), np.zeros_like(cr)
    out = np.zeros((height, width), np.int32)
    for _ in range(maxit):
        live = zr * zr + zi * zi < f4(4)
        t = zr * zr - zi * zi + cr
        zi = np.where(live, f4(2) * zr * zi + ci, zi)
        zr = np.where(live, t, zr)
        out += live
    return out


@pytest.mark.parametrize("width, height", [(1, 1), (33, 17), (64, 64), (0, 5)])
def test_mandel(exact_kernels, width, height):
    """The integers are exact. The corner's float32 arguments fix the type of the arithmetic."""
    out = np.full((height, width), -1, np.int32)
    grid = (blocks(width, 16), blocks(height, 16))
    corner = [np.float32(v) for v in (-2.0, -1.25, 2.5 / 64, 2.5 / 64)]
    exact_kernels["mandel"][grid, (16, 16)](out, *corner, 50)
    gpu.synchronize()
    assert np.array_equal(out, mandel(width, height, *corner, 50))


@pytest.mark.parametrize("height, width", [(3, 3), (17, 33), (64, 64), (1, 5), (2, 2), (0, 0)])
def test_heat2d(kernels, rng, height, width):
    a = normal(rng, height, width)
    b = np.zeros_like(a)
    kernels["heat2d"][(blocks(width, 16), blocks(height, 16)), (16, 16)](a, b, 0.1)
    gpu.synchronize()
    expected = np.zeros(a.shape)
    d = a.astype(np.float64)
    if height > 2 and width > 2:
        around = d[:-2, 1:-1] + d[2:, 1:-1] + d[1:-1, :-2] + d[1:-1, 2:]
        expected[1:-1, 1:-1] = d[1:-1, 1:-1] + 0.1 * (around - 4 * d[1:-1, 1:-1])
    close(b, expected, (a,))


@pytest.mark.parametrize("shape", [(3, 3, 3), (5, 9, 17), (16, 16, 16), (2, 4, 4), (0, 4, 4)])
def test_stencil3d(kernels, rng, shape):
    a = normal(rng, *shape)
    b = np.zeros_like(a)
    grid = (blocks(shape[2], 8), blocks(shape[1], 8), blocks(shape[0], 4))
    kernels["stencil3d"][grid, (8, 8, 4)](a, b)
    gpu.synchronize()
    expected = np.zeros(shape)
    d = a.astype(np.float64)
    if min(shape) > 2:
        total = d[1:-1, 1:-1, 1:-1] + d[:-2, 1:-1, 1:-1] + d[2:, 1:-1, 1:-1] + d[1:-1, :-2, 1:-1]
        total += d[1:-1, 2:, 1:-1] + d[1:-1, 1:-1, :-2] + d[1:-1, 1:-1, 2:]
        expected[1:-1, 1:-1, 1:-1] = total * 0.142857
    close(b, expected, (a,))


@pytest.mark.parametrize("n", [0, 1, 255, 1000, 4097])
def test_blackscholes(kernels, rng, n):
    from math import erfc

    s, k = (rng.uniform(10, 100, n).astype(np.float32) for _ in range(2))
    t = rng.uniform(0.2, 2, n).astype(np.float32)
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    r, v = 0.02, 0.3
    kernels["blackscholes"][blocks(n), 256](s, k, t, r, v, call, put)
    gpu.synchronize()
    s, k, t = (a.astype(np.float64) for a in (s, k, t))
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    n1, n2 = (np.array([0.5 * erfc(-x * 0.70710678) for x in d]) for d in (d1, d2))
    e = np.exp(-r * t)
    close(call, s * n1 - k * e * n2, (s, k), 1e-4)
    close(put, k * e * (1 - n2) - s * (1 - n1), (s, k), 1e-4)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 5), (300, 200), (0, 3)])
def test_spmv(kernels, rng, rows, columns, index_dtype):
    counts = rng.integers(0, min(columns, 9) + 1, rows)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index_dtype)
    indices = rng.integers(0, columns, indptr[-1]).astype(index_dtype)
    data, x = normal(rng, int(indptr[-1])), normal(rng, columns)
    y = np.full(rows, 9, np.float32)
    kernels["spmv"][blocks(rows, 64), 64](indptr, indices, data, x, y)
    gpu.synchronize()
    products = data.astype(np.float64) * x[indices]
    expected = np.array([products[a:b].sum() for a, b in zip(indptr[:-1], indptr[1:])])
    close(y, expected, (data, x, np.abs(products) * 9))
