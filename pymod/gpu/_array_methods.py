"""Methods of arrays that are not on the way of a launch; array_python.def lists them.

Views are made by _gpujit._strided, which looks that they stay within their array. What waits for
the device says so in its text; everything else returns at once.
"""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Array = _gpujit.Array


class AxisError(_gpujit.ArrayIndexError, _gpujit.ArgumentError):
    """An axis that an array has not."""


# Views of another shape


def reshape(
    self: Array,
    *shape: Any,
    order: str = "C",
    copy: bool | None = None,
    newshape: Any = None,
    stream: Any = None,
) -> Array:
    if newshape is not None and not shape:
        shape = (newshape,)
    extents = _extents(self.size, _unpacked(shape))
    if _order(self, order) == "F":
        return _reshape(self.T, extents[::-1], copy, stream).T
    return _reshape(self, extents, copy, stream)


def _reshape(self: Array, shape: tuple[int, ...], copy: bool | None, stream: Any) -> Array:
    strides = _restrided(self, shape)
    if copy or strides is None:
        if copy is False:
            raise _gpujit.ArgumentError(
                "Unable to avoid creating a copy while reshaping: the strides of this array do not"
                " allow it; leave copy=False away"
            )
        self = copy_(self, stream=stream)
        strides = None
    return _gpujit._strided(self, shape, strides, 0, None)


def _unpacked(numbers: tuple) -> tuple[int, ...]:
    """(2, 3) and ((2, 3),) as ints."""
    if len(numbers) == 1 and not hasattr(numbers[0], "__index__"):
        numbers = tuple(numbers[0])
    return tuple(n.__index__() for n in numbers)


