"""GPU kernels written in Python, compiled from their bytecode.

A kernel and its launch:

    @gpu.jit
    def saxpy(n, a, x, y):
        i = gpu.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    saxpy[(n + 255) // 256, 256](n, 2.0, x, y)
"""

from gpu import _gpujit
from gpu._arrays import (
    device_array,
    device_array_like,
    empty_like,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from gpu._gpujit import *  # noqa: F403  errors, dtypes, the kernel namespace, arrays, devices
from gpu._gpujit import __version__
from gpu._host import Device, device, get_current_device
from gpu._jit import jit, void

__all__ = [
    # A star import keeps Python's Warning.
    *(name for name in dir(_gpujit) if not name.startswith("_") and name != "Warning"),
    "Device",
    "__version__",
    "device",
    "device_array",
    "device_array_like",
    "empty_like",
    "full_like",
    "get_current_device",
    "jit",
    "ones",
    "ones_like",
    "void",
    "zeros",
    "zeros_like",
]
