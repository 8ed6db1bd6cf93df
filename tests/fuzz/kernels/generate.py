"""Random kernels that have a meaning.

A case is a text (functions and `kernel`), the arrays it is launched with, and what it stores: every
variable at the end, as a value and as probes that show its type. Kernels use all scalar types,
arrays of one and two dimensions, loops over ranges, arrays, tuples, enumerate and zip, branches,
functions that return early and return tuples, tuples and their elements.

Every condition depends on an element of an array, so nothing is decided before the run; every index
is inside. Only expressions that are equal bit for bit everywhere are written: no math functions, no
float powers beyond constant exponents.
"""

import random
import re
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from .explicit import type_of
from .types import INTS, SCALARS, TYPED_FLOATS, Array, Function, NoType, Type, is_float

ROWS = 6
COLUMNS = 3
DTYPES = ("bool", *INTS, *TYPED_FLOATS, *TYPED_FLOATS)
CASTS = ("bool", "int", "float")
# Expressions: <e> is one of them, the other words are below or methods.
TEMPLATES = (
    *3 * ("(<e> <binary> <e>)",),
    "(<e> <binary> <literal>)",
    "(<literal> <binary> <e>)",
    "(<unary><e>)",
    "<cast>(<e>)",
    "<choose>(<e>, <e>)",
    "(<e> if <condition> else <e>)",
    "(<moving> <logic> <e>)",
    "(<e> <compare> <e> <compare> <e>)",
    "<round>(<e>)",
    "math.<test>(<e>)",
    "(<e> ** <exponent>)",
    *2 * ("(<e> * <e> <sum> <e>)",),
    "(<e> <sum> <e> * <e>)",
    "(<e> * <e> <sum> <e> * <e>)",
    "<call>",
    "<lambda>",
)
# Views of a row of COLUMNS or of a vector of ROWS elements, and how many they surely have.
ROW_VIEWS = (
    ("[i]", 3),
    ("[:, 1]", 6),
    ("[i, ::-1]", 3),
    ("[1:, j]", 5),
    ("[-1]", 3),
    ("[j][1:]", 2),
)
VECTOR_VIEWS = (
    ("[1:4]", 3),
    ("[::-1]", 6),
    ("[::2]", 3),
    ("[j:]", 4),
    ("[-1:-4:-1]", 3),
    ("[:n[0]]", 4),
)
STATEMENTS = ("view", "lambda", "star", "assign", "assign", "augment", "if", "if", "for", "while",
              "store", "leave", "tuple", "unpack", "swap", "call")  # fmt: skip
WORDS = {
    "binary": (*"+-*/%&|^+-*", "//", "<<", ">>", "<", "<=", ">", ">=", "==", "!="),
    "compare": ("<", "<=", ">", ">=", "==", "!="),
    "literal": ("0", "1", "2", "3", "5", "7", "0.5", "1.5", "2.0", "0.1", "True", "-1"),
    "unary": ("-", "+", "~", "not "),
    "choose": ("min", "max"),
    "logic": ("and", "or"),
    "round": ("abs", "round", "math.floor", "math.ceil", "math.trunc", "math.sqrt", "math.fabs"),
    "test": ("isnan", "isinf", "isfinite"),
    "exponent": tuple("01234578"),
    "sum": ("+", "-"),
}
EDGES = (0, 1, 2, 3, 7, -1, -2, 100, 127, 128, 255, -128, 2**31 - 1, 2**31, -(2**31), 2**53 + 1)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 3.75, 1e4, -65504.0, 1e10, -1e20, 6e-8, 1e-40,
          float("inf"), float("-inf"), float("nan"))  # fmt: skip

# What shows a value and its type: the width, the sign and whether it gives way to a typed number.
PROBES = {
    "bool": ("x", "~x"),
    "int": (
        "x",
        "((x & 0) + 1) << (i * 13)",
        "((x & 0) - 1) >> 1",
        "((x & 0) + gpu.uint8(200)) * 2",
    ),
    "float": ("x", "(x - x + 1) / 3", "(x - x + 1) / 3 + gpu.float16(1)"),
}


@dataclass
class Case:
    seed: int
    source: str
    arrays: dict[str, tuple[str, int]]
    data: dict[str, np.ndarray] = field(default_factory=dict)
    fma: bool = True


