"""Inputs, launch shapes and right answers of the twelve everyday kernels, at any size.

Each function takes a size and returns a Problem whose right answers come from NumPy in float64. The
arrays are NumPy's; whoever launches moves them to where the kernel runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Reference = Callable[[], np.ndarray]


@dataclass
class Problem:
    """One launch. `extra` is what the C++ twin takes besides: sizes as int32."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    right: dict[int, Reference]  # by number of the argument that is written
    rtol: float = 1e-5
    atol: float = 1e-5
    share: float = 0.0  # of the elements may differ: the kernel's own rounding decides them
    extra: tuple[np.int32, ...] = ()
    flop: float = 0.0
    cells: Any = field(default=...)  # the part of the result that is compared

    def errors(self, written: dict[int, np.ndarray]) -> list[str]:
        """What is wrong with the arrays that a launch left, by number of the argument."""
        found = []
        for number, reference in self.right.items():
            ours, right = written[number][self.cells], reference()[self.cells]
            near = np.isclose(ours, right, rtol=self.rtol, atol=self.atol)
            if np.mean(~near) > self.share:
                worst = np.unravel_index(np.argmax(np.abs(ours - right)), near.shape)
                found.append(
                    f"{self.name}: argument {number} is wrong in {np.sum(~near)} of {near.size}"
                    f" elements, at {worst} {ours[worst]} instead of {right[worst]}"
                )
        return found


def _random(seed: int = 7) -> Callable[..., np.ndarray]:
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.random(shape, dtype=np.float32)


