"""Check what the tree promises about itself; each check is one argument.

includes: every folder includes only what its row allows (docs/architecture.md draws the borders).
headers: every header compiles alone, as C11 with all warnings.
sizes: no source above 800 lines, half of the .c files below 300, every .c opens with a paragraph
    and has at most 100 columns, snippets in comments aside.
errors: every code of support/errors.def and warnings.def is named by a test that raises it.
environment: every variable of the environment that is read stands in docs/reference.md.

Prints each breach as `file:line: reason` and exits 1 if there was one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

TOP = Path(__file__).resolve().parents[2]
FOLDERS = ["support", "ir", "frontend", "codegen", "runtime", "pymod"]

# Patterns of what a folder may include, beside its own files, support/ and libc.
IR_PUBLIC = r"ir/(ir\.h|\w+\.def)"
ALLOWED = {
    "support": [],
    "ir": [],
    "frontend": [IR_PUBLIC],
    "codegen": [IR_PUBLIC, r"llvm-c/.*"],
    "runtime": [],
    "pymod": [
        IR_PUBLIC,
        r"frontend/fe\.h",
        r"codegen/(cg\.h|\w+\.def)",
        r"runtime/(rt\.h|disk\.h|\w+\.def)",
        r"Python\.h",
        r"structmember\.h",
    ],
}
# Single files that may include more than their folder.
ALLOWED_FILES = {
    r"frontend/(snapshot|resolve_py\w*)\.[ch]": [r"Python\.h"],
    r"runtime/cpu_\w+\.c": [r"llvm-c/(Core|Error|LLJIT|Orc|OrcEE|Target|TargetMachine)\.h"],
}
# Angle brackets are for libc and these; anything that is in no libc must be listed above.
FOREIGN = re.compile(r"(Python|structmember|cuda\w*|nv\w+|numpy/.*|llvm/.*|llvm-c/.*)(\.h)?")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')

LARGEST_LINES = 800
LARGEST_COLUMNS = 100
SNIPPET = re.compile(r" *\*  +\S")
MEDIAN_LINES = 300


def sources(*suffixes: str, folders: list[str] = FOLDERS) -> list[Path]:
    return sorted(
        path for folder in folders for path in (TOP / folder).rglob("*") if path.suffix in suffixes
    )


def check_includes() -> Iterator[str]:
    for path in sources(".c", ".h", ".def"):
        name = path.relative_to(TOP).as_posix()
        folder = name.split("/")[0]
        allowed = [rf"{folder}/.*", r"support/.*", *ALLOWED[folder]]
        for pattern, more in ALLOWED_FILES.items():
            if re.fullmatch(pattern, name):
                allowed += more
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not (found := INCLUDE.match(line)):
                continue
            bracket, target = found.groups()
            libc = bracket == "<" and not FOREIGN.fullmatch(target)
            if not libc and not any(re.fullmatch(pattern, target) for pattern in allowed):
                yield f"{name}:{number}: {folder}/ may not include {target}"
            if bracket == '"' and not (TOP / target).is_file():
                yield f"{name}:{number}: no file {target} below the top of the tree"


def compile_alone(name: str, compiler: list[str]) -> str | None:
    text = f'#include "{name}"\n#include "{name}"\n'
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{TOP}"]
    command = [*compiler, *flags, "-fsyntax-only", "-xc", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{name}:1: does not compile alone\n{done.stderr}"


def check_headers(compiler: list[str]) -> Iterator[str]:
    names = [path.relative_to(TOP).as_posix() for path in sources(".h")]
    if not names:
        yield "no headers found"
    with ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(lambda name: compile_alone(name, compiler), names))


def check_sizes() -> Iterator[str]:
    lines_of_c = []
    for path in sources(".c", ".h", folders=[*FOLDERS, "tests"]):
        name = path.relative_to(TOP).as_posix()
        text = path.read_text()
        lines = text.count("\n")
        if lines > LARGEST_LINES:
            yield f"{name}:{lines}: more than {LARGEST_LINES} lines: this file has two jobs"
        if path.suffix == ".c":
            if not name.startswith("tests/"):
                lines_of_c.append(lines)
            for number, line in enumerate(text.splitlines(), 1):
                if len(line) > LARGEST_COLUMNS and not SNIPPET.match(line):
                    yield f"{name}:{number}: {len(line)} columns, more than {LARGEST_COLUMNS}"
            if not text.startswith("/*"):
                yield f"{name}:1: opens without a paragraph that says what it does"
    if median(lines_of_c) > MEDIAN_LINES:
        yield f"the median .c file has {median(lines_of_c)} lines, more than {MEDIAN_LINES}"


def check_errors() -> Iterator[str]:
    codes = [
        (file, code)
        for file in ("support/errors.def", "support/warnings.def")
        for code in re.findall(r"^SP_(?:ERROR|WARNING)\((\w+)", (TOP / file).read_text(), re.M)
    ]
    tests = "".join(
        path.read_text()
        for path in (TOP / "tests").rglob("*")
        if path.suffix in {".c", ".py", ".ir"} and path.name != Path(__file__).name
    )
    named = {re.sub("^SP_[EW]_", "", word) for word in re.findall(r"\w+", tests)}
    for file, code in codes:
        if code not in named:
            yield f"{file}:1: no test names {code}"


def check_environment() -> Iterator[str]:
    reference = (TOP / "docs/reference.md").read_text()
    for path in sources(".c", ".def", ".py"):
        for variable in sorted(set(re.findall(r'"(GPUJIT_[A-Z_]+)"', path.read_text()))):
            if not re.search(rf"\| {variable} \|", reference):
                yield f"{path.relative_to(TOP).as_posix()}:1: docs/reference.md has no {variable}"


def main() -> int:
    what, *compiler = sys.argv[1:]
    checks = {
        "includes": check_includes,
        "headers": lambda: check_headers(compiler),
        "sizes": check_sizes,
        "errors": check_errors,
        "environment": check_environment,
    }
    breaches = list(checks[what]())
    print(*breaches, sep="\n", end="\n" if breaches else "")
    print(f"{what}: {len(breaches)} breaches")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
