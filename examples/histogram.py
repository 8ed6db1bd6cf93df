"""How often each byte occurs: blocks count in shared memory, where atomics are fast, and add their
counts to those of the whole grid.

histogram.py [bytes]
"""

import sys

import gpu
import numpy as np

BINS = 256
BLOCKS = 64


@gpu.jit
def count(data, counts):
    mine = gpu.shared.array(BINS, gpu.int32)
    mine[gpu.threadIdx.x] = 0
    gpu.syncthreads()
    for i in range(gpu.grid(1), len(data), gpu.gridsize(1)):
        gpu.atomic.add(mine, data[i], 1)
    gpu.syncthreads()
    gpu.atomic.add(counts, gpu.threadIdx.x, mine[gpu.threadIdx.x])


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(1)
    data = np.clip(rng.normal(128, 40, n), 0, 255).astype(np.uint8)

    counts = gpu.zeros(BINS, gpu.int32)
    blocks = min(BLOCKS, (n + BINS - 1) // BINS)
    count[blocks, BINS](gpu.to_device(data), counts)
    result = counts.copy_to_host()

    largest = max(1, result.max())
    for first in range(0, BINS, 16):
        height = result[first : first + 16].max()
        print(f"{first:3d} {'#' * (60 * height // largest)}")
    if not np.array_equal(result, np.bincount(data, minlength=BINS)):
        print("the histogram is wrong", file=sys.stderr)
        return 1
    print(f"{n} bytes: correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
