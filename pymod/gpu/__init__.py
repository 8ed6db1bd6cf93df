"""GPU kernels written in Python, compiled from their bytecode.

A kernel and its launch:

    @gpu.jit
    def saxpy(n, a, x, y):
        i = gpu.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    saxpy[(n + 255) // 256, 256](n, 2.0, x, y)
"""

from gpu import _gpujit, memory, types
from gpu._arrays import (
    as_cuda_array,
    device_array,
    device_array_like,
    empty_like,
    from_cuda_array_interface,
    from_dlpack,
    full_like,
    is_cuda_array,
    is_gpu_array,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from gpu._devices import (
    Context,
    Device,
    DeviceList,
    current_context,
    detect,
    device,
    devices,
    get_current_device,
    gpus,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    reset,
    select_device,
)
from gpu._gpujit import *  # noqa: F403  errors, dtypes, the kernel namespace, arrays, devices
from gpu._gpujit import __version__
from gpu._ipc import IpcHandle
from gpu._jit import jit, void
from gpu.memory import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,
    MemoryPointer,
    defer_cleanup,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    set_memory_manager,
)
from gpu.types import *  # noqa: F403  boolean, double, i4: number types by their other names

Array = _gpujit.Array  # the class again: gpu.types.Array makes the type of a signature
_NUMBA = (
    "Reduce",
    "compile",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "declare_device",
    "is_supported_version",
    "open_ipc_array",
    "reduce",
)

__all__ = [
    # A star import keeps Python's Warning.
    *(name for name in dir(_gpujit) if not name.startswith("_") and name != "Warning"),
    *(name for name in _NUMBA if name != "compile"),
    *(name for name in types.__all__ if name.islower()),
    "BaseCUDAMemoryManager",
    "Context",
    "Device",
    "DeviceList",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcHandle",
    "MemoryInfo",
    "MemoryPointer",
    "__version__",
    "as_cuda_array",
    "current_context",
    "defer_cleanup",
    "detect",
    "device",
    "device_array",
    "device_array_like",
    "devices",
    "empty_like",
    "from_cuda_array_interface",
    "from_dlpack",
    "full_like",
    "get_current_device",
    "gpus",
    "is_cuda_array",
    "is_gpu_array",
    "jit",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "memory",
    "ones",
    "ones_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "reset",
    "select_device",
    "set_memory_manager",
    "types",
    "void",
    "zeros",
    "zeros_like",
]


def __getattr__(name):
    """What few programs use is imported by those."""
    if name not in _NUMBA:
        raise AttributeError(f"module 'gpu' has no attribute '{name}'")
    from gpu import _numba

    return getattr(_numba, name)
