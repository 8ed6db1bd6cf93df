"""Check pyver.def against opcode numbers of CPython versions.

usage: pythonX.Y check_opmap.py PYVER_DEF [OPCODES_JSON]

Without OPCODES_JSON: the interpreter that runs this, and its magic number; with it: every version
of the fixtures. Every opcode that a function can contain has exactly one row for the version, and
every row for the version names an opcode that exists.
"""

import importlib.util
import json
import opcode
import re
import sys
from pathlib import Path

# Numbers that co_code never holds: made by the interpreter while it runs, or by its own frames.
INTERNAL = re.compile(
    r"INSTRUMENTED_|(INTERPRETER_EXIT|ENTER_EXECUTOR|RESERVED|EXIT_INIT_CHECK|TRACE_RECORD)$"
)
LARGEST = 255  # pseudo opcodes are above, and gone before code is assembled


def check(text: str, minor: int, opmap: dict[str, int]) -> list[str]:
    rows: dict[str, int] = {}
    for name, since, until in re.findall(r"^FE_PYVER\((\w+), (\d+), (\d+),", text, re.MULTILINE):
        if int(since) <= minor <= int(until):
            rows[name] = rows.get(name, 0) + 1
    real = {
        name for name, number in opmap.items() if number <= LARGEST and not INTERNAL.match(name)
    }
    bad = [f"3.{minor}: no row for {name}" for name in sorted(real - rows.keys())]
    bad += [f"3.{minor}: no opcode for the row {name}" for name in sorted(rows.keys() - real)]
    bad += [f"3.{minor}: {count} rows for {name}" for name, count in rows.items() if count > 1]
    print(f"Python 3.{minor}: {len(rows)} opcodes")
    return bad


def main() -> int:
    text = Path(sys.argv[1]).read_text()
    bad: list[str] = []
    if len(sys.argv) > 2:
        for version, table in json.loads(Path(sys.argv[2]).read_text()).items():
            bad += check(text, int(version[1:]), table["opmap"])
    else:
        minor = sys.version_info.minor
        bad += check(text, minor, opcode.opmap)
        magics = dict(re.findall(r"^FE_PYTHON\((\d+), (\d+)\)", text, re.MULTILINE))
        magic = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
        if int(magics.get(str(minor), 0)) != magic:
            bad.append(f"magic {magic}, the table says {magics.get(str(minor))}")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
