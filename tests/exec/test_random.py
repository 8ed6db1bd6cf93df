"""Random expressions and programs, on the device and by the oracle. HYPOTHESIS_PROFILE=many for more."""

import ast
import itertools
import random
from collections.abc import Sequence

import gpu
import kit
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import TYPES, NoResult, Num, is_float
from program import Program
from test_operators import fetch, probe, store

DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")
BINARY = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
)
CASTS = ("bool", "int", "float", *(f"gpu.{t}" for t in TYPES[2:] if t != "float"))
ROWS = 12

EDGES = (
    0,
    1,
    2,
    3,
    7,
    -1,
    -2,
    100,
    127,
    128,
    255,
    -128,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53 + 1,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 3.75, 1e10, -1e20, 1e-40, float("inf"), float("nan"))


def values_of(dtype: str) -> st.SearchStrategy:
    """Elements of an array: edge values mostly."""
    if dtype == "bool":
        return st.booleans()
    if is_float(dtype):
        width = 32 if dtype == "float32" else 64
        return st.sampled_from(FLOATS) | st.floats(-1000, 1000, width=width)
    info = np.iinfo(dtype)
    inside = [v for v in EDGES if info.min <= v <= info.max] + [int(info.max), int(info.min)]
    return st.sampled_from(inside) | st.integers(int(info.min), int(info.max))


class Writer:
    """Draws the text of a kernel. Every condition and every literal's partner depends on an input, so
    that nothing is decided before the run."""

    def __init__(self, draw, arrays: list[str]):
        self.draw = draw
        self.arrays = arrays
        self.counter = itertools.count()
        self.functions: list[str] = []

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def leaf(self, names: list[str]) -> str:
        return self.pick(*(f"{a}[i]" for a in self.arrays), *names)

    def function(self, name: str) -> list[str]:
        """A function of two numbers that returns in two places. It knows no arrays."""
        arrays, self.arrays = self.arrays, []
        lines = [f"def {name}(p, q):"]
        if self.pick(True, False):
            lines.append(f"    q = {self.expression(['p', 'q'], 1)}")
        lines += [f"    if p {self.pick('<', '>=', '!=')} {self.pick('q', 'p * q', '3')}:",
                  f"        return {self.expression(['p', 'q'], self.pick(0, 1, 2))}",
                  f"    return {self.expression(['p', 'q'], self.pick(0, 1))}"]  # fmt: skip
        self.arrays = arrays
        return lines

    def literal(self) -> str:
        return self.pick("0", "1", "2", "3", "5", "7", "0.5", "1.5", "2.0", "0.1", "True")

    def expression(self, names: list[str], depth: int) -> str:
        if depth == 0:
            return self.leaf(names)

        def inner() -> str:
            return self.expression(names, depth - self.pick(1, 1, 2) if depth > 1 else 0)

        match self.pick("binary", "binary", "binary", "literal", "literal", "unary", "cast", "minmax", "if", "bool",
                        "chain", "round", "call"):  # fmt: skip
            case "binary":
                return f"({inner()} {self.pick(*BINARY)} {inner()})"
            case "literal":
                pair = [inner(), self.literal()]
                if self.pick(True, False):
                    pair.reverse()
                return f"({pair[0]} {self.pick(*BINARY)} {pair[1]})"
            case "unary":
                return f"({self.pick('-', '+', '~', 'not ')}{inner()})"
            case "cast":
                return f"{self.pick(*CASTS)}({inner()})"
            case "minmax":
                return f"{self.pick('min', 'max')}({inner()}, {inner()})"
            case "if":
                return f"({inner()} if {self.condition(names)} else {inner()})"
            case "call" if self.functions and self.arrays:
                return f"{self.pick(*self.functions)}({inner()}, {inner()})"
            case "bool" | "call":
                return f"({inner()} {self.pick('and', 'or')} {inner()})"
            case "chain":
                return f"({inner()} {self.pick('<', '<=', '==')} {inner()} {self.pick('<', '!=')} {inner()})"
            case "round":
                return f"{self.pick('abs', 'round', 'math.floor', 'math.ceil')}({inner()})"

    def condition(self, names: list[str]) -> str:
        left = self.pick(*(f"{a}[i]" for a in self.arrays or ["p"])).replace("p[i]", "p")
        return f"{left} {self.pick('<', '>', '==', '!=', '<=')} {self.expression(names, self.pick(0, 1))}"

    def statements(self, names: list[str], depth: int, loop: bool, indent: str) -> list[str]:
        """Assigns only to names that exist, so that every name has a value everywhere."""
        lines = []
        for _ in range(self.pick(1, 2, 3)):
            kind = self.pick("assign", "assign", "augment", "if", "for", "while", "store", "leave")
            name = self.pick(*names)
            if kind == "assign" or depth == 0 or (kind == "leave" and not loop):
                lines.append(f"{indent}{name} = {self.expression(names, self.pick(1, 2))}")
            elif kind == "augment":
                lines.append(
                    f"{indent}{name} {self.pick('+', '-', '*', '//', '%')}= {self.expression(names, 1)}"
                )
            elif kind == "store":
                lines.append(f"{indent}z[i] {self.pick('', '+', '*')}= {self.expression(names, 1)}")
            elif kind == "leave":
                lines += [
                    f"{indent}if {self.condition(names)}:",
                    f"{indent}    {self.pick('break', 'continue')}",
                ]
            else:
                lines += self.compound(kind, names, depth - 1, loop, indent)
        return lines

    def compound(
        self, kind: str, names: list[str], depth: int, loop: bool, indent: str
    ) -> list[str]:
        more = indent + "    "
        if kind == "if":
            lines = [
                f"{indent}if {self.condition(names)}:",
                *self.statements(names, depth, loop, more),
            ]
            if self.pick(True, False):
                lines += [f"{indent}else:", *self.statements(names, depth, loop, more)]
            return lines
        k = f"k{next(self.counter)}"
        if kind == "for":
            bounds = self.pick("n[0]", "n[1], n[0]", "n[0], n[1], -1", "n[1], n[0], n[2]")
            return [
                f"{indent}for {k} in range({bounds}):",
                *self.statements([*names, k], depth, True, more),
            ]
        return [f"{indent}{k} = n[1]", f"{indent}while {k} < n[0]:", f"{more}{k} += 1",
                *self.statements(names, depth, True, more)]  # fmt: skip


