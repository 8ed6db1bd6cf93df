"""The sum of many numbers: each thread adds some, each block's threads add up in shared memory as a
tree, and the blocks add their sums to one number atomically.

reduction.py [numbers]
"""

import sys

import gpu
import numpy as np

THREADS = 256
BLOCKS = 64


@gpu.jit
def add_up(x, total):
    sums = gpu.shared.array(THREADS, gpu.float64)
    t = gpu.threadIdx.x

    mine = gpu.float64(0)
    for i in range(gpu.grid(1), len(x), gpu.gridsize(1)):
        mine += x[i]
    sums[t] = mine
    gpu.syncthreads()

    half = THREADS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        gpu.syncthreads()
        half //= 2

    if t == 0:
        gpu.atomic.add(total, 0, sums[0])


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    x = np.random.default_rng(1).standard_normal(n, dtype=np.float32) + np.float32(0.5)

    total = gpu.zeros(1, gpu.float64)
    blocks = min(BLOCKS, (n + THREADS - 1) // THREADS)
    add_up[blocks, THREADS](gpu.to_device(x), total)
    result = total.copy_to_host()[0]

    expected = np.sum(x, dtype=np.float64)
    print(f"sum of {n} numbers: {result:.6f}, by NumPy {expected:.6f}")
    if not abs(result - expected) <= 1e-9 * n:
        print("the sum is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
