from collections.abc import Callable
from typing import Any, ParamSpec, overload

from gpu import memory as memory
from gpu import types as types
from gpu._devices import Context as Context
from gpu._devices import Device as Device
from gpu._devices import DeviceList as DeviceList
from gpu._devices import current_context as current_context
from gpu._devices import detect as detect
from gpu._devices import device as device
from gpu._devices import devices as devices
from gpu._devices import get_current_device as get_current_device
from gpu._devices import gpus as gpus
from gpu._devices import list_devices as list_devices
from gpu._devices import profile_start as profile_start
from gpu._devices import profile_stop as profile_stop
from gpu._devices import profiling as profiling
from gpu._devices import require_context as require_context
from gpu._devices import reset as reset
from gpu._devices import select_device as select_device
from gpu._gpujit import *  # noqa: F403
from gpu._gpujit import Array, Kernel
from gpu._gpujit import __version__ as __version__
from gpu._ipc import IpcHandle as IpcHandle
from gpu._jit import void as void
from gpu._numba import Reduce as Reduce
from gpu._numba import compile as compile
from gpu._numba import compile_for_current_device as compile_for_current_device
from gpu._numba import compile_ptx as compile_ptx
from gpu._numba import compile_ptx_for_current_device as compile_ptx_for_current_device
from gpu._numba import declare_device as declare_device
from gpu._numba import is_supported_version as is_supported_version
from gpu._numba import open_ipc_array as open_ipc_array
from gpu._numba import reduce as reduce
from gpu.memory import BaseCUDAMemoryManager as BaseCUDAMemoryManager
from gpu.memory import GetIpcHandleMixin as GetIpcHandleMixin
from gpu.memory import HostOnlyCUDAMemoryManager as HostOnlyCUDAMemoryManager
from gpu.memory import MemoryInfo as MemoryInfo
from gpu.memory import MemoryPointer as MemoryPointer
from gpu.memory import defer_cleanup as defer_cleanup
from gpu.memory import managed_array as managed_array
from gpu.memory import mapped as mapped
from gpu.memory import mapped_array as mapped_array
from gpu.memory import mapped_array_like as mapped_array_like
from gpu.memory import pinned as pinned
from gpu.memory import pinned_array as pinned_array
from gpu.memory import pinned_array_like as pinned_array_like
from gpu.memory import set_memory_manager as set_memory_manager
from gpu.types import b1 as b1
from gpu.types import boolean as boolean
from gpu.types import byte as byte
from gpu.types import char as char
from gpu.types import double as double
from gpu.types import f2 as f2
from gpu.types import f4 as f4
from gpu.types import f8 as f8
from gpu.types import from_dtype as from_dtype
from gpu.types import i1 as i1
from gpu.types import i2 as i2
from gpu.types import i4 as i4
from gpu.types import i8 as i8
from gpu.types import int_ as int_
from gpu.types import intc as intc
from gpu.types import intp as intp
from gpu.types import long_ as long_
from gpu.types import longlong as longlong
from gpu.types import none as none
from gpu.types import short as short
from gpu.types import size_t as size_t
from gpu.types import ssize_t as ssize_t
from gpu.types import u1 as u1
from gpu.types import u2 as u2
from gpu.types import u4 as u4
from gpu.types import u8 as u8
from gpu.types import uchar as uchar
from gpu.types import uint as uint
from gpu.types import uintc as uintc
from gpu.types import uintp as uintp
from gpu.types import ulong as ulong
from gpu.types import ulonglong as ulonglong
from gpu.types import ushort as ushort

_P = ParamSpec("_P")
_Signature = str | tuple[Any, ...]
_Shape = int | tuple[int, ...]

@overload
def jit(function: Callable[_P, Any], /) -> Kernel[_P]: ...
@overload
def jit(
    signature: _Signature | list[_Signature] | None = None,
    /,
    *,
    check: bool = False,
    debug: bool = False,
    lineinfo: bool = False,
    fastmath: bool = False,
    fma: bool = True,
    float: Any = None,
    ftz: bool = False,
    prec_div: bool = True,
    prec_sqrt: bool = True,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, int] | None = None,
    opt_level: int | None = None,
    cache: bool = True,
    device: bool = False,
    inline: bool | str = False,
) -> Callable[[Callable[_P, Any]], Kernel[_P]]: ...
@overload
def jit(
    *,
    signature: _Signature | list[_Signature] | None = None,
    check: bool = False,
    debug: bool = False,
    lineinfo: bool = False,
    fastmath: bool = False,
    fma: bool = True,
    float: Any = None,
    ftz: bool = False,
    prec_div: bool = True,
    prec_sqrt: bool = True,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, int] | None = None,
    opt_level: int | None = None,
    cache: bool = True,
    device: bool = False,
    inline: bool | str = False,
) -> Callable[[Callable[_P, Any]], Kernel[_P]]: ...
def zeros(shape: _Shape, dtype: Any = None, order: str = "C", stream: Any = None) -> Array: ...
def ones(shape: _Shape, dtype: Any = None, order: str = "C", stream: Any = None) -> Array: ...
def device_array(
    shape: _Shape,
    dtype: Any = None,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: Any = None,
) -> Array: ...
def empty_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> Array: ...
def zeros_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> Array: ...
def ones_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> Array: ...
def full_like(
    array: Any, fill_value: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> Array: ...
def device_array_like(array: Any, stream: Any = None) -> Array: ...
def as_cuda_array(obj: Any, sync: bool = True) -> Array: ...
def is_gpu_array(obj: Any) -> bool: ...
def is_cuda_array(obj: Any) -> bool: ...
def from_cuda_array_interface(
    desc: dict[str, Any], owner: Any = None, sync: bool = True
) -> Array: ...
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array: ...