@st.composite
def problems(draw, whole_programs: bool):
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=2, max_size=3))
    arrays = {f"x{k}": dtype for k, dtype in enumerate(dtypes)}
    writer = Writer(draw, list(arrays))
    z = draw(st.sampled_from(DTYPES))
    lines, functions = [], []
    if whole_programs and draw(st.booleans()):
        functions = [*writer.function("f0"), *writer.function("f1")]
        writer.functions = ["f0", "f1"]
    if whole_programs:
        names = ["a", "b", "c"]
        lines += [f"    {name} = {writer.leaf([])}" for name in names]
        if not functions and draw(st.booleans()):
            # Two values: one alone would be a constant, which decides branches before the run.
            one, other = writer.pick(("0", "1"), ("0.5", "2.0"), ("True", "False"), ("3", "0.1"))
            lines[-1] = f"    c = {one} if {writer.condition([])} else {other}"
        lines += writer.statements(names, 2, False, "    ")
        results = names
    else:
        results = [writer.expression([], draw(st.integers(1, 3)))]
    lines += [f"    out[{k}] = {text}" for k, text in enumerate(results)]
    data = {
        a: draw(st.lists(values_of(t), min_size=ROWS, max_size=ROWS)) for a, t in arrays.items()
    }
    return arrays, z, lines, len(results), data, functions


