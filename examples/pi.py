"""Pi by chance: the share of random points of a square that lie in the circle. Each thread has its
own generator, whose 32-bit numbers wrap; a block adds its hits up in shared memory.

pi.py [threads [points per thread]]
"""

import math
import sys

import gpu

THREADS = 128


@gpu.jit
def mix(state):
    """A generator's first state from the number of its thread."""
    state = (state ^ (state >> 16)) * gpu.uint32(0x7FEB352D)
    state = (state ^ (state >> 15)) * gpu.uint32(0x846CA68B)
    return (state ^ (state >> 16)) | gpu.uint32(1)


@gpu.jit
def draw(state):
    """The next state: xorshift."""
    state ^= state << 13
    state ^= state >> 17
    state ^= state << 5
    return state


@gpu.jit
def throw(n_points, hits):
    block_hits = gpu.shared.array(1, gpu.int64)
    if gpu.threadIdx.x == 0:
        block_hits[0] = 0
    gpu.syncthreads()
    state = mix(gpu.uint32(gpu.grid(1) + 1))
    mine = 0
    for _ in range(n_points):
        state = draw(state)
        x = int(state >> 1) - 2**30  # -2**30 to 2**30
        state = draw(state)
        y = int(state >> 1) - 2**30
        mine += x * x + y * y <= 2**60
    gpu.atomic.add(block_hits, 0, mine)
    gpu.syncthreads()
    if gpu.threadIdx.x == 0:
        gpu.atomic.add(hits, 0, block_hits[0])


def main() -> int:
    blocks = ((int(sys.argv[1]) if len(sys.argv) > 1 else 10_000) + THREADS - 1) // THREADS
    n_points = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    hits = gpu.zeros(1, gpu.int64)
    throw[blocks, THREADS](n_points, hits)

    n = blocks * THREADS * n_points
    share = int(hits.copy_to_host()[0]) / n
    error = 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / n)  # one in three is farther off
    print(f"{n} points: pi is about {4 * share:.5f}, give or take {error:.5f}")
    if not abs(4 * share - math.pi) < 5 * error:
        print("pi is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
