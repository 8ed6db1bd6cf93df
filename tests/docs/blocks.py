"""The blocks of Python in a page of docs/."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str) -> list[tuple[int, str, str]]:
    """Of each block its line, the heading above it and its text."""
    text = (DOCS / page).read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    listed = []
    for match in found:
        above = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)
        listed.append((text.count("\n", 0, match.start(1)) + 1, above[-1], match[1]))
    return listed


def run(page: str, line: int, text: str, namespace: dict) -> None:
    """Runs it with the line numbers of the page."""
    exec(compile("\n" * (line - 1) + text, str(DOCS / page), "exec"), namespace)


def broken_links(page: str) -> list[str]:
    """Links, outside of code, that lead to no file; and anchors that are no heading there."""
    path = DOCS / page
    prose = re.sub(
        r"^```.*?^```|(`+)[^\n]+?\1|\\\]", "", path.read_text(), flags=re.MULTILINE | re.DOTALL
    )
    broken = []
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if "://" in target or (file.exists() and (not anchor or anchor in anchors(file))):
            continue
        broken.append(target)
    return broken


def anchors(file: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
