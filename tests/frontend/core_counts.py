"""Every version's bytecode of a function becomes the same machine operations as 3.13's.

usage: core_counts.py CORE_TOOL FIXTURES_FOLDER

Jumps do not count: they lead to blocks that hold nothing else in one version or another. What no
kernel may do is an error, the same one in all versions. EXCEPTIONS says where a version differs and
why.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

VERSIONS = ("311", "312", "313", "314", "315")
REFERENCE = "313"

# Functions that take something else than their number of ints.
SIGNATURES = {
    "saxpy": "float32, float32[:], float32[:], float32[:], int",
    "loop_range": "float32[:], int", "forelse": "int64[:], int", "md": "float32[:, :], int, int, int",
    "augsub": "int32[:], int", "storeslice": "float32[:]", "constslice": "float32[:, :]",
    "slicing": "float32[:]", "iterfor": "float32[:]", "enum": "int32[:]", "lenx": "int32[:]",
    "tuplefor": "int", "retnone": "float32[:]", "emptyret": "int32[:]", "meth": "float32[:]",
    "minmax": "int, float", "unpack": "((int, int, float32),)", "starcall": "((int, int),)", "notin": "int, (int, int)",
    "k_reduce": "float32[:], float32[:], int",
    "k_matmul": "float32[:, ::1], float32[:, ::1], float32[:, ::1], int, int, int",
    "k_mandel": "int32[:, ::1], int, int, int", "k_stencil": "float32[:], float32[:], int",
    "k_hist": "float32[:], int32[:], int, float32, float32", "k_nestret": "float32[:, :], int, int",
    "k_kw": "float32[:], int", "k_boolval": "int64[:], int, int", "k_slice": "float32[:, :], int",
    "k_whileelse": "int64[:], int", "k_star": "float32[:], (int, int, int)", "k_in": "float32[:], int",
    "k_neg": "int64[:]", "k_big": "int64[:], int", "setattrs": "int, int", "k_augattr": "int, int",
    "k_struct": "float32[:], int", "k_closure": "float32[:], float32[:], int",
}  # fmt: skip

TWICE = "up to 3.13 a while loop's condition stands in the bytecode twice"
RETURNS = "3.12 and later copy a return into each branch"
EXCEPTIONS = {
    ("311", "k_closure"): RETURNS, ("311", "ternary"): RETURNS, ("311", "chain"): RETURNS, ("311", "matchx"): RETURNS,
    ("312", "k_stencil"): "3.12 copies the end of the function into both sides",
    ("314", "while_loop"): TWICE, ("315", "while_loop"): TWICE,
    ("314", "while_true"): TWICE, ("315", "while_true"): TWICE,
    ("314", "k_mandel"): TWICE, ("315", "k_mandel"): TWICE,
    ("314", "k_whileelse"): TWICE, ("315", "k_whileelse"): TWICE,
    ("314", "k_reduce"): TWICE, ("315", "k_reduce"): TWICE,
}  # fmt: skip


def signatures() -> dict[str, str]:
    """All functions of the fixtures; ints where nothing else is said."""
    text = (Path(__file__).parent / "fixtures" / "functions.txt").read_text()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = SIGNATURES.get(node.name, ", ".join("int" for _ in node.args.args))
    return found


def counts(tool: str, file: Path, wanted: dict[str, str]) -> dict[str, str]:
    command = [tool, str(file)]
    for name, signature in wanted.items():
        command += [name, signature]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"{file.name}: status {done.returncode} {done.stderr}")
    lines = (line.split(":", 1) for line in done.stdout.splitlines())
    return {name: re.sub(r" jump=\d+", "", text) for name, text in lines}


def main() -> int:
    tool, folder = sys.argv[1:3]
    wanted = signatures()
    all_counts = {v: counts(tool, Path(folder) / f"py{v}.txt", wanted) for v in VERSIONS}
    reference = all_counts[REFERENCE]
    bad = 0
    for version, found in all_counts.items():
        for name, text in found.items():
            differs = text != reference[name]
            if differs == ((version, name) in EXCEPTIONS):
                continue
            bad += 1
            what = (
                f"{text}\n  {REFERENCE}:{reference[name]}" if differs else " no exception any more"
            )
            print(f"{name}, {version}:{what}")
    refused = [name for name, text in reference.items() if text.startswith(" error")]
    print(f"{len(wanted) - len(refused)} functions, and {len(refused)} errors: {' '.join(refused)}")
    if "-v" in sys.argv:
        for name in refused:
            print(name, reference[name])
    return 1 if bad else 0


sys.exit(main())
