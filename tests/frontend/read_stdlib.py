"""Read every function of the standard library: no crash, verified modules, known kinds of errors.

usage: read_stdlib.py FOLDER_OF_fe_reader [SECONDS]

Source files are compiled, not imported; each code object gets a function with an empty namespace,
so that globals are unknown. Generators, coroutines and parameters with a star are refused; nothing
else is.
"""

import collections
import pathlib
import sys
import sysconfig
import time
import types
import warnings
from collections.abc import Iterator


def functions(code: types.CodeType) -> Iterator[types.FunctionType]:
    for const in code.co_consts:
        if not isinstance(const, types.CodeType):
            continue
        yield from functions(const)
        if const.co_flags & 1:  # CO_OPTIMIZED: a function, no class body
            cells = tuple(types.CellType(number) for number in range(len(const.co_freevars)))
            yield types.FunctionType(const, {"__builtins__": __builtins__}, closure=cells)


def main() -> int:
    sys.path.insert(0, sys.argv[1])
    import fe_reader  # noqa: PLC0415

    end = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else None
    seen: collections.Counter[str] = collections.Counter()
    bad = 0
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts or (end and time.monotonic() > end):
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for function in functions(code):
            try:
                fe_reader.read(function)
                seen["read"] += 1
            except RuntimeError as error:
                text = str(error)
                kind = "refused" if "cannot be used in a kernel" in text.splitlines()[0] else "bad"
                seen[kind] += 1
                if kind == "bad":
                    bad += 1
                    print(f"{path}: {function.__qualname__}: {text}")
    print(f"Python {sys.version.split()[0]}: {dict(seen)}")
    return 1 if bad or not seen["read"] else 0


sys.exit(main())