def _up(n: int, unit: int) -> int:
    return -(-n // unit)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def saxpy(n: int = 1 << 26) -> Problem:
    f = _random()
    x, y = f(n), f(n)
    start = y.copy()
    args = (np.int32(n), np.float32(2), x, y)
    return Problem("saxpy", (_up(n, 256),), (256,), args, {3: lambda: 2 * _wide(x) + start})


def transpose(n: int = 8192) -> Problem:
    f = _random()
    a, b = f(n, n), f(n, n)
    grid = (_up(n, 32), _up(n, 32))
    return Problem("transpose", grid, (32, 8), (a, b), {1: lambda: a.T}, 0, 0,
                   extra=(np.int32(n), np.int32(n)))  # fmt: skip


def matmul(n: int = 2048) -> Problem:
    f = _random()
    a, b, c = f(n, n), f(n, n), f(n, n)
    return Problem("matmul", (n // 32, n // 32), (32, 32), (a, b, c),
                   {2: lambda: _wide(a) @ _wide(b)}, 1e-4, extra=(np.int32(n),),
                   flop=2.0 * n**3)  # fmt: skip


def reduce_sum(n: int = 1 << 26, blocks: int = 2112) -> Problem:
    x, out = _random()(n), np.zeros(1, np.float32)
    return Problem("reduce_sum", (blocks,), (256,), (x, out),
                   {1: lambda: np.sum(_wide(x), keepdims=True)}, 1e-4,
                   extra=(np.int32(n),))  # fmt: skip


def nbody(n: int = 32768) -> Problem:
    f = _random()
    p, m = [f(n) for _ in range(3)], f(n)
    accelerations = [np.zeros(n, np.float32) for _ in range(3)]

    def right(axis: int) -> np.ndarray:
        result = np.empty(n)
        wide = [_wide(q) for q in p]
        for first in range(0, n, 256):
            part = slice(first, first + 256)
            d = [q[None, :] - q[part, None] for q in wide]
            r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 1e-6
            result[part] = np.sum(d[axis] * m / (r2 * np.sqrt(r2)), axis=1)
        return result

    return Problem("nbody", (n // 256,), (256,), (*p, m, *accelerations),
                   {4 + axis: (lambda axis=axis: right(axis)) for axis in range(3)}, 1e-3, 2e-2,
                   extra=(np.int32(n),), flop=20.0 * n * n)  # fmt: skip


def mandel(n: int = 4096, rounds: int = 256) -> Problem:
    out = np.zeros((n, n), np.int32)
    corner = [np.float32(v) for v in (-2, -1.5, 3 / n, 3 / n)]

    def right() -> np.ndarray:
        cr = corner[0] + np.arange(n, dtype=np.float32)[None, :] * corner[2]
        ci = corner[1] + np.arange(n, dtype=np.float32)[:, None] * corner[3]
        c = _wide(cr) + 1j * _wide(ci)
        z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
        for _ in range(rounds):
            inside = z.real**2 + z.imag**2 < 4
            count += inside
            z[inside] = z[inside] ** 2 + c[inside]
        return count

    grid = (_up(n, 16), _up(n, 16))
    return Problem("mandel", grid, (16, 16), (out, *corner, np.int32(rounds)), {0: right}, 0, 0,
                   share=0.01, extra=(np.int32(n), np.int32(n)))  # fmt: skip


def heat2d(n: int = 8192) -> Problem:
    f = _random()
    a, b = f(n, n), f(n, n)
    start = b.copy()

    def right() -> np.ndarray:
        w, result = _wide(a), _wide(start)
        around = w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:]
        result[1:-1, 1:-1] = w[1:-1, 1:-1] + 0.1 * (around - 4 * w[1:-1, 1:-1])
        return result

    return Problem("heat2d", (_up(n, 32), _up(n, 8)), (32, 8), (a, b, np.float32(0.1)), {1: right},
                   extra=(np.int32(n), np.int32(n)))  # fmt: skip


def stencil3d(n: int = 512) -> Problem:
    f = _random()
    a, b = f(n, n, n), f(n, n, n)
    start = b.copy()

    def right() -> np.ndarray:
        w, result = _wide(a), _wide(start)
        inner = w[1:-1, 1:-1, 1:-1] + w[:-2, 1:-1, 1:-1] + w[2:, 1:-1, 1:-1]
        inner += w[1:-1, :-2, 1:-1] + w[1:-1, 2:, 1:-1] + w[1:-1, 1:-1, :-2] + w[1:-1, 1:-1, 2:]
        result[1:-1, 1:-1, 1:-1] = inner * 0.142857
        return result

    return Problem("stencil3d", (_up(n, 32), _up(n, 8), n), (32, 8, 1), (a, b), {1: right},
                   extra=(np.int32(n),) * 3)  # fmt: skip


def blackscholes(n: int = 1 << 24) -> Problem:
    f = _random()
    s, k, t = f(n) + 1, f(n) + 1, f(n) + np.float32(0.1)
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    r, v = np.float32(0.02), np.float32(0.3)
    erfc = np.vectorize(math.erfc)

    def right(is_call: bool) -> np.ndarray:
        root = np.sqrt(_wide(t))
        d1 = (np.log(_wide(s) / k) + (float(r) + 0.5 * float(v) ** 2) * t) / (float(v) * root)
        n1 = 0.5 * erfc(-d1 * 0.70710678)
        n2 = 0.5 * erfc(-(d1 - float(v) * root) * 0.70710678)
        e = np.exp(-float(r) * _wide(t))
        return s * n1 - k * e * n2 if is_call else k * e * (1 - n2) - s * (1 - n1)

    return Problem("blackscholes", (_up(n, 256),), (256,), (s, k, t, r, v, call, put),
                   {5: lambda: right(True), 6: lambda: right(False)}, 1e-4, 1e-5,
                   extra=(np.int32(n),))  # fmt: skip


def histogram(n: int = 1 << 26, blocks: int = 2112) -> Problem:
    x = np.random.default_rng(7).integers(0, 256, n).astype(np.uint8)
    bins = np.zeros(256, np.int32)
    return Problem("histogram", (blocks,), (256,), (x, bins),
                   {1: lambda: np.bincount(x, minlength=256)}, 0, 0,
                   extra=(np.int32(n),))  # fmt: skip


def softmax(rows: int = 65536, n: int = 1024) -> Problem:
    f = _random()
    x, out = f(rows, n), np.zeros((rows, n), np.float32)

    def right() -> np.ndarray:
        e = np.exp(_wide(x) - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return Problem("softmax", (rows,), (32,), (x, out), {1: right}, 1e-5, 1e-8,
                   extra=(np.int32(n),))  # fmt: skip


def spmv(rows: int = 1 << 20, per_row: int = 16) -> Problem:
    f = _random()
    indptr = (np.arange(rows + 1) * per_row).astype(np.int32)
    indices = np.random.default_rng(8).integers(0, rows, rows * per_row).astype(np.int32)
    data, x, y = f(rows * per_row), f(rows), f(rows)
    return Problem("spmv", (_up(rows, 256),), (256,), (indptr, indices, data, x, y),
                   {4: lambda: np.sum((_wide(data) * x[indices]).reshape(rows, -1), axis=1)},
                   extra=(np.int32(rows),))  # fmt: skip


PROBLEMS: dict[str, Callable[..., Problem]] = {
    make.__name__: make
    for make in (saxpy, transpose, matmul, reduce_sum, nbody, mandel, heat2d, stencil3d,
                 blackscholes, histogram, softmax, spmv)
}  # fmt: skip

# Sizes that a test without a GPU can afford, no multiples of a block where the kernel allows that.
SMALL: dict[str, dict[str, int]] = {
    "saxpy": {"n": 1000}, "transpose": {"n": 70}, "matmul": {"n": 64},
    "reduce_sum": {"n": 10000, "blocks": 3}, "nbody": {"n": 512}, "mandel": {"n": 40, "rounds": 50},
    "heat2d": {"n": 70}, "stencil3d": {"n": 20}, "blackscholes": {"n": 1000},
    "histogram": {"n": 10000, "blocks": 3}, "softmax": {"rows": 5, "n": 100},
    "spmv": {"rows": 300, "per_row": 5},
}  # fmt: skip
