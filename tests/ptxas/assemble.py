"""Runs ptxas: from CUDA_HOME, /usr/local/cuda, PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]
FOLDERS = [
    os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"),
    "/usr/local/cuda/bin",
]
PTXAS = shutil.which("ptxas", path=os.pathsep.join([*FOLDERS, os.environ["PATH"]]))

needs_ptxas = pytest.mark.skipif(PTXAS is None, reason=f"no ptxas in {FOLDERS[0]} or on PATH")


def assemble(text: str, arch: str, folder: Path) -> str:
    """Assembles for the architecture; what ptxas -v says about registers, stack and spills."""
    assert f".target {arch}" in text
    source = folder / "kernel.ptx"
    source.write_text(text)
    command = [PTXAS, "-v", "-arch", arch, str(source), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said + text
    return said
