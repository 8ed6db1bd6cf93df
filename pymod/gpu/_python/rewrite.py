"""A function's code with the constants of kernels.

Offsets, lines and names stay: debuggers see the function as it was written.
"""

from __future__ import annotations

import dis
from types import CodeType

from gpu._python import operations
from gpu._python.scalars import lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOAD_CONST = dis.opmap["LOAD_CONST"]
LOAD_SMALL_INT = dis.opmap.get("LOAD_SMALL_INT")  # from 3.14 on


def constant(value: Any, rewrite: Callable[[CodeType], CodeType]) -> Any:
    """An entry of co_consts."""
    if isinstance(value, CodeType):
        return rewrite(value)
    if isinstance(value, (tuple, frozenset)):
        return tuple(constant(x, rewrite) for x in value)
    lifted = lift(value)
    return value if lifted is NotImplemented else lifted


def small_ints(code: CodeType, consts: list) -> bytes:
    """The code with constants in the place of small integers of the instructions."""
    data = bytearray(code.co_code)
    places: dict[int, int] = {}
    for i in range(0, len(data), 2):
        if data[i] != LOAD_SMALL_INT:
            continue
        value = data[i + 1]
        if value not in places:
            places[value] = len(consts)
            consts.append(lift(value))
        if places[value] > 255:
            message = f"'{code.co_name}' has more than 256 constants"
            raise operations.error("UnsupportedError", message)
        data[i], data[i + 1] = LOAD_CONST, places[value]
    return bytes(data)


def rewrite(code: CodeType, done: Callable[[CodeType, CodeType], None]) -> CodeType:
    """A new code object; `done` is told each pair of old and new, the nested ones too."""
    consts = [constant(value, lambda inner: rewrite(inner, done)) for value in code.co_consts]
    data = code.co_code if LOAD_SMALL_INT is None else small_ints(code, consts)
    new = code.replace(co_consts=tuple(consts), co_code=data)
    done(code, new)
    return new
