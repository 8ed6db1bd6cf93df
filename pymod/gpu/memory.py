"""Memory of devices and of the host: the pool's numbers and limits, allocators, host arrays.

Arrays take their memory from a pool that each device keeps, in the order of streams: what is freed
is used again at once on its own stream, and freeing never waits. `kind` is "device" (the memory of
arrays), "host" (pinned and mapped) or "managed"; each has a pool of its own. All of it is about the
current device.
"""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_KINDS = {"device": 0, "host": 1, "managed": 2}


class _Record(tuple):
    """A tuple with names; the one of `collections` would double the time of the import."""

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        for number, name in enumerate(cls._fields):
            setattr(cls, name, property(lambda self, number=number: self[number]))

    def __new__(cls, *values: Any, **named: Any) -> Any:
        return super().__new__(cls, (*values, *(named[n] for n in cls._fields[len(values) :])))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({values})"


class MemoryInfo(_Record):
    """Bytes that the driver has free, and all."""

    _fields = ("free", "total")
    free: int
    total: int


class Stats(_Record):
    """What a pool has done.

    in_use, reserved: bytes in arrays, and what the driver has given in all; peak_in_use and
    peak_reserved are their largest values since the beginning or reset_peak(). pending: bytes that
    were freed and that queued work may still use. limit: of `reserved`, 0: none. blocks:
    allocations in use. hits, misses: allocations out of what was there, and others.
    driver_allocations, driver_frees: how often the driver was asked. retries: how often the device
    was waited for because memory had run out.
    """

    _fields = (
        "in_use",
        "reserved",
        "peak_in_use",
        "peak_reserved",
        "pending",
        "limit",
        "blocks",
        "hits",
        "misses",
        "driver_allocations",
        "driver_frees",
        "retries",
    )
    in_use: int
    reserved: int
    peak_in_use: int
    peak_reserved: int
    pending: int
    limit: int
    blocks: int
    hits: int
    misses: int
    driver_allocations: int
    driver_frees: int
    retries: int


def _kind(kind: str) -> int:
    if kind not in _KINDS:
        raise _gpujit.ArgumentError(f"kind is 'device', 'host' or 'managed', not {kind!r}")
    return _KINDS[kind]


def _bytes(count: int, what: str) -> int:
    try:
        count = count.__index__()
    except AttributeError:
        raise _gpujit.ArgumentTypeError(f"{what}: bytes are an int, not {count!r}") from None
    if not 0 <= count < 1 << 63:
        raise _gpujit.ArgumentError(f"{what}: bytes from 0 to 2**63 - 1, not {count}")
    return count


def stats(kind: str = "device") -> Stats:
    """The numbers of a pool of the current device; sizes in bytes."""
    return Stats(**_gpujit._memory_stats(_kind(kind)))


def reset_peak(kind: str = "device") -> None:
    """The largest values begin anew at what is in use now."""
    _gpujit._memory_reset_peak(_kind(kind))


def trim(keep: int = 0, kind: str = "device") -> int:
    """Give memory that is not in use back to the driver until at most `keep` bytes are reserved.

    Returns how many bytes it gave. May wait for the device, as the driver does when it frees.
    """
    return _gpujit._memory_trim(_kind(kind), _bytes(keep, "keep"))


def set_limit(limit: int, kind: str = "device") -> None:
    """Reserve at most so many bytes from now on; 0: as many as there are.

    An allocation beyond it is tried again after what is not in use was given back, then it is a
    MemoryError.
    """
    _gpujit._memory_set_limit(_kind(kind), _bytes(limit, "limit"))


def get_limit(kind: str = "device") -> int:
    """The limit in bytes; 0: there is none."""
    return stats(kind).limit


def info() -> MemoryInfo:
    """(free, total) of the current device in bytes, as the driver counts: pools are in use."""
    return MemoryInfo(*_gpujit.get_memory_info())


_allocator: tuple[Any, Any] | None = None


def set_allocator(
    allocate: Callable[[int, int, int], int] | None,
    free: Callable[[int, int, int, int], object] | None = None,
) -> None:
    """Arrays take their memory from functions of the program, or, with None, from the pool again.

    allocate(nbytes, device, stream) returns an address of at least 16 bytes' alignment (256 is
    better); free(address, nbytes, device, stream) takes it back. `stream` is the handle of the
    stream whose order decides when the memory may be used again: work of other streams that has
    used it is behind it when free is called. On the CPU device addresses are the host's, and free
    is called when queued work is over. Arrays that exist keep the function they came with.
    """
    global _allocator
    if allocate is not None and not (callable(allocate) and callable(free)):
        raise _gpujit.ArgumentError("set_allocator takes two functions, or None")
    _gpujit._memory_set_allocator(allocate, free if allocate is not None else None)
    _allocator = None if allocate is None else (allocate, free)


