"""Functions of a thread alone that CUDA has beside Python's: bits, selection, time."""

from __future__ import annotations

import math
import time

from gpu._python import formats, mathematics, operations
from gpu._python.arrays import integer_of
from gpu._python.context import context
from gpu._python.functions import number
from gpu._python.scalars import TYPES, Int, Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def leading_zeros(value: int, width: int) -> int:
    return width - value.bit_length()


def first_set(value: int, width: int) -> int:
    """The place of the lowest one bit, from 1 on; 0 if there is none."""
    return (value & -value).bit_length()


COUNTS: dict[str, Callable[[int, int], int]] = {
    "popc": lambda value, width: value.bit_count(),
    "clz": leading_zeros,
    "ffs": first_set,
}


def typed_integer(x: Any, path: str) -> tuple[Scalar, int]:
    """The number, and its bits as a natural number."""
    value = number(x, path)
    if value.kind != 1 or not value.typed:
        message = f"argument 1 of {path} cannot be {value.name}\n  Hint: give it a width, as in "
        raise operations.error("TypingError", message + f"{path}(gpu.uint32(x))")
    return value, value.value & type(value).mask


def counted(name: str) -> Callable[..., Int]:
    path, count = f"gpu.{name}", COUNTS[name]

    def call(*args: Any) -> Int:
        operations.check_count(path, args, 1)
        x, bits = typed_integer(args[0], path)
        return Int(count(bits, type(x).bits))

    return call


def brev(*args: Any) -> Scalar:
    """The bits in the other order."""
    operations.check_count("gpu.brev", args, 1)
    x, bits = typed_integer(args[0], "gpu.brev")
    cls = type(x)
    return cls(cls.wrap(int(f"{bits:0{cls.bits}b}"[::-1], 2)))


def pair(a: Any, b: Any, path: str) -> tuple[Any, int, int]:
    """The type of two numbers, of which one may be a plain int, and their bits."""
    x, y = number(a, path), number(b, path, 2)
    types = {type(v) for v in (x, y) if v.typed}
    if len(types) != 1 or any(v.kind != 1 for v in (x, y)):
        found = f"{x.name} and {y.name}"
        message = f"{path} takes two typed integers of one type, not {found}\n  Hint: cast them"
        raise operations.error("TypingError", message, "ARGUMENT_TYPE")
    cls = types.pop()
    return cls, x.value & cls.mask, y.value & cls.mask


def byte_perm(*args: Any) -> Scalar:
    """Four of the eight bytes of y and x, by a digit of the selector for each."""
    path = "gpu.byte_perm"
    operations.check_count(path, args, 3)
    cls, x, y = pair(*args[:2], path)
    if cls.bits != 32:
        raise operations.error("TypingError", f"argument 1 of {path} cannot be {cls.name}")
    both, selector = x | y << 32, integer_of(args[2], f"argument 3 of {path}")
    chosen = bytes(both >> 8 * (selector >> 4 * i & 7) & 0xFF for i in range(4))
    return cls(cls.wrap(int.from_bytes(chosen, "little")))


def funnel(left: bool) -> Callable[..., Scalar]:
    path = "gpu.funnelshift_" + "rl"[left]

    def call(*args: Any) -> Scalar:
        operations.check_count(path, args, 3)
        cls, low, high = pair(*args[:2], path)
        n = integer_of(args[2], f"argument 3 of {path}") % cls.bits
        both = high << cls.bits | low
        return cls(cls.wrap(both << n >> cls.bits if left else both >> n))

    return call


def selp(*args: Any) -> Scalar:
    operations.check_count("gpu.selp", args, 3)
    condition, *values = (number(a, "gpu.selp", i + 1) for i, a in enumerate(args))
    cls = operations.join(*map(type, values))
    return cls.of(values[0] if condition else values[1])


def rsqrt(*args: Any) -> Scalar:
    operations.check_count("gpu.rsqrt", args, 1)
    cls, (value,) = mathematics.converted("rsqrt", *args)
    if value < 0 or math.isnan(value):
        return cls(math.nan)
    steps = formats.steps_of(cls.format)
    root = formats.round_float(math.sqrt(value), steps)
    quotient = formats.divide(1.0, math.copysign(root, value), steps)
    return cls(formats.round_float(quotient, cls.format))


def nanosleep(*args: Any) -> None:
    """Others run meanwhile."""
    operations.check_count("gpu.nanosleep", args, 1)
    integer_of(args[0], "argument 1 of gpu.nanosleep")
    thread = context.running
    thread.scheduler.let_others_run(thread)


def clock() -> Scalar:
    return TYPES["uint32"].of(Int(time.perf_counter_ns()))


def clock64() -> Int:
    return Int(time.perf_counter_ns())


def globaltimer() -> Int:
    return Int(time.time_ns())


NAMES: dict[str, Any] = {
    **{name: counted(name) for name in COUNTS},
    "brev": brev,
    "byte_perm": byte_perm,
    "funnelshift_l": funnel(left=True),
    "funnelshift_r": funnel(left=False),
    "selp": selp,
    "fma": mathematics.FUNCTIONS["fma"],
    "cbrt": mathematics.FUNCTIONS["cbrt"],
    "rsqrt": rsqrt,
    "nanosleep": nanosleep,
    "clock": clock,
    "clock64": clock64,
    "globaltimer": globaltimer,
}
