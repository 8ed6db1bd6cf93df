"""How kernels and the like travel to other processes.

A kernel is pickled as its function would be: by name where it can be imported, by value where the
pickler does that with functions (cloudpickle does, for what is in `__main__`, in a function or in a
module that was registered). A pickler does not say which, but it looks functions up. So what goes
into the pickle is a function that stands for the kernel, the carrier, whose name is
`module.kernel.__gpu_carrier__`. A pickler by name finds that very object under this name and writes
the name; a pickler by value writes what the function consists of.
"""

from __future__ import annotations

import operator
import sys
import types

import gpu
from gpu import _gpujit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

CARRIER = ".__gpu_carrier__"
# What the carrier has of its function. Annotations are left out: a kernel has no use for them, and
# what they name may be impossible to pickle.
COPIED = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__module__", "__name__")
DYNAMIC = "<dynamic-code>"  # cloudpickle's word for any file
BY_NAME = 4  # from this protocol on names may have dots

# What does not travel, and what to write instead.
INSTEAD = {
    "BoundLaunch": "bind the kernel where it runs",
    "Event": "make one there with gpu.event()",
    "Graph": "capture one there",
    "GraphNode": "capture a graph there",
    "Launcher": "send the kernel, and write kernel[grid, block, stream] there",
    "Memory": "send the array",
    "Stream": "make one there with gpu.stream()",
}


def _find(module: str | None, path: str) -> Any:
    """What a module that is imported has under a name with dots, or None."""
    found: Any = sys.modules.get(module or "")
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def carrier(kernel: _gpujit.Kernel[...], old: types.FunctionType | None) -> types.FunctionType:
    """The function that stands for a kernel: once made it stays, with its function as it is now."""
    function: Any = kernel.py_func
    if old is None:
        old = types.FunctionType(
            function.__code__, function.__globals__, closure=function.__closure__
        )
    for name in COPIED:
        setattr(old, name, getattr(function, name))
    old.__dict__ = dict(function.__dict__)
    old.__qualname__ = function.__qualname__ + CARRIER
    return old


def reduce_kernel(kernel: _gpujit.Kernel[...], protocol: int) -> str | tuple[Any, ...]:
    function: Any = kernel.py_func
    parts = kernel.declared, kernel.options, function.__code__.co_filename
    named = _find(function.__module__, function.__qualname__)
    if type(named) is not _gpujit.Kernel or named.py_func is not function:
        return make_kernel, (function, *parts)  # in no module, or there under its own name
    if named is not kernel:  # the same function with other options
        return make_kernel, (named, *parts)
    if protocol < BY_NAME:
        return function.__qualname__
    stands: Any = kernel
    carried = stands.__gpu_carrier__
    return make_kernel, (carried, *parts)


def make_kernel(
    function: Any, signatures: tuple[str, ...], options: dict[str, Any], filename: str
) -> _gpujit.Kernel[...]:
    """The other side of reduce_kernel: the kernel that is there by this name, or a new one."""
    if type(function) is _gpujit.Kernel:
        if (function.declared, function.options) == (signatures, options):
            return function
        function = function.py_func
    elif function.__qualname__.endswith(CARRIER):
        path = function.__qualname__.removesuffix(CARRIER)
        named = _find(function.__module__, path)
        if type(named) is _gpujit.Kernel and named.__gpu_carrier__ is function:
            return named  # with the options that it has here
        # Of a recursive kernel this is the second call, and what it returns is thrown away: the
        # first got the function before its parts, this one gets it with all of them.
        function.__qualname__ = path
    _name_file(function, filename)
    return _gpujit.Kernel(function, signatures, options)


def _name_file(function: types.FunctionType, filename: str) -> None:
    """Cloudpickle leaves the name of the file away, which errors want to say."""
    if function.__code__.co_filename == DYNAMIC:
        function.__code__ = _with_file(function.__code__, filename)


def _with_file(code: types.CodeType, filename: str) -> types.CodeType:
    constants = (
        _with_file(one, filename) if isinstance(one, types.CodeType) else one
        for one in code.co_consts
    )
    return code.replace(co_filename=filename, co_consts=tuple(constants))


def reduce_launcher(launcher: _gpujit.Launcher[...]) -> tuple[Any, ...]:
    if launcher.stream != 0:
        refuse(launcher)
    numbers = launcher.grid, launcher.block, launcher.stream, launcher.shared_bytes
    return operator.getitem, (launcher.kernel, numbers)


def reduce_named(name: _gpujit.Intrinsic) -> tuple[Callable[[str], Any], tuple[str]]:
    return find_named, (name.__gpu_path__,)


def find_named(path: str) -> Any:
    return operator.attrgetter(path.removeprefix("gpu."))(gpu)


def refuse(thing: Any) -> NoReturn:
    kind = type(thing).__name__
    what = "a launcher with a stream" if kind == "Launcher" else f"gpu.{kind}"
    raise _gpujit.ArgumentTypeError(
        f"{what} cannot be pickled or copied, it belongs to this process: {INSTEAD[kind]}"
    )
