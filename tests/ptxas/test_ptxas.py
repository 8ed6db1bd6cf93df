"""PTX of the everyday kernels assembles for each architecture, and is as small as it should be."""

import re

import gpu
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas
from kernels import make
from libdevice import needs_libdevice

SIGNATURES = {
    "saxpy": "int, float32, float32[::1], float32[::1]",
    "mandel": "int32[:, ::1], float32, float32, float32, float32, int",
    "heat2d": "float32[:, ::1], float32[:, ::1], float32",
    "stencil3d": "float32[:, :, ::1], float32[:, :, ::1]",
    "blackscholes": "float32[:], float32[:], float32[:], float32, float32, float32[:], float32[:]",
    "spmv": "int32[:], int32[:], float32[:], float32[:], float32[:]",
}
# As a launch with Python floats types them.
WEAK = {
    "saxpy": "int, float, float32[::1], float32[::1]",
    "mandel": "int32[:, ::1], float, float, float, float, int",
    "heat2d": "float32[:, ::1], float32[:, ::1], float",
}
KERNELS = make(gpu, gpu.float32, gpu.int32)

DOUBLE = re.compile(r"^\s*(?!cvt|ld\.param|mov)\S*\.f64\b.*", re.MULTILINE)


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", SIGNATURES)
def test_assembles(name, arch, tmp_path):
    for signatures in (SIGNATURES, WEAK):
        if name in signatures:
            said = assemble(KERNELS[name].ptx(signatures[name], arch=arch), arch, tmp_path)
            assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said


@pytest.mark.parametrize(
    "name",
    ["saxpy", "heat2d", "stencil3d", "spmv", pytest.param("blackscholes", marks=needs_libdevice)],
)
def test_single_precision_stays_single(name):
    """No double arithmetic but the conversion of an argument that is a Python float."""
    for signatures in (SIGNATURES, WEAK):
        if name in signatures:
            text = KERNELS[name].ptx(signatures[name], arch="sm_90")
            assert not DOUBLE.search(text), text
            conversions = re.findall(r"cvt\S*\.f64\b", text)
            assert len(conversions) == (signatures is WEAK), text


def test_saxpy_contracts_to_one_fma():
    text = KERNELS["saxpy"].ptx(SIGNATURES["saxpy"], arch="sm_90")
    assert text.count("fma.rn.f32") == 1
    assert "mul.rn.f32" not in text and "mul.f32" not in text and "call" not in text
    rounded = gpu.jit(fma=False)(KERNELS["saxpy"]).ptx(SIGNATURES["saxpy"], arch="sm_90")
    assert "fma" not in rounded and "mul.rn.f32" in rounded
