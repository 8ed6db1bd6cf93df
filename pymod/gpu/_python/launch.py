"""Launches of GPUJIT_DEVICE=python: what gpu.Kernel calls in the place of a device."""

from __future__ import annotations

from gpu import _gpujit
from gpu._python.arrays import Array, Record, element_class
from gpu._python.objects import memory_of, number
from gpu._python.rewrite import VARARGS
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


def np_copy(value: Any) -> Any:
    """A record of NumPy's as an array of rank 0: the kernel's own."""
    import numpy as np

    return np.asarray(value).copy()


def argument(objects: Objects, value: Any, type_name: str | None, name: str) -> Any:
    """What kernels have in the place of a host object, in tuples too."""
    if type_name is not None:
        return element_class(type_name).of(objects.value(value, name))
    if isinstance(value, tuple):
        elements = [argument(objects, x, None, name) for x in value]
        return type(value)._make(elements) if hasattr(value, "_make") else tuple(elements)
    if type(value).__name__ in ("void", "record") and getattr(value.dtype, "names", None):
        return Record(np_copy(value), name)
    if value is None or callable(value) or isinstance(value, str):
        return objects.value(value, name)
    found = array(value, name) if number(value) is NotImplemented else None
    return objects.value(value, name) if found is None else found


def launch(
    kernel: Any,
    grid: Size,
    block: Size,
    shared_B: int,
    values: tuple,
    types: tuple[str | None, ...],
) -> BaseException | None:
    """Runs all threads; returns the exception of the first one that raised.

    values  one per parameter, in order, as host objects that were found right
    types   of the numbers among them, None for the others
    """
    function = kernel.py_func
    code = function.__code__
    n_args, n_names = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: n_names + bool(code.co_flags & VARARGS)]

    def make(objects: Objects) -> tuple[tuple, dict[str, Any]]:
        made = [
            argument(objects, value, type_name, name)
            for value, type_name, name in zip(values, types, names, strict=True)
        ]
        rest = made[n_names] if len(made) > n_names else ()
        return (*made[:n_args], *rest), dict(
            zip(names[n_args:n_names], made[n_args:n_names], strict=True)
        )

    return execute(function, grid, block, make, Options.of(kernel.options), shared_B)