def _extents(size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with what -1 stands for."""
    known, open_axes = 1, 0
    for n in shape:
        if n == -1:
            open_axes += 1
        elif n < 0:
            raise _gpujit.ArgumentError("negative dimensions not allowed: an extent is 0 or more")
        else:
            known *= n
    if open_axes > 1:
        raise _gpujit.ArgumentError("can only specify one unknown dimension")
    if open_axes and known and size % known == 0:
        shape = tuple(size // known if n == -1 else n for n in shape)
    elif open_axes or known != size:
        raise _gpujit.ArgumentError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def _restrided(self: Array, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of the same elements in another shape of as many, or None if there are none.

    Runs of axes whose extents have the same product in both shapes are matched; the old ones of a
    run must follow on each other.
    """
    if self.size == 0 or _is_contiguous(self):
        return _contiguous(shape, self.itemsize)
    old = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
    new = [0] * len(shape)
    i = j = 0
    while i < len(old) and j < len(shape):
        first, begin = i, j
        many, few = old[i][0], shape[j]
        while many != few:
            if few < many:
                j += 1
                few *= shape[j]
            else:
                i += 1
                many *= old[i][0]
        for k in range(first, i):
            if old[k][1] != old[k + 1][0] * old[k + 1][1]:
                return None
        new[j] = old[i][1]
        for k in range(j, begin, -1):
            new[k - 1] = new[k] * shape[k]
        i, j = i + 1, j + 1
    for k in range(j, len(shape)):  # extents of 1
        new[k] = new[k - 1] if k else self.itemsize
    return tuple(new)


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(reversed(strides))


def ravel(self: Array, order: str = "C", stream: Any = None) -> Array:
    if order == "K":
        self, order = transpose(self, _by_stride(self)), "C"
    flat = reshape(self, -1, order=order, stream=stream)
    # As in NumPy: unlike reshape's, the result is contiguous.
    return flat if flat.is_c_contiguous() else flat.copy(stream=stream)


def flatten(self: Array, order: str = "C", stream: Any = None) -> Array:
    if order == "K":
        self, order = transpose(self, _by_stride(self)), "C"
    return reshape(self, -1, order=order, copy=True, stream=stream)


def transpose(self: Array, *axes: Any) -> Array:
    if not axes or axes == (None,):
        return self.T
    numbers = _unpacked(axes)
    if len(numbers) != self.ndim:
        raise _gpujit.ArgumentError(f"axes don't match array: it has {self.ndim} axes")
    order = [_axis(self, n) for n in numbers]
    if len(set(order)) != len(order):
        raise _gpujit.ArgumentError("repeated axis in transpose")
    shape, strides = self.shape, self.strides
    return _gpujit._strided(
        self, tuple(shape[i] for i in order), tuple(strides[i] for i in order), 0, None
    )


def swapaxes(self: Array, axis1: int, axis2: int) -> Array:
    order = list(range(self.ndim))
    a, b = _axis(self, axis1), _axis(self, axis2)
    order[a], order[b] = order[b], order[a]
    return transpose(self, order) if order else self


def matrix_transpose(self: Array) -> Array:
    if self.ndim < 2:
        raise _gpujit.ArgumentError("matrix transpose with ndim < 2 is undefined")
    return swapaxes(self, -1, -2)


def squeeze(self: Array, axis: Any = None, stream: Any = None) -> Array:
    shape, strides = self.shape, self.strides
    if axis is None:
        gone = {i for i, n in enumerate(shape) if n == 1}
    elif self.ndim == 0 and axis in (0, -1):
        gone = set()  # as NumPy has it
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
        gone = {_axis(self, i) for i in axes}
        if len(gone) < len(axes):
            raise _gpujit.ArgumentError("duplicate value in 'axis'")
    if any(shape[i] != 1 for i in gone):
        raise _gpujit.ArgumentError(
            "cannot select an axis to squeeze out which has size not equal to one"
        )
    kept = [i for i in range(self.ndim) if i not in gone]
    return _gpujit._strided(
        self, tuple(shape[i] for i in kept), tuple(strides[i] for i in kept), 0, None
    )


def _axis(self: Array, axis: Any) -> int:
    n = axis.__index__()
    if not -self.ndim <= n < self.ndim:
        raise AxisError(f"axis {n} is out of bounds for array of dimension {self.ndim}")
    return n % self.ndim


def view(self: Array, dtype: Any = None) -> Array:
    if dtype is None:
        return _gpujit._strided(self, self.shape, self.strides, 0, None)
    old, new = self.itemsize, _gpujit._dtype(dtype).itemsize
    shape, strides = list(self.shape), list(self.strides)
    if old != new:
        if not shape:
            raise _gpujit.ArgumentError(
                "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
            )
        if shape[-1] != 1 and self.size and strides[-1] != old:
            raise _gpujit.ArgumentError(
                "To change to a dtype of a different size, the last axis must be contiguous;"
                " write a.copy().view(dtype)"
            )
        if shape[-1] * old % new:
            raise _gpujit.ArgumentError(
                "When changing to a larger dtype, its size must be a divisor of the total size in"
                " bytes of the last axis of the array."
            )
        shape[-1] = shape[-1] * old // new
        strides[-1] = new
    if any(s % new for n, s in zip(shape, strides, strict=True) if n > 1) and self.size:
        raise _gpujit.ArgumentError(
            "the elements of this view would not be aligned to their size; write"
            " a.copy().view(dtype)"
        )
    return _gpujit._strided(self, tuple(shape), tuple(strides), 0, dtype)


def split(self: Array, section: int, stream: Any = None) -> list[Array]:
    if self.ndim != 1:
        raise _gpujit.ArgumentError(f"split takes an array of one axis, not {self.ndim}")
    if section < 1:
        raise _gpujit.ArgumentError("split takes sections of 1 element or more")
    return [self[i : i + section] for i in range(0, self.size, section)]


# Copies on the device


def copy_(self: Array, order: str = "C", stream: Any = None) -> Array:
    return _converted(self, None, order, stream)


copy = copy_  # reshape() has an argument of this name


def astype(
    self: Array, dtype: Any, order: str = "K", copy: bool = True, stream: Any = None
) -> Array:
    wanted = _order(self, order)
    in_order = wanted == "K" or _is_contiguous(self, wanted)
    if not copy and _gpujit._dtype(dtype) == self.dtype and in_order:
        return self
    return _converted(self, dtype, order, stream)


def copy_once(self: Array) -> Array:
    return copy_(self, "K")


def copy_deep(self: Array, memo: dict) -> Array:
    return copy_(self, "K")


def _converted(self: Array, dtype: Any, order: str, stream: Any) -> Array:
    stream = stream or self.stream
    if order == "K":
        axes = _by_stride(self)
        back = sorted(range(self.ndim), key=axes.__getitem__)
        made = _gpujit._like(self, tuple(self.shape[i] for i in axes), dtype, stream)
        made = transpose(made, back) if back else made
    elif _order(self, order) == "F":
        made = _gpujit._like(self, self.shape[::-1], dtype, stream).T
    else:
        made = _gpujit._like(self, self.shape, dtype, stream)
    made.setitem(..., self, stream)
    return made


def _by_stride(self: Array) -> list[int]:
    """The axes, the one with the longest steps first."""
    strides = self.strides
    return sorted(range(self.ndim), key=lambda i: -abs(strides[i]))


def _order(self: Array, order: str) -> str:
    if order == "A":
        return "F" if _is_contiguous(self, "F") and not _is_contiguous(self) else "C"
    if order not in ("C", "F", "K"):
        raise _gpujit.ArgumentError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    return order


def _is_contiguous(self: Array, order: str = "C") -> bool:
    shape, strides = self.shape, self.strides
    expected = self.itemsize
    for i in range(self.ndim) if order == "F" else reversed(range(self.ndim)):
        if shape[i] == 0:
            return True
        if shape[i] != 1 and strides[i] != expected:
            return False
        expected *= shape[i]
    return True


def is_c_contiguous(self: Array) -> bool:
    return self.size == 0 or _is_contiguous(self)


def is_f_contiguous(self: Array) -> bool:
    return self.size == 0 or _is_contiguous(self, "F")


FLAG_NAMES = {
    "C": "c_contiguous",
    "CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous",
    "FORTRAN": "f_contiguous",
    "O": "owndata",
    "W": "writeable",
    "A": "aligned",
}


class Flags:
    """How the elements of an array lie, by NumPy's names."""

    def __init__(self, array: Array) -> None:
        self.c_contiguous = is_c_contiguous(array)
        self.f_contiguous = is_f_contiguous(array)
        self.owndata = array.base is None
        self.writeable = array._writeable
        self.aligned = True

    contiguous = property(lambda self: self.c_contiguous)
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)

    def __getitem__(self, name: str) -> bool:
        try:
            return getattr(self, FLAG_NAMES.get(name, name.lower()))
        except AttributeError:
            raise KeyError("Unknown flag") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join(f"  {name.upper()} : {value}" for name, value in self.__dict__.items())


