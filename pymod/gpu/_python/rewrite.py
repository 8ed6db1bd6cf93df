"""A function's code with the constants of kernels.

Offsets, lines and names stay: debuggers see the function as it was written.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType

from gpu._python import operations
from gpu._python.scalars import lift, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpu._python.analysis import Facts

LOAD_CONST = dis.opmap["LOAD_CONST"]
GET_LEN, COMPARE_OP = dis.opmap["GET_LEN"], dis.opmap["COMPARE_OP"]
UNARY_NOT = dis.opmap["UNARY_NOT"]
ASSIGN_GLOBALS = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
LOAD_SMALL_INT = dis.opmap.get("LOAD_SMALL_INT")  # from 3.14 on
LOAD_COMMON_CONSTANT = dis.opmap.get("LOAD_COMMON_CONSTANT")
COMMON: list[Any] = getattr(dis, "_common_constants", [])  # True, False and -1 among them from 3.15
COMPARE_TO_BOOL = 16  # a bit of the argument of COMPARE_OP, from 3.13 on
VARARGS, VARKEYWORDS = 4, 8  # of co_flags


def constant(value: Any, inner: Callable[[CodeType], CodeType]) -> Any:
    """An entry of co_consts."""
    if isinstance(value, CodeType):
        return inner(value)
    if isinstance(value, (tuple, frozenset)):
        return tuple(constant(x, inner) for x in value)
    return literal(value)


def number_in(opcode: int, arg: int) -> Any:
    """The number that an instruction holds itself, None if it holds none."""
    if opcode == LOAD_SMALL_INT:
        return arg
    if opcode == LOAD_COMMON_CONSTANT and arg < len(COMMON):
        return COMMON[arg] if isinstance(COMMON[arg], int) else None
    return None


def numbers(code: CodeType, consts: list) -> bytes:
    """The code with constants in the place of numbers that instructions hold."""
    data = bytearray(code.co_code)
    places: dict[tuple[int, int], int] = {}
    for i in range(0, len(data), 2):
        value = number_in(data[i], data[i + 1])
        if value is None:
            continue
        key = data[i], data[i + 1]
        if key not in places:
            places[key] = len(consts)
            consts.append(lift(value))
        if places[key] > 255:
            message = f"'{code.co_name}' has more than 256 constants"
            raise operations.error("UnsupportedError", message)
        data[i], data[i + 1] = LOAD_CONST, places[key]
    return bytes(data)


def inverted(data: bytes, offsets: set[int]) -> bytes:
    """`~` of a bool of Python's own is `not`: the other bool."""
    new = bytearray(data)
    for offset in offsets:
        new[offset] = UNARY_NOT
    return bytes(new)


def lengths(data: bytes) -> bytes:
    """The comparison that follows the length of a match statement's subject gives a host's bool.

    From 3.13 on a branch takes nothing else; CPython knows that ints compare to one.
    """
    new = bytearray(data)
    after = False
    for i in range(0, len(new), 2):
        after = after or new[i] == GET_LEN
        if after and new[i] == COMPARE_OP:
            new[i + 1] |= COMPARE_TO_BOOL
            after = False
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
    if ASSIGN_GLOBALS & set(code.co_code[::2]):
        message = "assignment to a global variable cannot be used in a kernel"
        raise operations.error("UnsupportedError", message)
    consts = [constant(value, inner) for value in code.co_consts]
    data = inverted(numbers(code, consts), facts.inversions)
    if sys.version_info >= (3, 13):
        data = lengths(data)
    return code.replace(co_consts=tuple(consts), co_code=data)
