"""Launch overhead beside its floor, a C loop over cuLaunchKernel: bursts of 200, interleaved.

    python tests/bench/launch.py

Needs an NVIDIA GPU and a C compiler. Prints microseconds per launch (medians over the bursts) and
the ratio to the floor measured in the same bursts. A burst follows a synchronisation and is shorter
than a stream's queue, so neither side waits for the device.
"""

import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import gpu
import numpy as np

BURST = 200
BURSTS = 60
N = 1024


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@gpu.jit
def empty():
    pass


def burst(call: Callable[[], object]) -> float:
    gpu.synchronize()
    start = time.perf_counter()
    for _ in range(BURST):
        call()
    spent = time.perf_counter() - start
    gpu.synchronize()
    return spent / BURST * 1e6


def load_floor(ptx: str) -> ctypes.CDLL:
    source = pathlib.Path(__file__).with_name("floor.c")
    library = pathlib.Path(tempfile.mkdtemp()) / "floor.so"
    subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"])
    floor = ctypes.CDLL(str(library))
    floor.floor_burst.restype = ctypes.c_double
    entry = next(line for line in ptx.splitlines() if ".entry" in line).split()[2].split("(")[0]
    load_us = ctypes.c_double()
    error = floor.floor_load(ptx.encode(), entry.encode(), ctypes.byref(load_us))
    if error:
        sys.exit(f"the driver answers {error} to the floor's load")
    print(f"driver's load of saxpy's PTX: {load_us.value / 1e3:.2f} ms")
    return floor


def main() -> None:
    if not gpu.is_available():
        sys.exit("needs an NVIDIA GPU")
    x, y = gpu.to_device(np.ones(N, np.float32)), gpu.to_device(np.ones(N, np.float32))
    ours, nothing = saxpy[4, 256], empty[1, 32]
    ours(N, 2.0, x, y)
    nothing()
    floor = load_floor(saxpy.ptx())

    def address(array: object) -> int:
        return array.__cuda_array_interface__["data"][0]  # type: ignore[attr-defined]

    values = [ctypes.c_int64(N), ctypes.c_double(2.0)]
    for array in (x, y):
        values += [ctypes.c_uint64(address(array)), ctypes.c_int64(N)]
    params = (ctypes.c_void_p * len(values))(
        *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p).value for v in values)
    )

    cases: dict[str, Callable[[], object]] = {
        "saxpy, our arrays, launcher kept": lambda: ours(N, 2.0, x, y),
        "saxpy, our arrays, kernel[grid, block]": lambda: saxpy[4, 256](N, 2.0, x, y),
        "empty kernel": nothing,
    }
    try:
        import torch

        tx, ty = torch.ones(N, device="cuda"), torch.ones(N, device="cuda")
        ours(N, 2.0, tx, ty)
        cases["saxpy, two torch tensors"] = lambda: ours(N, 2.0, tx, ty)
    except ImportError:
        print("torch is not installed: its row is left out")

    floors: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in cases}
    loop: list[float] = []
    for _ in range(BURSTS):
        floors.append(floor.floor_burst(BURST, 4, 256, params))
        loop.append(burst(lambda: None))
        for name, call in cases.items():
            spent[name].append(burst(call))
    base, python = statistics.median(floors), statistics.median(loop)
    print(
        f"C loop over cuLaunchKernel: {base:.2f} us; the bench's own empty Python call: {python:.2f} us"
    )
    for name, times in spent.items():
        us = statistics.median(times)
        print(f"{name}: {us:.2f} us, {us / base:.2f} x the C loop")


if __name__ == "__main__":
    main()
