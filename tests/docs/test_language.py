"""Every test that docs/language.md names is there, and the page names each line once."""

import ast
import sys

import pytest
from blocks import DOCS

sys.path.insert(0, str(DOCS))
from generate import rows_of

ROWS = list(rows_of((DOCS / "language.def").read_text(), "LANGUAGE"))
EXEC = DOCS.parent / "tests" / "exec"


def test_there_are_rows():
    assert len(ROWS) > 30
    lines = [line for _, line, _ in ROWS]
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(("part", "line", "tests"), ROWS, ids=lambda v: v[:20])
def test_named_tests_exist(part, line, tests):
    for name in tests.split(", "):
        file, _, function = name.partition("::")
        body = ast.parse((EXEC / file).read_text()).body
        functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert not function or function in functions, name
        assert any(n.startswith("test_") for n in functions), name
