"""Array makers over the two of the extension, and the text of an array."""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from typing import Any

    Shape = int | tuple[int, ...]


def zeros(shape: Shape, dtype: Any = None, order: str = "C", stream: Any = None) -> _gpujit.Array:
    """An array of zeros; float64 unless a dtype is given. Does not wait."""
    return _gpujit.full(shape, 0, dtype or float, order, stream)


def ones(shape: Shape, dtype: Any = None, order: str = "C", stream: Any = None) -> _gpujit.Array:
    """An array of ones; float64 unless a dtype is given. Does not wait."""
    return _gpujit.full(shape, 1, dtype or float, order, stream)


def device_array(
    shape: Shape,
    dtype: Any = None,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: Any = None,
) -> _gpujit.Array:
    """The same as empty(), or with these strides in bytes."""
    if strides is None:
        return _gpujit.empty(shape, dtype, order, stream)
    if isinstance(strides, str):  # where empty() has its order
        return _gpujit.empty(shape, dtype, strides, stream)
    return _strided(shape, dtype, strides, stream)


def _strided(shape: Any, dtype: Any, strides: Any, stream: Any) -> _gpujit.Array:
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    steps = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
    size_B = _gpujit._dtype(dtype or float).itemsize
    if len(steps) != len(extents) or any(s % size_B for s in steps):
        raise _gpujit.ArgumentError(
            f"device_array: strides are bytes, a multiple of {size_B} for each axis"
        )
    reach = [(n - 1) * s for n, s in zip(extents, steps, strict=True)]
    first = -sum(r for r in reach if r < 0)
    last = sum(r for r in reach if r > 0)
    count = (first + last) // size_B + 1 if all(extents) else 0
    return _gpujit._strided(
        _gpujit.empty(count, dtype, "C", stream), extents, steps, first if count else 0, None
    )


def empty_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> _gpujit.Array:
    """An array of the same shape, dtype and order, with undefined contents."""
    return _gpujit.empty(_shape(array), dtype or array.dtype, order or _order(array), stream)


def zeros_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with 0. Does not wait."""
    return full_like(array, 0, dtype, order, stream)


def ones_like(
    array: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with 1. Does not wait."""
    return full_like(array, 1, dtype, order, stream)


def full_like(
    array: Any, fill_value: Any, dtype: Any = None, order: str | None = None, stream: Any = None
) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with one value. Does not wait."""
    return _gpujit.full(
        _shape(array), fill_value, dtype or array.dtype, order or _order(array), stream
    )


def device_array_like(array: Any, stream: Any = None) -> _gpujit.Array:
    """The same as empty_like()."""
    return empty_like(array, stream=stream)


def as_cuda_array(obj: Any, sync: bool = True) -> _gpujit.Array:
    """The same as as_gpu_array()."""
    return _gpujit.as_gpu_array(obj, sync)


def is_gpu_array(obj: Any) -> bool:
    """Whether it is an array of ours, or one that says it is in the memory of a GPU."""
    if isinstance(obj, _gpujit.Array):
        return True
    if isinstance(obj, type):
        return False
    device = getattr(obj, "__dlpack_device__", None)
    return hasattr(obj, "__cuda_array_interface__") or (
        device is not None and int(device()[0]) in (2, 13)
    )


is_cuda_array = is_gpu_array


def from_cuda_array_interface(
    desc: dict[str, Any], owner: Any = None, sync: bool = True
) -> _gpujit.Array:
    """The memory that a `__cuda_array_interface__` describes; `owner` lives as long as it."""
    return _gpujit.as_gpu_array(_Described(desc, owner), sync)


class _Described:
    def __init__(self, desc: dict[str, Any], owner: Any) -> None:
        self.__cuda_array_interface__ = desc
        self.owner = owner


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> _gpujit.Array:
    """The array of another library by DLPack, sharing its memory where it is on our device.

    device  None, or the name of the device where kernels run
    copy    True: always new memory; False: never, an error instead; None: where it must be
    """
    if not hasattr(x, "__dlpack__"):
        raise _gpujit.ArgumentTypeError(
            f"from_dlpack takes an object with __dlpack__, not '{type(x).__name__}'"
        )
    info = _gpujit._device_info(None)
    here = (info["kind"], f"{info['kind']}:{info['ordinal']}")
    if device is not None and getattr(device, "_where", str(device)) not in here:
        raise _gpujit.ArgumentError(
            f"from_dlpack: kernels run on '{here[0]}'; call gpu.select_device({device!r}) first"
        )
    if isinstance(x, _gpujit.Array):
        array = x
    elif int(x.__dlpack_device__()[0]) in (2, 13) or info["kind"] != "cuda":
        array = _gpujit.as_gpu_array(x)
    elif copy is False:
        raise _gpujit.ArgumentError(
            "from_dlpack: the memory is the host's, so that a copy cannot be avoided"
        )
    else:
        return _gpujit.to_device(x)
    return array.copy("K") if copy else array


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(array.shape)


def _order(array: Any) -> str:
    strides = getattr(array, "strides", None)
    if strides is None or not isinstance(strides, tuple) or len(strides) < 2:
        return "C"
    expected = array.itemsize
    for extent, stride in zip(array.shape, strides, strict=True):
        if extent != 1 and stride != expected:
            return "C"
        expected *= extent
    return "F"
