"""Sorting by a network: sorted runs grow from 2 to n, each by comparing numbers at distances that
halve. Steps within a block's part run in shared memory, the others are launches of their own.

bitonic_sort.py [numbers]
"""

import sys

import gpu
import numpy as np

PART = 512  # numbers of a block; two per thread


@gpu.jit
def step(x, distance, run):
    t = gpu.grid(1)
    i = 2 * t - (t & (distance - 1))
    low, high = x[i], x[i + distance]
    if (low > high) == (i & run == 0):
        x[i], x[i + distance] = high, low


@gpu.jit
def steps_in_shared(x, distance, run):
    part = gpu.shared.array(PART, gpu.float32)
    t = gpu.threadIdx.x
    base = gpu.blockIdx.x * PART
    part[t], part[t + PART // 2] = x[base + t], x[base + t + PART // 2]
    while distance > 0:
        gpu.syncthreads()
        i = 2 * t - (t & (distance - 1))
        low, high = part[i], part[i + distance]
        if (low > high) == ((base + i) & run == 0):
            part[i], part[i + distance] = high, low
        distance //= 2
    gpu.syncthreads()
    x[base + t], x[base + t + PART // 2] = part[t], part[t + PART // 2]


def sort(x: np.ndarray) -> np.ndarray:
    size = PART
    while size < len(x):
        size *= 2
    padded = np.full(size, np.inf, np.float32)
    padded[: len(x)] = x
    on_device = gpu.to_device(padded)
    blocks, run = size // PART, 2
    while run <= size:
        distance = run // 2
        while distance >= PART:
            step[blocks, PART // 2](on_device, distance, run)
            distance //= 2
        steps_in_shared[blocks, PART // 2](on_device, distance, run)
        run *= 2
    return on_device.copy_to_host()[: len(x)]


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    x = np.random.default_rng(1).standard_normal(n, dtype=np.float32)
    result = sort(x)
    print(f"{n} numbers, sorted from {result[0]:.4f} to {result[-1]:.4f}")
    if not np.array_equal(result, np.sort(x)):
        print("the order is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
