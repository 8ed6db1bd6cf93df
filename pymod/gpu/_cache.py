"""The command `gpujit cache`: what is on disk, whether it is whole, and how to be rid of it."""

from __future__ import annotations

import time

from gpu import _gpujit
from gpu._explain import parts_of

VERBS = {
    "path": "where compiled kernels are kept",
    "list": "what is kept, the last used first",
    "verify": "whether every file is whole; 1 if one is not (kernels compile anew instead of it)",
    "prune": "removes broken files, and what was used longest ago beyond the cap (or --bytes)",
    "clear": "removes everything that is kept",
}
SIZE_UNITS = ("B", "KiB", "MiB", "GiB")


def size_text(size: float) -> str:
    for unit in SIZE_UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {SIZE_UNITS[-1]}"


def age_text(seconds: float) -> str:
    for step, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= step:
            n = int(seconds // step)
            return f"{n} {unit}{'s' if n > 1 else ''} ago"
    return "just now"


def entry_text(entry: tuple[bytes, int, int, str, str], now: float) -> str:
    key, size, used, kind, text = entry
    parts = parts_of(text)
    what = f"{parts.get('kernel', '?')}({parts.get('signature', '')})"
    target = parts.get("target", "?").partition(",")[0]
    place = kind if kind == "broken" else f"{what} for {target}, {kind}"
    return f"{key.hex()[:12]}  {size_text(size):>9}  {age_text(now - used):<14}  {place}"


def run(verb: str, size: int | None = None) -> tuple[str, int]:
    """The text and the exit code of `gpujit cache VERB`."""
    folder, cap = _gpujit._cache_path()
    if not folder:
        return "nothing is kept: GPUJIT_CACHE_DIR is empty, or there is no home", 0
    if verb == "path":
        return folder, 0
    entries = sorted(_gpujit._cache_entries(), key=lambda entry: -entry[2])
    broken = [entry for entry in entries if entry[3] == "broken"]
    if verb == "list":
        total = size_text(sum(entry[1] for entry in entries))
        head = f"{folder}: {len(entries)} files, {total} of {size_text(cap)}"
        return "\n".join([head, *(entry_text(entry, time.time()) for entry in entries)]), 0
    if verb == "verify":
        lines = [f"broken: {entry[0].hex()}.gpujit" for entry in broken]
        return "\n".join([*lines, f"{len(entries)} files, {len(broken)} broken"]), int(bool(broken))
    doomed = entries if verb == "clear" else broken
    removed = sum(_gpujit._cache_remove(entry[0]) for entry in doomed)
    if verb == "prune":
        removed += _gpujit._cache_prune(cap if size is None else size)
    else:
        _gpujit._cache_prune(0)  # what writers that are gone have left
    return f"{removed} files removed", 0
