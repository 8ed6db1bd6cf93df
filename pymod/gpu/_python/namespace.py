"""The names of `gpu` that only kernels can use."""

from __future__ import annotations

from functools import cache

from gpu._python import atomics, barriers, bits, memory, operations, warps
from gpu._python.arrays import integer_of
from gpu._python.context import context
from gpu._python.scalars import TYPES, Int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Indices:
    """threadIdx and its like: the numbers of the thread that asks."""

    def __init__(self, get: Callable[[], tuple[int, int, int]]) -> None:
        self.get = get

    @property
    def x(self) -> Int:
        return Int(self.get()[0])

    @property
    def y(self) -> Int:
        return Int(self.get()[1])

    @property
    def z(self) -> Int:
        return Int(self.get()[2])

    def __repr__(self) -> str:
        return str(tuple(map(int, self.get())))


def _axes(what: str, n: Any, values: list[int]) -> Any:
    count = integer_of(n, f"the argument of gpu.{what}")
    if not 1 <= count <= 3:
        raise operations.error("TypingError", f"argument 1 of gpu.{what} cannot be {count}")
    ints = tuple(map(Int, values[:count]))
    return ints[0] if count == 1 else ints


def grid(n: Any) -> Any:
    c = context
    values = [b * d + t for b, d, t in zip(c.block, c.block_dim, c.thread, strict=True)]
    return _axes("grid", n, values)


def gridsize(n: Any) -> Any:
    c = context
    return _axes("gridsize", n, [a * b for a, b in zip(c.grid_dim, c.block_dim, strict=True)])


def _names() -> dict[str, Any]:
    names: dict[str, Any] = {
        "threadIdx": Indices(lambda: context.thread),
        "blockIdx": Indices(lambda: context.block),
        "blockDim": Indices(lambda: context.block_dim),
        "gridDim": Indices(lambda: context.grid_dim),
        "grid": grid,
        "gridsize": gridsize,
        "unroll": iter,
        "literal_unroll": iter,
    }
    parts = (atomics, barriers, bits, memory, warps)
    for part in parts:
        names |= part.NAMES
    return names


NAMES = _names()


def varies(path: str) -> bool:
    """Whether a path leads to a number that each thread has its own of."""
    return path.removeprefix("gpu.") in warps.REGISTERS


@cache
def has(path: str) -> bool:
    """Whether a path leads to a name or a namespace."""
    name = path.removeprefix("gpu.")
    return name in NAMES or varies(path) or any(known.startswith(name + ".") for known in NAMES)


def find(path: str) -> Any:
    """What "gpu.threadIdx.x" stands for in the thread that asks; a namespace for a prefix."""
    name = path.removeprefix("gpu.")
    if name in NAMES:
        return NAMES[name]
    if name in warps.REGISTERS:
        return warps.REGISTERS[name]()
    owner, _, attribute = name.rpartition(".")
    if owner in NAMES:
        return getattr(NAMES[owner], attribute)
    if has(path):
        return Namespace(path)
    raise operations.error("UnsupportedError", f"{path} is not supported on the python device")


class Namespace:
    """gpu.atomic: names below a name."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        return find(f"{self.path}.{name}")


__all__ = ["NAMES", "TYPES", "find"]
