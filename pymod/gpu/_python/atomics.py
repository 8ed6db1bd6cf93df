"""Atomic operations: an element changes, its old value is the result.

Operands convert as by a store, but no float goes to integers; the operation is in the element's
type.
"""

from __future__ import annotations

import math

from gpu._python import operations
from gpu._python.arrays import Array
from gpu._python.functions import bits
from gpu._python.operations import of_operator
from gpu._python.scalars import Scalar, lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def chosen(symbol: str, numbers: bool = False) -> Callable[[Scalar, Scalar], Scalar]:
    """The operand, if it compares so with the old value; no NaN does, and -0.0 is below 0.0.

    numbers  replace NaN in any case
    """
    compare = operations.COMPARES[symbol]

    def call(old: Scalar, x: Scalar) -> Scalar:
        if numbers and old.value != old.value:
            return x
        a, b = old.value, x.value
        if a == b == 0 and old.kind == 2:
            a, b = math.copysign(1.0, a), math.copysign(1.0, b)
        return x if compare(b, a) else old

    return call


def count_up(old: Scalar, limit: Scalar) -> Scalar:
    """0 from the limit on."""
    return type(old)(0 if old.value >= limit.value else old.value + 1)


def count_down(old: Scalar, limit: Scalar) -> Scalar:
    """The limit from 0 on, and from beyond it."""
    if old.value == 0 or old.value > limit.value:
        return limit
    return type(old)(type(old).wrap(old.value - 1))


OPERATIONS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": of_operator("+"), "sub": of_operator("-"), "min": chosen("<"), "max": chosen(">"),
    "nanmin": chosen("<", True), "nanmax": chosen(">", True), "inc": count_up, "dec": count_down,
    "and_": of_operator("&"), "or_": of_operator("|"), "xor": of_operator("^"),
    "exch": lambda old, x: x,
}  # fmt: skip
OF_INTEGERS = ("inc", "dec")
OF_BITS = ("and_", "or_", "xor")


def has(name: str, cls: Any) -> bool:
    """Whether elements of the type have the operation."""
    if name in OF_BITS:
        return cls.kind != 2
    return name == "exch" or cls.kind == 1 or (cls.kind == 2 and name not in OF_INTEGERS)


def array_of(x: Any, path: str) -> Array:
    if not isinstance(x, Array):
        raise operations.error("TypingError", f"argument 1 of {path} cannot be {type(x).__name__}")
    if x.read_only:
        raise operations.error("TypingError", f"'{x.name}' is read-only")
    return x


def operand(x: Any, array: Array, path: str, i: int) -> Scalar:
    """Argument i as the array stores it."""
    cls, lifted = array.stored_type, lift(x)
    if lifted is NotImplemented or (lifted.kind == 2 and cls.kind != 2):
        kind = type(x).__name__ if lifted is NotImplemented else lifted.name
        raise operations.error("TypingError", f"argument {i} of {path} cannot be {kind}")
    return operations.stored(lifted, cls)


def change(array: Array, index: Any, path: str, new: Callable[[Scalar], Scalar]) -> Scalar:
    """Stores what `new` makes of the element; others run before or behind, never in between."""
    place, whole = array.place(index)
    if not whole:
        raise operations.error("TypingError", f"{path} needs the index of one element")
    old = array.element(place)
    array.base[place] = array.converted(array.stored_type.of(new(array.stored_type.of(old))))
    array.look(place, old.value)
    return old


def atomic(name: str) -> Callable[..., Scalar]:
    path, operation = f"gpu.atomic.{name}", OPERATIONS[name]

    def call(*args: Any) -> Scalar:
        operations.check_count(path, args, 3)
        array = array_of(args[0], path)
        if not has(name, array.stored_type):
            message = f"argument 1 of {path} cannot be an array of {array.dtype_name}"
            raise operations.error("TypingError", message)
        x = operand(args[2], array, path, 3)
        return change(array, args[1], path, lambda old: operation(old, x))

    return call


def swap(path: str, array: Any, index: Any, expected: Any, value: Any, first: int) -> Scalar:
    """Stores the value if the element has the bits of what is expected."""
    array = array_of(array, path)
    a, b = operand(expected, array, path, first), operand(value, array, path, first + 1)
    return change(array, index, path, lambda old: b if bits(old) == bits(a) else old)


def cas(*args: Any) -> Scalar:
    operations.check_count("gpu.atomic.cas", args, 4)
    array, index, expected, value = args
    return swap("gpu.atomic.cas", array, index, expected, value, 3)


def compare_and_swap(*args: Any) -> Scalar:
    """Of an array's first element."""
    operations.check_count("gpu.atomic.compare_and_swap", args, 3)
    array, expected, value = args
    first = (0,) * array.base.ndim if isinstance(array, Array) else 0
    return swap("gpu.atomic.compare_and_swap", array, first, expected, value, 2)


NAMES: dict[str, Any] = {f"atomic.{name}": atomic(name) for name in OPERATIONS}
NAMES |= {"atomic.cas": cas, "atomic.compare_and_swap": compare_and_swap}
