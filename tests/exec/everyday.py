"""Six everyday kernels, each with a problem and NumPy's answer.

The kernels are what a user would write against any namespace like numba.cuda's: no hand narrowing,
no hints. `problems` is small enough for the processor; no dimension is a multiple of the block.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


def make(cuda: Any, f4: Any, i4: Any, u1: Any) -> dict[str, Any]:
    @cuda.jit
    def saxpy(n, a, x, y):
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def mandel(out, x0, y0, dx, dy, maxit):
        i, j = cuda.grid(2)
        if i < out.shape[1] and j < out.shape[0]:
            cr = x0 + i * dx
            ci = y0 + j * dy
            zr = f4(0.0)
            zi = f4(0.0)
            n = 0
            while n < maxit and zr * zr + zi * zi < f4(4.0):
                t = zr * zr - zi * zi + cr
                zi = f4(2.0) * zr * zi + ci
                zr = t
                n += 1
            out[j, i] = n

    @cuda.jit
    def heat2d(a, b, k):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            around = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
            b[y, x] = a[y, x] + k * (around - f4(4.0) * a[y, x])

    @cuda.jit
    def stencil3d(a, b):
        x, y, z = cuda.grid(3)
        if 0 < x < a.shape[2] - 1 and 0 < y < a.shape[1] - 1 and 0 < z < a.shape[0] - 1:
            total = a[z, y, x] + a[z - 1, y, x] + a[z + 1, y, x] + a[z, y - 1, x]
            total = total + a[z, y + 1, x] + a[z, y, x - 1] + a[z, y, x + 1]
            b[z, y, x] = total * f4(0.142857)

    @cuda.jit
    def blackscholes(s, k, t, r, v, call, put):
        i = cuda.grid(1)
        if i < s.size:
            sq = math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (r + f4(0.5) * v * v) * t[i]) / (v * sq)
            d2 = d1 - v * sq
            n1 = f4(0.5) * math.erfc(-d1 * f4(0.70710678))
            n2 = f4(0.5) * math.erfc(-d2 * f4(0.70710678))
            e = math.exp(-r * t[i])
            call[i] = s[i] * n1 - k[i] * e * n2
            put[i] = k[i] * e * (f4(1.0) - n2) - s[i] * (f4(1.0) - n1)

    @cuda.jit
    def spmv(indptr, indices, data, x, y):
        row = cuda.grid(1)
        if row < y.size:
            acc = f4(0.0)
            for k in range(indptr[row], indptr[row + 1]):
                acc += data[k] * x[indices[k]]
            y[row] = acc

    names = ["saxpy", "mandel", "heat2d", "stencil3d", "blackscholes", "spmv"]
    found = locals()
    return {name: found[name] for name in names}


SIGNATURES = {
    "saxpy": "int, float32, float32[::1], float32[::1]",
    "mandel": "int32[:, ::1], float32, float32, float32, float32, int",
    "heat2d": "float32[:, ::1], float32[:, ::1], float32",
    "stencil3d": "float32[:, :, ::1], float32[:, :, ::1]",
    "blackscholes": "float32[:], float32[:], float32[:], float32, float32, float32[:], float32[:]",
    "spmv": "int32[:], int32[:], float32[:], float32[:], float32[:]",
}


@dataclass
class Problem:
    name: str
    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    results: tuple[int, ...]
    """which arguments hold the answer"""
    expected: tuple[np.ndarray, ...]
    tolerance: float
    """of the largest magnitude; 0: equal"""


def mandel_counts(h: int, w: int, x0: Any, y0: Any, dx: Any, dy: Any, maxit: int) -> np.ndarray:
    """Escape counts in float32 with every operation rounded."""
    cr = np.broadcast_to(x0 + np.arange(w).astype(np.float32) * dx, (h, w))
    ci = np.broadcast_to((y0 + np.arange(h).astype(np.float32) * dy)[:, None], (h, w))
    zr = np.zeros((h, w), np.float32)
    zi = np.zeros((h, w), np.float32)
    counts = np.zeros((h, w), np.int32)
    for _ in range(maxit):
        inside = zr * zr + zi * zi < np.float32(4)
        counts += inside
        t = np.where(inside, zr * zr - zi * zi + cr, zr)
        zi = np.where(inside, np.float32(2) * zr * zi + ci, zi)
        zr = t
    return counts


def black_scholes(s: np.ndarray, k: np.ndarray, t: np.ndarray, r: float, v: float) -> tuple:
    erfc: Callable = np.vectorize(math.erfc, otypes=[np.float64])
    s, k, t = (array.astype(np.float64) for array in (s, k, t))
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    n1, n2 = 0.5 * erfc(-d1 / math.sqrt(2)), 0.5 * erfc(-d2 / math.sqrt(2))
    e = np.exp(-r * t)
    return s * n1 - k * e * n2, k * e * (1 - n2) - s * (1 - n1)


def problems() -> Iterator[Problem]:
    rng = np.random.default_rng(7)

    def numbers(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    f4 = np.float32
    n = 10_007
    blocks = (n + 255) // 256
    x, y = numbers(n), numbers(n)
    yield Problem("saxpy", blocks, 256, (n, f4(2), x, y), (3,), (f4(2) * x + y,), 1e-5)

    h, w, maxit = 45, 70, 100
    view = (f4(-2), f4(-1.5), f4(3 / w), f4(3 / h))
    out = np.zeros((h, w), np.int32)
    counts = mandel_counts(h, w, *view, maxit)
    yield Problem("mandel", (5, 3), (16, 16), (out, *view, maxit), (0,), (counts,), 0)

    a, b, k = numbers(61, 83), numbers(61, 83), f4(0.1)
    heat = b.copy()
    around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    heat[1:-1, 1:-1] = a[1:-1, 1:-1] + k * (around - f4(4) * a[1:-1, 1:-1])
    yield Problem("heat2d", (3, 8), (32, 8), (a, b, k), (1,), (heat,), 1e-5)

    a, b = numbers(9, 21, 37), numbers(9, 21, 37)
    stencil = b.copy()
    middle = slice(1, -1)
    total = a[middle, middle, middle] + a[:-2, middle, middle] + a[2:, middle, middle]
    total = total + a[middle, :-2, middle] + a[middle, 2:, middle]
    total = total + a[middle, middle, :-2] + a[middle, middle, 2:]
    stencil[middle, middle, middle] = total * f4(0.142857)
    yield Problem("stencil3d", (2, 3, 9), (32, 8, 1), (a, b), (1,), (stencil,), 1e-5)

    s, k, t = numbers(n) + f4(1), numbers(n) + f4(1), numbers(n) + f4(1)
    call, put = np.zeros(n, f4), np.zeros(n, f4)
    answers = black_scholes(s, k, t, 0.02, 0.3)
    arguments = (s, k, t, f4(0.02), f4(0.3), call, put)
    yield Problem("blackscholes", blocks, 256, arguments, (5, 6), answers, 1e-4)

    rows, width = 1003, 16
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, width, rows))]).astype(np.int32)
    indices = rng.integers(0, rows, indptr[-1]).astype(np.int32)
    data, x, y = numbers(indptr[-1]), numbers(rows), numbers(rows)
    products = np.concatenate([[0], np.cumsum(data.astype(np.float64) * x[indices])])
    sums = products[indptr[1:]] - products[indptr[:-1]]
    yield Problem("spmv", 4, 256, (indptr, indices, data, x, y), (4,), (sums,), 1e-5)
