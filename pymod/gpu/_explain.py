"""kernel.explain(): where compiled code came from, and why something was compiled again."""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ORIGINS = {
    "compiled": "compiled, and kept on disk",
    "compiled, not kept": "compiled, and not kept on disk",
    "disk": "found on disk",
    "memory": "what another device of its kind had compiled",
}
MOST_DIFFERENCES = 6


def parts_of(text: str) -> dict[str, str]:
    """What a key is made of. Several things of one name stand in one line."""
    parts: dict[str, str] = {}
    for line in text.splitlines():
        what, _, value = line.partition("\t")
        parts[what] = f"{parts[what]}; {value}" if what in parts else value
    return parts


def differences(new: dict[str, str], old: dict[str, str]) -> list[str]:
    """In words, the most telling first: what a person changed before what follows from it."""
    found = []
    for what in [*new, *(name for name in old if name not in new)]:
        before, after = old.get(what), new.get(what)
        if before == after:
            continue
        if what.startswith("text of function"):
            was_there = before is not None and after is not None
            found.append(f"the {what} differs" if was_there else f"the {what} is new")
        elif before is None:
            found.append(f"{what} is {after}, and nothing before")
        elif after is None:
            found.append(f"{what} was {before}, and plays no part now")
        else:
            found.append(f"{what} was {before} and is {after}")
    return found


def nearest(new: dict[str, str], others: list[dict[str, str]]) -> list[str] | None:
    """How the most similar earlier compilation of the kernel differs; None: there is none."""
    of_kernel = [other for other in others if other.get("kernel") == new.get("kernel")]
    found = [differences(new, other) for other in of_kernel]
    return min(found, key=len, default=None)


def reason(new: dict[str, str], others: list[dict[str, str]]) -> str:
    found = nearest(new, others)
    if found is None:
        return "it was not compiled before"
    if not found:
        return "what differs shows in no text here: an object that was asked, or another module's"
    more = len(found) - MOST_DIFFERENCES
    return "; ".join(found[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else []))


def explain(kernel: Any) -> str:
    """A line for each signature that was compiled or found, and one for the reason."""
    events = kernel._events()
    if not events:
        return f"{kernel.__name__} was not launched yet: nothing is compiled"
    own = {event[5] for event in events}
    start = min(event[4] for event in events)
    disk = [
        parts_of(parts)
        for key, _, used, kind, parts in sorted(_gpujit._cache_entries(), key=lambda e: -e[2])
        if key not in own and used <= start and kind in ("ptx", "object")  # not of one of these
    ]
    lines, earlier = [], list[dict[str, str]]()
    for origin, signature, device, milliseconds, _, _, parts in events:
        what = ORIGINS[origin]
        lines.append(f"{kernel.__name__}({signature}) on {device}: {what}, {milliseconds:.1f} ms")
        new = parts_of(parts)
        if origin not in ("disk", "memory"):
            lines.append(f"    because {reason(new, earlier[::-1] + disk)}")
        if new:
            earlier.append(new)
    return "\n".join(lines)
