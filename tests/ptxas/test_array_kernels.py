"""PTX of the package's own kernels for arrays assembles, in all ranks and dtypes."""

import itertools

import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas
from gpu import _array_kernels

pytestmark = needs_ptxas

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64"]  # fmt: skip


def view(dtype, rank):
    return f"{dtype}[{', '.join(':' * rank)}]"


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("rank", [1, 2, 8])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_moves_of_bits(dtype, rank, arch, tmp_path):
    copy, fill = _array_kernels._copy_kernel, _array_kernels._fill_kernel
    assemble(copy.ptx(f"{view(dtype, rank)}, {view(dtype, rank)}", arch=arch), arch, tmp_path)
    assemble(fill.ptx(f"{view(dtype, rank)}, int", arch=arch), arch, tmp_path)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize(("to", "source"), list(itertools.permutations(DTYPES, 2)))
def test_conversions(to, source, arch, tmp_path):
    signature = f"{to}[::1], {view(source, 1)}"
    assemble(_array_kernels._copy_kernel.ptx(signature, arch=arch), arch, tmp_path)
