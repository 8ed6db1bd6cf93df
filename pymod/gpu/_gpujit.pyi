# Written by pymod/stubs.py from ir/types.def, ir/intrin.def and support/errors.def.
# fmt: off
# ruff: noqa
from asyncio import Future
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, Generic, ParamSpec, final

import numpy as np

_P = ParamSpec("_P")
_Dtype = Any  # gpu.float32, np.float32, np.dtype, "float32", float, int, bool
_Stream = Any  # gpu.Stream, None, a handle, or another library's stream

__version__: str

@final
class DType:
    __gpu_path__: str
    __name__: str
    name: str
    dtype: np.dtype[Any]
    itemsize: int
    def __call__(self, *args: Any) -> Any: ...
    def __getitem__(self, index: slice | tuple[slice, ...], /) -> str: ...

class Intrinsic:
    __gpu_path__: str

@final
class Array:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    itemsize: int
    nbytes: int
    address: int
    dtype: np.dtype[Any]
    device: str
    T: Array
    mT: Array
    base: Any
    stream: Any
    flags: Any
    alloc_size: int
    device_ctypes_pointer: Any
    def copy_to_host(
        self, out: Any = None, stream: _Stream = None, *, ary: Any = None
    ) -> np.ndarray[Any, Any]: ...
    def copy_to_device(
        self, array: Any = None, stream: _Stream = None, *, ary: Any = None
    ) -> None: ...
    def fill(self, value: Any, stream: _Stream = None) -> None: ...
    def getitem(self, item: Any, stream: _Stream = None) -> Any: ...
    def setitem(self, key: Any, value: Any, stream: _Stream = None) -> None: ...
    def bind(self, stream: _Stream = None) -> Array: ...
    def get_ipc_handle(self) -> Any: ...
    def reshape(
        self, *shape: int | tuple[int, ...], order: str = "C", copy: bool | None = None
    ) -> Array: ...
    def ravel(self, order: str = "C", stream: _Stream = None) -> Array: ...
    def flatten(self, order: str = "C", stream: _Stream = None) -> Array: ...
    def view(self, dtype: _Dtype = None) -> Array: ...
    def transpose(self, *axes: int | tuple[int, ...] | None) -> Array: ...
    def swapaxes(self, axis1: int, axis2: int) -> Array: ...
    def squeeze(
        self, axis: int | tuple[int, ...] | None = None, stream: _Stream = None
    ) -> Array: ...
    def copy(self, order: str = "C", stream: _Stream = None) -> Array: ...
    def astype(
        self, dtype: _Dtype, order: str = "K", copy: bool = True, stream: _Stream = None
    ) -> Array: ...
    def split(self, section: int, stream: _Stream = None) -> list[Array]: ...
    def item(self, *index: int | tuple[int, ...]) -> Any: ...
    def tolist(self) -> Any: ...
    def is_c_contiguous(self) -> bool: ...
    def is_f_contiguous(self) -> bool: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __iter__(self) -> Any: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    __dlpack_c_exchange_api__: Any
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Memory:
    address: int
    device_address: int
    nbytes: int
    def unlock(self) -> None: ...

@final
class Stream:
    handle: int
    done: bool
    priority: int
    non_blocking: bool
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...
    def record(self, event: Event | None = None, /) -> Event: ...
    def record_event(self, event: Event | None = None, /) -> Event: ...
    def wait_event(self, event: Event, /) -> None: ...
    def wait_stream(self, stream: _Stream, /) -> None: ...
    def add_callback(
        self, callback: Callable[[Stream, int, Any], Any], arg: Any = None
    ) -> None: ...
    def async_done(self) -> Future[Stream]: ...
    def auto_synchronize(self) -> AbstractContextManager[Stream]: ...
    def close(self) -> None: ...
    def __await__(self) -> Generator[Any, None, Stream]: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *exception: Any) -> None: ...
    def __int__(self) -> int: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...

@final
class Graph:
    nodes: tuple[GraphNode, ...]
    stream: Any
    def replay(self, stream: _Stream = None) -> None: ...
    def launch(self, stream: _Stream = None) -> None: ...
    def __enter__(self) -> Graph: ...
    def __exit__(self, *exception: Any) -> bool: ...

@final
class GraphNode:
    kernel: Kernel[Any]
    arguments: tuple[Any, ...]
    def update(self, *args: Any, **kwargs: Any) -> None: ...

@final
class Event:
    done: bool
    timing: bool
    def record(self, stream: _Stream = None) -> None: ...
    def wait(self, stream: _Stream = None) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_time(self, end: Event, /) -> float: ...

