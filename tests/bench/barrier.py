"""Barriers on the CPU device: python tests/bench/barrier.py [SWITCH]

Prints nanoseconds per thread and barrier for blocks of several sizes, the best of some runs, and
beside it the floor that SWITCH measures in the same run (tests/bench/switch.c: threads resumed in
turn, with nobody looking where they wait). The target is below 20 ns. Then the time of a tiled
product of two 512 x 512 matrices, whose target is below 2 s on two cores.
"""

import subprocess
import sys
import time

import gpu
import numpy as np

TILE = 16
ROUNDS = 2000


@gpu.jit
def barriers(rounds):
    for _ in range(rounds):
        gpu.syncthreads()


@gpu.jit
def matmul(a, b, c):
    tile_a = gpu.shared.array((TILE, TILE), gpu.float32)
    tile_b = gpu.shared.array((TILE, TILE), gpu.float32)
    x, y = gpu.grid(2)
    tx, ty = gpu.threadIdx.x, gpu.threadIdx.y
    total = gpu.float32(0)
    for k in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = a[y, k + tx]
        tile_b[ty, tx] = b[k + ty, x]
        gpu.syncthreads()
        for j in range(TILE):
            total += tile_a[ty, j] * tile_b[j, tx]
        gpu.syncthreads()
    c[y, x] = total


def seconds(launch) -> float:
    """The best of ten, after one to compile."""
    best = float("inf")
    for _ in range(11):
        start = time.perf_counter()
        launch()
        gpu.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    gpu.select_device("cpu")
    switch = sys.argv[1:]
    for threads in (32, 128, 256, 1024):
        each = seconds(lambda n=threads: barriers[1, n](ROUNDS)) / ROUNDS / threads * 1e9
        text = f"block of {threads:4}: {each:5.1f} ns per thread and barrier"
        if switch:
            floor = float(subprocess.check_output([*switch, str(threads)], text=True))
            text += f", {floor:.1f} ns the switch alone, {each / floor:.1f} times"
        print(text)
    rng = np.random.default_rng(0)
    a, b = (rng.random((512, 512), dtype=np.float32) for _ in range(2))
    on = [gpu.to_device(v) for v in (a, b, np.zeros_like(a))]
    taken = seconds(lambda: matmul[(32, 32), (TILE, TILE)](*on))
    assert np.allclose(on[2].copy_to_host(), a @ b, rtol=1e-4)
    print(f"512 x 512 tiled matrix product: {taken:.3f} s")


if __name__ == "__main__":
    main()
