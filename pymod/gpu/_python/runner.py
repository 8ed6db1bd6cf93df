"""Runs a kernel's function thread by thread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from gpu._python.arrays import Array
from gpu._python.context import context
from gpu._python.objects import Objects
from gpu._python.schedule import Scheduler
from gpu._python.threads import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
    shared_B: int,
) -> BaseException | None:
    """All threads of the grid; the exception of the first that raised, if any.

    `make` gives the arguments as kernels have them. A thread that raises ends, the others go on.
    """
    saved = dict(vars(context))
    vars(context).update(sites={}, active=True, grid_dim=grid, block_dim=block, shared_B=shared_B)
    vars(context).update(check=options.check, fma=options.fma, single=options.single)
    try:
        objects = Objects()
        kernel = objects.value(function)
        args, keywords = make(objects)
        body = partial(kernel, *args, **keywords)
        return Scheduler(function.__name__, grid, block, body).run()
    finally:
        vars(context).clear()
        vars(context).update(saved)


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
    shared: int = 0,
) -> None:
    """function over a grid; raises what its first thread that raised has raised.

    The arrays among the arguments are changed in place. check, fma and single are the kernel's
    options, shared is the launch's dynamic shared memory in bytes.
    """
    function = getattr(function, "py_func", function)
    names = function.__code__.co_varnames

    def make(objects: Objects) -> tuple[tuple, dict[str, Any]]:
        values = tuple(
            argument(objects, x, names[i] if i < len(names) else f"*{i}")
            for i, x in enumerate(args)
        )
        return values, {name: argument(objects, x, name) for name, x in (kwargs or {}).items()}

    error = execute(function, size(grid), size(block), make, Options(check, fma, single), shared)
    if error is not None:
        raise error
