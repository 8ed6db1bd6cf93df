"""Devices as objects."""

from gpu import _gpujit


class Device:
    """What is known of a device: name, kind ("cuda" or "cpu"), target, memory, limits."""

    def __init__(self, info):
        self.__dict__.update(info)

    def __repr__(self):
        return f"<gpu device {self.kind}:{self.ordinal}, {self.name}>"

    def __eq__(self, other):
        return isinstance(other, Device) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((self.kind, self.ordinal))


def device():
    """The device that kernels run on and arrays live on."""
    return Device(_gpujit.device_info())


get_current_device = device
