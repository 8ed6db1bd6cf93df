"""What the code of a running kernel can ask for: its thread, and the options of its launch."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu._python.threads import Thread

    Size = tuple[int, int, int]


class Context(threading.local):
    """One per OS thread: a kernel's thread that waits keeps one."""

    check = False
    fma = True
    single = False  # gpu.jit(float=gpu.float32): weak floats compute in float32
    active = False  # whether a kernel runs here
    thread: Size = (0, 0, 0)
    block: Size = (0, 0, 0)
    block_dim: Size = (1, 1, 1)
    grid_dim: Size = (1, 1, 1)
    running: Thread | None = None
    shared_B = 0  # of dynamic shared memory
    sites: dict[int, Any]  # analysis.Sites by the id of the code that runs

    def __init__(self) -> None:
        self.sites = {}


context = Context()
