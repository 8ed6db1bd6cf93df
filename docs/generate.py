"""Fill the tables of the docs from the .def tables of the sources.

A page holds  <!-- table FILE MACRO column column ... -->  and  <!-- end -->; what stands between is
replaced by the rows of MACRO in FILE. Column names are those in the comment at the table's head.
A page may also hold  <!-- pairs MACRO operator ... -->,  which becomes the table of all pairs of
types (classes.py), and  <!-- single MACRO operator ... -->,  one of single types.
A region of  <!-- hardware -->  becomes a section per family of ir/intrin.def with rows of `gpu`.
A region of  <!-- mistakes FILE -->  becomes a table of the refused kernels of FILE.
With --check nothing is written, and a page that is out of step is an error.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from classes import Classes

TOP = Path(__file__).resolve().parents[1]
REGION = re.compile(r"(<!-- table (\S+) (\w+) ([\w ]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAIRS = re.compile(r"(<!-- (pairs|single) (\w+)([\w ]*) -->\n).*?(<!-- end -->)", re.DOTALL)
MISTAKES = re.compile(r"(<!-- mistakes (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
HARDWARE = re.compile(r"(<!-- hardware -->\n).*?(<!-- end -->)", re.DOTALL)
OLDEST = {"sm": 75, "ptx": 63}  # what every GPU that gpujit knows has
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|[(),]|[^"(),/]+|/', re.DOTALL)


def rows_of(text: str, macro: str) -> Iterator[list[str]]:
    """The arguments of each use of the macro at a line's start, strings without their quotes."""
    for use in re.finditer(rf"^{macro}\(", text, re.MULTILINE):
        depth, cells = 1, [""]
        for token in TOKEN.finditer(text, use.end()):
            piece = token[0]
            depth += (piece == "(") - (piece == ")")
            if depth == 0:
                break
            if piece == "," and depth == 1:
                cells.append("")
            elif piece[0] == '"':
                cells[-1] += re.sub(r"\\(.)", r"\1", piece[1:-1].replace(r"\n", " "))
            elif not piece.startswith("/*"):
                cells[-1] += piece if depth > 1 or piece.strip() else ""
        yield [cell.strip() for cell in cells]


def columns_of(text: str, macro: str) -> list[str]:
    head = re.search(rf"{macro}\(([a-z_,\s*]+)\)", text)
    if not head:
        raise SystemExit(f"the head comment does not show {macro}(column, ...)")
    return re.findall(r"\w+", head[1])


def table(file: str, macro: str, wanted: list[str]) -> str:
    text = (TOP / file).read_text()
    columns = columns_of(text, macro)
    lines = ["| " + " | ".join(wanted) + " |", "|" + "---|" * len(wanted)]
    for row in rows_of(text, macro):
        cells = [row[columns.index(column)].replace("|", "\\|") for column in wanted]
        # An asterisk, a pointed bracket or what looks like a link is text in a cell, not markup.
        lines.append(
            "| " + " | ".join(re.sub(r"([*<>]|\](?=\())", r"\\\1", cell) for cell in cells) + " |"
        )
    if len(lines) == 2:
        raise SystemExit(f"{file} has no rows of {macro}")
    return "\n".join(lines) + "\n"


def call_of(name: str, doc: str, least: int) -> tuple[str, str]:
    """How it is written and what it means: docs of functions begin with the call."""
    short = name.removeprefix("gpu.")
    call = re.match(rf"{re.escape(short)}\(.*?\)(?=[:, ])", doc)
    if call:
        return call[0], doc[call.end() :].lstrip(":, ")
    return (f"{short}({', '.join('xyz'[:least])})" if least else short), doc


def row_of(name: str, cells: list[str], code: str) -> str:
    """path, signature, meaning, lowest sm and PTX version, instruction."""
    _, _, _, least, _, _, nv, _, sm, ptx, doc = cells
    signature, meaning = call_of(name, doc, int(least))
    if not code and nv.startswith("llvm.nvvm.read.ptx.sreg."):
        code = "%" + nv.removeprefix("llvm.nvvm.read.ptx.sreg.")
    if "below sm_" in code:  # there by other means
        sm = ptx = "0"
    version = max(int(ptx), OLDEST["ptx"])
    shown = [
        name,
        signature,
        meaning,
        str(max(int(sm), OLDEST["sm"])),
        f"{version // 10}.{version % 10}",
    ]
    shown = [re.sub(r"([*<>|])", r"\\\1", cell) for cell in shown]
    return "| " + " | ".join([*shown, f"`{code}`" if code else ""]) + " |"


def hardware() -> str:
    """A section per comment of intrin.def at a line's start, where `gpu` has rows behind it."""
    text = (TOP / "ir/intrin.def").read_text()
    codes = {row[0]: row[2] for row in rows_of(text, "IR_CODE")}
    table_rows = {row[0]: row for row in rows_of(text, "IR_INTRIN")}
    parts = re.split(r"^/\* (.*?) \*/$", text, flags=re.MULTILINE)
    sections = []
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = []
        for macro in ("IR_INTEGER", "IR_ALIAS", "IR_INTRIN"):
            for row in rows_of(body, macro):
                if macro == "IR_INTEGER":
                    lines.append(
                        row_of(row[0], ["", "", "", "0", "", "", "", "", "0", "0", row[2]], "")
                    )
                elif macro == "IR_ALIAS" and row[0].startswith("gpu."):
                    lines.append(row_of(row[0], table_rows[row[1]], codes.get(row[1], "")))
                elif macro == "IR_INTRIN" and row[1].startswith("gpu.") and row[2] != "UNROLL":
                    lines.append(row_of(row[1], row, codes.get(row[0], "")))
        if lines:
            title, _, source = head.partition("; ")
            sections += [f"## {title}", "", f"{source}.", ""] if source else [f"## {title}", ""]
            sections += [
                "| name | signature | meaning | lowest sm | PTX | becomes |",
                "|---" * 6 + "|",
            ]
            sections += [*lines, ""]
    return "\n".join(sections)


def types_table(classes: Classes, how: str, macro: str, ops: tuple[str, ...]) -> str:
    if how == "pairs":
        return classes.matrix(macro, *(ops or ("",)))
    return classes.columns(macro, ops)


def mistakes(file: str) -> str:
    lines = ["| line of a kernel | message | hint |", "|---|---|---|"]
    hint = ""
    for line in (TOP / file).read_text().splitlines():
        if found := re.fullmatch(r"# hint: (.*)", line):
            hint = found[1]
        elif found := re.fullmatch(r" *(\S.*?)  # error: [A-Z_]+ (.*)", line):
            cells = [f"`{found[1]}`", found[2], hint]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    classes = Classes(rows_of)
    check = sys.argv[1:] == ["--check"]
    stale = 0
    for page in sorted((TOP / "docs").glob("*.md")):
        old = page.read_text()
        new = REGION.sub(lambda m: m[1] + table(m[2], m[3], m[4].split()) + m[5], old)
        new = MISTAKES.sub(lambda m: m[1] + mistakes(m[2]) + m[3], new)
        new = HARDWARE.sub(lambda m: m[1] + "\n" + hardware() + m[2], new)
        new = PAIRS.sub(
            lambda m: m[1] + types_table(classes, m[2], m[3], tuple(m[4].split())) + m[5], new
        )
        if new != old:
            print(f"docs/{page.name} is out of step: run docs/generate.py" if check else page.name)
            stale += 1
            if not check:
                page.write_text(new)
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
