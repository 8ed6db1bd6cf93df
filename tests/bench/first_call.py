"""The first call of a kernel on a GPU, beside the driver's own time to load the same PTX.

    python tests/bench/first_call.py

Needs an NVIDIA GPU. The context and the arrays exist before the clock starts; the driver's cache of
compiled PTX is off. Fresh processes measure the first kernel of a process, by us (from Python function
to the end of the launch) and by the driver alone (load, launch, wait); then one process takes turns
between the two for kernels never seen before. Milliseconds, medians.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

import gpu
import numpy as np
from compile_time import SIGNATURE, fresh

PROCESSES = 5
KERNELS = 25
N = 1024


class Case:
    def __init__(self) -> None:
        self.x = gpu.to_device(np.ones(N, np.float32))
        self.y = gpu.to_device(np.ones(N, np.float32))
        gpu.synchronize()

    def ours(self, number: int) -> float:
        kernel = fresh(number)
        start = time.perf_counter()
        kernel[4, 256](N, 2.0, self.x, self.y)  # type: ignore[index]
        gpu.synchronize()
        return (time.perf_counter() - start) * 1e3

    def driver(self, number: int) -> float:
        ptx = fresh(number).ptx(SIGNATURE).encode()  # type: ignore[attr-defined]
        cuda = ctypes.CDLL("libcuda.so.1")
        values: list = [ctypes.c_int64(N), ctypes.c_double(2.0)]
        for array in (self.x, self.y):
            address = array.__cuda_array_interface__["data"][0]
            values += [ctypes.c_uint64(address), ctypes.c_int64(N)]
        params = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p).value for v in values)
        )
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        start = time.perf_counter()
        errors = [
            cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx, 0, None, None),
            cuda.cuModuleGetFunction(ctypes.byref(function), module, b"saxpy"),
            cuda.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, params, None),
            cuda.cuCtxSynchronize(),
        ]
        spent = (time.perf_counter() - start) * 1e3
        if any(errors):
            sys.exit(f"the driver answers {errors}")
        return spent


def first(mode: str) -> float:
    command = [sys.executable, __file__, mode]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def show(title: str, ours: list[float], driver: list[float]) -> None:
    a, b = statistics.median(ours), statistics.median(driver)
    print(f"{title}: ours {a:.2f} ms, the driver alone {b:.2f} ms, difference {a - b:.2f} ms")


def main() -> None:
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    if not gpu.is_available():
        sys.exit("needs an NVIDIA GPU")
    if len(sys.argv) > 1:
        print(getattr(Case(), sys.argv[1])(0))
        return
    turns = [(first("ours"), first("driver")) for _ in range(PROCESSES)]
    show("first kernel of a process", [a for a, _ in turns], [b for _, b in turns])
    case = Case()
    turns = [(case.ours(n), case.driver(n + KERNELS)) for n in range(1, KERNELS)]
    show("later kernels", [a for a, _ in turns], [b for _, b in turns])


if __name__ == "__main__":
    main()
