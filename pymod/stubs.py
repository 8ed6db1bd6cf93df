"""Write gpu/_gpujit.pyi: the kernel namespace, dtypes and errors from the compiler's tables.

python pymod/stubs.py           writes the file
python pymod/stubs.py --check   exits 1 if it is not what would be written
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
TARGET = TOP / "pymod" / "gpu" / "_gpujit.pyi"
STRING = r'"((?:[^"\\]|\\.)*)"'

HEAD = """# Written by pymod/stubs.py from ir/types.def, ir/intrin.def and support/errors.def.
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
"""


def rows(path: str, macro: str) -> list[str]:
    """The texts between the brackets of a macro's uses, one a line in all tables."""
    text = (TOP / path).read_text()
    return re.findall(rf"^{macro}\((.*)\)\s*(?:/\*.*\*/)?$", text, re.MULTILINE)


def dtypes() -> list[str]:
    lines = []
    for row in rows("ir/types.def", "IR_SCALAR"):
        fields = [field.strip() for field in row.split(",")]
        if fields[4] == "0":  # not weak: arrays can have it
            name = fields[1].strip('"')
            lines.append(f"{name + '_' if name == 'bool' else name}: DType")
    return lines


def parameter(text: str) -> str:
    """shape -> shape: Any, alignment=16 -> alignment: Any = 16"""
    name, _, default = text.partition("=")
    return f"{name}: Any" + f" = {default}" * bool(default)


def intrinsics() -> list[str]:
    """gpu.atomic.add is a class `_atomic` with a method `add` and a name `atomic` of that class."""
    flat, nested, groups = [], {}, {}
    table = rows("ir/intrin.def", "IR_INTRIN")
    by_id = {row.split(",")[0]: row for row in table}
    for alias in rows("ir/intrin.def", "IR_ALIAS"):
        path, target = alias.split(", ")
        if target in by_id:
            table.append(by_id[target].replace(re.search(STRING, by_id[target])[0], path, 1))
    for row in table:
        path = re.search(STRING, row)[1]
        least = int(re.search(r"-?\d+", row.split(path)[1])[0])
        doc = re.findall(STRING, row)[-1]
        parts = path.split(".")
        if parts[0] != "gpu":
            continue
        args = ", ".join(f"{c}: Any" for c in "abcdefgh"[:least]) + ", /" * (least > 0)
        if (
            ", MEMORY, " in row or ", SYNCWARP, " in row
        ):  # these take keywords: their names are those of the doc
            args = ", ".join(map(parameter, re.search(r"\((.*?)\):", doc)[1].split(", ")))
        if len(parts) == 2 and ", SREG, " in row:
            flat += [f"{parts[1]}: int", f'"""{doc}"""', ""]
        elif len(parts) == 2:
            flat += [f"def {parts[1]}({args}) -> Any:", f'    """{doc}"""', ""]
        elif len(parts) == 4:  # a method of what gpu.cg.this_grid() gives
            groups.setdefault(parts[2], []).extend(
                [f"    def {parts[3]}(self) -> None:", f'        """{doc}"""']
            )
        elif ", SREG, " in row:
            nested.setdefault(parts[1], []).extend([f"    {parts[2]}: int", f'    """{doc}"""'])
        else:
            gives = "_GridGroup" if ", THIS_GRID, " in row else "Any"
            nested.setdefault(parts[1], []).extend(
                [
                    "    @staticmethod",
                    f"    def {parts[2]}({args}) -> {gives}:",
                    f'        """{doc}"""',
                ]
            )
    for row in rows("ir/intrin.def", "IR_INTEGER"):
        path, _, doc = row.split(", ", 2)
        flat += [f"{path[5:-1]}: int", f'"""{doc[1:-1]}"""', ""]
    lines = flat
    for name, body in groups.items():
        lines += [f"class _{name}:", *body, ""]
    for name, body in nested.items():
        lines += [f"class _{name}(Intrinsic):", *body, "", f"{name}: _{name}"]
    return lines


def errors() -> list[str]:
    lines = [
        "class Error(Exception):",
        "    code: str",
        "    filename: str | None",
        "    lineno: int | None",
        "    offset: int | None",
        "    hint: str | None",
        "",
    ]
    for row in rows("support/errors.def", "SP_ERROR_CLASS"):
        name, builtin = re.findall(r'"(\w*)"', row)
        lines.append(f"class {name}(Error{', ' + builtin if builtin else ''}): ...")
    lines += ["", "class Warning(UserWarning): ..."]
    for row in rows("support/warnings.def", "SP_WARNING_CLASS"):
        name, *_ = re.findall(r'"(\w*)"', row)
        lines.append(f"class {name}(Warning): ...")
    return lines


def text() -> str:
    parts = [HEAD.rstrip()]
    parts += ["\n".join(part).strip() for part in (errors(), dtypes(), intrinsics())]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    if "--check" in sys.argv:
        current = TARGET.exists() and TARGET.read_text() == text()
        print(f"{TARGET.relative_to(TOP)} is {'current' if current else 'old: run pymod/stubs.py'}")
        return not current
    TARGET.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
