"""Check that nothing of ours is a variable of the process: state hangs off the module.

The objects of every folder are read by nm: what lies in a writable section is listed below with its
reason, or a breach. (Tables of addresses are in .data.rel.ro, which is made read-only when the
library is loaded.) Two modules in one process, subinterpreters, threads without the GIL and forks
are safe for this reason.

python check_globals.py NM FILE_OR_FOLDER...
"""

import re
import subprocess
import sys
from pathlib import Path

# Name -> why it may be. A number behind a dot is the compiler's, for a static inside a function.
ALLOWED = {
    r"\w+_(spec|slots|methods|getset|members)(_\w+)?|module_def": (
        "CPython takes such tables as writable, and writes into them under the import lock at most"
    ),
    r"names": "keywords for PyArg_ParseTupleAndKeywords, which wants them writable and writes not",
    r"once": "pthread_once of LLVM's registry of targets, which is the process's too",
}
WRITABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)\S*")


def objects(paths: list[str]) -> list[str]:
    found = []
    for path in map(Path, paths):
        inside = (
            [file for file in path.iterdir() if file.suffix == ".o"] if path.is_dir() else [path]
        )
        found += map(str, inside)
    return sorted(found)


def main() -> int:
    nm, *paths = sys.argv[1:]
    files = objects(paths)
    if not files:
        print("no objects")
        return 1
    command = [nm, "--format=sysv", *files]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    breaches, kept, file = [], 0, files[0]
    for line in text.splitlines():
        if line.startswith("Symbols from "):
            file = line.removeprefix("Symbols from ").rstrip(":")
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 7 or not WRITABLE.match(fields[6]):
            continue
        name = re.sub(r"\.\d+$", "", fields[0])
        if any(re.fullmatch(pattern, name) for pattern in ALLOWED):
            kept += 1
        elif not name.startswith("."):  # a section's own symbol
            breaches.append(f"{Path(file).name}: {name} is writable, in {fields[6]}")
    print(*breaches, sep="\n", end="\n" if breaches else "")
    print(f"{len(files)} files: {len(breaches)} breaches, {kept} tables for CPython and the like")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