def flags(self: Array) -> Flags:
    return Flags(self)


def ctypes_pointer(self: Array) -> Any:
    import ctypes

    return ctypes.c_void_p(self.address)


# Values on the host


def item(self: Array, *index: Any) -> Any:
    if not index:
        if self.size != 1:
            raise _gpujit.ArgumentError("can only convert an array of size 1 to a Python scalar")
        element = self[(0,) * self.ndim]
    elif len(index) == 1 and not isinstance(index[0], tuple):
        n = index[0].__index__()
        if not -self.size <= n < self.size:
            raise _gpujit.ArrayIndexError(f"index {n} is out of bounds for size {self.size}")
        n %= self.size
        places = []
        for extent in reversed(self.shape):
            places.append(n % extent)
            n //= extent
        element = self[tuple(reversed(places))]
    else:
        places = index[0] if len(index) == 1 else index
        if len(places) != self.ndim:
            raise _gpujit.ArgumentError("incorrect number of indices for array")
        element = self[tuple(n.__index__() for n in places)]
    return element.item() if hasattr(element, "item") else element


def tolist(self: Array) -> Any:
    return self.copy_to_host().tolist()


def iterate(self: Array) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if self.ndim == 1:
        return iter(self.copy_to_host())
    return (self[i] for i in range(self.shape[0]))


def to_bool(self: Array) -> bool:
    if self.size != 1:
        what = "an array with more than one element" if self.size else "an empty array"
        raise _gpujit.ArgumentError(
            f"The truth value of {what} is ambiguous. Use a.copy_to_host().any() or"
            " a.copy_to_host().all(), or a.size"
        )
    return bool(item(self))


def _only(self: Array) -> Any:
    if self.ndim:
        raise _gpujit.ArgumentTypeError(
            "only 0-dimensional arrays can be converted to Python scalars; write a.item() or a[0]"
        )
    return item(self)


def to_int(self: Array) -> int:
    return int(_only(self))


def to_float(self: Array) -> float:
    return float(_only(self))


def to_complex(self: Array) -> complex:
    return complex(_only(self))


