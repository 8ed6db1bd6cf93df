"""PTX of the kernels of examples/, and of kernels that print, assembles for every architecture."""

import importlib.util
from pathlib import Path

import gpu
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

pytestmark = needs_ptxas

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = {
    "bitonic_sort.step": "float32[::1], int, int",
    "bitonic_sort.steps_in_shared": "float32[::1], int, int",
    "dask_pieces.add": "float64[::1], float64[::1]",
    "dask_pieces.wave": "int, float64[::1]",
    "heat.spread": "float32[:, ::1], float32[:, ::1]",
    "histogram.count": "uint8[::1], int32[::1]",
    "mandelbrot.mandelbrot": "int32[:, ::1], float, float, float",
    "matmul.matmul": "float32[:, ::1], float32[:, ::1], float32[:, ::1]",
    "mpi_heat.spread": "float32[:, ::1], float32[:, ::1]",
    "nbody.accelerate": "float64[:, ::1], float64[::1], float64[:, ::1]",
    "nbody.move": "float64[:, ::1], float64[:, ::1]",
    "pi.throw": "int, int64[::1]",
    "processes.count_steps": "int, int32[::1]",
    "reduction.add_up": "float32[::1], float64[::1]",
    "saxpy.saxpy": "int, float, float32[::1], float32[::1]",
    "scan.add_before": "int64[::1], int64[::1]",
    "scan.scan_blocks": "int64[::1], int64[::1], int64[::1]",
}


def load(module: str):
    spec = importlib.util.spec_from_file_location(module, EXAMPLES / f"{module}.py")
    loaded = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    return loaded


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_examples(name, arch, tmp_path):
    module, _, kernel = name.partition(".")
    assemble(getattr(load(module), kernel).ptx(KERNELS[name], arch=arch), arch, tmp_path)


def helper(v):
    print("in a function", v, v + 1)
    return v


@gpu.jit
def printing(i, f, h, x):
    print(i, f, h, x[i], (i, x[0]), f"{f:.3f}", gpu.threadIdx)
    print(x.shape * 16, x.strides * 16)
    gpu.syncthreads()
    x[0] = helper(x[1])
    print()
    if i > 3:
        raise ValueError(i)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_printing(arch, tmp_path):
    text = printing.ptx("int, float, float16, float32[:]", arch=arch)
    assemble(text, arch, tmp_path)
