"""Kernels that must be refused: each file beside this one holds some.

    # kernel(int, float32[:])
    def rank(n, x):
        x[n, 0] = 1  # error: RANK_MISMATCH 1-dimensional array is indexed with 2

The signature stands above the function, the expected error on the line that causes it: its code and
a part of its text. The whole text must show that line with a caret below. With `# hint: ...` below the
signature, the expected text is the whole message, and this is what it says to write instead.
"""

import functools
import importlib.util
import re
from pathlib import Path
from typing import Any

import gpu
import pytest

KERNEL = re.compile(
    r"^# kernel\((.*)\)\n(?:# hint: (.*)\n)?(?:@.*\n)*(?:async )?def (\w+)", re.MULTILINE
)
EXPECTED = re.compile(r"# error: ([A-Z_]+) (.+)$")


def cases() -> list[Any]:
    found = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name.startswith("test_"):
            continue
        text = path.read_text()
        lines = text.splitlines()
        starts = list(KERNEL.finditer(text))
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            first = text.count("\n", 0, start.start()) + 1
            last = text.count("\n", 0, following.start()) if following else len(lines)
            errors = [
                (number, *match.groups())
                for number in range(first, last + 1)
                if (match := EXPECTED.search(lines[number - 1]))
            ]
            assert len(errors) == 1, f"{path.name}: {start[3]} expects {len(errors)} errors"
            signature, hint, name = start.groups()
            found.append(pytest.param(path, name, signature, hint, errors[0], id=name))
    return found


@functools.cache
def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("path", "name", "signature", "hint", "expected"), cases())
def test_refused(
    path: Path, name: str, signature: str, hint: str | None, expected: tuple[int, str, str]
) -> None:
    line, code, text = expected
    kernel = gpu.jit(getattr(load(path), name))
    with pytest.raises(gpu.Error) as caught:
        kernel.ptx(signature, arch="sm_80")
    error = caught.value
    shown = str(error)
    assert (error.code, error.lineno, error.filename) == (code, line, str(path)), shown
    source = path.read_text().splitlines()[line - 1]
    assert text in shown.replace(source, "")
    if hint is not None:
        assert (shown.splitlines()[0], error.hint) == (text, hint)
        assert f"\n  Hint: {hint}" in shown
    where = shown.splitlines().index("    " + source)
    if error.offset is None:
        return  # the whole function is meant
    assert re.fullmatch(r"\s+\^~*", shown.splitlines()[where + 1]), shown