def get_allocator() -> tuple[Any, Any] | None:
    """(allocate, free) as they were set; None: the pool."""
    return _allocator


class MemoryPointer:
    """What memalloc() of a memory manager returns: an address that is freed with this object.

    finalizer, called without arguments when nothing refers to the object, frees the memory.
    """

    def __init__(
        self, context: Any, pointer: Any, size: int, owner: Any = None, finalizer: Any = None
    ) -> None:
        self.context = context
        self.device_pointer = pointer
        self.size = size
        self.owner = owner
        self._finalizer = finalizer

    @property
    def device_pointer_value(self) -> int:
        """The address as an int, of whatever was given as one."""
        return _address(self.device_pointer)

    def free(self) -> None:
        """Call the finalizer, once."""
        finalizer, self._finalizer = self._finalizer, None
        if finalizer is not None:
            finalizer()

    def __del__(self) -> None:
        self.free()


def _address(pointer: Any) -> int:
    for name in ("value", "device_pointer_value", "ptr"):
        pointer = getattr(pointer, name, pointer)
    return int(pointer)


class BaseCUDAMemoryManager:
    """A source of device memory for set_memory_manager(): subclass it.

    Wanted is memalloc(size), which returns a MemoryPointer or an object like it; initialize() and
    reset() do what they must. Host memory is always of the package's own pools.
    """

    interface_version = 1

    def __init__(self, *args: Any, context: Any = None, **kwargs: Any) -> None:
        self.context = context

    def initialize(self) -> None:
        """Called once per device before memory is asked for."""

    def memalloc(self, size: int) -> MemoryPointer:
        """So many bytes of the current device."""
        raise NotImplementedError

    def get_memory_info(self) -> MemoryInfo:
        """(free, total) in bytes."""
        return info()

    def reset(self) -> None:
        """Free what is held."""


HostOnlyCUDAMemoryManager = GetIpcHandleMixin = BaseCUDAMemoryManager


def set_memory_manager(manager: type | None) -> None:
    """Arrays take their memory from a manager with memalloc(size), a class; None: from the pool.

    The names are numba's (External Memory Management plugins); an instance is made per device, with
    `context` as keyword, when memory is first asked for there.
    """
    if manager is None:
        set_allocator(None)
        return
    if not callable(getattr(manager, "memalloc", None)):
        raise _gpujit.ArgumentError("a memory manager is a class with a method memalloc(size)")
    version = getattr(manager, "interface_version", 1)
    if not isinstance(version, property) and version != 1:
        raise _gpujit.ArgumentError(f"interface_version 1 is wanted, the manager has {version}")
    managers: dict[int, Any] = {}
    pointers: dict[int, Any] = {}

    def allocate(nbytes: int, device: int, stream: int) -> int:
        if device not in managers:
            managers[device] = manager(context=None)
            managers[device].initialize()
        pointer = managers[device].memalloc(nbytes)
        address = _address(getattr(pointer, "device_pointer", pointer))
        pointers[address] = pointer
        return address

    def free(address: int, nbytes: int, device: int, stream: int) -> None:
        del pointers[address]

    set_allocator(allocate, free)


class defer_cleanup:
    """with gpu.defer_cleanup(): nothing that is freed is looked at before the end.

    Freeing waits for nothing anyhow; this also keeps it from asking the driver about other streams,
    in a program's most urgent part. When memory runs out it is looked at all the same.
    """

    def __enter__(self) -> None:
        _gpujit._memory_defer(True)

    def __exit__(self, *exception: object) -> None:
        _gpujit._memory_defer(False)


# Host arrays that kernels use where they are


def _host_array(kind: int, shape: Any, dtype: Any, strides: Any, order: str) -> Any:
    import numpy as np

    if isinstance(dtype, _gpujit.DType):
        dtype = dtype.dtype
    model = np.dtype(float if dtype is None else dtype)
    if model.hasobject:
        raise _gpujit.ArgumentTypeError("an array that kernels use holds numbers, not objects")
    try:
        shape = tuple(n.__index__() for n in (shape if hasattr(shape, "__len__") else (shape,)))
    except AttributeError:
        raise _gpujit.ArgumentTypeError(
            f"an array's shape is an int or a tuple of ints, not {shape!r}"
        ) from None
    if order not in ("C", "F"):
        raise _gpujit.ArgumentError(f"an array's order is 'C' or 'F', not {order!r}")
    if any(extent < 0 for extent in shape):
        raise _gpujit.ArgumentError("an array's extents cannot be negative")
    count = 1
    for extent in shape:
        count *= int(extent)
    nbytes = _bytes(count * model.itemsize, "an array")
    if nbytes:
        memory = _gpujit._memory_host(kind, nbytes)
        array = np.frombuffer(memory, model, count).reshape(shape, order=order)
    else:
        array = np.empty(shape, model, order)
    if strides is not None and tuple(strides) != array.strides:
        raise _gpujit.ArgumentError(
            f"strides={tuple(strides)}: only those of order 'C' or 'F', here {array.strides}"
        )
    return array


