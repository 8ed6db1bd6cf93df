"""A function's code with the constants of kernels.

Offsets, lines and names stay: debuggers see the function as it was written.
"""

from __future__ import annotations

import dis
from types import CodeType

from gpu._python import operations
from gpu._python.scalars import lift, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpu._python.analysis import Facts

LOAD_CONST = dis.opmap["LOAD_CONST"]
UNARY_NOT = dis.opmap["UNARY_NOT"]
LOAD_SMALL_INT = dis.opmap.get("LOAD_SMALL_INT")  # from 3.14 on
VARARGS, VARKEYWORDS = 4, 8  # of co_flags


def constant(value: Any, inner: Callable[[CodeType], CodeType]) -> Any:
    """An entry of co_consts."""
    if isinstance(value, CodeType):
        return inner(value)
    if isinstance(value, (tuple, frozenset)):
        return tuple(constant(x, inner) for x in value)
    return literal(value)


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


def inverted(data: bytes, offsets: set[int]) -> bytes:
    """`~` of a bool of Python's own is `not`: the other bool."""
    new = bytearray(data)
    for offset in offsets:
        new[offset] = UNARY_NOT
    return bytes(new)


def zeroed(code: CodeType, variables: set[int]) -> int:
    """How many variables become parameters, whose default is 0; they come behind the others.

    A variable that has no value on some path reads 0 there.
    """
    if not variables or code.co_kwonlyargcount or code.co_flags & (VARARGS | VARKEYWORDS):
        return 0
    return max(variables) + 1 - code.co_argcount


def rewrite(code: CodeType, facts: Facts, inner: Callable[[CodeType], CodeType]) -> CodeType:
    """A new code object; `inner` makes those of nested functions."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            message = "assignment to a global variable cannot be used in a kernel"
            raise operations.error("UnsupportedError", message)
    consts = [constant(value, inner) for value in code.co_consts]
    data = code.co_code if LOAD_SMALL_INT is None else small_ints(code, consts)
    return code.replace(co_consts=tuple(consts), co_code=inverted(data, facts.inversions))
