"""Arrays as kernels see them, over NumPy's memory.

Elements are read and stored by the rules of docs/semantics.md; partial indices, slices, `...` and
new axes give views of the same memory.
"""

from __future__ import annotations

import sys

from gpu._python import operations
from gpu._python.context import context
from gpu._python.formats import from_bits, to_bits
from gpu._python.scalars import METHODS, TYPES, Int, Scalar, lift
from gpu._python.types import RecordType, TypeObject, type_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any


def element_class(name: str) -> Any:
    """The class that elements of an array have when they are read, and numbers of a signature."""
    cls = TYPES.get(name)
    if cls is None:
        raise operations.error("ArgumentTypeError", f"arrays of {name} cannot be used in kernels")
    return Int if cls.kind == 1 and name != "uint64" else cls


def integer_of(x: Any, what: str = "an index") -> int:
    """The Python int of an index or a bound of a slice."""
    lifted = lift(x)
    if lifted is NotImplemented or lifted.kind == 2:
        kind = type(x).__name__ if lifted is NotImplemented else lifted.name
        raise operations.error("TypingError", f"{what} must be an integer, not {kind}")
    return int(lifted.value)


def position_of(x: Any) -> int:
    """An index of an array's axis. A bool is none: NumPy takes it as a mask."""
    if isinstance(x, (bool, TYPES["bool"])):
        raise operations.error("TypingError", "an index must be an integer, not bool")
    return Int.wrap(integer_of(x))


def plain_slice(s: slice) -> slice:
    parts = (s.start, s.stop, s.step)
    if s.step is not None and integer_of(s.step, "a slice") == 0:
        message = "the step of a slice is 0"
        raise operations.error("KernelValueError", message, "ZERO_STEP")
    return slice(*(x if x is None else integer_of(x, "a slice") for x in parts))


