"""Devices as objects."""

from __future__ import annotations

from gpu import _gpujit


class Device:
    """What is known of a device."""

    name: str
    kind: str  # "cuda", "cpu" or "python"
    ordinal: int
    target: str  # "sm_90", "host"
    compute_capability: tuple[int, int]
    memory: int  # bytes
    processors: int
    warp_size: int
    max_threads: int  # per block
    shared_memory: int  # bytes per block

    def __init__(self, info: dict[str, object]) -> None:
        self.__dict__.update(info)

    def __repr__(self) -> str:
        return f"<gpu device {self.kind}:{self.ordinal}, {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.kind, self.ordinal))


def device() -> Device:
    """The device that kernels run on and arrays live on."""
    return Device(_gpujit.device_info())


get_current_device = device
