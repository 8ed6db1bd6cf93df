"""Runs a kernel's function thread by thread."""

from __future__ import annotations

import bdb
import itertools
from dataclasses import dataclass

from gpu._python.arrays import Array
from gpu._python.context import context
from gpu._python.failure import describe
from gpu._python.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Size = tuple[int, int, int]


@dataclass(frozen=True)
class Options:
    """What gpu.jit was told."""

    check: bool = False
    fma: bool = True
    single: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> Options:
        """Of a kernel's own options."""
        return cls(
            check=bool(options.get("check")),
            fma=bool(options.get("fma", True)),
            single=bool(options.get("single")),
        )


def size(value: Any) -> Size:
    """A grid or a block as three ints."""
    sizes = tuple(map(int, value)) if isinstance(value, (tuple, list)) else (int(value),)
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def places(sizes: Size) -> Iterator[Size]:
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


def execute(
    function: Any,
    grid: Size,
    block: Size,
    make: Callable[[Objects], tuple[tuple, dict[str, Any]]],
    options: Options,
) -> BaseException | None:
    """All threads of a block, block after block; the exception of the first that raised, if any.

    `make` gives the arguments as kernels have them. A thread that raises ends, the others go on.
    """
    saved = dict(vars(context))
    vars(context).update(sites={}, active=True, grid_dim=grid, block_dim=block)
    vars(context).update(check=options.check, fma=options.fma, single=options.single)
    first = None
    try:
        objects = Objects()
        kernel = objects.value(function)
        args, keywords = make(objects)
        for block_index in places(grid):
            for thread_index in places(block):
                context.block, context.thread = block_index, thread_index
                try:
                    kernel(*args, **keywords)
                except (KeyboardInterrupt, bdb.BdbQuit):
                    raise
                except BaseException as error:
                    if first is None:
                        first = describe(error, function.__name__, block_index, thread_index)
    finally:
        vars(context).clear()
        vars(context).update(saved)
    return first


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
    """function over a grid; raises what its first thread that raised has raised.

    The arrays among the arguments are changed in place. check, fma and single are the kernel's
    options.
    """
    function = getattr(function, "py_func", function)
    names = function.__code__.co_varnames

    def make(objects: Objects) -> tuple[tuple, dict[str, Any]]:
        values = tuple(
            argument(objects, x, names[i] if i < len(names) else f"*{i}")
            for i, x in enumerate(args)
        )
        return values, {name: argument(objects, x, name) for name, x in (kwargs or {}).items()}

    error = execute(function, size(grid), size(block), make, Options(check, fma, single))
    if error is not None:
        raise error
