"""What a launch costs the host beside the driver: launches into the stand-in for the driver.

    GPUJIT_CUDA_LIBRARY=build/tests/runtime/libfake_cuda.so python tests/bench/launch_host.py

Needs a C compiler, no GPU. Prints nanoseconds per launch (the least of many bursts, which other load
on the machine disturbs least) with our arrays and with tensors of a library that has DLPack's C
exchange interface (exporter.c), and what each tensor adds. `perf stat -e instructions:u` with
`--only NAME` counts instructions instead.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

if "fake_cuda" not in os.environ.get("GPUJIT_CUDA_LIBRARY", ""):
    sys.exit("set GPUJIT_CUDA_LIBRARY to the stand-in, tests/runtime/libfake_cuda.so in the build")

import gpu
import numpy as np

BURST = 200
BURSTS = 500
N = 1024


@gpu.jit
def entry(n, a, x, y):  # the stand-in knows a kernel of this name
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def exporter() -> ctypes.CDLL:
    source = pathlib.Path(__file__).with_name("exporter.c")
    library = pathlib.Path(tempfile.mkdtemp()) / "exporter.so"
    subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", library, source])
    return ctypes.CDLL(str(library))


def tensors(n: int, count: int) -> list[object]:
    """Objects of a type with the interface, each with memory of the device."""
    library = exporter()
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.c_char_p(b"dlpack_exchange_api")
    api = ctypes.addressof(ctypes.c_char.in_dll(library, "exporter_api"))

    class Tensor:
        __dlpack_c_exchange_api__ = new(api, name, None)
        keep = (library, name)

        def __init__(self) -> None:
            self.memory = gpu.to_device(np.ones(n, np.float32))

    made = [Tensor() for _ in range(count)]
    for tensor in made:
        address = tensor.memory.__cuda_array_interface__["data"][0]
        library.exporter_add(
            ctypes.c_void_p(id(tensor)), ctypes.c_void_p(address), ctypes.c_int64(n)
        )
    return list(made)


def burst(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(BURST):
        call()
    spent = time.perf_counter() - start
    gpu.synchronize()
    return spent / BURST * 1e9


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="one case")
    only = parser.parse_args().only
    gpu.select_device("cuda")
    x, y = gpu.to_device(np.ones(N, np.float32)), gpu.to_device(np.ones(N, np.float32))
    tx, ty = tensors(N, 2)
    kept = entry[4, 256]
    cases: dict[str, Callable[[], object]] = {
        "an empty call": lambda: None,
        "our arrays": lambda: kept(N, 2.0, x, y),
        "our arrays, kernel[grid, block]": lambda: entry[4, 256](N, 2.0, x, y),
        "one tensor": lambda: kept(N, 2.0, x, ty),
        "two tensors": lambda: kept(N, 2.0, tx, ty),
    }
    if only:
        cases = {only: cases[only]}
    for call in cases.values():
        call()
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(BURSTS):
        for name, call in cases.items():
            spent[name].append(burst(call))
    for name, times in spent.items():
        print(f"{name}: {min(times):.0f} ns")
    if not only:
        added = (min(spent["two tensors"]) - min(spent["our arrays"])) / 2
        print(f"each tensor adds {added:.0f} ns")


if __name__ == "__main__":
    main()
