"""Whether launches keep memory of the host: a million of each kind, on the CPU device or a GPU.

    python tests/bench/leaks.py [--launches N] [--only KIND]
    GPUJIT_DEVICE=cuda GPUJIT_CUDA_LIBRARY=build/tests/runtime/libfake_cuda.so python tests/bench/leaks.py

The second launches into the stand-in for the driver. Prints for each kind how much the process has
grown after a warm-up, and Python's blocks with it; the status is 1 if that is more than four bytes
per launch, which a leak of anything would be, and the allocator's moods are not.
"""

import argparse
import gc
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
import numpy as np

N = 64


def kernel(parameters: str, body: str) -> Any:
    """The stand-in knows a kernel of one name."""
    scope: dict[str, Any] = {"gpu": gpu}
    exec(f"def entry({parameters}):\n    i = gpu.grid(1)\n    {body}\n", scope)
    return gpu.jit(scope["entry"])


class Interface:
    """An array of another library, of the host or of the device."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.name = next(
            n for n in ("__cuda_array_interface__", "__array_interface__") if hasattr(memory, n)
        )

    def __getattr__(self, name: str) -> Any:
        if name != self.__dict__.get("name"):
            raise AttributeError(name)
        return getattr(self.memory, name)


class Theirs:
    """A stream of another library, made anew whenever that is asked for its current one."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def fails(call: Callable[..., object], *args: object) -> None:
    try:
        call(*args)
    except gpu.Error:
        return
    raise AssertionError("there was no error")


def kinds() -> dict[str, Callable[[int], object]]:
    axpy = kernel("n, a, x, y, z=None", "if i < n: y[i] = a * x[i] + y[i]")
    pairs = kernel("x, pair, *rest", "x[i] = pair[0] + len(rest)")
    x, y = gpu.to_device(np.ones(N, np.float32)), gpu.zeros(N, np.float32)
    host, theirs = np.ones(N, np.float32), Interface(gpu.zeros(N, np.float32))
    kept = axpy[1, N]
    bound, streams = kept.bind(N, 2.0, x, y), [gpu.stream(), gpu.stream()]
    on = [axpy[1, N, stream] for stream in streams]

    def new_stream(_: int) -> None:
        with gpu.stream():
            kept(N, 2.0, x, y)
            axpy[1, N](N, 2.0, x, y)

    return {
        "a launcher": lambda k: kept(N, 2.0, x, y),
        "kernel[grid, block]": lambda k: axpy[1, N](k, 2.0, x, y),
        "by keyword": lambda k: axpy[1, N](n=N, a=np.float32(k), y=y, x=x),
        "bound": lambda k: bound(),
        "set anew": lambda k: bound.set(a=float(k)),
        "many shapes": lambda k: axpy[1 + k % 5, 1 + k % 61](N - 7, k, x[k % 7 :], y),
        "two streams in turn": lambda k: on[k % 2](N, 2.0, x, y),
        "a new stream each time": new_stream,
        "streams of others": lambda k: axpy[1, N, Theirs(streams[k % 2].handle)](N, 2.0, x, y),
        "a new array each time": lambda k: kept(N, 2.0, x, gpu.empty(N, np.float32)),
        "host arrays": lambda k: kept(N, 2.0, host, host[::1]),
        "arrays of others": lambda k: kept(N, 2.0, theirs, y),
        "tuples": lambda k: pairs[1, N](y, (k, 1.0), k, x),
        "errors": lambda k: fails(kept, N, 2.0, [1], y),
        "too many threads": lambda k: fails(axpy[1, 2000 + k % 100], N, 2.0, x, y),
    }


def resident_B() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(call: Callable[[int], object], launches: int) -> tuple[int, int, float]:
    """Bytes and blocks of Python's, after a tenth of the launches; and microseconds of one."""

    def burst(first: int, last: int) -> tuple[int, int]:
        for k in range(first, last):
            call(k)
            if k % 1000 == 0:
                gpu.synchronize()
        gpu.synchronize()
        gc.collect()
        return resident_B(), sys.getallocatedblocks()

    warm = max(launches // 10, 3000)
    before_B, before = burst(0, warm)
    start = time.perf_counter()
    after_B, after = burst(warm, warm + launches)
    return after_B - before_B, after - before, (time.perf_counter() - start) / launches * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--only", help="one kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gpu.PerformanceWarning)
    leaks = False
    for kind, call in kinds().items():
        if options.only not in (None, kind):
            continue
        size_B, blocks, us = grown(call, options.launches)
        leak = size_B > 4 * max(options.launches, 1_000_000) or blocks > options.launches // 100
        leaks |= leak
        print(
            f"{kind}: {size_B / 1e3:.0f} kB, {blocks} blocks, {us:.2f} us each"
            + (" LEAKS" if leak else ""),
            flush=True,
        )
    sys.exit(leaks)


if __name__ == "__main__":
    main()
