"""Turn the fixtures (functions compiled by five CPython versions, as JSON) into what C tests read.

usage: fixtures.py text VERSION      one version, in the format of frontend/fixture.c
       fixtures.py opmaps            opcode numbers of all versions, as rows for a C file
       fixtures.py list              names of the seeds
       fixtures.py seeds FOLDER      one file per seed, for the fuzz target

VERSION is 311 to 315. Jump targets are computed here from tables of inline-cache sizes, which the
decoder does without: the two must agree.
"""

import ast
import itertools
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures"
OPCODES = json.loads((FOLDER / "opcodes.json").read_text())
CALLEE = "fixture_callee"

Json = dict[str, Any]


def load(version: str) -> dict[str, Json]:
    return json.loads((FOLDER / f"fixtures_py{version}.json").read_text())["functions"]


def const(value: Json) -> str:
    """One constant in prefix notation."""
    ((kind, data),) = value.items()
    match kind:
        case "int" | "NoneType" | "bool" | "ellipsis":
            return f"{kind} {data}" if kind in {"int", "bool"} else kind
        case "float":
            return f"float {float(data).hex()}"
        case "str":
            return f"str x{ast.literal_eval(data).encode().hex()}"
        case "tuple" | "frozenset":
            return " ".join([f"tuple {len(data)}", *map(const, data)])
        case "slice":
            return " ".join(["slice", *map(const, data)])
        case "code":
            return f"code {data['name']}"
        case _:
            return f"object {kind}"


def targets(function: Json, version: str) -> dict[int, int]:
    """Jump targets by the offset of the jumping opcode."""
    code = bytes.fromhex(function["code"])
    names = {number: name for name, number in OPCODES[version]["opmap"].items() if number < 256}
    caches = OPCODES[version]["caches"]
    found: dict[int, int] = {}
    at = extended = 0
    while at < len(code):
        name, arg = names[code[at]], code[at + 1] | extended
        if name == "EXTENDED_ARG":
            extended = arg << 8
            at += 2
            continue
        after = at + 2 + 2 * caches.get(name, 0)
        if "JUMP" in name or name == "FOR_ITER":
            found[at] = after - 2 * arg if "BACKWARD" in name else after + 2 * arg
        extended = 0
        at = after
    return found


def check_targets(function: Json, found: dict[int, int]) -> None:
    """`dis` of 3.11 and 3.12 prints targets: ours are the same."""
    for offset, _, _, text in function["dis"]:
        if offset in found and (match := re.fullmatch(r"to (\d+)", text)):
            assert found[offset] == int(match[1]), (function["name"], offset)


def nested(function: Json) -> Iterator[Json]:
    """The code objects among the constants, in the order in which const() meets them."""
    for value in function["consts"]:
        if "code" in value:
            yield value["code"]


def function_lines(name: str, function: Json, version: str) -> Iterator[str]:
    inner = [f"{name}.<locals>.{data['name']}.{i}" for i, data in enumerate(nested(function))]
    yield from own_lines(name, function, version, iter(inner))
    for inner_name, data in zip(inner, nested(function), strict=True):
        yield from function_lines(inner_name, data, version)


def own_lines(name: str, function: Json, version: str, inner: Iterator[str]) -> Iterator[str]:
    yield f"function {name}"
    counts = [
        function[key]
        for key in ("argcount", "posonly", "kwonly", "flags", "stacksize", "firstlineno")
    ]
    yield "counts " + " ".join(map(str, counts))
    plain, cells, free = (function[key] for key in ("varnames", "cellvars", "freevars"))
    for local in function["localsplus"]:
        kind = "free" if local in free else "cell" if local in cells else "plain"
        yield f"local {kind} {local}"
    assert len(function["localsplus"]) == len(set(plain) | set(cells) | set(free))
    for text in function["names"]:
        yield f"name {text}"
    for value in function["consts"]:
        yield f"const {const(value)}" + (f" {next(inner)}" if "code" in value else "")
    yield f"code {function['code']}"
    if function["exceptiontable"]:
        yield f"exceptions {function['exceptiontable']}"
    for position, group in itertools.groupby(function["positions"]):
        line, end_line, col, end_col = (-1 if part is None else part for part in position)
        yield f"position {len(list(group))} {max(line, 0)} {max(end_line, 0)} {col} {end_col}"
    yield f"table {function['linetable']}"
    found = targets(function, version)
    check_targets(function, found)
    for offset, opcode, arg, _ in function["dis"]:
        if opcode not in {"EXTENDED_ARG", "CACHE"}:
            yield f"expect {offset} {opcode} {-1 if arg is None else arg} {found.get(offset, -1)}"
    yield "end"


def text(version: str) -> Iterator[str]:
    yield f"python {version[1:]}"
    for name, number in OPCODES[version]["opmap"].items():
        if number < 256:
            yield f"op {name} {number}"
    functions = load(version)
    for name, function in functions.items():
        yield from function_lines(name, function, version)
    yield from function_lines(CALLEE, functions["minmax"], version)
    yield from (FOLDER / "names.txt").read_text().splitlines()


def seed(function: Json, version: str) -> bytes:
    """What fuzz_read.c reads: a head of counts, the exception table, the code."""
    code = bytes.fromhex(function["code"])
    exceptions = bytes.fromhex(function["exceptiontable"])
    head = struct.pack(
        "<9BH",
        int(version[1:]),
        function["argcount"],
        function["kwonly"],
        function["flags"] & 255,
        function["stacksize"],
        len(function["localsplus"]),
        len(function["cellvars"]) * 16 + len(function["freevars"]),
        len(function["names"]),
        len(function["consts"]),
        len(exceptions),
    )
    return head + exceptions + code


def seeds() -> Iterator[tuple[str, bytes]]:
    """The kernels, and what they must not use."""
    for version in OPCODES:
        for name, function in load(version).items():
            if name.startswith("k_") or name in {
                "tryx",
                "withx",
                "listc",
                "lam",
                "andval",
                "forelse",
            }:
                yield f"{name}_{version}.seed", seed(function, version)


def main() -> None:
    match sys.argv[1:]:
        case ["text", version]:
            print("\n".join(text(version)))
        case ["opmaps"]:
            for version, table in OPCODES.items():
                for name, number in table["opmap"].items():
                    if number < 256:
                        print(f'OPCODE({version[1:]}, "{name}", {number})')
        case ["list"]:
            print("\n".join(name for name, _ in seeds()))
        case ["seeds", folder]:
            for name, data in seeds():
                (Path(folder) / name).write_bytes(data)
        case _:
            sys.exit(__doc__)


main()
