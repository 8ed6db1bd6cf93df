"""The Python in docs/guide.md runs, block after block in one namespace, and its assertions hold."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def blocks() -> list[tuple[int, str]]:
    """Line and text of each block of Python."""
    text = GUIDE.read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in found]


@pytest.fixture(scope="module")
def namespace():
    return {"__name__": "guide"}


@pytest.mark.parametrize(("line", "text"), blocks(), ids=lambda value: str(value)[:4])
def test_block(namespace, line, text):
    exec(compile("\n" * (line - 1) + text, str(GUIDE), "exec"), namespace)


def test_links_lead_somewhere():
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)\)", prose)
    assert len(targets) > 10
    assert [t for t in targets if not (GUIDE.parent / t).exists()] == []
