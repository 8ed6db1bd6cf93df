"""What it costs to make and drop an array: our pool beside the driver, CuPy's pool and torch's.

    python tests/bench/memory.py

Prints nanoseconds per array, the least of many bursts: an array is made, dropped and made again, and
held in a ring of a hundred, for a small and a large size. Without a GPU our rows are the CPU
device's. "driver" is the same with GPUJIT_MEMORY_POOL=0, in a process of its own.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import gpu
import numpy as np

SIZES = {"1 KiB": 1 << 10, "8 MiB": 8 << 20}
BURST, BURSTS, RING = 200, 30, 100
Make = Callable[[int], object]


def makers() -> dict[str, Make]:
    found: dict[str, Make] = {"gpu": lambda n: gpu.empty(n, np.uint8)}
    if gpu.device().kind != "cuda":
        return found | {"numpy": lambda n: np.empty(n, np.uint8)}
    try:
        import cupy

        found["cupy"] = lambda n: cupy.empty(n, np.uint8)
    except ImportError:
        pass
    try:
        import torch

        found["torch"] = lambda n: torch.empty(n, dtype=torch.uint8, device="cuda")
    except ImportError:
        pass
    return found


def least_ns(make: Make, size: int, ring: int) -> float:
    held: list[object] = [make(size) for _ in range(ring)]
    best = float("inf")
    for _ in range(BURSTS):
        start = time.perf_counter_ns()
        if ring:
            for i in range(BURST):
                held[i % ring] = make(size)
        else:
            for _ in range(BURST):
                make(size)
        best = min(best, (time.perf_counter_ns() - start) / BURST)
    return best


def main() -> None:
    plain = os.environ.get("GPUJIT_MEMORY_POOL") == "0"
    for name, make in makers().items():
        if plain and name != "gpu":
            continue
        for label, size in SIZES.items():
            alone, ring = least_ns(make, size, 0), least_ns(make, size, RING)
            who = "driver" if plain else name
            print(f"{who:8} {label:6} {alone:9.0f} ns alone {ring:9.0f} ns in a ring of {RING}")
    if not plain:
        sys.stdout.flush()
        env = os.environ | {"GPUJIT_MEMORY_POOL": "0"}
        subprocess.run([sys.executable, __file__], env=env, check=True)


if __name__ == "__main__":
    main()
