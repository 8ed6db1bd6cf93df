"""Exceptions of kernels, as every device raises them: with the place, the block and the thread."""

from __future__ import annotations

import dis
import linecache

from gpu import _gpujit
from gpu._python import operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

RAISES = ("RAISE_VARARGS", "RERAISE")
ARGUMENTS = (
    "code",
    "filename",
    "lineno",
    "offset",
    "hint",
    "function",
    "kernel",
    "block",
    "thread",
)


def places(error: BaseException) -> list[TracebackType]:
    """The traceback's entries of kernel code, the innermost last."""
    from gpu._python.objects import Globals

    found, trace = [], error.__traceback__
    while trace:
        if isinstance(trace.tb_frame.f_globals, Globals):
            found.append(trace)
        trace = trace.tb_next
    return found


def columns(trace: TracebackType) -> tuple[int | None, int | None]:
    """First and last column of what the entry executes, on one line."""
    index, positions = trace.tb_lasti // 2, trace.tb_frame.f_code.co_positions()
    for i, (line, last, start, end) in enumerate(positions):
        if i == index:
            return start, end if line == last else None
    return None, None


def where(trace: TracebackType) -> str:
    """File, line and source, with a mark below."""
    code = trace.tb_frame.f_code
    text = f'\n  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}'
    line = linecache.getline(code.co_filename, trace.tb_lineno).rstrip()
    if not line:
        return text
    text += f"\n    {line}"
    start, end = columns(trace)
    if start is None:
        return text
    width = max((end if end is not None else len(line)) - start, 1)
    return text + f"\n    {' ' * start}^{'~' * (width - 1)}"


def is_raised_by_program(trace: TracebackType) -> bool:
    """Whether the innermost entry is a `raise` or an `assert` of the kernel's."""
    if trace.tb_next:
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in RAISES


def of_ours(error: BaseException) -> BaseException:
    """What Python raises where the compiler has an exception of its own."""
    text, name = str(error), getattr(error, "name", None)
    if isinstance(error, UnboundLocalError):
        return operations.error("KernelUnboundLocalError", text, "UNBOUND")
    if isinstance(error, NameError):
        return operations.error("UndefinedError", f"name '{name}' is not defined", "UNKNOWN_NAME")
    if isinstance(error, IndexError):
        message = "an index is out of bounds of a tuple"
        return operations.error("KernelIndexError", message, "OUT_OF_BOUNDS")
    if isinstance(error, RecursionError):
        message = "a function calls itself so often that a thread's stack is used up"
        return operations.error("KernelRecursionError", message, "TOO_DEEP")
    if isinstance(error, (TypeError, AttributeError)):
        return operations.error("TypingError", text)
    return error


def describe(
    error: BaseException,
    kernel: str,
    block: tuple[int, int, int],
    thread: tuple[int, int, int],
) -> BaseException:
    """The exception with its place in the text or in a note, and as attributes."""
    from gpu._python.objects import host

    entries = places(error)
    inner = entries[-1] if entries else None
    program = bool(inner and is_raised_by_program(inner))
    if not program and not isinstance(error, _gpujit.Error):
        trace, new = error.__traceback__, of_ours(error)
        if new is not error:
            new.__cause__ = error
        error = new.with_traceback(trace)
    place = where(inner) if inner else ""
    place += f"\n  raised by thread {thread} of block {block}"
    hint = None
    if isinstance(error, _gpujit.Error) and not program:
        message, _, hint = str(error).partition("\n  Hint: ")
        error.args = (message + place + (f"\n  Hint: {hint}" if hint else ""),)
    else:
        error.args = host(error.args)  # `assert` makes its exception itself
        error.add_note(f"in kernel '{kernel}':{place}")
    code = inner.tb_frame.f_code if inner else None
    values: dict[str, Any] = {
        "code": None if isinstance(error, _gpujit.Error) and not program else "RAISED",
        "filename": code.co_filename if code else None,
        "lineno": inner.tb_lineno if inner else None,
        "offset": columns(inner)[0] if inner else None,
        "hint": hint or None,
        "function": code.co_name if code else None,
        "kernel": kernel,
        "block": block,
        "thread": thread,
    }
    for name, value in values.items():
        if not hasattr(error, name):  # what a class has itself stays
            setattr(error, name, value)
    return error
