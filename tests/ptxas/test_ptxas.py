"""PTX of the everyday kernels assembles for each architecture. Skipped where there is no ptxas."""

import os
import shutil
import subprocess
from pathlib import Path

import gpu
import pytest
from kernels import make

SIGNATURES = {
    "saxpy": "int, float32, float32[::1], float32[::1]",
    "mandel": "int32[:, ::1], float32, float32, float32, float32, int",
    "heat2d": "float32[:, ::1], float32[:, ::1], float32",
    "stencil3d": "float32[:, :, ::1], float32[:, :, ::1]",
    "blackscholes": "float32[:], float32[:], float32[:], float32, float32, float32[:], float32[:]",
    "spmv": "int32[:], int32[:], float32[:], float32[:], float32[:]",
}
PTXAS = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]
KERNELS = make(gpu, gpu.float32, gpu.int32, gpu.uint8)

pytestmark = pytest.mark.skipif(PTXAS is None, reason="no ptxas here")


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", SIGNATURES)
def test_assembles(name: str, arch: str, tmp_path: Path) -> None:
    text = KERNELS[name].ptx(SIGNATURES[name], arch=arch)
    assert f".target {arch}" in text
    source = tmp_path / "kernel.ptx"
    source.write_text(text)
    command = [PTXAS, "-arch", arch, str(source), "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