class Array:
    """A view of memory, with the name that errors show.

    `dtype_name` differs from the memory's for bfloat16 where no library gives NumPy that type: the
    memory is of uint16 then.
    """

    __slots__ = ("base", "dtype_name", "name", "read_only")

    def __init__(self, base: Any, name: str, read_only: bool = False, dtype: str = "") -> None:
        self.base, self.name, self.read_only = base, name, read_only
        self.dtype_name = dtype or base.dtype.name
        if base.dtype.names is None:
            element_class(self.dtype_name)

    @property
    def stored_type(self) -> Any:
        """The class that a value converts to before it is stored."""
        element_class(self.dtype_name)  # records are no numbers
        return TYPES[self.dtype_name]

    @property
    def is_packed(self) -> bool:
        return self.dtype_name == "bfloat16" and self.base.dtype.name == "uint16"

    # --- Attributes ---

    @property
    def shape(self) -> tuple[Int, ...]:
        return tuple(map(Int, self.base.shape))

    @property
    def strides(self) -> tuple[Int, ...]:
        return tuple(map(Int, self.base.strides))

    @property
    def ndim(self) -> Int:
        return Int(self.base.ndim)

    @property
    def size(self) -> Int:
        return Int(self.base.size)

    @property
    def itemsize(self) -> Int:
        return Int(self.base.itemsize)

    @property
    def nbytes(self) -> Int:
        return Int(self.base.nbytes)

    @property
    def dtype(self) -> TypeObject:
        if self.base.dtype.names is not None:
            return RecordType(self.base.dtype)
        return type_object(self.stored_type)

    @property
    def T(self) -> Array:
        return type(self)(self.base.T, f"{self.name}.T", self.read_only, self.dtype_name)

    def view(self, base: Any) -> Array:
        name = self.name.removesuffix("[...]") + "[...]"
        return type(self)(base, name, self.read_only, self.dtype_name)

    def __repr__(self) -> str:
        return f"Array({self.name}: {self.base!r})"

    # --- Elements and views ---

    def place(self, key: Any) -> tuple[tuple, bool]:
        """The index in NumPy's terms, and whether it names one element. Bounds are checked."""
        parts = list(key) if isinstance(key, tuple) else [key]
        given = sum(p is not None and p is not Ellipsis for p in parts)
        if given > self.base.ndim:
            raise operations.error("TypingError", f"a {self.base.ndim}-dimensional array is "
                                   f"indexed with {given} indices")  # fmt: skip
        place, axis, whole = [], 0, given == self.base.ndim
        for part in parts:
            if part is None or part is Ellipsis:
                whole = False
                axis += self.base.ndim - given if part is Ellipsis else 0
                place.append(part)
                continue
            if isinstance(part, slice):
                whole = False
                place.append(plain_slice(part))
            else:
                place.append(self.bounded(position_of(part), axis))
            axis += 1
        if sum(part is Ellipsis for part in parts) > 1:
            raise operations.error("TypingError", "an index has more than one '...'")
        return tuple(place), whole

    def bounded(self, index: int, axis: int) -> int:
        extent = self.base.shape[axis]
        if -extent <= index < extent:
            return index
        shape = self.base.shape
        raise operations.error("KernelIndexError", f"index {index} is out of bounds for axis "
                               f"{axis} of array '{self.name}' with shape {shape}")  # fmt: skip

    def __getitem__(self, key: Any) -> Any:
        if self.base.dtype.names is not None and isinstance(key, str):
            return self.field(key)
        place, whole = self.place(key)
        if whole and self.base.dtype.names is not None:
            return self.record(place)
        if whole:
            return self.read(place)
        return self.view(self.base[place])

    # --- Records: one is an array of rank 0 ---

    def record(self, place: tuple) -> Record:
        return Record(self.base[(*place, ...)], self.name, self.read_only)

    def field_view(self, name: str) -> Array:
        names = self.base.dtype.names
        if name not in names:
            message = f"{self.name} has no field '{name}'; it has {', '.join(names)}"
            raise operations.error("TypingError", message)
        found = self.base[name]
        kind = Record if found.dtype.names is not None and not found.ndim else Array
        return kind(found, f"{self.name}.{name}", self.read_only)

    def field(self, name: str) -> Any:
        found = self.field_view(name)
        return found if found.base.ndim or isinstance(found, Record) else found.read(())

    def __getattr__(self, name: str) -> Any:
        if self.base.dtype.names is None:
            raise AttributeError(name)
        return self.field(name)

    def store_field(self, name: str, value: Any) -> None:
        self.field_view(name)[...] = value

    def store_record(self, target: Any, value: Any) -> None:
        """A record of the same type, or a tuple with a value for each field."""
        names = target.dtype.names
        if isinstance(value, Array) and value.base.dtype == target.dtype and not value.base.ndim:
            target[...] = value.base
        elif isinstance(value, tuple) and len(value) == len(names):
            for name, part in zip(names, value, strict=True):
                Record(target, self.name).store_field(name, part)
        else:
            message = f"{type(value).__name__} cannot be stored in {self.name}, an array of records"
            raise operations.error("TypingError", message)

    def read(self, place: tuple) -> Scalar:
        found = self.element(place)
        self.look(place, found.value)
        return found

    def look(self, place: tuple, value: Any) -> None:
        """A thread that waits for another value lets others run."""
        thread = context.running
        if thread is not None:
            thread.scheduler.look(thread, (id(self.base), place), value)

    def element(self, place: tuple) -> Scalar:
        cls = element_class(self.dtype_name)
        value = self.base[place].item()
        if cls.kind == 2:
            return cls(from_bits(value, "bfloat16") if self.is_packed else float(value))
        return cls(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.read_only:
            raise operations.error("TypingError", f"'{self.name}' is read-only")
        if self.base.dtype.names is not None and isinstance(key, str):
            self.store_field(key, value)
            return
        place, whole = self.place(key)
        if context.running is not None:
            context.running.quiet = 0
        if self.base.dtype.names is not None:
            self.store_records(self.base[(*place, ...)] if whole else self.base[place], value)
        elif whole:
            self.base[place] = self.converted(value)
        else:
            self.fill(self.base[place], value)

    def converted(self, value: Any) -> Any:
        """What a store puts into memory."""
        cls = self.stored_type
        x = lift(value.read(()) if isinstance(value, Array) and not value.base.ndim else value)
        if x is NotImplemented:
            kind = type(value).__name__
            message = f"{kind} cannot be stored in an array of {cls.name}"
            raise operations.error("TypingError", message)
        stored = operations.stored(x, cls).value
        return to_bits(stored, "bfloat16") if self.is_packed else stored

    def fill(self, target: Any, value: Any) -> None:
        """Slice assignment: a number everywhere, or an array spread as NumPy does."""
        import numpy as np

        source = self.spread(value, target.shape)
        for place in np.ndindex(target.shape):
            target[place] = self.converted(source(place))

    def store_records(self, target: Any, value: Any) -> None:
        import numpy as np

        if isinstance(value, Array) and value.base.ndim:
            source = self.spread(value, target.shape)
            for place in np.ndindex(target.shape):
                self.store_record(target[(*place, ...)], source(place))
            return
        for place in np.ndindex(target.shape):
            self.store_record(target[(*place, ...)], value)

    def spread(self, value: Any, shape: tuple) -> Callable[[tuple], Any]:
        """What stands at each place if a number or a copy of an array is spread over the shape."""
        if not isinstance(value, Array):
            return lambda place: value
        import numpy as np

        if value.base.ndim > len(shape):
            raise operations.error("TypingError", f"an array of {value.base.ndim} axes cannot be "
                                   f"stored in a view of {len(shape)} axes")  # fmt: skip
        first = len(shape) - value.base.ndim
        for axis, extent in enumerate(value.base.shape):
            if extent not in (1, shape[first + axis]):
                message = (f"{extent} elements along axis {axis} of an array cannot be stored in "
                           f"{shape[first + axis]}")  # fmt: skip
                raise operations.error("KernelValueError", message, "STORE_SHAPE")
        spread = Array(
            np.broadcast_to(value.base.copy(), shape), value.name, dtype=value.dtype_name
        )
        return spread.read if spread.base.dtype.names is None else spread.record

    def in_place(self, symbol: str, value: Any, frame: FrameType) -> Array:
        """An augmented assignment of the frame's code, element by element."""
        if self.read_only:
            raise operations.error("TypingError", f"'{self.name}' is read-only")
        import numpy as np

        source = self.spread(value, self.base.shape)
        for place in np.ndindex(self.base.shape):
            x = lift(source(place))
            if x is NotImplemented:
                message = f"'{symbol}=' is not defined for an array and {type(value).__name__}"
                raise operations.error("TypingError", message)
            result = operations.binary(symbol, self.read(place), x, frame)
            self.base[place] = self.converted(result)
        return self

    def __len__(self) -> int:
        if not self.base.ndim:
            raise operations.error("TypingError", "an array of rank 0 has no len()")
        return self.base.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __reversed__(self) -> Iterator[Any]:
        for i in reversed(range(len(self))):
            yield self[i]

    def __bool__(self) -> bool:
        raise operations.error("TypingError", f"array '{self.name}' has no truth value")


class Record(Array):
    """One record: its fields are attributes, which hide an array's own. What the device asks of an
    array it asks by the same names, so only a kernel's code sees the fields."""

    __slots__ = ()
    __hash__ = None

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__") and _is_kernel(sys._getframe(1)):
            base = object.__getattribute__(self, "base")
            if name in base.dtype.names:
                return object.__getattribute__(self, "field")(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_kernel(sys._getframe(1)):
            if self.read_only:
                raise operations.error("TypingError", f"'{self.name}' is read-only")
            self.store_field(name, value)
        else:
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> Any:
        return lift(bool(self.base[()] == other.base[()]) if isinstance(other, Record) else False)

    def __ne__(self, other: object) -> Any:
        return lift(bool(self.base[()] != other.base[()]) if isinstance(other, Record) else True)


def _is_kernel(frame: FrameType) -> bool:
    return not frame.f_globals.get("__name__", "").startswith("gpu._python")


class Constant(Array):
    """An array that the kernel's program has: read-only."""

    __slots__ = ()


def _in_place(symbol: str) -> Callable[[Array, Any], Array]:
    return lambda array, value: array.in_place(symbol, value, sys._getframe(1))


for _name, _symbol in METHODS.items():
    setattr(Array, f"__i{_name}__", _in_place(_symbol))