def compare(
    arrays: dict[str, str],
    z: str,
    lines: list[str],
    n_results: int,
    data: dict[str, list],
    functions: Sequence[str] = (),
    contract: bool = False,
) -> None:
    helpers = "".join(line + "\n" for line in functions)
    source = helpers + "def program():\n" + "\n".join(lines) + "\n"
    dtypes = {**arrays, "z": z, "n": "int32"}
    kinds = []
    try:
        program = Program(
            source.replace("out[", "o["), {**dtypes, "o": "float64"}, {"i": "int"}, contract
        )
        kinds = result_kinds(program, n_results)
    except NoResult:
        assume(False)
    n = [4, 1, 2]
    text = (
        helpers
        + f"def kernel({', '.join(arrays)}, z, n, s, u, f):\n    i = gpu.grid(1)\n    if i >= z.size:\n        return\n"
    )
    for line in lines[:-n_results]:
        text += line + "\n"
    for k, line in enumerate(lines[-n_results:]):
        value = line.split(" = ", 1)[1]
        text += "\n".join(store(kinds[k], 2 * k, value)) + "\n"
    outs = {
        a: np.zeros((2 * n_results, ROWS), t)
        for a, t in (("s", "int64"), ("u", "uint64"), ("f", "float64"))
    }
    inputs = [np.array(data[a], t) for a, t in arrays.items()]
    stored = np.zeros(ROWS, z)
    try:
        kit.launch(
            kit.kernel(text, fma=contract),
            ROWS,
            *inputs,
            stored,
            np.array(n, "int32"),
            *outs.values(),
        )
    except gpu.TypingError as error:
        # A constant that the oracle's types allow, but no bit pattern of its partner holds.
        assume(error.code != "CONSTANT_TOO_LARGE")
        raise
    for i in range(ROWS):
        lists = {a: x.tolist() for a, x in zip(arrays, inputs, strict=True)}
        lists |= {"z": np.zeros(ROWS, z).tolist(), "n": n, "o": [0] * n_results}
        run_row(program, lists, i, n_results)
        for k, kind in enumerate(kinds):
            got, probed = fetch(kind, *outs.values())[2 * k : 2 * k + 2, i]
            expected = program.results[k]
            what = f"row {i}, result {k}"
            assert kit.same(got, expected), f"{what}: {got!r}, expected {expected} in\n{text}"
            shown = probe(expected)
            assert kit.same(probed, shown), f"type of {what}: {probed!r}, not {shown} in\n{text}"
        assert kit.same(stored[i], Num(z, lists["z"][i])), (
            f"z[{i}]: {stored[i]!r}, expected {lists['z'][i]!r} in\n{text}"
        )


def result_kinds(program: Program, n_results: int) -> list[str]:
    """The types of the last statements' values."""
    env = program.typing.block(program.body[:-n_results], {"i": "int"}, None)
    return [program.typing.expression(s.value, env) for s in program.body[-n_results:]]


def run_row(program: Program, lists: dict, i: int, n_results: int) -> None:
    program.arrays = lists
    program.env = {"i": Num("int", i)}
    program.block(program.body[:-n_results])
    program.results = [
        program.expression(s.value) for s in program.body[-n_results:] if isinstance(s, ast.Assign)
    ]


@given(problems(False))
def test_expressions(problem):
    compare(*problem)


def sum_of_products(rng: random.Random, depth: int) -> str:
    """An expression of + - * over float32, float64, int and weak numbers."""
    leaves = ["x0[i]", "x0[i]", "x1[i]", "x2[i]", "float(x1[i])", "0.1", "3"]
    if depth == 0:
        return rng.choice(leaves)
    left, right = (sum_of_products(rng, rng.randrange(depth)) for _ in range(2))
    if "[i]" not in left + right:
        left = "x0[i]"  # what is constant is no product
    return f"({left} {rng.choice('+-**')} {right})"


@pytest.mark.parametrize("seed", range(12))
def test_contraction(seed):
    """With fma, whose rule looks at the program alone. Full mantissas: one rounding is not two."""
    rng = random.Random(seed)
    texts = [f"x0[i] * x1[i] + {sum_of_products(rng, 1)}"]
    texts += [sum_of_products(rng, rng.choice((2, 3, 4))) for _ in range(12)]
    arrays = {"x0": "float32", "x1": "float64", "x2": "int32"}
    numbers = np.random.default_rng(seed)
    data = {a: (numbers.standard_normal(ROWS) * 9).astype(t).tolist() for a, t in arrays.items()}
    lines = [f"    out[{k}] = {text}" for k, text in enumerate(texts)]
    compare(arrays, "float32", lines, len(texts), data, contract=True)


@given(problems(True))
def test_programs(problem):
    compare(*problem)


SAVED = [
    # A loop that carries a weak and a typed float, left by break and continue.
    ({"x0": "float32", "x1": "int32"}, "float32", ["    a = x1[i]", "    b = 0.5", "    for k0 in range(n[0]):",
     "        a = a * b", "        if x1[i] > k0:", "            continue", "        b = x0[i]",
     "        if x0[i] < a:", "            break", "    out[0] = a", "    out[1] = b"], 2),
]  # fmt: skip


@pytest.mark.parametrize("case", SAVED, ids=range(len(SAVED)))
def test_saved_programs(case):
    arrays, z, lines, n_results = case
    data = {a: [(k * 7 % 5) - 2 for k in range(ROWS)] for a in arrays}
    compare(arrays, z, lines, n_results, data)
