"""Array makers over the two of the extension, and the text of an array."""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from typing import Any

    Shape = int | tuple[int, ...]


def zeros(shape: Shape, dtype: Any = None, order: str = "C") -> _gpujit.Array:
    """An array of zeros; float64 unless a dtype is given."""
    return _gpujit.full(shape, 0, dtype or float, order)


def ones(shape: Shape, dtype: Any = None, order: str = "C") -> _gpujit.Array:
    """An array of ones; float64 unless a dtype is given."""
    return _gpujit.full(shape, 1, dtype or float, order)


def device_array(shape: Shape, dtype: Any = None, order: str = "C") -> _gpujit.Array:
    """The same as empty()."""
    return _gpujit.empty(shape, dtype, order)


def empty_like(array: Any, dtype: Any = None, order: str | None = None) -> _gpujit.Array:
    """An array of the same shape, dtype and order, with undefined contents."""
    return _gpujit.empty(_shape(array), dtype or array.dtype, order or _order(array))


def zeros_like(array: Any, dtype: Any = None, order: str | None = None) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with 0."""
    return full_like(array, 0, dtype, order)


def ones_like(array: Any, dtype: Any = None, order: str | None = None) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with 1."""
    return full_like(array, 1, dtype, order)


def full_like(
    array: Any, fill_value: Any, dtype: Any = None, order: str | None = None
) -> _gpujit.Array:
    """An array of the same shape, dtype and order, filled with one value."""
    return _gpujit.full(_shape(array), fill_value, dtype or array.dtype, order or _order(array))


device_array_like = empty_like


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
