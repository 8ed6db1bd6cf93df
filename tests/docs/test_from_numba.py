"""The Python in docs/from-numba.md runs, block after block in one namespace, and its assertions
hold; the names that its tables say are taken are taken."""

import re
import warnings

import gpu
import pytest
from blocks import DOCS, blocks, run

PAGE = "from-numba.md"


@pytest.fixture(scope="module")
def namespace():
    return {"__name__": "from_numba"}


@pytest.mark.parametrize(("line", "heading", "text"), blocks(PAGE), ids=lambda v: str(v)[:4])
def test_block(namespace, line, heading, text):
    run(PAGE, line, text, namespace)
    gpu.synchronize()


def keywords(row):
    """The names in a row of the table of keywords."""
    table = (DOCS / PAGE).read_text().partition("## Keywords of jit")[2]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return re.findall(r"`(\w+)`", lines[row].split("|")[1])


VALUES = {"launch_bounds": 64, "max_registers": 32, "opt": 3, "func_or_sig": "float32[:]"}


@pytest.mark.parametrize("row", [0, 1])
def test_keywords_that_hold(row):
    for name in keywords(row):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gpu.jit(**{name: VALUES.get(name, True)})(lambda x: None)


def test_keywords_without_effect():
    assert len(keywords(2)) > 5
    for name in keywords(2):
        with pytest.warns(gpu.OptionWarning, match=name):
            gpu.jit(**{name: True})(lambda x: None)


def test_keyword_that_is_refused():
    assert keywords(3) == ["link"]
    with pytest.raises(gpu.ArgumentError, match="link"):
        gpu.jit(link=["a.cu"])(lambda x: None)
