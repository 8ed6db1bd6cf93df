"""Launches of GPUJIT_DEVICE=python: what gpu.Kernel calls in the place of a device."""

from __future__ import annotations

from gpu import _gpujit
from gpu._python.arrays import Array, element_class
from gpu._python.objects import memory_of
from gpu._python.runner import Options, execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu._python.objects import Objects

    Size = tuple[int, int, int]


def array(value: Any, name: str) -> Array | None:
    """An array of ours, of NumPy's or of another library's in host memory."""
    import numpy as np

    if isinstance(value, _gpujit.Array):
        base, dtype = memory_of(value)
        return Array(base, name, dtype=dtype)
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
            value = np.from_dlpack(value)
        elif any(hasattr(value, a) for a in ("__array_interface__", "__array__")):
            value = np.asarray(value)
        else:
            try:
                value = np.asarray(memoryview(value))
            except TypeError:
                return None
    return Array(value, name, read_only=not value.flags.writeable)


def launch(
    kernel: Any, grid: Size, block: Size, values: tuple, types: tuple[str | None, ...]
) -> BaseException | None:
    """Runs all threads; returns the exception of the first one that raised.

    values  one per parameter, in order, as host objects that were found right
    types   of the numbers among them, None for the others
    """
    function = kernel.py_func
    names = function.__code__.co_varnames

    def make(objects: Objects) -> tuple[tuple, dict[str, Any]]:
        made = []
        for value, type_name, name in zip(values, types, names, strict=False):
            if type_name is not None:
                made.append(element_class(type_name).of(objects.value(value, name)))
            else:
                proxy = None if callable(value) or value is None else array(value, name)
                made.append(objects.value(value, name) if proxy is None else proxy)
        n_args = function.__code__.co_argcount
        return tuple(made[:n_args]), dict(zip(names[n_args:], made[n_args:], strict=False))

    return execute(function, grid, block, make, Options.of(kernel.options))
