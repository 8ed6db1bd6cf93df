"""What the lanes of a warp do together."""

from __future__ import annotations

import functools

from gpu._python import operations
from gpu._python.arrays import integer_of
from gpu._python.barriers import answer_all
from gpu._python.context import context
from gpu._python.functions import bits, number
from gpu._python.operations import of_operator
from gpu._python.scalars import TYPES, Bool, Int, Scalar
from gpu._python.threads import ALL_LANES, WARP, Thread, site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MASK = TYPES["uint32"]


def mask_of(mask: Any, name: str, thread: Thread) -> int:
    """The lanes that are meant; the thread's own is among them."""
    if number(mask, name).kind != 1:
        kind = number(mask, name).name
        raise operations.error("TypingError", f"argument 1 of {name} cannot be {kind}")
    lanes = integer_of(mask) & ALL_LANES
    if not lanes >> thread.lane & 1:
        message = (f"{name}() of lane {thread.lane} of warp {thread.number // WARP} names others "
                   f"only: its mask is 0x{lanes:08x}\n  Hint: a lane names itself and those it "
                   "wants to meet; all of the warp are 0xffffffff")  # fmt: skip
        raise thread.scheduler.fatal(message, "MEET_MASK")
    return lanes


def meet(name: str, mask: Any, value: Any, answer: Callable[[dict], dict]) -> Any:
    thread = context.running
    lanes = mask_of(mask, name, thread)
    return thread.scheduler.meet(thread, thread.warp, name, value, answer, lanes)


def syncwarp(mask: Any = ALL_LANES) -> None:
    """The lanes of the mask wait for each other."""
    meet("gpu.syncwarp", mask, None, answer_all(lambda _: None))


# --- Shuffles -------------------------------------------------------------------------------------

# The lane whose value a lane gets, by PTX's rules; five bits of the operand count. `first` is the
# first lane of the group of `width`. Beyond the group it is the lane's own value.
SOURCES: dict[str, Callable[[int, int, int, int], int]] = {
    "shfl_sync": lambda lane, b, first, width: first + b % width,
    "shfl_up_sync": lambda lane, b, first, width: lane - b if lane - b >= first else lane,
    "shfl_down_sync": lambda lane, b, first, width: lane + b if lane + b < first + width else lane,
    "shfl_xor_sync": lambda lane, b, first, width: lane ^ b if lane ^ b < first + width else lane,
}


def movable(x: Any, path: str) -> Any:
    """A number, or a tuple of what can be moved."""
    if not isinstance(x, tuple):
        return number(x, path, 2)
    made = [movable(e, path) for e in x]
    return type(x)._make(made) if hasattr(x, "_make") else tuple(made)


