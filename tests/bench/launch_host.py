"""What a launch costs the host beside the driver: launches into the stand-in for the driver.

    GPUJIT_CUDA_LIBRARY=build/tests/runtime/libfake_cuda.so python tests/bench/launch_host.py

Needs a C compiler, no GPU. Prints nanoseconds per launch (the least of many bursts, which other load
on the machine disturbs least) with our arrays, with tensors of a library that has DLPack's C
exchange interface (exporter.c), with CuPy's arrays where CuPy is installed (over memory of the
stand-in's) and with the dict of `__cuda_array_interface__`; and of a C loop over the stand-in's
cuLaunchKernel. `perf stat -e instructions:u` with `--only NAME` counts instructions instead.
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
from typing import Any

if "fake_cuda" not in os.environ.get("GPUJIT_CUDA_LIBRARY", ""):
    sys.exit("set GPUJIT_CUDA_LIBRARY to the stand-in, tests/runtime/libfake_cuda.so in the build")

import gpu
import numpy as np

Call = Callable[[], object]

BURST = 200
BURSTS = 500
N = 1024


def kernel(parameters: str, body: str) -> Any:
    """The stand-in knows a kernel of one name."""
    scope: dict[str, Any] = {"gpu": gpu}
    exec(f"def entry({parameters}):\n    i = gpu.grid(1)\n    {body}\n", scope)
    return gpu.jit(scope["entry"])


def arrays_kernel(n: int) -> Any:
    names = [f"x{i}" for i in range(n)]
    return kernel(", ".join(names), f"{names[-1]}[i] = {' + '.join(f'{x}[i]' for x in names)}")


entry = kernel("n, a, x, y", "if i < n: y[i] = a * x[i] + y[i]")


def exporter() -> ctypes.CDLL:
    source = pathlib.Path(__file__).with_name("exporter.c")
    library = pathlib.Path(tempfile.mkdtemp()) / "exporter.so"
    subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", library, source])
    return ctypes.CDLL(str(library))


def tensors(library: ctypes.CDLL, n: int, count: int) -> list[object]:
    """Objects of a type with the interface, each with memory of the device."""
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


def cupys(library: ctypes.CDLL, count: int) -> list[object]:
    """CuPy's own arrays; its current stream, which asks the CUDA runtime, is the exporter's."""
    import cupy
    import cupy_backends.cuda.stream as stream
    from cupy.cuda import memory

    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.create_string_buffer(b"intptr_t (void)")
    address = ctypes.cast(library.exporter_current_stream, ctypes.c_void_p).value
    stream.__pyx_capi__["get_current_stream_ptr"] = new(address, name, None)
    made = []
    for _ in range(count):
        ours = gpu.to_device(np.ones(N, np.float32))
        mem = memory.UnownedMemory(ours.address, ours.nbytes, (ours, name), 0)
        made.append(cupy.ndarray(N, np.float32, memptr=memory.MemoryPointer(mem, 0)))
    return made


class Interface:
    """As an array of another library is, with the dict made anew each time."""

    def __init__(self) -> None:
        self.memory = gpu.to_device(np.ones(N, np.float32))
        self.address = self.memory.address

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (N,), "typestr": "<f4", "data": (self.address, False), "version": 3,
                "strides": None, "stream": 1}  # fmt: skip


def c_loop(launch: Call) -> Callable[[], float]:
    """Nanoseconds per launch of what was launched last."""
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    launch()
    area = (ctypes.c_uint64 * 6)()
    size = ctypes.c_size_t(ctypes.sizeof(area))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(area), 2, ctypes.addressof(size), 0)
    helper = exporter()
    helper.exporter_loop.restype = ctypes.c_double
    function = ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p)

    def run() -> float:
        keep = area, size
        assert keep
        ns: float = helper.exporter_loop(function, ctypes.c_void_p(0x4000), extra, BURST)
        return ns

    return run


def burst(call: Call) -> float:
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
    library = exporter()
    x = [gpu.to_device(np.ones(N, np.float32)) for _ in range(4)]
    t = tensors(library, N, 16)
    d = [Interface() for _ in range(3)]
    kept, bound = entry[4, 256], entry[4, 256].bind(N, 2.0, x[0], x[1])
    k0 = kernel("", "pass")[4, 256]
    k1, k2, k3, k4, k16 = (arrays_kernel(n)[4, 256] for n in (1, 2, 3, 4, 16))
    cases: dict[str, Call] = {
        "an empty call": lambda: None,
        "no arguments": k0,
        "1 array": lambda: k1(x[0]),
        "2 arrays": lambda: k2(x[0], x[1]),
        "3 arrays": lambda: k3(x[0], x[1], x[2]),
        "4 arrays": lambda: k4(*x),
        "our arrays": lambda: kept(N, 2.0, x[0], x[1]),
        "our arrays, kernel[grid, block]": lambda: entry[4, 256](N, 2.0, x[0], x[1]),
        "our arrays, bound": bound,
        "one tensor": lambda: kept(N, 2.0, x[0], t[1]),
        "two tensors": lambda: kept(N, 2.0, t[0], t[1]),
        "16 tensors": lambda: k16(*t),
        "3 of __cuda_array_interface__": lambda: k3(*d),
    }
    try:
        c = cupys(library, 3)
        cases["2 arrays of CuPy"] = lambda: kept(N, 2.0, c[0], c[1])
        cases["3 arrays of CuPy"] = lambda: k3(*c)
    except Exception as error:  # CuPy is not here, or does not do without a GPU
        print(f"left out: CuPy ({type(error).__name__}: {error})")
    if only:
        cases = {only: cases[only]}
    for call in cases.values():
        call()
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(BURSTS):
        for name, call in cases.items():
            spent[name].append(burst(call))
    floor = c_loop(k0)
    print(f"C loop over the stand-in: {min(floor() for _ in range(BURSTS)):.0f} ns")
    for name, times in spent.items():
        print(f"{name}: {min(times):.0f} ns")
    if not only:
        added = (min(spent["two tensors"]) - min(spent["our arrays"])) / 2
        print(f"each tensor adds {added:.0f} ns")


if __name__ == "__main__":
    main()