@final
class Launcher(Generic[_P]):
    grid: tuple[int, ...]
    block: tuple[int, ...]
    stream: Any
    shared_bytes: int
    kernel: Kernel[_P]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None: ...
    def bind(self, *args: _P.args, **kwargs: _P.kwargs) -> BoundLaunch[_P]: ...

@final
class BoundLaunch(Generic[_P]):
    launcher: Launcher[_P]
    arguments: tuple[Any, ...]
    def __call__(self) -> None: ...
    def set(self, **values: Any) -> None: ...

@final
class In:
    array: Any
    def __init__(self, array: Any) -> None: ...

@final
class Out:
    array: Any
    def __init__(self, array: Any) -> None: ...

@final
class InOut:
    array: Any
    def __init__(self, array: Any) -> None: ...

@final
class Kernel(Generic[_P]):
    __name__: str
    __qualname__: str
    __wrapped__: Callable[_P, Any]
    py_func: Callable[_P, Any]
    signatures: list[str]
    declared: tuple[str, ...]
    options: dict[str, int | str]
    def __new__(
        cls, function: Callable[_P, Any], signatures: tuple[str, ...], options: dict[str, Any], /
    ) -> Kernel[_P]: ...
    def __getitem__(self, configuration: tuple[Any, ...], /) -> Launcher[_P]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...  # in kernels
    def configure(
        self, griddim: Any, blockdim: Any, stream: _Stream = None, sharedmem: int = 0
    ) -> Launcher[_P]: ...
    def forall(
        self,
        n: int,
        tpb: int = 0,
        stream: _Stream = None,
        sharedmem: int = 0,
        *,
        block: int = ...,
    ) -> Launcher[_P]: ...
    def specialize(self, *arguments: Any) -> Kernel[_P]: ...
    def ptx(self, signature: str | None = None, arch: str | None = None) -> str: ...
    def llvm(self, signature: str | None = None, arch: str | None = None) -> str: ...
    def ir(
        self, stage: str = "core", signature: str | None = None, arch: str | None = None
    ) -> str: ...
    overloads: dict[str, Any]
    def inspect_asm(self, signature: Any = None) -> Any: ...
    def inspect_llvm(self, signature: Any = None) -> Any: ...
    def inspect_types(self, file: Any = None) -> None: ...
    def inspect_sass(self, signature: Any = None) -> Any: ...
    def get_regs_per_thread(self, signature: Any = None) -> Any: ...
    def get_shared_mem_per_block(self, signature: Any = None) -> Any: ...
    def get_local_mem_per_thread(self, signature: Any = None) -> Any: ...
    def get_const_mem_size(self, signature: Any = None) -> Any: ...
    def get_max_threads_per_block(self, signature: Any = None) -> Any: ...
    def bytecode(self) -> str: ...
    def compile_times(
        self, signature: str | None = None, arch: str | None = None
    ) -> dict[str, float]: ...
    def explain(self) -> str: ...
    def _events(self) -> list[tuple[str, str, str, float, float, bytes, str]]: ...

def empty(
    shape: int | tuple[int, ...], dtype: _Dtype = None, order: str = "C", stream: _Stream = None
) -> Array: ...
def full(
    shape: int | tuple[int, ...],
    fill_value: Any,
    dtype: _Dtype = None,
    order: str = "C",
    stream: _Stream = None,
) -> Array: ...
def to_device(
    array: Any, stream: _Stream = None, copy: bool = True, to: Any = None, dtype: _Dtype = None
) -> Array: ...
def as_gpu_array(array: Any, sync: bool = True) -> Array: ...
def get_memory_info() -> tuple[int, int]: ...
def _ipc_get(array: Array, /) -> tuple[bytes, int, int, int, int]: ...
def _ipc_open(handle: bytes, size: int, offset: int, span: int, /) -> Array: ...
def _peer_can_reach(device: str, other: str, /) -> bool: ...
def _peer_reach(device: str, other: str, on: bool, /) -> None: ...
def _memory_host(kind: int, nbytes: int, /) -> Memory: ...
def _memory_register(array: Any, waits: bool, /) -> Memory: ...
def _memory_set_allocator(allocate: Any, free: Any, /) -> None: ...
def _memory_stats(kind: int, /) -> dict[str, int]: ...
def _memory_trim(kind: int, keep: int, /) -> int: ...
def _memory_set_limit(kind: int, limit: int, /) -> None: ...
def _memory_reset_peak(kind: int, /) -> None: ...
def _memory_defer(begin: bool, /) -> None: ...
def synchronize() -> None: ...
def is_available() -> bool: ...
def close() -> None: ...
def stream(priority: int = 0, non_blocking: bool = False) -> Stream: ...
def default_stream() -> Stream: ...
def legacy_default_stream() -> Stream: ...
def per_thread_default_stream() -> Stream: ...
def external_stream(pointer: Any, /) -> Stream: ...
def current_stream() -> Stream: ...
def event(timing: bool = True, blocking: bool = False, interprocess: bool = False) -> Event: ...
def graph(stream: _Stream = None, mode: str = "thread_local") -> Graph: ...
def event_elapsed_time(start: Event, end: Event, /) -> float: ...
def _run_callbacks() -> None: ...
def _finish_callbacks() -> None: ...
def default_arch() -> str: ...
def info_text() -> tuple[str, str | None, str, str]: ...
def set_site_packages(folders: list[str], /) -> None: ...
def _cache_path() -> tuple[str, int]: ...
def _cache_entries() -> list[tuple[bytes, int, int, str, str]]: ...
def _cache_remove(key: bytes, /) -> bool: ...
def _cache_prune(size: int, /) -> int: ...

class Error(Exception):
    code: str
    filename: str | None
    lineno: int | None
    offset: int | None
    hint: str | None

class CompileError(Error): ...
class UnsupportedError(Error, NotImplementedError): ...
class TypingError(Error, TypeError): ...
class UndefinedError(Error, NameError): ...
class ArgumentError(Error, ValueError): ...
class ArgumentTypeError(Error, TypeError): ...
class ArgumentOverflowError(Error, OverflowError): ...
class LaunchError(Error, ValueError): ...
class DriverError(Error, RuntimeError): ...
class DeviceLostError(Error, RuntimeError): ...
class OutOfMemoryError(Error, MemoryError): ...
class ArrayIndexError(Error, IndexError): ...
class KernelIndexError(Error, IndexError): ...
class KernelValueError(Error, ValueError): ...
class KernelOverflowError(Error, OverflowError): ...
class KernelZeroDivisionError(Error, ZeroDivisionError): ...
class KernelUnboundLocalError(Error, UnboundLocalError): ...
class KernelRecursionError(Error, RecursionError): ...
class KernelError(Error, RuntimeError): ...
class DeviceError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...

class Warning(UserWarning): ...
class PerformanceWarning(Warning): ...
class NumericWarning(Warning): ...
class OptionWarning(Warning): ...
class OutputWarning(Warning): ...
class CacheWarning(Warning): ...

bool_: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType

def grid(a: Any, /) -> Any:
    """grid(n): index of the thread in the whole grid; n = 1 an int, 2 or 3 a tuple (x, y[, z])."""

def gridsize(a: Any, /) -> Any:
    """gridsize(n): threads of the whole grid; n = 1 an int, 2 or 3 a tuple (x, y[, z])."""

def syncthreads() -> Any:
    """syncthreads(): waits until all threads of the block are here; writes before it are seen behind it."""

def syncthreads_count(a: Any, /) -> Any:
    """syncthreads_count(predicate): as syncthreads; for how many threads the predicate is true."""

def syncthreads_and(a: Any, /) -> Any:
    """syncthreads_and(predicate): as syncthreads; whether the predicate is true for all threads."""

def syncthreads_or(a: Any, /) -> Any:
    """syncthreads_or(predicate): as syncthreads; whether the predicate is true for any thread."""

def syncwarp(mask: Any = 0xffffffff) -> Any:
    """syncwarp(mask=0xffffffff): waits until the lanes of the mask are here; writes before it are seen behind it."""

def threadfence_block() -> Any:
    """threadfence_block(): threads of the block see what was written before it no later than what is written behind it."""

def threadfence() -> Any:
    """threadfence(): the same for all threads of the device."""

def threadfence_system() -> Any:
    """threadfence_system(): the same for the host and other devices too."""

laneid: int
"""Index of the thread in its warp, 0 to 31."""

smid: int
"""Number of the multiprocessor that runs the block; 0 on the CPU device."""

def lanemask_lt() -> Any:
    """lanemask_lt(): uint32 with a bit per lane before this one."""

def lanemask_le() -> Any:
    """lanemask_le(): uint32 with a bit per lane up to this one."""

def lanemask_eq() -> Any:
    """lanemask_eq(): uint32 with the bit of this lane."""

def lanemask_ge() -> Any:
    """lanemask_ge(): uint32 with a bit per lane from this one on."""

def lanemask_gt() -> Any:
    """lanemask_gt(): uint32 with a bit per lane behind this one."""

def activemask() -> Any:
    """activemask(): uint32 with a bit per lane of the warp that is at this place together with this one."""

def shfl_sync(a: Any, b: Any, c: Any, /) -> Any:
    """shfl_sync(mask, value, lane, width=32): the value of that lane of the group, a number or a tuple of numbers."""

def shfl_up_sync(a: Any, b: Any, c: Any, /) -> Any:
    """shfl_up_sync(mask, value, delta, width=32): the value of the lane so many below; the own one where there is none in the group."""

def shfl_down_sync(a: Any, b: Any, c: Any, /) -> Any:
    """shfl_down_sync(mask, value, delta, width=32): the value of the lane so many above; the own one where there is none in the group."""

def shfl_xor_sync(a: Any, b: Any, c: Any, /) -> Any:
    """shfl_xor_sync(mask, value, lane_mask, width=32): the value of lane laneid ^ lane_mask; the own one where that is beyond the group."""

def all_sync(a: Any, b: Any, /) -> Any:
    """all_sync(mask, predicate): whether it is true for all lanes of the mask."""

def any_sync(a: Any, b: Any, /) -> Any:
    """any_sync(mask, predicate): whether it is true for any lane of the mask."""

def eq_sync(a: Any, b: Any, /) -> Any:
    """eq_sync(mask, predicate): whether it is true for all lanes of the mask or for none."""

def ballot_sync(a: Any, b: Any, /) -> Any:
    """ballot_sync(mask, predicate): uint32 with a bit per lane of the mask for which it is true."""

def match_any_sync(a: Any, b: Any, /) -> Any:
    """match_any_sync(mask, value): uint32 with a bit per lane of the mask whose number has the same bits."""

def match_all_sync(a: Any, b: Any, /) -> Any:
    """match_all_sync(mask, value): (mask of the lanes, True) if all have the same bits, else (0, False)."""

def reduce_add_sync(a: Any, b: Any, /) -> Any:
    """reduce_add_sync(mask, value): the sum over the lanes of the mask, of the value's type."""

def reduce_min_sync(a: Any, b: Any, /) -> Any:
    """reduce_min_sync(mask, value): the smallest value of the lanes of the mask; NaN if one is."""

def reduce_max_sync(a: Any, b: Any, /) -> Any:
    """reduce_max_sync(mask, value): the greatest value of the lanes of the mask; NaN if one is."""

def reduce_and_sync(a: Any, b: Any, /) -> Any:
    """reduce_and_sync(mask, value): & of the integers of the lanes of the mask."""

def reduce_or_sync(a: Any, b: Any, /) -> Any:
    """reduce_or_sync(mask, value): | of the integers of the lanes of the mask."""

def reduce_xor_sync(a: Any, b: Any, /) -> Any:
    """reduce_xor_sync(mask, value): ^ of the integers of the lanes of the mask."""

def nanosleep(a: Any, /) -> Any:
    """nanosleep(ns): lets the thread rest for about so many nanoseconds, at most a million."""

def clock() -> Any:
    """clock(): uint32 counter of the multiprocessor's cycles, which wraps."""

def clock64() -> Any:
    """clock64(): the same counter with 64 bits, an int."""

def globaltimer() -> Any:
    """globaltimer(): nanoseconds of one clock for all, an int."""

def popc(a: Any, /) -> Any:
    """popc(x): one bits of a typed integer, an int."""

def clz(a: Any, /) -> Any:
    """clz(x): zero bits before the first one bit of a typed integer, an int; its width for 0."""

def ffs(a: Any, /) -> Any:
    """ffs(x): place of the lowest one bit of a typed integer, from 1, an int; 0 for 0."""

def brev(a: Any, /) -> Any:
    """brev(x): the bits of a typed integer in reverse order, of its type."""

def byte_perm(a: Any, b: Any, c: Any, /) -> Any:
    """byte_perm(x, y, s): four bytes of two 32-bit typed integers; each of the four low hexadecimal digits of s picks one by its number, 0 to 3 in x, 4 to 7 in y."""

def funnelshift_l(a: Any, b: Any, c: Any, /) -> Any:
    """funnelshift_l(low, high, n): the upper half of (high:low) << n % width, of typed integers of one type."""

def funnelshift_r(a: Any, b: Any, c: Any, /) -> Any:
    """funnelshift_r(low, high, n): the lower half of (high:low) >> n % width, of typed integers of one type."""

