"""What the code of a running kernel can ask for: its thread, and the options of its launch."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Size = tuple[int, int, int]


class Context(threading.local):
    """One per OS thread, so that kernels that wait can have a thread each."""

    check = False
    fma = True
    single = False  # gpu.jit(float=gpu.float32): weak floats compute in float32
    active = False  # whether a kernel runs here
    thread: Size = (0, 0, 0)
    block: Size = (0, 0, 0)
    block_dim: Size = (1, 1, 1)
    grid_dim: Size = (1, 1, 1)
    sites: dict[int, Any]  # analysis.Sites by the id of the code that runs

    def __init__(self) -> None:
        self.sites = {}


context = Context()