def to_index(self: Array) -> int:
    element = item(self) if self.ndim == 0 else None
    if not isinstance(element, int) or isinstance(element, bool):
        raise _gpujit.ArgumentTypeError(
            "only integer scalar arrays can be converted to a scalar index"
        )
    return element


def to_format(self: Array, spec: str) -> str:
    return format(item(self), spec) if self.ndim == 0 else format(str(self), spec)


def to_numpy(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    import numpy as np

    if copy is not False:
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)
    host = None
    if hasattr(self, "__array_interface__"):
        host = np.asarray(memoryview(self))
    if host is None or (dtype is not None and host.dtype != np.dtype(dtype)):
        raise _gpujit.ArgumentError(
            "Unable to avoid copy while creating an array as requested: "
            + ("the memory is a GPU's" if host is None else "the dtype is another one")
        )
    return host


def reduce(self: Array, protocol: int) -> tuple:
    host = self.copy_to_host()
    name = getattr(self.dtype, "name", None) or str(self.dtype)
    if isinstance(host, memoryview):  # there is no NumPy
        return restore, (bytes(host), name, self.shape)
    return restore, (host.view("u2") if name == "bfloat16" else host, name, None)


def restore(values: Any, name: str, shape: tuple[int, ...] | None) -> Array:
    """The array of a pickle, on the current device."""
    if not isinstance(values, bytes) and not values.flags.aligned:
        values = values.copy()  # from a buffer beside the pickle, which may begin anywhere
    array = _gpujit.to_device(values)
    if shape is not None:
        array = array.view(name).reshape(shape) if array.size else _gpujit.empty(shape, name)
    return array.view(name)


# Text


def to_str(self: Array) -> str:
    host = _shown(self)
    if isinstance(host, memoryview):
        return str(host.tolist())
    return _numpy_text(self, host) if self.ndim else str(host)


def to_repr(self: Array) -> str:
    name = getattr(self.dtype, "name", None) or str(self.dtype)
    tail = f"dtype={name}, device={self.device})"
    try:
        host = _shown(self)
    except _gpujit.DeviceError as error:
        if error.code != "DEVICE_RESET":
            raise
        return f"<gpu.Array of a device that was reset: shape={self.shape}, {tail[:-1]}>"
    if isinstance(host, memoryview):
        text = str(host.tolist())
    else:
        text = _numpy_text(self, host, separator=", ", prefix="gpu.Array(")
    if "..." in text or not self.size:
        tail = f"shape={self.shape}, {tail}"
    last = text[text.rfind("\n") + 1 :]
    split = len(last) + len(tail) + 2 + ("\n" not in text) * len("gpu.Array(") > 88
    return f"gpu.Array({text},{chr(10) + ' ' * 10 if split else ' '}{tail}"


def _numpy_text(self: Array, host: Any, **options: Any) -> str:
    import numpy as np

    if host.size < self.size:
        options["threshold"] = 0
    return np.array2string(host, **options)


def _shown(self: Array) -> Any:
    """The values that are printed: of a large array the corners, with one element between them for
    NumPy to leave out."""
    try:
        import numpy as np
    except ImportError:
        threshold, edge = 1000, 3
    else:
        options = np.get_printoptions()
        threshold, edge = options["threshold"], options["edgeitems"]
    if self.size <= threshold or self.ndim == 0:
        return self.copy_to_host()
    shape = tuple(min(n, 2 * edge + 1) for n in self.shape)
    host = self[tuple(slice(n) for n in shape)].copy_to_host()
    if isinstance(host, memoryview):
        return host
    host = np.array(host)
    _fill_corners(self, host, shape, edge, 0, ())
    return host


def _fill_corners(
    self: Array, host: Any, shape: tuple[int, ...], edge: int, axis: int, index: tuple
) -> None:
    """Brings the ends of all axes that are shortened."""
    if axis < self.ndim:
        _fill_corners(self, host, shape, edge, axis + 1, (*index, slice(None, edge)))
        if shape[axis] < self.shape[axis]:
            _fill_corners(self, host, shape, edge, axis + 1, (*index, slice(-edge, None)))
        elif shape[axis] > edge:
            _fill_corners(self, host, shape, edge, axis + 1, (*index, slice(edge, None)))
    elif any(i.start is not None for i in index):
        host[index] = self[index].copy_to_host()


# Other processes


def get_ipc_handle(self: Array) -> Any:
    from gpu._ipc import IpcHandle

    return IpcHandle(self)
