"""PTX that was made without a device is loaded by the driver alone and computes the right numbers."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import gpu
import numpy as np
import pytest
from libdevice import needs_libdevice

SOURCE = """
import math
import gpu

@gpu.jit
def wave(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * math.sin(x[i]) + y[i] / 3
"""

cuda_only = pytest.mark.skipif(not gpu.is_available(), reason="no NVIDIA GPU here")


def offline_ptx(tmp_path: Path) -> str:
    file = tmp_path / "wave.py"
    file.write_text(SOURCE)
    command = [sys.executable, "-m", "gpu", "ptx", f"{file}:wave"]
    command += ["int, float32, float32[::1], float32[::1]", "--arch", "sm_75"]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "GPUJIT_DEVICE": "cpu"}
    return subprocess.run(command, env=hidden, check=True, capture_output=True, text=True).stdout


def check(result: int, what: str) -> None:
    assert result == 0, f"{what}: the driver answers {result}"


@cuda_only
def test_the_driver_loads_offline_ptx(tmp_path: Path) -> None:
    n, a = 1000, np.float32(1.5)
    x = np.linspace(-3, 3, n, dtype=np.float32)
    y = np.arange(n, dtype=np.float32)
    dx, dy = gpu.to_device(x), gpu.to_device(y)  # also makes the context that the driver loads into
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    ptx = offline_ptx(tmp_path).encode()
    check(cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx, 0, None, None), "cuModuleLoadDataEx")
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"wave"), "cuModuleGetFunction")
    values: list = [ctypes.c_int64(n), ctypes.c_float(a)]
    for array in (dx, dy):
        values += [ctypes.c_uint64(array.__cuda_array_interface__["data"][0]), ctypes.c_int64(n)]
    params = (ctypes.c_void_p * len(values))(
        *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p).value for v in values)
    )
    check(
        cuda.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, params, None), "cuLaunchKernel"
    )
    check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
    expected = a * np.sin(x) + y / np.float32(3)
    np.testing.assert_allclose(dy.copy_to_host(), expected, rtol=1e-5, atol=1e-5)
    check(cuda.cuModuleUnload(module), "cuModuleUnload")


@needs_libdevice
def test_ptx_is_the_same_every_time(tmp_path: Path) -> None:
    assert offline_ptx(tmp_path) == offline_ptx(tmp_path)
