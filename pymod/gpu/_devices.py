"""Devices: what there is, which one this thread uses, and contexts under numba's names.

A thread's choice and its context are kept by the extension. What is here is objects over that: a
Device knows its name ("cuda:1", "cpu", "python") and asks for the rest; `with` remembers, per
thread, what was there before.
"""

from __future__ import annotations

from _thread import _local

from gpu import _gpujit, memory

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Which = int | str | "Device" | None

_threads = _local()  # .before: what each `with` of this thread has to bring back


class Device:
    """A GPU, the CPU device or the python device.

    `with device:` makes it the thread's device in between. Attributes in capital letters are the
    driver's, as in device.MULTIPROCESSOR_COUNT; on the CPU device they say what is true of it, 0
    where it has nothing of the kind.
    """

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
    uuid: str  # "GPU-01234567-89ab-cdef-0123-456789abcdef", as nvidia-smi writes it
    pci: str  # "0000:3b:00.0"; "" where there is none

    def __init__(self, which: Which = None) -> None:
        info = _gpujit._device_info(which)
        digits = info["uuid"].hex()
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        info["uuid"] = "-".join(("GPU" if info["kind"] == "cuda" else "CPU", *parts))
        self.__dict__.update(info)

    @property
    def id(self) -> int:
        """The ordinal, under numba's name."""
        return self.ordinal

    @property
    def _where(self) -> str:
        return f"cuda:{self.ordinal}" if self.kind == "cuda" else self.kind

    def __getattr__(self, name: str) -> int:
        if not name.isupper() or name.startswith("_"):
            raise AttributeError(f"a gpu device has no attribute '{name}'")
        try:
            value = _gpujit._device_attribute(self._where, name)
        except _gpujit.DriverError as error:
            raise AttributeError(f"the driver does not know {name}: {error}") from None
        if value is None:
            raise AttributeError(f"the driver API has no CU_DEVICE_ATTRIBUTE_{name}")
        return value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_gpujit._device_attributes()]

    def __enter__(self) -> Device:
        token = _gpujit._enter_device(self._where)
        if not hasattr(_threads, "before"):
            _threads.before = []
        _threads.before.append(token)
        return self

    def __exit__(self, *error: object) -> None:
        _gpujit._leave_device(*_threads.before.pop())

    def reset(self) -> None:
        """Frees everything in the device's context.

        Waits for what runs there. Arrays, streams and compiled kernels of the device are gone: what
        still uses them gets a DeviceError. On a GPU that is so for other libraries too, which share
        the context.
        """
        _gpujit._reset_device(self._where)

    def synchronize(self) -> None:
        """Waits for everything that was launched on the device; raises what kernels raised."""
        with self:
            _gpujit.synchronize()

    def get_primary_context(self) -> Context:
        """The context that libraries share."""
        return Context(self)

    def release_primary_context(self) -> None:
        """Does nothing: the context is kept until the process ends, or reset()."""

    @property
    def supports_float16(self) -> bool:
        """Always true: halves compute on every device."""
        return True

    @property
    def supports_bfloat16(self) -> bool:
        """Always true, as for float16."""
        return True

    def get_device_identity(self) -> dict[str, int]:
        """The numbers of the PCI bus: pci_domain_id, pci_bus_id, pci_device_id."""
        names = ("PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID")
        return {name.lower(): getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<gpu device {self.kind}:{self.ordinal}, {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._where == other._where

    def __hash__(self) -> int:
        return hash(self._where)

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        return Device, (self._where,)


def _where(which: Any) -> str:
    """The name of a Device, a Context, or what Device() takes."""
    device = getattr(which, "device", which)
    return (device if isinstance(device, Device) else Device(device))._where


class Context:
    """A device's context, for programs that ask for one: current_context()."""

    def __init__(self, device: Device) -> None:
        self.device = device

    @property
    def id(self) -> int:
        """The device's number."""
        return self.device.ordinal

    def synchronize(self) -> None:
        """Waits for everything that was launched there; raises what kernels raised."""
        self.device.synchronize()

    def get_memory_info(self) -> memory.MemoryInfo:
        """(free, total) in bytes, as the driver counts: what gpu's pools keep is not free."""
        with self.device:
            return memory.info()

    def defer_cleanup(self) -> memory.defer_cleanup:
        """gpu.defer_cleanup()."""
        return memory.defer_cleanup()

    # Where numba's contexts have them.

    def create_stream(self) -> _gpujit.Stream:
        """gpu.stream() on this device."""
        with self.device:
            return _gpujit.stream()

    def create_external_stream(self, ptr: int) -> _gpujit.Stream:
        """gpu.external_stream(ptr) on this device."""
        with self.device:
            return _gpujit.external_stream(ptr)

    def create_event(self, timing: bool = True) -> _gpujit.Event:
        """gpu.event() on this device."""
        with self.device:
            return _gpujit.event(timing=timing)

    def get_default_stream(self) -> _gpujit.Stream:
        """gpu.default_stream() on this device."""
        with self.device:
            return _gpujit.default_stream()

    def get_legacy_default_stream(self) -> _gpujit.Stream:
        """gpu.legacy_default_stream() on this device."""
        with self.device:
            return _gpujit.legacy_default_stream()

    def get_per_thread_default_stream(self) -> _gpujit.Stream:
        """gpu.per_thread_default_stream() on this device."""
        with self.device:
            return _gpujit.per_thread_default_stream()

    def can_access_peer(self, other: Any) -> bool:
        """Whether kernels here can use memory of another device (a Device, a context, a number)."""
        return _gpujit._peer_can_reach(self.device._where, _where(other))

    def enable_peer_access(self, other: Any, flags: int = 0) -> None:
        """Kernels here take arrays of the other device from now on."""
        if flags:
            raise _gpujit.ArgumentError("enable_peer_access: there are no flags")
        _gpujit._peer_reach(self.device._where, _where(other), True)

    def disable_peer_access(self, other: Any) -> None:
        """Ends it."""
        _gpujit._peer_reach(self.device._where, _where(other), False)

    def reset(self) -> None:
        """Device.reset()."""
        self.device.reset()

    def push(self) -> None:
        """Makes the device this thread's until pop()."""
        self.device.__enter__()

    def pop(self) -> None:
        """Brings back what was there before the last push()."""
        self.device.__exit__()

    def __repr__(self) -> str:
        return f"<gpu context of {self.device._where}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)


class DeviceList:
    """The devices of the kind that this thread's kernels run on: all GPUs, or the CPU device."""

    def _names(self) -> list[str]:
        kind = _gpujit._device_info(None)["kind"]
        return [f"cuda:{i}" for i in range(_gpujit._gpu_count())] if kind == "cuda" else [kind]

    def __len__(self) -> int:
        return len(self._names())

    def __getitem__(self, index: Any) -> Any:
        names = self._names()
        if isinstance(index, slice):
            return [Device(name) for name in names[index]]
        try:
            return Device(names[index])
        except IndexError:
            n = len(names)
            raise IndexError(f"gpu.gpus[{index}]: there is {n} device{'s' * (n != 1)}") from None

    def __iter__(self) -> Iterator[Device]:
        return (Device(name) for name in self._names())

    @property
    def lst(self) -> list[Device]:
        """The devices as a list."""
        return list(self)

    @property
    def current(self) -> Device:
        """This thread's device."""
        return Device()

    # What numba has in its module `cuda.devices`.

    @property
    def gpus(self) -> DeviceList:
        """The list itself."""
        return self

    def get_context(self, devnum: int | None = None) -> Context:
        """current_context()."""
        return current_context(devnum)

    def reset(self) -> None:
        """close()."""
        _gpujit.close()

    def require_context(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """require_context()."""
        return require_context(function)

    def __repr__(self) -> str:
        return f"<gpu devices {', '.join(self._names())}>"


gpus = devices = DeviceList()


def device(which: Which = None) -> Device:
    """A device by its number in gpu.gpus or by its name ("cuda:1", "cpu"); this thread's if none is
    given. `with gpu.device(1):` uses it in between."""
    return Device(which)


def get_current_device() -> Device:
    """The device that this thread's kernels run on and its arrays go to."""
    return Device()


def select_device(which: int | str | Device) -> Device:
    """Makes a device this thread's from now on, and returns it.

    A number is one of gpu.gpus, so that a program for GPUs runs where there is none; names are
    "cuda:1", "cuda" (the first), "cpu" and "python". Other threads keep theirs; threads that have
    chosen nothing start at the first device of the kind that the main thread has chosen.
    """
    _gpujit._select_device(which)
    return Device()


def list_devices() -> DeviceList:
    """gpu.gpus."""
    return gpus


def current_context(devnum: int | None = None) -> Context:
    """The context of this thread's device, or of the one with a number in gpu.gpus."""
    return Context(Device(devnum))


def reset() -> None:
    """Resets this thread's device: Device.reset()."""
    _gpujit._reset_device(None)


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function begins with a device chosen, or fails at once if none can be."""
    from functools import wraps  # here alone: the import costs as much as ours

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _gpujit._device_info(None)
        return function(*args, **kwargs)

    return call


def detect() -> bool:
    """Prints what GPUs there are: name, architecture, PCI bus, UUID. Whether there is one."""
    n = _gpujit._gpu_count()
    print(f"Found {n} CUDA device{'s' * (n != 1)}")
    for i in range(n):
        gpu = Device(f"cuda:{i}")
        print(
            f"id {i}  {gpu.name}  {gpu.target}, {gpu.memory / (1 << 30):.1f} GiB, "
            f"PCI {gpu.pci}, {gpu.uuid}"
        )
    if not n:
        print(_gpujit.info_text()[0].splitlines()[0])
    return n > 0


def profile_start() -> None:
    """Lets the profiler that watches the program (Nsight, with its range "cudaProfilerApi") record
    from here on. Does nothing without one, and on the CPU device."""
    _gpujit._profile(True)


def profile_stop() -> None:
    """Ends what profile_start() began."""
    _gpujit._profile(False)


class profiling:
    """with gpu.profiling(): the profiler records what is in the block."""

    def __enter__(self) -> None:
        profile_start()

    def __exit__(self, *exception: object) -> None:
        profile_stop()
