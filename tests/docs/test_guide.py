"""The Python in docs/guide.md runs, block after block in one namespace, and its assertions hold."""

import pytest
from blocks import DOCS, blocks, broken_links, run

PAGES = sorted(page.name for page in DOCS.glob("*.md"))


@pytest.fixture(scope="module")
def namespace():
    return {"__name__": "guide"}


@pytest.mark.parametrize(("line", "heading", "text"), blocks("guide.md"), ids=lambda v: str(v)[:4])
def test_block(namespace, line, heading, text):
    run("guide.md", line, text, namespace)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []
