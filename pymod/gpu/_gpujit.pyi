# Written by pymod/stubs.py from ir/types.def, ir/intrin.def and support/errors.def.
# fmt: off
# ruff: noqa
from collections.abc import Callable
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
    def copy_to_host(self, out: Any = None, stream: _Stream = None) -> np.ndarray[Any, Any]: ...
    def copy_to_device(self, array: Any, stream: _Stream = None) -> None: ...
    def reshape(self, *shape: int | tuple[int, ...]) -> Array: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Stream:
    handle: int
    def synchronize(self) -> None: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...

@final
class Launcher(Generic[_P]):
    grid: tuple[int, ...]
    block: tuple[int, ...]
    stream: Any
    shared_bytes: int
    kernel: Kernel[_P]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None: ...

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
    def forall(self, n: int, block: int = 256, stream: _Stream = None) -> Launcher[_P]: ...
    def ptx(self, signature: str | None = None, arch: str | None = None) -> str: ...
    def llvm(self, signature: str | None = None, arch: str | None = None) -> str: ...
    def ir(
        self, stage: str = "core", signature: str | None = None, arch: str | None = None
    ) -> str: ...
    def bytecode(self) -> str: ...
    def compile_times(
        self, signature: str | None = None, arch: str | None = None
    ) -> dict[str, float]: ...

def empty(shape: int | tuple[int, ...], dtype: _Dtype = None, order: str = "C") -> Array: ...
def full(
    shape: int | tuple[int, ...], fill_value: Any, dtype: _Dtype = None, order: str = "C"
) -> Array: ...
def to_device(array: Any, stream: _Stream = None) -> Array: ...
def as_gpu_array(array: Any, /) -> Array: ...
def synchronize() -> None: ...
def is_available() -> bool: ...
def select_device(which: str | int, /) -> None: ...
def stream() -> Stream: ...
def default_stream() -> Stream: ...
def default_arch() -> str: ...
def device_info() -> dict[str, Any]: ...
def info_text() -> tuple[str, str | None, str, str]: ...
def set_site_packages(folders: list[str], /) -> None: ...

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
class OutOfMemoryError(Error, MemoryError): ...
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

def unroll(a: Any, /) -> Any:
    """for x in unroll(tuple or constant range): each round has types and constants of its own"""

def literal_unroll(a: Any, /) -> Any:
    """the same as unroll"""

def fma(a: Any, b: Any, c: Any, /) -> Any:
    """x * y + z, rounded once."""

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
class _atomic(Intrinsic):
    @staticmethod
    def add(a: Any, b: Any, c: Any, /) -> Any:
        """atomic.add(array, index, value): adds to an element, returns its old value."""

atomic: _atomic
