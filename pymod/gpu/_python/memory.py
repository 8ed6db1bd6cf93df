"""Memory that kernels declare: shared by a block, of one thread, constant."""

from __future__ import annotations

import dis
from functools import lru_cache

from gpu._python import operations
from gpu._python.arrays import Array, Constant, integer_of
from gpu._python.context import context
from gpu._python.threads import kernel_frame
from gpu._python.types import RecordType, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

ALIGNMENT_B = 16
MORE = """
  Hint: give the launch more: kernel[grid, block, stream, shared_bytes]; every call of \
gpu.shared.dynamic takes what no call had before, in a loop too"""


@lru_cache(maxsize=256)
def variable_at(code: CodeType, offset: int) -> str:
    """The variable that the result of the call at the offset is stored in."""
    following = [i for i in dis.get_instructions(code) if i.offset > offset and i.opname != "CACHE"]
    while following and following[0].opname == "CALL":  # 3.11 has PRECALL before it
        del following[0]
    stores = following and following[0].opname.startswith("STORE_")
    name = following[0].argval if stores else ""
    return name if isinstance(name, str) else name[0] if isinstance(name, tuple) else ""


def declaration() -> tuple[Any, str]:
    """The call of the kernel that declares memory, and the name that errors show."""
    frame = kernel_frame()
    return (id(frame.f_code), frame.f_lasti), variable_at(frame.f_code, frame.f_lasti)


def extents(shape: Any) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    return tuple(integer_of(n, "an extent") for n in sizes)


def constant_extents(shape: Any, alignment: Any, function: str) -> tuple[int, ...]:
    """Of an array that the compiler lays out."""
    sizes = extents(shape)
    if any(n < 0 for n in sizes):
        text = f"{sizes}" if isinstance(shape, tuple) else f"{sizes[0]}"
        message = f"an array cannot have the shape {text}"
        raise operations.error("TypingError", message, "ARRAY_SHAPE")
    if alignment is not None:
        n = integer_of(alignment, f"argument 'alignment' of {function}")
        if not 1 <= n <= 4096 or n & (n - 1):
            message = f"argument 'alignment' of {function} cannot be {n}"
            raise operations.error("TypingError", message, "ARGUMENT_TYPE")
    return sizes


def element_dtype(dtype: Any) -> tuple[str, str]:
    """The kernel type's name, and NumPy's type that holds it."""
    kind = type_of(dtype)
    if isinstance(kind, RecordType):
        return kind.name, kind.held
    name = kind.name
    return name, "uint16" if name == "bfloat16" else name


def zeros(shape: tuple[int, ...], dtype: Any, name: str) -> Array:
    import numpy as np

    kind, held = element_dtype(dtype)
    return Array(np.zeros(shape, held), name, dtype=kind)


def shared_array(shape: Any, dtype: Any, alignment: Any = None) -> Array:
    """One array for the block and each call in the text; of shape 0 all that the launch adds."""
    place, name = declaration()
    sizes = constant_extents(shape, alignment, "gpu.shared.array")
    if sizes == (0,):
        itemsize = type_of(dtype).size
        return added((context.shared_B // itemsize,), dtype, 0, name)
    if 0 in sizes:
        message = f"an array cannot have the shape {sizes}"
        raise operations.error("TypingError", message, "ARRAY_SHAPE")
    memory = context.running.block.memory
    key = place, sizes, type_of(dtype).name
    if key not in memory:
        memory[key] = zeros(sizes, dtype, name)
    return memory[key]


def added(shape: tuple[int, ...], dtype: Any, offset_B: int, name: str) -> Array:
    """An array in the shared memory that the launch adds."""
    import numpy as np

    memory = context.running.block.memory
    if "added" not in memory:
        memory["added"] = np.zeros(context.shared_B, np.uint8)
    kind, held = element_dtype(dtype)
    offset_B = 0 if 0 in shape else offset_B
    return Array(np.ndarray(shape, held, memory["added"], offset_B), name, dtype=kind)


def shared_dynamic(shape: Any, dtype: Any) -> Array:
    """The next part of the shared memory that the launch adds; no other call gets it."""
    _, name = declaration()
    sizes, size_B = extents(shape), type_of(dtype).size
    own = context.running.memory
    start_B = own.get("end_B", 0)
    for axis, n in enumerate(sizes):
        if n < 0:
            message = f"axis {axis} of array '{name}' cannot have {n} elements"
            raise operations.error("KernelValueError", message, "NEGATIVE_EXTENT")
        size_B *= n
    if size_B and size_B > context.shared_B - start_B:
        message = (f"array '{name}' needs {size_B} bytes of the shared memory that the launch "
                   f"adds; it adds {context.shared_B}, of which {start_B} are taken")  # fmt: skip
        raise operations.error("KernelValueError", message + MORE, "SHARED_EXCEEDED")
    own["end_B"] = -(-(start_B + size_B) // ALIGNMENT_B) * ALIGNMENT_B
    return added(sizes, dtype, start_B, name)


def local_array(shape: Any, dtype: Any, alignment: Any = None) -> Array:
    """Of the thread's own: the same memory in every round of a loop of one function's call."""
    place, name = declaration()
    sizes = constant_extents(shape, alignment, "gpu.local.array")
    key, frame = (place, sizes, type_of(dtype).name), kernel_frame()
    memory = context.running.memory
    if key not in memory or memory[key][0] is not frame:
        memory[key] = frame, zeros(sizes, dtype, name)
    return memory[key][1]


def array_like(ary: Any) -> Array:
    """A constant array of the program as it is."""
    if not isinstance(ary, Constant):
        kind = type(ary).__name__
        message = (f"argument 'ary' of gpu.const.array_like cannot be {kind}\n  Hint: give a NumPy "
                   "array that is a global or closure variable of the kernel")  # fmt: skip
        raise operations.error("TypingError", message)
    return ary


NAMES: dict[str, Any] = {
    "shared.array": shared_array,
    "shared.dynamic": shared_dynamic,
    "local.array": local_array,
    "const.array_like": array_like,
}
