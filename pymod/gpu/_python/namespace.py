"""The names of `gpu` that only kernels can use."""

from __future__ import annotations

from gpu._python import barriers, mathematics, operations
from gpu._python.arrays import Array, integer_of
from gpu._python.context import context
from gpu._python.scalars import TYPES, Int, Scalar, lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Indices:
    """threadIdx and its like: the numbers of the thread that asks."""

    def __init__(self, name: str, get: Callable[[], tuple[int, int, int]]) -> None:
        self.name, self.get = name, get

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
        return f"gpu.{self.name}{self.get()}"


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


def atomic_add(array: Any, index: Any, value: Any) -> Scalar:
    """The operand converts as for a store, but no float goes to integers."""
    if not isinstance(array, Array):
        kind = type(array).__name__
        raise operations.error("TypingError", f"argument 1 of gpu.atomic.add cannot be {kind}")
    cls = array.stored_type
    operand = lift(value)
    if operand is NotImplemented or (operand.kind == 2 and cls.kind != 2):
        kind = type(value).__name__ if operand is NotImplemented else operand.name
        raise operations.error("TypingError", f"argument 3 of gpu.atomic.add cannot be {kind}")
    old = array[index]
    if not isinstance(old, Scalar):
        raise operations.error("TypingError", "gpu.atomic.add needs the index of one element")
    total = operations.binary("+", cls.of(old), operations.stored(operand, cls), _no_frame())
    array[index] = total
    return old


def _no_frame() -> Any:
    import sys

    return sys._getframe()


def _names() -> dict[str, Any]:
    names: dict[str, Any] = {
        "threadIdx": Indices("threadIdx", lambda: context.thread),
        "blockIdx": Indices("blockIdx", lambda: context.block),
        "blockDim": Indices("blockDim", lambda: context.block_dim),
        "gridDim": Indices("gridDim", lambda: context.grid_dim),
        "grid": grid,
        "gridsize": gridsize,
        "atomic.add": atomic_add,
        "fma": mathematics.FUNCTIONS["fma"],
        "unroll": iter,
        "literal_unroll": iter,
    }
    return {**names, **barriers.NAMES}


NAMES = _names()


def has(path: str) -> bool:
    """Whether a path leads to a name or a namespace."""
    name = path.removeprefix("gpu.")
    return name in NAMES or any(known.startswith(name + ".") for known in NAMES)


def find(path: str) -> Any:
    """What "gpu.threadIdx.x" stands for in the thread that asks; a namespace for a prefix."""
    name = path.removeprefix("gpu.")
    if name in NAMES:
        return NAMES[name]
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
