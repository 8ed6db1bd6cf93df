"""Launch overhead beside its floor, a C loop over cuLaunchKernel, and beside other libraries.

    python tests/bench/launch.py [--bursts N] [--only TEXT]

Needs an NVIDIA GPU and a C compiler; what else is not installed is left out, with its reason. All
cases take turns in bursts of 200 launches after a synchronisation, shorter than a stream's queue, so
that none waits for the device. Printed are medians over the bursts: microseconds per launch, and the
ratio to the C loop on the same kernel, grid, block and arguments in the same rounds. Peers run a
kernel of their own for the same work and are compared with the C loop on ours.
"""

import argparse
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import gpu
import numpy as np

BURST = 200
N = 1024
GRID, BLOCK = 4, 256

Call = Callable[[], object]


@gpu.jit
def k0():
    pass


@gpu.jit
def k1(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] += 1


@gpu.jit
def k2(x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] += x[i]


@gpu.jit
def k3(x, y, z):
    i = gpu.grid(1)
    if i < x.size:
        z[i] = x[i] + y[i]


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@gpu.jit
def k16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p):  # noqa: E741
    t = gpu.grid(1)
    if t < p.size:
        p[t] = (a[t] + b[t] + c[t] + d[t] + e[t] + f[t] + g[t] + h[t]
                + i[t] + j[t] + k[t] + l[t] + m[t] + n[t] + o[t])  # fmt: skip


class Floor:
    """The C loop."""

    def __init__(self) -> None:
        source = pathlib.Path(__file__).with_name("floor.c")
        library = pathlib.Path(tempfile.mkdtemp()) / "floor.so"
        subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"])
        self.library = ctypes.CDLL(str(library))
        self.library.floor_burst.restype = ctypes.c_double

    def case(self, kernel: Any, arguments: list[Any]) -> Call:
        """A burst on the kernel that was launched last with such arguments."""
        ptx = kernel.ptx()
        entry = next(line for line in ptx.splitlines() if ".entry" in line).split()[2]
        load_us, function = ctypes.c_double(), ctypes.c_void_p()
        error = self.library.floor_load(
            ptx.encode(),
            entry.split("(")[0].encode(),
            ctypes.byref(load_us),
            ctypes.byref(function),
        )
        if error:
            sys.exit(f"the driver answers {error} to the floor's load")
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, int):
                values.append(ctypes.c_int64(argument))
            elif isinstance(argument, float):
                values.append(ctypes.c_double(argument))
            else:
                address = argument.__cuda_array_interface__["data"][0]
                values += [ctypes.c_uint64(address), ctypes.c_int64(argument.size)]
        addresses = [ctypes.cast(ctypes.byref(v), ctypes.c_void_p).value for v in values]
        params = (ctypes.c_void_p * (len(values) + 1))(*addresses)

        def burst() -> float:
            keep = values
            assert keep is values
            us: float = self.library.floor_burst(function, BURST, GRID, BLOCK, params)
            if us < 0:
                sys.exit(f"the driver answers {-us:.0f} to the floor's launch")
            return us

        return burst


def burst(call: Call) -> float:
    gpu.synchronize()
    start = time.perf_counter()
    for _ in range(BURST):
        call()
    spent = time.perf_counter() - start
    gpu.synchronize()
    return spent / BURST * 1e6


def ours() -> Iterator[tuple[str, str, Call]]:
    x, y, z = (gpu.to_device(np.ones(N, np.float32)) for _ in range(3))
    kept0, kept1, kept2, kept3 = (k[GRID, BLOCK] for k in (k0, k1, k2, k3))
    kept, bound = saxpy[GRID, BLOCK], saxpy[GRID, BLOCK].bind(N, 2.0, x, y)
    yield "k0", "no arguments", kept0
    yield "k1", "1 array of ours", lambda: kept1(x)
    yield "k2", "2 arrays of ours", lambda: kept2(x, y)
    yield "k3", "3 arrays of ours", lambda: kept3(x, y, z)
    yield "saxpy", "4 arguments, launcher kept", lambda: kept(N, 2.0, x, y)
    yield "saxpy", "4 arguments, kernel[grid, block]", lambda: saxpy[GRID, BLOCK](N, 2.0, x, y)
    yield "saxpy", "4 arguments by keyword", lambda: kept(n=N, a=2.0, x=x, y=y)
    yield "saxpy", "bound", bound


def torch_tensors() -> Iterator[tuple[str, str, Call]]:
    import torch

    t = [torch.ones(N, device="cuda") for _ in range(16)]
    kept, all16 = saxpy[GRID, BLOCK], k16[GRID, BLOCK]
    yield "saxpy", "2 torch tensors and 2 scalars", lambda: kept(N, 2.0, t[0], t[1])
    yield "k16", "16 torch tensors", lambda: all16(*t)
    side = torch.cuda.Stream()

    def on_a_side_stream() -> None:
        with torch.cuda.stream(side):
            kept(N, 2.0, t[0], t[1])

    def nothing_there() -> None:
        with torch.cuda.stream(side):
            pass

    yield "saxpy", "2 torch tensors on a side stream, with its `with`", on_a_side_stream
    yield "saxpy", "(that `with` alone, no launch)", nothing_there


def cupy_arrays() -> Iterator[tuple[str, str, Call]]:
    import cupy

    a = [cupy.ones(N, dtype=np.float32) for _ in range(3)]
    kept, kept3 = saxpy[GRID, BLOCK], k3[GRID, BLOCK]
    yield "saxpy", "2 CuPy arrays and 2 scalars", lambda: kept(N, 2.0, a[0], a[1])
    yield "k3", "3 CuPy arrays", lambda: kept3(*a)


