"""Types by the names that Numba gives them, for signatures, dtypes of arrays and casts.

The number types are gpu's own objects: types.float32 is gpu.float32, types.boolean is gpu.bool_.
What is made of them, such as types.float32[:, ::1] and UniTuple(int32, 3), is the text that
signatures are written in.
"""

from __future__ import annotations

from gpu import _gpujit
from gpu._jit import _type_text, void

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from typing import Any

# Other names, of Numba and of C: each with ours.
OTHER = {
    "b1": "bool_", "bool": "bool_", "boolean": "bool_",
    "i1": "int8", "char": "int8", "i2": "int16", "short": "int16", "i4": "int32", "intc": "int32",
    "i8": "int64", "int_": "int64", "intp": "int64", "long_": "int64", "longlong": "int64",
    "ssize_t": "int64",
    "u1": "uint8", "byte": "uint8", "uchar": "uint8", "u2": "uint16", "ushort": "uint16",
    "u4": "uint32", "uintc": "uint32", "u8": "uint64", "uint": "uint64", "uintp": "uint64",
    "ulong": "uint64", "ulonglong": "uint64", "size_t": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64", "double": "float64",
    "c8": "complex64", "c16": "complex128",
}  # fmt: skip

_own = {name: one for name, one in vars(_gpujit).items() if isinstance(one, _gpujit.DType)}
globals().update(_own)
globals().update({name: _own[our] for name, our in OTHER.items() if our in _own})
none = void
LAYOUTS = "CFA"


class Record(str):
    """The type of records: from_dtype(np.dtype([...])). Indexed it is that of arrays of them."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> str:
        """Record[:, ::1], as for the number types."""
        axes = index if isinstance(index, tuple) else (index,)
        marks = ((slice(None), ":"), (slice(None, None, 1), "::1"))
        texts = [next((text for mark, text in marks if mark == axis), "") for axis in axes]
        if "" in texts:
            raise TypeError("array types are written like record[:] or record[:, ::1]")
        return f"{self}[{', '.join(texts)}]"


def from_dtype(dtype: Any) -> Any:
    """The type of elements of a NumPy dtype: gpu.float32 and its like, or a Record."""
    text = _gpujit._elem_text(dtype)
    if text is not None:
        return Record(text)
    name = str(dtype)
    if f"{name}_" in _own or name in _own:
        return _own.get(name) or _own[f"{name}_"]
    raise _gpujit.ArgumentTypeError(f"kernels have no elements of dtype {name}")


def Array(dtype: Any, ndim: int, layout: str) -> str:
    """An array's type: Array(float32, 2, "C") is float32[:, ::1]; "A" is any layout."""
    if layout not in LAYOUTS or len(layout) != 1:
        raise _gpujit.ArgumentError(f"the layout of an array is 'C', 'F' or 'A', not {layout!r}")
    axes = [":"] * ndim
    if ndim and layout != "A":
        axes[-1 if layout == "C" else 0] = "::1"
    return f"{_type_text(dtype)}[{', '.join(axes)}]"


def Tuple(types: Any) -> str:
    """A tuple's type: Tuple((int32, float32)) is (int32, float32,)."""
    return _type_text(tuple(types))


def UniTuple(dtype: Any, count: int) -> str:
    """The type of a tuple of `count` elements of one type."""
    return _type_text((dtype,) * count)


__all__ = [  # a star import keeps Python's bool
    *(name for name in [*_own, *OTHER] if name in globals() and name != "bool"),
    "Array",
    "Tuple",
    "UniTuple",
    "from_dtype",
    "none",
    "void",
]
