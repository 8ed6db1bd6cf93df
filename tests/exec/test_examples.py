"""Each program of examples/ runs, checks its result and says that it is correct."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import gpu
import pytest
from ranks import mpirun

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

# Packages that an example needs, which may warn and log themselves, and what starts it.
NEEDS = {"dask_pieces": "distributed", "mpi_heat": "mpi4py", "torch_memory": "torch"}
RANKS = {"mpi_heat": 2}


def starter(name):
    """The command that starts Python."""
    needs = NEEDS.get(name)
    if needs and not importlib.util.find_spec(needs):
        pytest.skip(f"{needs} is not installed")
    return mpirun(RANKS[name]) if name in RANKS else [sys.executable]


def test_all_are_here():
    assert sorted(RUNS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


# Small sizes are no work for a GPU, which the package says.
WARNINGS = ["-W", "error", "-W", "ignore::gpu.PerformanceWarning"]
OTHERS = ["-W", "error::gpu.Warning", *WARNINGS[2:]]


@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path):
    path = EXAMPLES / f"{name}.py"
    args, small, pictures = RUNS[name]
    args = small if gpu.device().kind == "python" else args
    warnings = OTHERS if name in NEEDS else WARNINGS
    env = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "critical"}
    done = subprocess.run([*starter(name), *warnings, str(path), *args], cwd=tmp_path,
                          capture_output=True, text=True, timeout=300, env=env)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("correct\n") and not done.stderr
    assert len(path.read_text().splitlines()) < 80
    for picture in pictures:
        head, _, pixels = (tmp_path / picture).read_bytes().partition(b"\n")
        kind, width, height, largest = head.split()
        n_channels = {b"P5": 1, b"P6": 3}[kind]
        assert largest == b"255" and len(pixels) == int(width) * int(height) * n_channels