def jax_arrays() -> Iterator[tuple[str, str, Call]]:
    import jax.numpy as jnp

    x, y, z = jnp.ones(N), jnp.ones(N), gpu.zeros(N, np.float32)
    if "cpu" in str(x.device).lower():
        raise RuntimeError("this JAX has no GPU")
    kept3 = k3[GRID, BLOCK]
    yield "k3", "2 JAX arrays and 1 of ours", lambda: kept3(x, y, z)


def cupy_raw() -> Iterator[tuple[str, str, Call]]:
    import cupy

    kernel = cupy.RawKernel(
        'extern "C" __global__ void saxpy(long long n, double a, const float *x, float *y) {'
        "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;"
        "  if (i < n) y[i] = (float)a * x[i] + y[i]; }",
        "saxpy",
    )
    x, y = cupy.ones(N, dtype=np.float32), cupy.ones(N, dtype=np.float32)
    yield "saxpy", "CuPy RawKernel", lambda: kernel((GRID,), (BLOCK,), (N, 2.0, x, y))


def numba_cuda() -> Iterator[tuple[str, str, Call]]:
    np.row_stack = np.vstack  # type: ignore[attr-defined]  # NumPy 2 has lost it, numba wants it
    from numba import cuda

    @cuda.jit
    def kernel(n, a, x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    x, y = cuda.to_device(np.ones(N, np.float32)), cuda.to_device(np.ones(N, np.float32))
    kept = kernel[GRID, BLOCK]
    yield "saxpy", "numba-cuda, its arrays, launcher kept", lambda: kept(N, 2.0, x, y)
    yield "saxpy", "numba-cuda, kernel[grid, block]", lambda: kernel[GRID, BLOCK](N, 2.0, x, y)


def triton() -> Iterator[tuple[str, str, Call]]:
    import torch
    from triton_kernel import saxpy as kernel  # beside this file: Triton reads sources

    x, y = torch.ones(N, device="cuda"), torch.ones(N, device="cuda")
    kept = kernel[(GRID,)]
    yield "saxpy", "Triton, torch tensors", lambda: kept(N, 2.0, x, y, BLOCK=BLOCK)


def cuda_core() -> Iterator[tuple[str, str, Call]]:
    try:
        from cuda import core
    except ImportError:
        from cuda.core import experimental as core

    gpu.synchronize()
    device = core.Device(0)
    device.set_current()
    x, y = gpu.to_device(np.ones(N, np.float32)), gpu.to_device(np.ones(N, np.float32))
    saxpy[GRID, BLOCK](N, 2.0, x, y)
    ptx = saxpy.ptx()
    entry = next(line for line in ptx.splitlines() if ".entry" in line).split()[2].split("(")[0]
    kernel = core.ObjectCode.from_ptx(ptx.encode()).get_kernel(entry)
    config = core.LaunchConfig(grid=GRID, block=BLOCK)
    arguments = (np.int64(N), np.float64(2.0), x.address, np.int64(N), y.address, np.int64(N))
    stream = device.default_stream
    yield "saxpy", "cuda.core", lambda: core.launch(stream, config, kernel, *arguments)


PARTS = (
    ours, torch_tensors, cupy_arrays, jax_arrays, numba_cuda, cupy_raw, triton, cuda_core,
)  # fmt: skip


def gather(only: str) -> list[tuple[str, str, Call]]:
    cases = []
    for part in PARTS:
        try:
            for kernel, name, call in part():
                if only in name:
                    call()
                    gpu.synchronize()
                    cases.append((kernel, name, call))
        except Exception as error:  # a peer that is missing or broken is no reason to stop
            reason = str(error).strip().splitlines() or [""]
            print(f"left out: {part.__name__} ({type(error).__name__}: {reason[0][:120]})")
    return cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bursts", type=int, default=60)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    if not gpu.is_available():
        sys.exit("needs an NVIDIA GPU")
    gpu.select_device("cuda")
    floor = Floor()
    arrays = [gpu.to_device(np.ones(N, np.float32)) for _ in range(16)]
    floors: dict[str, Call] = {}
    for kernel, arguments in (
        (k0, []), (k1, arrays[:1]), (k2, arrays[:2]), (k3, arrays[:3]), (k16, arrays),
        (saxpy, [N, 2.0, *arrays[:2]]),
    ):  # fmt: skip
        kernel[GRID, BLOCK](*arguments)
        floors[kernel.__name__] = floor.case(kernel, arguments)
    cases = gather(options.only)
    base: dict[str, list[float]] = {name: [] for name in floors}
    spent: list[list[float]] = [[] for _ in cases]
    loop: list[float] = []
    for _ in range(options.bursts):
        for name, of_floor in floors.items():
            gpu.synchronize()
            base[name].append(of_floor())  # type: ignore[arg-type]
        loop.append(burst(lambda: None))
        for case, times in zip(cases, spent, strict=True):
            times.append(burst(case[2]))
    print(f"the bench's own empty call: {statistics.median(loop):.3f} us")
    for name, times in base.items():
        print(f"C loop over cuLaunchKernel, {name}: {statistics.median(times):.3f} us")
    for (kernel_name, name, _), times in zip(cases, spent, strict=True):
        us, c = statistics.median(times), statistics.median(base[kernel_name])
        print(f"{name} ({kernel_name}): {us:.3f} us, {us / c:.3f} x the C loop")


if __name__ == "__main__":
    main()
