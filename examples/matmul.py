"""A matrix product by tiles: each block keeps a tile of both factors in shared memory.

matmul.py [size]
"""

import sys

import gpu
import numpy as np

TILE = 16


@gpu.jit
def matmul(a, b, c):
    left = gpu.shared.array((TILE, TILE), gpu.float32)
    right = gpu.shared.array((TILE, TILE), gpu.float32)
    tx, ty = gpu.threadIdx.x, gpu.threadIdx.y
    column, row = gpu.grid(2)
    n_rows, n_inner = a.shape
    n_columns = b.shape[1]

    total = gpu.float32(0)
    for first in range(0, n_inner, TILE):
        inside = row < n_rows and first + tx < n_inner
        left[ty, tx] = a[row, first + tx] if inside else 0
        inside = first + ty < n_inner and column < n_columns
        right[ty, tx] = b[first + ty, column] if inside else 0
        gpu.syncthreads()  # the tiles are filled
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        gpu.syncthreads()  # the tiles were read
    if row < n_rows and column < n_columns:
        c[row, column] = total


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, n + 3), dtype=np.float32)  # tiles at the edges are not full
    b = rng.standard_normal((n + 3, n), dtype=np.float32)

    c = gpu.device_array((n, n), gpu.float32)
    n_tiles = (n + TILE - 1) // TILE
    matmul[(n_tiles, n_tiles), (TILE, TILE)](gpu.to_device(a), gpu.to_device(b), c)
    result = c.copy_to_host()

    error = np.max(np.abs(result - a.astype(np.float64) @ b))
    print(f"product of {n} x {n + 3} and {n + 3} x {n}: largest difference {error:.2e}")
    if not error <= 1e-5 * n**0.5 * 10:
        print("matmul is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
