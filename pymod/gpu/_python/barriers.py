"""Barriers of blocks and grids, and fences."""

from __future__ import annotations

from gpu._python import operations
from gpu._python.context import context
from gpu._python.functions import number
from gpu._python.scalars import Bool, Int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def answer_all(answer: Callable[[list], Any]) -> Callable[[dict], dict]:
    """The same answer for all who meet, from what they brought."""

    def call(brought: dict) -> dict:
        return dict.fromkeys(brought, answer(list(brought.values())))

    return call


def barrier(name: str, answer: Callable[[list], Any], n_args: int) -> Callable[..., Any]:
    """A barrier of the block, that computes something of a predicate of each thread."""
    combine, path = answer_all(answer), f"gpu.{name}"

    def call(*args: Any) -> Any:
        operations.check_count(path, args, n_args)
        value = bool(number(args[0], path)) if args else None
        thread = context.running
        return thread.scheduler.meet(thread, thread.block, path, value, combine)

    return call


def grid_sync() -> None:
    """All threads of the launch."""
    thread = context.running
    scheduler = thread.scheduler
    scheduler.check_grid()
    scheduler.meet(
        thread, scheduler.grid, "gpu.cg.GridGroup.sync", None, answer_all(lambda _: None)
    )


class GridGroup:
    """gpu.cg.this_grid()."""

    sync = staticmethod(grid_sync)


def this_grid() -> GridGroup:
    return GridGroup()


def fence() -> None:
    """Memory is the same for all threads at any time."""


NAMES: dict[str, Any] = {
    "syncthreads": barrier("syncthreads", lambda _: None, 0),
    "syncthreads_count": barrier("syncthreads_count", lambda x: Int(sum(x)), 1),
    "syncthreads_and": barrier("syncthreads_and", lambda x: Bool(all(x)), 1),
    "syncthreads_or": barrier("syncthreads_or", lambda x: Bool(any(x)), 1),
    "threadfence": fence,
    "threadfence_block": fence,
    "threadfence_system": fence,
    "cg.this_grid": this_grid,
    "cg.GridGroup.sync": grid_sync,
}
