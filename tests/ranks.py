"""How tests start programs of MPI: mpirun comes with a wheel of PyPI, or from the system."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig

import pytest


@functools.cache
def _found() -> tuple[str, str]:
    """mpirun, and why there is none that starts two ranks."""
    if not importlib.util.find_spec("mpi4py"):
        return "", "mpi4py is not installed"
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    command = shutil.which("mpirun", path=path)
    if not command:
        return "", "there is no mpirun"
    test = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2"
    try:
        done = subprocess.run([command, "-n", "2", sys.executable, "-c", test],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "", "mpirun hangs"
    return command, f"mpirun fails: {done.stderr}" if done.returncode else ""


def mpirun(n: int) -> list[str]:
    """The command that starts n ranks of Python; skips the test where there is none."""
    command, reason = _found()
    if reason:
        pytest.skip(reason)
    return [command, "-n", str(n), sys.executable]
