"""Each program of examples/ runs, checks its result and says that it is correct."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import gpu
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Arguments, and smaller ones for the python device; the pictures that are left behind.
RUNS = {
    "bitonic_sort": (["20000"], ["600"], []),
    "dask_pieces": (["80000"], ["800"], []),
    "heat": (["100", "30"], ["17", "3"], ["heat00000.pgm"]),
    "histogram": (["300000"], ["700"], []),
    "mandelbrot": (["200"], ["16"], ["mandelbrot.ppm"]),
    "matmul": (["100"], ["17"], []),
    "mpi_heat": (["100", "30"], ["17", "3"], []),
    "nbody": (["130", "3"], ["70", "1"], []),
    "pi": (["3000", "100"], ["200", "20"], []),
    "processes": (["100000"], ["100"], []),
    "reduction": (["300000"], ["700"], []),
    "saxpy": (["100000"], ["600"], []),
    "scan": (["100000"], ["600"], []),
    "torch_memory": (["100000"], ["600"], []),
}

# Packages that an example needs, and what starts it.
NEEDS = {"dask_pieces": "distributed", "mpi_heat": "mpi4py", "torch_memory": "torch"}
RANKS = {"mpi_heat": 2}


def starter(name):
    """The command that starts Python: mpirun comes with a wheel of PyPI, or from the system."""
    needs = NEEDS.get(name)
    if needs and not importlib.util.find_spec(needs):
        pytest.skip(f"{needs} is not installed")
    if name not in RANKS:
        return [sys.executable]
    mpirun = shutil.which("mpirun", path=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    if not mpirun:
        pytest.skip("there is no mpirun")
    return [mpirun, "-n", str(RANKS[name]), sys.executable]


def test_all_are_here():
    assert sorted(RUNS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


# Small sizes are no work for a GPU, which the package says.
WARNINGS = ["-W", "error", "-W", "ignore::gpu.PerformanceWarning"]


@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path):
    path = EXAMPLES / f"{name}.py"
    args, small, pictures = RUNS[name]
    args = small if gpu.device().kind == "python" else args
    done = subprocess.run([*starter(name), *WARNINGS, str(path), *args], cwd=tmp_path,
                          capture_output=True, text=True, timeout=300, env=dict(os.environ))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("correct\n") and not done.stderr
    assert len(path.read_text().splitlines()) < 80
    for picture in pictures:
        head, _, pixels = (tmp_path / picture).read_bytes().partition(b"\n")
        kind, width, height, largest = head.split()
        n_channels = {b"P5": 1, b"P6": 3}[kind]
        assert largest == b"255" and len(pixels) == int(width) * int(height) * n_channels
