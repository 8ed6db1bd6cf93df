"""Memory that kernels declare: shared by a block, of one thread, constant."""

from __future__ import annotations

import dis
from functools import lru_cache

from gpu._python import operations
from gpu._python.arrays import Array, integer_of
from gpu._python.context import context
from gpu._python.threads import kernel_frame
from gpu._python.types import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

ALIGNMENT_B = 16


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
    name = variable_at(frame.f_code, frame.f_lasti)
    return (id(frame.f_code), frame.f_lasti), name or "array"


def extents(shape: Any, function: str) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    ints = tuple(integer_of(n, f"the shape of {function}") for n in sizes)
    if any(n < 0 for n in ints):
        raise operations.error("TypingError", f"{function} has a negative extent: {ints}")
    return ints


def element_dtype(dtype: Any) -> tuple[str, str]:
    """The kernel type's name, and NumPy's type that holds it."""
    name = type_of(dtype).name
    return name, "uint16" if name == "bfloat16" else name


def zeros(shape: tuple[int, ...], dtype: Any, name: str) -> Array:
    import numpy as np

    kind, held = element_dtype(dtype)
    return Array(np.zeros(shape, held), name, dtype=kind)


def shared_array(shape: Any, dtype: Any, alignment: Any = None) -> Array:
    """One array for the block and each call in the text; of shape 0 all dynamic memory."""
    place, name = declaration()
    sizes = extents(shape, "gpu.shared.array")
    memory = context.running.block.memory
    if sizes == (0,):
        return dynamic(None, dtype, 0, name)
    key = place, sizes, type_of(dtype).name
    if key not in memory:
        memory[key] = zeros(sizes, dtype, name)
    return memory[key]


def dynamic(shape: tuple[int, ...] | None, dtype: Any, offset_B: int, name: str) -> Array:
    """An array in the block's dynamic memory; all that fits if no shape is given."""
    import numpy as np

    memory = context.running.block.memory
    if "dynamic" not in memory:
        memory["dynamic"] = np.zeros(context.shared_B, np.uint8)
    kind, held = element_dtype(dtype)
    if shape is None:
        shape = ((context.shared_B - offset_B) // np.dtype(held).itemsize,)
    return Array(np.ndarray(shape, held, memory["dynamic"], offset_B), name, dtype=kind)


def shared_dynamic(shape: Any, dtype: Any, alignment: Any = None) -> Array:
    """A part of the dynamic memory that no other call in the text has."""
    place, name = declaration()
    sizes = extents(shape, "gpu.shared.dynamic")
    own = context.running.memory
    end_B = own.get("end_B", 0)
    if place not in own:
        size_B = type_of(dtype).size
        start_B = -(-end_B // ALIGNMENT_B) * ALIGNMENT_B
        for n in sizes:
            size_B *= n
        if start_B + size_B > context.shared_B:
            message = (f"{start_B + size_B} bytes of dynamic shared memory are needed, the launch "
                       f"has {context.shared_B}")  # fmt: skip
            raise operations.error("KernelError", message, "DYNAMIC_SHARED")
        own[place] = dynamic(sizes, dtype, start_B, name)
        own["end_B"] = start_B + size_B
    return own[place]


def local_array(shape: Any, dtype: Any, alignment: Any = None) -> Array:
    _, name = declaration()
    return zeros(extents(shape, "gpu.local.array"), dtype, name)


def array_like(array: Any) -> Array:
    """A constant array of the program as it is."""
    if not isinstance(array, Array):
        kind = type(array).__name__
        message = f"argument 1 of gpu.const.array_like cannot be {kind}"
        raise operations.error("TypingError", message)
    return Array(array.base, array.name, read_only=True, dtype=array.dtype_name)


NAMES: dict[str, Any] = {
    "shared.array": shared_array,
    "shared.dynamic": shared_dynamic,
    "local.array": local_array,
    "const.array_like": array_like,
}