def rsqrt(a: Any, /) -> Any:
    """rsqrt(x): 1 / sqrt(x), approximately."""

def selp(a: Any, b: Any, c: Any, /) -> Any:
    """selp(condition, a, b): a if condition else b of numbers, both computed."""

def unroll(a: Any, /) -> Any:
    """for x in unroll(tuple or constant range): each round has types and constants of its own"""

def literal_unroll(a: Any, /) -> Any:
    """the same as unroll"""

def fma(a: Any, b: Any, c: Any, /) -> Any:
    """x * y + z, rounded once."""

def cbrt(a: Any, /) -> Any:
    """Cube root."""

warpsize: int
"""Threads of a warp."""

class _GridGroup:
    def sync(self) -> None:
        """this_grid().sync(): waits until all threads of the launch are here; all blocks must run at the same time."""

class _threadIdx(Intrinsic):
    x: int
    """Index of the thread in its block, x."""
    y: int
    """Index of the thread in its block, y."""
    z: int
    """Index of the thread in its block, z."""

threadIdx: _threadIdx
class _blockIdx(Intrinsic):
    x: int
    """Index of the block in the grid, x."""
    y: int
    """Index of the block in the grid, y."""
    z: int
    """Index of the block in the grid, z."""

blockIdx: _blockIdx
class _blockDim(Intrinsic):
    x: int
    """Threads per block, x."""
    y: int
    """Threads per block, y."""
    z: int
    """Threads per block, z."""

blockDim: _blockDim
class _gridDim(Intrinsic):
    x: int
    """Blocks in the grid, x."""
    y: int
    """Blocks in the grid, y."""
    z: int
    """Blocks in the grid, z."""

gridDim: _gridDim
class _cg(Intrinsic):
    @staticmethod
    def this_grid() -> _GridGroup:
        """this_grid(): all threads of the launch, to wait for with .sync()."""

cg: _cg
class _shared(Intrinsic):
    @staticmethod
    def array(shape: Any, dtype: Any, alignment: Any = 16) -> Any:
        """shared.array(shape, dtype, alignment=16): an array that all threads of the block share; the shape is a constant, 0 stands for all that the launch adds."""
    @staticmethod
    def dynamic(shape: Any, dtype: Any) -> Any:
        """shared.dynamic(shape, dtype): an array of any shape in the shared memory that the launch adds, behind those made before."""

shared: _shared
class _local(Intrinsic):
    @staticmethod
    def array(shape: Any, dtype: Any, alignment: Any = 16) -> Any:
        """local.array(shape, dtype, alignment=16): an array of the thread's own; the shape is a constant."""

local: _local
class _const(Intrinsic):
    @staticmethod
    def array_like(ary: Any) -> Any:
        """const.array_like(ary): the values that a NumPy array of the program has when the kernel is compiled, read-only."""

const: _const
class _atomic(Intrinsic):
    @staticmethod
    def add(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.add(array, index, value): adds to an element, returns its old value."""
    @staticmethod
    def sub(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.sub(array, index, value): subtracts from an element, returns its old value."""
    @staticmethod
    def min(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.min(array, index, value): the element becomes value if that is less; a NaN stays. Returns the old value."""
    @staticmethod
    def max(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.max(array, index, value): the element becomes value if that is greater; a NaN stays. Returns the old value."""
    @staticmethod
    def nanmin(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.nanmin(array, index, value): as min, but a number replaces NaN."""
    @staticmethod
    def nanmax(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.nanmax(array, index, value): as max, but a number replaces NaN."""
    @staticmethod
    def inc(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.inc(array, index, value): old + 1, or 0 if old >= value. Returns the old value."""
    @staticmethod
    def dec(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.dec(array, index, value): old - 1, or value if old is 0 or above value. Returns the old value."""
    @staticmethod
    def and_(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.and_(array, index, value): element & value, returns the old value."""
    @staticmethod
    def or_(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.or_(array, index, value): element | value, returns the old value."""
    @staticmethod
    def xor(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.xor(array, index, value): element ^ value, returns the old value."""
    @staticmethod
    def exch(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.exch(array, index, value): stores value, returns the old value."""
    @staticmethod
    def cas(a: Any, b: Any, c: Any, d: Any, /) -> Any:
        """atomic.cas(array, index, old, value): stores value if the element's bits are old's, returns the old value."""
    @staticmethod
    def compare_and_swap(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.compare_and_swap(array, old, value): cas on the first element."""

atomic: _atomic
