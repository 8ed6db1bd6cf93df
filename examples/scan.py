"""Prefix sums: y[i] is the sum of x[0] to x[i]. Blocks scan their parts in shared memory, their
totals are scanned the same way, and each block adds what came before it.

scan.py [numbers]
"""

import sys

import gpu
import numpy as np

THREADS = 256


@gpu.jit
def scan_blocks(x, y, totals):
    parts = gpu.shared.array(THREADS, gpu.int64)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    parts[t] = x[i] if i < len(x) else 0
    gpu.syncthreads()

    distance = 1
    while distance < THREADS:
        before = parts[t - distance] if t >= distance else 0
        gpu.syncthreads()  # all have read
        parts[t] += before
        gpu.syncthreads()  # all have written
        distance *= 2

    if i < len(y):
        y[i] = parts[t]
    if t == THREADS - 1:
        totals[gpu.blockIdx.x] = parts[t]


@gpu.jit
def add_before(y, totals):
    i = gpu.grid(1)
    if i < len(y) and gpu.blockIdx.x > 0:
        y[i] += totals[gpu.blockIdx.x - 1]


def scan(x: gpu.Array) -> gpu.Array:
    n = len(x)
    blocks = (n + THREADS - 1) // THREADS
    y = gpu.device_array(n, gpu.int64)
    totals = gpu.device_array(blocks, gpu.int64)
    scan_blocks[blocks, THREADS](x, y, totals)
    if blocks > 1:
        add_before[blocks, THREADS](y, scan(totals))
    return y


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    x = np.random.default_rng(1).integers(-100, 100, n)
    result = scan(gpu.to_device(x)).copy_to_host()
    print(f"prefix sums of {n} numbers, the last is {result[-1]}")
    if not np.array_equal(result, np.cumsum(x)):
        print("scan is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
