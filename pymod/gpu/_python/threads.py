"""Threads, warps and blocks of a launch, and the meetings at which threads wait for each other.

A meeting is of all threads of a group: a block, a grid, or the lanes of a warp that a mask names.
It is over when every thread that has not ended has come.
"""

from __future__ import annotations

import itertools
import sys
from enum import Enum, auto
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any

    from gpu._python.schedule import Carrier, Scheduler

    Size = tuple[int, int, int]

WARP = 32
PATIENCE = 20_000  # reads of memory until others may run in any case
ALL_LANES = (1 << WARP) - 1


class State(Enum):
    """What a thread does, or waits for."""

    READY = auto()  # runs, or may run
    SPINS = auto()  # lets others run because it sees no change in memory
    MEETS = auto()  # waits for threads of its block
    MEETS_GRID = auto()
    GATHERS = auto()  # waits until no thread of its warp can run
    ENDED = auto()


class Cancelled(BaseException):
    """Ends a thread whose kernel is stopped."""


def size(value: Any) -> Size:
    """A grid or a block as three ints."""
    sizes = tuple(map(int, value)) if isinstance(value, (tuple, list)) else (int(value),)
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def places(sizes: Size) -> Iterator[Size]:
    """All of a grid or block, x fastest."""
    for z, y, x in itertools.product(*map(range, reversed(sizes))):
        yield x, y, z


class Place(NamedTuple):
    """Where a thread waits."""

    line: int
    name: str  # of the function of gpu

    def __str__(self) -> str:
        return f"{self.name}() at line {self.line}"


class Meeting:
    """Those who have come, and what they brought.

    answer  from what all brought, in the order of threads: what each gets
    """

    __slots__ = ("answer", "brought", "place")

    def __init__(self, place: Place, answer: Callable[[dict], dict]) -> None:
        self.place, self.answer = place, answer
        self.brought: dict[Thread, Any] = {}


class Group:
    """Threads that can meet, by a key if there are meetings of parts of them."""

    state = State.MEETS
    kinds = ("BARRIER_KINDS", "threads of block {} wait in different barriers")
    n_left: int  # threads that have not ended

    def __init__(self) -> None:
        self.meetings: dict[int, Meeting] = {}

    def expected(self, key: int) -> int:
        """How many have to come."""
        return self.n_left


class Grid(Group):
    state = State.MEETS_GRID

    def __init__(self, n_threads: int) -> None:
        super().__init__()
        self.n_left = n_threads


class Block(Group):
    """A block that has started."""

    def __init__(self, index: Size, sizes: Size, scheduler: Scheduler) -> None:
        super().__init__()
        self.index, self.scheduler = index, scheduler
        self.threads = [Thread(self, i, place) for i, place in enumerate(places(sizes))]
        self.n_left = len(self.threads)
        self.n_meeting = self.n_meeting_grid = 0
        self.warps = [Warp(self.threads[i : i + WARP]) for i in range(0, len(self.threads), WARP)]
        self.memory: dict[Any, Any] = {}  # shared arrays


class Warp(Group):
    kinds = ("MEET_KINDS", "lanes of a warp of block {} meet in different operations")

    def __init__(self, threads: list[Thread]) -> None:
        super().__init__()
        self.threads = threads
        self.n_left = len(threads)
        self.left = (1 << len(threads)) - 1  # the lanes that have not ended
        self.n_stopped = 0
        self.gathering: dict[Any, list[Thread]] = {}
        for thread in threads:
            thread.warp = self

    def expected(self, key: int) -> int:
        return (key & self.left).bit_count()


class Thread:
    """One thread of a kernel."""

    __slots__ = ("answer", "block", "carrier", "error", "index", "memory", "number", "patience",
                 "place", "quiet", "scheduler", "seen", "state", "warp")  # fmt: skip
    warp: Warp

    def __init__(self, block: Block, number: int, index: Size) -> None:
        self.block, self.number, self.index = block, number, index
        self.scheduler = block.scheduler
        self.carrier: Carrier | None = None  # the OS thread that it runs on
        self.state = State.READY
        self.place: Place | None = None  # where it waits
        self.answer: Any = None  # of the meeting that is over
        self.error: BaseException | None = None  # instead of an answer
        self.seen: dict[Any, Any] = {}  # what it has read lately
        self.quiet = 0  # how many reads in a row have shown nothing new
        self.patience = PATIENCE
        self.memory: dict[Any, Any] = {}  # of its own

    @property
    def lane(self) -> int:
        return self.number % WARP


def kernel_frame() -> FrameType:
    """The innermost frame of the kernel's code."""
    from gpu._python.objects import Globals

    frame = sys._getframe(1)
    while frame.f_back and not isinstance(frame.f_globals, Globals):
        frame = frame.f_back
    return frame


def site() -> tuple[int, int]:
    """The call in the kernel's code that is executed."""
    frame = kernel_frame()
    return id(frame.f_code), frame.f_lasti