def elements(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values for an array; bfloat16 as its bits' float32."""
    n = int(np.prod(shape))
    if dtype == "bool":
        values = [rng.random() < 0.5 for _ in range(n)]
    elif dtype in TYPED_FLOATS:
        values = [
            rng.choice(FLOATS) if rng.random() < 0.4 else rng.uniform(-9, 9) for _ in range(n)
        ]
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        inside = [v for v in EDGES if low <= v <= high] + [low, high]
        values = [
            rng.choice(inside) if rng.random() < 0.6 else rng.randint(low, high) for _ in range(n)
        ]
    with np.errstate(all="ignore"):
        return np.array(values, dtype_of(dtype)).reshape(shape)


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


class Generator:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.dtypes = DTYPES
        self.counter = 0
        self.arrays: dict[str, tuple[str, int]] = {}
        self.functions: list[tuple[str, int, int]] = []  # name, parameters, returned values
        self.function_text = ""
        self.lengths: dict[str, int] = {}  # of views: what they surely have
        self.inside = False  # a function's body: it knows no arrays

    def fresh(self, letter: str) -> str:
        self.counter += 1
        return f"{letter}{self.counter}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # --- Expressions ---

    def element(self) -> str:
        """An element of an array of numbers."""
        names = [n for n in self.arrays if n[0] in "xm"]
        name = self.rng.choice(names)
        if self.arrays[name][1] == 2:
            return f"{name}[i, {self.rng.choice(['0', '1', '-1', 'j'])}]"
        return f"{name}[{self.rng.choice(['i', 'i', 'i', '-1', f'(i + 1) % {ROWS}'])}]"

    def leaf(self, env: dict[str, Type]) -> str:
        numbers = [name for name, kind in env.items() if isinstance(kind, str)]
        tuples = [name for name, kind in env.items() if isinstance(kind, tuple) and kind]
        views = [name for name, kind in env.items() if isinstance(kind, Array)]
        if views and self.chance(0.3):
            name = self.rng.choice(views)
            length = self.lengths[name]
            return (
                f"{name}[{self.rng.choice([self.rng.randrange(-length, length), f'j % {length}'])}]"
            )
        if tuples and self.chance(0.15):
            name = self.rng.choice(tuples)
            length = len(env[name])
            if len(set(env[name])) == 1 and not self.inside and self.chance(0.3):
                return f"{name}[{self.small()} % {length}]"
            return f"{name}[{self.rng.randrange(length)}]"
        if numbers and (self.inside or self.chance(0.6)):
            return self.rng.choice(numbers)
        return self.element()

    def small(self) -> str:
        """An int that is not known before the run."""
        return self.rng.choice(["i", "j", "n[0]", "n[1]", "n[2]"])

    def expression(self, env: dict[str, Type], depth: int) -> str:
        """One that has a type where names have these types."""
        for _ in range(20):
            text = self.attempt(env, depth)
            if self.type(text, env) is not None:
                return text
        return self.leaf(env)

    def type(self, text: str, env: dict[str, Type]) -> Type | None:
        try:
            return type_of(text, self.arrays, env, self.function_text)
        except NoType:
            return None

    def attempt(self, env: dict[str, Type], depth: int) -> str:
        """One that may have no type: a template, filled."""
        if depth <= 0:
            return self.leaf(env)

        def fill(match: re.Match[str]) -> str:
            match match[1]:
                case "e":
                    return self.attempt(env, depth - self.rng.choice((1, 1, 2)))
                case "condition":
                    return self.condition(env)
                case "moving":
                    return self.moving(env)
                case "cast":
                    kinds = [k for k in SCALARS if k in CASTS or k in self.dtypes]
                    kind = self.rng.choice(kinds)
                    return kind if kind in CASTS else f"gpu.{kind}"
                case "call":
                    return self.call(env, depth)
                case "lambda":
                    return self.call_lambda(env, depth)
                case word:
                    return self.rng.choice(WORDS[word])

        return re.sub(r"<(\w+)>", fill, self.rng.choice(TEMPLATES))

    def call(self, env: dict[str, Type], depth: int) -> str:
        """Of a function that returns one number, if there is one."""
        plain = [f for f in self.functions if f[2] == 1]
        if not plain or self.inside:
            return self.leaf(env)
        name, n, _ = self.rng.choice(plain)
        return f"{name}({', '.join(self.attempt(env, depth - 1) for _ in range(n))})"

    def call_lambda(self, env: dict[str, Type], depth: int) -> str:
        names = [name for name in env if name[0] == "g"]
        if not names:
            return self.leaf(env)
        return f"{self.rng.choice(names)}({self.attempt(env, depth - 1)})"

    def moving(self, env: dict[str, Type]) -> str:
        """A number that is not known before the run."""
        first = "p0" if self.inside else self.element()
        if self.chance(0.6):
            return first
        return f"({first} {self.rng.choice('+-*')} {self.leaf(env)})"

    def condition(self, env: dict[str, Type]) -> str:
        first = "p0" if self.inside else self.element()
        op = self.rng.choice(WORDS["compare"])
        return f"{first} {op} {self.attempt(env, self.rng.choice((0, 0, 1)))}"

    # --- Functions ---

    def function(self) -> None:
        name, n, results = (
            self.fresh("f"),
            self.rng.choice((1, 2, 2, 3)),
            self.rng.choice((1, 1, 2)),
        )
        params = [f"p{k}" for k in range(n)]
        env: dict[str, Type] = dict.fromkeys(params, "float32")
        self.inside = True

        def value() -> str:
            texts = [self.attempt(env, self.rng.choice((0, 1, 2))) for _ in range(results)]
            return texts[0] if results == 1 else f"({', '.join(texts)})"

        lines = [f"def {name}({', '.join(params)}):"]
        if self.chance(0.5):
            lines.append(f"    {self.rng.choice(params[1:] or ['q'])} = {self.attempt(env, 1)}")
            env |= {"q": "float32"} if " q = " in lines[-1] else {}
        if self.chance(0.4):
            lines += ["    k = 0", "    while k < 3:", "        k += 1"]
            lines += [f"        if {self.condition(env)}:", f"            return {value()}"]
        if self.chance(0.6):
            lines += [f"    if {self.condition(env)}:", f"        return {value()}"]
        lines.append(f"    return {value()}")
        self.inside = False
        self.functions.append((name, n, results))
        self.function_text += "\n".join(lines) + "\n"

    # --- Statements ---

    def statements(self, env: dict[str, Type], depth: int, loop: bool, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            lines += self.statement(env, depth, loop, indent)
        return lines

    def assign(self, env: dict[str, Type], name: str, text: str, indent: str) -> list[str]:
        kind = self.type(text, env)
        if kind is None:
            return [f"{indent}pass"]
        env[name] = kind
        return [f"{indent}{name} = {text}"]

    def statement(self, env: dict[str, Type], depth: int, loop: bool, indent: str) -> list[str]:
        numbers = [n for n, kind in env.items() if isinstance(kind, str) and n[0] in "abc"]
        tuples = [n for n, kind in env.items() if isinstance(kind, tuple) and n[0] in "t"]
        name = self.rng.choice(numbers)
        match self.rng.choice(STATEMENTS):
            case "augment":
                op = self.rng.choice(("+", "-", "*", "//", "%"))
                return [f"{indent}{name} {op}= {self.expression(env, 1)}"]
            case "store":
                target = self.rng.choice(("z[i]", f"z[i - {ROWS}]"))
                op = self.rng.choice(("", "+", "*", "-"))
                return [f"{indent}{target} {op}= {self.expression(env, 1)}"]
            case "leave" if loop:
                return [
                    f"{indent}if {self.condition(env)}:",
                    f"{indent}    {self.rng.choice(('break', 'continue'))}",
                ]
            case "tuple" if tuples:
                t = self.rng.choice(tuples)
                parts = [self.expression(env, self.rng.choice((0, 1))) for _ in env[t]]
                return self.assign(env, t, f"({', '.join(parts)},)", indent)
            case "unpack" if tuples and len(numbers) >= 2:
                t = self.rng.choice(tuples)
                if len(env[t]) <= len(numbers):
                    names = self.rng.sample(numbers, len(env[t]))
                    return [f"{indent}{', '.join(names)} = {t}" + ("" if len(names) > 1 else "[0]")]
            case "swap" if len(numbers) >= 2:
                a, b = self.rng.sample(numbers, 2)
                return [f"{indent}{a}, {b} = {b}, {a}"]
            case "call" if self.functions:
                function, n, results = self.rng.choice(self.functions)
                args = ", ".join(self.leaf(env) for _ in range(n))
                if results <= len(numbers):
                    names = self.rng.sample(numbers, results)
                    return [f"{indent}{', '.join(names)} = {function}({args})"]
            case "view":
                return self.view(env, indent)
            case "lambda":
                return self.lambda_(env, indent)
            case "star" if tuples and self.longest(env, tuples) > 1:
                t = self.rng.choice([t for t in tuples if len(env[t]) > 1])
                rest = self.fresh("t")
                env[rest] = env[t][1:]
                return [f"{indent}{name}, *{rest} = {t}"]
            case ("if" | "for" | "while") as kind if depth > 0:
                return self.compound(kind, env, depth - 1, loop, indent)
        return self.assign(env, name, self.expression(env, self.rng.choice((1, 2))), indent)

    def longest(self, env: dict[str, Type], tuples: list[str]) -> int:
        return max(len(env[t]) for t in tuples)

    def view(self, env: dict[str, Type], indent: str) -> list[str]:
        """A name for a part of an array of one or two dimensions."""
        arrays = [n for n in self.arrays if n[0] in "xm"]
        array = self.rng.choice(arrays)
        if self.arrays[array][1] == 2:
            text, length = self.rng.choice(ROW_VIEWS)
        else:
            text, length = self.rng.choice(VECTOR_VIEWS)
        name = self.fresh("v")
        self.lengths[name] = length
        env[name] = Array(self.arrays[array][0], 1)
        return [f"{indent}{name} = {array}{text}"]

    def lambda_(self, env: dict[str, Type], indent: str) -> list[str]:
        """A function of one number and of a variable of the kernel, which is set once."""
        held, name = self.fresh("h"), self.fresh("g")
        lines = self.assign(env, held, self.leaf(env), indent)
        if held not in env:
            return lines
        ops = [self.rng.choice(WORDS["binary"]) for _ in range(2)]
        text = f"lambda p: ((p {ops[0]} {held}) {ops[1]} {self.rng.choice(WORDS['literal'])})"
        lines.append(f"{indent}{name} = {text}")
        env[name] = Function(text)
        return lines

    def compound(
        self, kind: str, env: dict[str, Type], depth: int, loop: bool, indent: str
    ) -> list[str]:
        more = indent + "    "
        if kind == "if":
            lines = [
                f"{indent}if {self.condition(env)}:",
                *self.statements(dict(env), depth, loop, more),
            ]
            if self.chance(0.5):
                lines += [f"{indent}else:", *self.statements(dict(env), depth, loop, more)]
            return lines
        k = self.fresh("k")
        if kind == "while":
            lines = [f"{indent}{k} = n[1]", f"{indent}while {k} < n[0]:", f"{more}{k} += 1"]
            inner = env | {k: "int"}
        else:
            heading, inner = self.heading(k, env)
            lines = [f"{indent}for {heading}:"]
        lines += self.statements(dict(inner), depth, True, more)
        if self.chance(0.15):
            lines += [f"{indent}else:", *self.statements(dict(env), 0, loop, more)]
        return lines

    def heading(self, k: str, env: dict[str, Type]) -> tuple[str, dict[str, Type]]:
        """`target in iterable`, and the names in the body."""
        bounds = self.rng.choice(("n[0]", "n[1], n[0]", "n[0], n[1], -1", "n[1], n[0], n[2]", "3"))
        same = [n for n, kind in env.items() if isinstance(kind, tuple) and len(set(kind)) == 1]
        vectors = [n for n, (_, rank) in self.arrays.items() if rank == 1 and n[0] == "x"]
        vectors += [n for n, kind in env.items() if isinstance(kind, Array)]
        v = self.rng.choice(vectors)
        match self.rng.choice(("range", "range", "array", "enumerate", "zip", "tuple", "reversed")):
            case "array":
                return f"{k} in {v}", env | {k: self.type(f"{v}[0]", env) or "int"}
            case "enumerate":
                names = {f"{k}_0": "int", f"{k}_1": self.type(f"{v}[0]", env) or "int"}
                return f"{k}_0, {k}_1 in enumerate({v})", env | names
            case "zip":
                w = self.rng.choice(vectors)
                names = {
                    f"{k}_0": self.type(f"{v}[0]", env) or "int",
                    f"{k}_1": self.type(f"{w}[0]", env) or "int",
                }
                return f"{k}_0, {k}_1 in zip({v}, {w})", env | names
            case "tuple" if same:
                t = self.rng.choice(same)
                return f"{k} in {t}", env | {k: env[t][0]}
            case "reversed":
                return f"{k} in reversed(range({bounds}))", env | {k: "int"}
        return f"{k} in range({bounds})", env | {k: "int"}

    # --- The kernel ---

    def case(self, seed: int) -> Case | None:
        for k in range(self.rng.choice((2, 3))):
            self.arrays[f"x{k}"] = (self.rng.choice(self.dtypes), 1)
        if self.chance(0.5):
            self.arrays["m"] = (self.rng.choice(self.dtypes), 2)
        self.arrays["z"] = (self.rng.choice(self.dtypes), 1)
        self.arrays["n"] = ("int32", 1)
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            self.function()
        env: dict[str, Type] = {"i": "int", "j": "int"}
        lines = [
            "    i = gpu.grid(1)",
            f"    if i >= {ROWS}:",
            "        return",
            f"    j = i % {COLUMNS}",
        ]
        for name in "abc":
            text = self.element()
            if name == "c" and self.chance(0.5):
                one, other = self.rng.choice(
                    (("0", "1"), ("0.5", "2.0"), ("True", "False"), ("3", "0.1"))
                )
                text = f"{one} if {self.condition(env)} else {other}"
            lines += self.assign(env, name, text, "    ")
        for _ in range(self.rng.choice((0, 1, 1))):
            length = self.rng.choice((1, 2, 3))
            first = self.leaf({k: v for k, v in env.items() if k in "abc"})
            same = self.chance(0.5)
            parts = [first if same else self.leaf(env) for _ in range(length)]
            lines += self.assign(env, self.fresh("t"), f"({', '.join(parts)},)", "    ")
        lines += self.statements(env, 2, False, "    ")
        lines += self.statements(env, 2, False, "    ")
        results = [f"{n}[{k}]" if isinstance(kind, tuple) else n
                   for n, kind in env.items() if n[0] in "abct"
                   for k in range(len(kind) if isinstance(kind, tuple) else 1)]  # fmt: skip
        head = f"def kernel({', '.join(self.arrays)}, out_i, out_f):"
        body = "\n".join([head, *lines])
        tail = self.stores(body, results)
        if tail is None:
            return None
        source = self.function_text + body + "\n" + "\n".join(tail) + "\n"
        case = Case(seed, source, dict(self.arrays), fma=self.chance(0.7))
        case.arrays |= {"out_i": ("int64", 2), "out_f": ("float64", 2)}
        for name, (dtype, rank) in self.arrays.items():
            shape = (ROWS, COLUMNS) if rank == 2 else (ROWS,)
            case.data[name] = elements(self.rng, dtype, shape)
        case.data["n"] = np.array([4, 1, 2], "int32")
        case.data["out_i"] = np.zeros((max(1, len(tail)), ROWS), "int64")
        case.data["out_f"] = np.zeros((max(1, len(tail)), ROWS), "float64")
        return case

    def stores(self, body: str, results: list[str]) -> list[str] | None:
        """Statements that store each result, and what shows its type."""
        lines: list[str] = []
        for name in results:
            kind = final_type(self.function_text + body, self.arrays, name)
            if kind is None:
                return None
            out = "out_f" if is_float(kind) else "out_i"
            shown = "bool" if kind == "bool" else "float" if is_float(kind) else "int"
            for probe in PROBES[shown]:
                lines.append(f"    {out}[{len(lines)}, i] = {probe.replace('x', name)}")
        return lines


def final_type(source: str, arrays: dict[str, tuple[str, int]], name: str) -> Type | None:
    """The type that a name or an element of a tuple has at the end of the kernel."""
    import ast

    from .explicit import Writer

    module = ast.parse(source)
    functions = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
    kernel = functions.pop("kernel")
    try:
        env = Writer(functions, arrays).block(kernel.body, {}, 1)
        if env is None:
            return None
        return Writer(functions, arrays).expression(ast.parse(name, mode="eval").body, env)[0]
    except NoType:
        return None


def generate(seed: int) -> Case:
    """The first kernel with a meaning from this seed on; every seed gives one."""
    for attempt in range(1000):
        case = Generator(seed * 1000 + attempt).case(seed)
        if case is not None:
            return case
    raise AssertionError("a generator that writes no programs")