def shuffle(name: str) -> Callable[..., Any]:
    """Of a lane that does not come, a thread gets its own value."""
    source, path = SOURCES[name], f"gpu.{name}"

    def answer(brought: dict) -> dict:
        values = {thread.lane: value for thread, (value, _, _) in brought.items()}
        return {
            thread: values.get(source(thread.lane, b, thread.lane // n * n, n), value)
            for thread, (value, b, n) in brought.items()
        }

    def call(mask: Any, value: Any, operand: Any, width: Any = WARP) -> Any:
        b = integer_of(operand, f"argument 3 of {path}") % WARP
        n = integer_of(width, f"argument 4 of {path}")
        if n not in (1, 2, 4, 8, 16, 32):
            raise operations.error("TypingError", f"argument 4 of {path} cannot be {n}")
        return meet(path, mask, (movable(value, path), b, n), answer)

    return call


# --- Votes ----------------------------------------------------------------------------------------


def ballot(brought: dict) -> dict:
    lanes = sum(1 << thread.lane for thread, value in brought.items() if value)
    return dict.fromkeys(brought, MASK(lanes))


VOTES = {
    "all_sync": answer_all(lambda x: Bool(all(x))),
    "any_sync": answer_all(lambda x: Bool(any(x))),
    "eq_sync": answer_all(lambda x: Bool(all(x) or not any(x))),
    "ballot_sync": ballot,
}


def vote(name: str) -> Callable[..., Scalar]:
    answer, path = VOTES[name], f"gpu.{name}"

    def call(*args: Any) -> Scalar:
        operations.check_count(path, args, 2)
        return meet(path, args[0], bool(number(args[1], path, 2)), answer)

    return call


# --- Equal values ---------------------------------------------------------------------------------


def lanes_by_value(brought: dict) -> dict[int, int]:
    """Values, as bits, and the lanes that brought them."""
    found: dict[int, int] = {}
    for thread, value in brought.items():
        found[value] = found.get(value, 0) | 1 << thread.lane
    return found


def match_any(brought: dict) -> dict:
    lanes = lanes_by_value(brought)
    return {thread: MASK(lanes[value]) for thread, value in brought.items()}


def match_all(brought: dict) -> dict:
    lanes = list(lanes_by_value(brought).values())
    same = len(lanes) == 1
    return dict.fromkeys(brought, (MASK(lanes[0] if same else 0), Bool(same)))


def match(name: str, answer: Callable[[dict], dict]) -> Callable[..., Any]:
    path = f"gpu.{name}"

    def call(*args: Any) -> Any:
        operations.check_count(path, args, 2)
        return meet(path, args[0], bits(number(args[1], path, 2)), answer)

    return call


# --- Reductions -----------------------------------------------------------------------------------


def extreme(symbol: str) -> Callable[[Scalar, Scalar], Scalar]:
    """The first if it compares so, or is NaN; else the second, as np.minimum has it."""
    compare = operations.COMPARES[symbol]

    def call(a: Scalar, b: Scalar) -> Scalar:
        return a if compare(a.value, b.value) or a.value != a.value else b

    return call


REDUCTIONS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": of_operator("+"), "min": extreme("<"), "max": extreme(">"),
    "and": of_operator("&"), "or": of_operator("|"), "xor": of_operator("^"),
}  # fmt: skip


def reduced(combine: Callable[[Scalar, Scalar], Scalar], values: list[Scalar]) -> Scalar:
    """Of a whole warp in halves that meet each other, of fewer lanes one after the other."""
    if len(values) == WARP:
        step = WARP // 2
        while step:
            values = [combine(values[i], values[i + step]) for i in range(step)]
            step //= 2
        return values[0]
    return functools.reduce(combine, values)


def reduction(name: str) -> Callable[..., Scalar]:
    path, combine = f"gpu.reduce_{name}_sync", REDUCTIONS[name]

    def answer(values: list[Scalar]) -> Scalar:
        cls = operations.join(*map(type, values))
        if cls.kind == 0 and name == "add":
            cls = Int
        return cls.of(reduced(combine, [cls.of(x) for x in values]))

    def call(*args: Any) -> Scalar:
        operations.check_count(path, args, 2)
        x = number(args[1], path, 2)
        if x.kind == 2 and name in ("and", "or", "xor"):
            raise operations.error("TypingError", f"argument 2 of {path} cannot be {x.name}")
        return meet(path, args[0], x, answer_all(answer))

    return call


# --- Lanes ----------------------------------------------------------------------------------------


def activemask() -> Scalar:
    """The lanes that come here while no other of the warp can go on."""
    thread = context.running
    return MASK(thread.scheduler.gather(thread, site()))


def lane_mask(compare: Callable[[int, int], bool]) -> Callable[[], Scalar]:
    def call() -> Scalar:
        lane = context.running.lane
        return MASK(sum(1 << i for i in range(WARP) if compare(i, lane)))

    return call


NAMES: dict[str, Any] = {
    "syncwarp": syncwarp,
    **{name: shuffle(name) for name in SOURCES},
    **{name: vote(name) for name in VOTES},
    "match_any_sync": match("match_any_sync", match_any),
    "match_all_sync": match("match_all_sync", match_all),
    **{f"reduce_{name}_sync": reduction(name) for name in REDUCTIONS},
    "activemask": activemask,
    "lanemask_lt": lane_mask(int.__lt__),
    "lanemask_le": lane_mask(int.__le__),
    "lanemask_eq": lane_mask(int.__eq__),
    "lanemask_ge": lane_mask(int.__ge__),
    "lanemask_gt": lane_mask(int.__gt__),
    "warpsize": Int(WARP),
    "smid": Int(0),
}
REGISTERS: dict[str, Callable[[], Scalar]] = {
    "laneid": lambda: Int(context.running.lane),
}
