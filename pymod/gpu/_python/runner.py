"""Runs a kernel's function thread by thread."""

from __future__ import annotations

import itertools

from gpu._python.arrays import Array
from gpu._python.context import context
from gpu._python.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def size(value: Any) -> tuple[int, int, int]:
    """A grid or a block as three ints."""
    sizes = tuple(map(int, value)) if isinstance(value, (tuple, list)) else (int(value),)
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def places(sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """All of a grid or block, x fastest."""
    for z, y, x in itertools.product(*map(range, reversed(sizes))):
        yield x, y, z


def argument(objects: Objects, value: Any, name: str) -> Any:
    """An argument of a launch: NumPy arrays are the memory that the kernel changes."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return Array(value, name, read_only=not value.flags.writeable)
    if isinstance(value, tuple):
        elements = [argument(objects, x, f"{name}[{i}]") for i, x in enumerate(value)]
        return type(value)._make(elements) if hasattr(value, "_make") else tuple(elements)
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"argument '{name}': {value} does not fit 64 bits")
    return objects.value(value, name)


def run(
    function: Any,
    grid: Any,
    block: Any,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    check: bool = False,
    fma: bool = True,
    single: bool = False,
) -> None:
    """function over a grid: all threads of a block, block after block.

    The arrays among the arguments are changed in place. check, fma and single are the kernel's
    options.
    """
    function = getattr(function, "py_func", function)
    saved = dict(vars(context))
    context.sites, context.check, context.fma, context.active = {}, check, fma, True
    context.single = single
    context.grid_dim, context.block_dim = size(grid), size(block)
    try:
        objects = Objects()
        names = function.__code__.co_varnames
        kernel = objects.value(function)
        values = [
            argument(objects, x, names[i] if i < len(names) else f"*{i}")
            for i, x in enumerate(args)
        ]
        keywords = {name: argument(objects, x, name) for name, x in (kwargs or {}).items()}
        for block_index in places(size(grid)):
            for thread_index in places(size(block)):
                context.block, context.thread = block_index, thread_index
                kernel(*values, **keywords)
    finally:
        vars(context).clear()
        vars(context).update(saved)