def _like(ary: Any) -> tuple[Any, Any, None, str]:
    """shape, dtype, strides and order of a new array that is like one, as NumPy's empty_like."""
    import numpy as np

    if not isinstance(ary, _gpujit.Array):
        ary = np.asarray(ary)
    flags = ary.flags
    is_fortran = flags["F_CONTIGUOUS"] and not flags["C_CONTIGUOUS"]
    return ary.shape, ary.dtype, None, "F" if is_fortran else "C"


def pinned_array(
    shape: Any, dtype: Any = None, strides: Any = None, order: str = "C", **unused: Any
) -> Any:
    """A NumPy array in host memory that is locked to its pages, with undefined contents.

    Copies to and from the device run at the bus's full speed; kernels use it without a copy, over
    the bus, and a launch that does waits for the kernel, as with any NumPy array.
    """
    return _host_array(0, shape, dtype, strides, order)


def mapped_array(
    shape: Any,
    dtype: Any = None,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> Any:
    """A NumPy array in locked host memory that kernels use where it is, over the bus.

    Launches return at once: synchronize before the host reads what a kernel writes, or writes what
    one reads. All devices may use it (portable); wc has no effect.
    """
    return _host_array(1, shape, dtype, strides, order)


def pinned_array_like(ary: Any) -> Any:
    """A pinned_array of the shape, dtype and order of an array."""
    return _host_array(0, *_like(ary))


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """A mapped_array of the shape, dtype and order of an array."""
    return _host_array(1, *_like(ary))


def managed_array(
    shape: Any,
    dtype: Any = None,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> Any:
    """A NumPy array in managed memory, whose pages move to whoever uses them.

    Launches return at once: synchronize before the host touches it again.
    """
    return _host_array(2, shape, dtype, strides, order)


def _is_ndarray(array: Any) -> bool:
    import numpy as np

    return isinstance(array, np.ndarray)


class _Locked:
    def __init__(self, *arrays: Any, stream: Any = 0) -> None:
        self.arrays = arrays
        self.locked: list[_gpujit.Memory] = []

    def _lock(self, waits: bool) -> None:
        try:
            for array in self.arrays:
                if not _is_ndarray(array):
                    raise _gpujit.ArgumentTypeError(
                        f"gpu.{type(self).__name__} takes NumPy arrays, "
                        f"not {type(array).__name__!r}"
                    )
                if not array.flags.forc:
                    raise _gpujit.ArgumentError(
                        f"gpu.{type(self).__name__} takes contiguous arrays: "
                        "give it the whole one, or a copy"
                    )
                if array.nbytes:
                    self.locked.append(_gpujit._memory_register(array, waits))
        except BaseException:
            self._unlock()
            raise

    def _unlock(self) -> None:
        while self.locked:
            self.locked.pop().unlock()

    def __exit__(self, *exception: object) -> None:
        self._unlock()


class pinned(_Locked):
    """with gpu.pinned(x, y): locks the memory of NumPy arrays to its pages.

    In the block they are what gpu.pinned_array makes. The end waits for kernels that use them.
    """

    def __enter__(self) -> None:
        self._lock(True)


class _Interface:
    """An array's memory as a device sees it; None: of an array without elements."""

    def __init__(self, array: Any, memory: _gpujit.Memory | None) -> None:
        self.kept = array, memory
        address = 0
        if memory is not None:
            offset = array.__array_interface__["data"][0] - memory.address
            address = memory.device_address + offset
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (address, not array.flags.writeable),
            "version": 3,
        }


class mapped(_Locked):
    """with gpu.mapped(x) as dx: a gpu array over the memory of a NumPy array; a list for several.

    Kernels use the memory over the bus. Synchronize before the host reads; the end waits for
    kernels that use it, and the gpu arrays must not be used afterwards.
    """

    def __enter__(self) -> Any:
        self._lock(False)
        on_cpu = _gpujit._device_info(None)["kind"] != "cuda"
        locked = iter(self.locked)
        arrays = [
            _gpujit.as_gpu_array(
                array if on_cpu else _Interface(array, next(locked) if array.nbytes else None)
            )
            for array in self.arrays
        ]
        return arrays[0] if len(arrays) == 1 else arrays
