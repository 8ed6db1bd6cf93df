"""Lines of source for messages, from wherever Python has them."""

from __future__ import annotations

import linecache
import os
import sys


def line(file: str, number: int) -> str:
    """A line of a file, of a module that its loader has (a zip's), or of what was typed in."""
    if os.path.exists(file):
        linecache.checkcache(file)  # it may have been edited, and reloaded
    text = linecache.getline(file, number)
    if not text:
        text = _of_module(file, number) or _of_input(file, number)
    return text


def _of_module(file: str, number: int) -> str:
    for module in list(sys.modules.values()):
        scope = getattr(module, "__dict__", {})
        if scope.get("__file__") == file and "__loader__" in scope:
            return linecache.getline(file, number, scope)
    return ""


def _of_input(file: str, number: int) -> str:
    """From Python 3.14 on lines of the prompt are kept by (file, function, first line)."""
    for key, entry in getattr(linecache, "_interactive_cache", {}).items():
        if key[0] == file and len(entry) > 2 and 0 < number <= len(entry[2]):
            return entry[2][number - 1]
    return ""
