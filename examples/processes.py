"""The longest Collatz sequence below a number, by several processes. Each has a GPU of its own if
there are enough; the kernel is an argument of what they are asked to do.

processes.py [limit [processes]]
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import gpu
import numpy as np

PIECE = 1 << 16  # numbers that one call looks at


@gpu.jit
def count_steps(first, steps):
    i = gpu.grid(1)
    if i < steps.size:
        n = first + i
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


def choose_device(numbers) -> None:
    """Runs once in each process."""
    gpu.select_device(numbers.get() % len(gpu.gpus))


def longest(kernel, first: int, last: int) -> tuple[int, int]:
    """The most steps from first to last, and the number that takes them."""
    steps = gpu.empty(last - first, gpu.int32)
    kernel.forall(steps.size)(first, steps)
    steps = steps.copy_to_host()
    return int(steps.max()), first + int(np.argmax(steps))


def reference(limit: int) -> tuple[int, int]:
    n, steps = np.arange(limit), np.zeros(limit, np.int32)
    while (busy := n > 1).any():
        n = np.where(busy, np.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        steps += busy
    return int(steps.max()), int(np.argmax(steps))


def main() -> int:
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    n_processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    context = multiprocessing.get_context("spawn")  # a fork could not use the GPU again
    numbers = context.Queue()
    for number in range(n_processes):
        numbers.put(number)

    starts = range(1, limit, PIECE)
    ends = [min(start + PIECE, limit) for start in starts]
    with ProcessPoolExecutor(n_processes, context, choose_device, (numbers,)) as pool:
        found = pool.map(longest, [count_steps] * len(starts), starts, ends)
        steps, number = max(found, key=lambda pair: (pair[0], -pair[1]))

    print(f"below {limit}: {number} takes {steps} steps, found by {n_processes} processes")
    if (steps, number) != reference(limit):
        print("the longest sequence is another one", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
