"""Problems for the everyday kernels of tests/kernels.py, each with NumPy's answer.

They are small enough for the processor; no dimension is a multiple of the block.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


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
