"""Random expressions over the names that a place knows."""

import ast
import random
import re

from .case import DTYPES, ROWS
from .explicit import parsed, type_of
from .types import SCALARS, Array, Function, NoType, Type
from .values import CASTS
from .words import TEMPLATES, WORDS

Env = dict[str, Type]


def fields(name: str, kind: Type) -> list[tuple[str, Type]]:
    """The numbers in a value: itself, or the elements of a tuple at any depth."""
    if isinstance(kind, tuple):
        return [f for k, part in enumerate(kind) for f in fields(f"{name}[{k}]", part)]
    return [(name, kind)] if isinstance(kind, str) else []


class Expressions:
    """What a generator writes with: random numbers, names, and what is known of arrays."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.dtypes = DTYPES
        self.counter = 0
        self.params: Env = {}
        self.shapes: dict[str, tuple[int, ...]] = {}  # of arrays and views: what they surely have
        self.function_text = ""
        self.trees: dict[str, ast.FunctionDef] = {}
        self.inside = False  # a function's body: it knows no arrays

    def fresh(self, letter: str) -> str:
        self.counter += 1
        return f"{letter}{self.counter}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # --- Arrays ---

    def place(self, extent: int) -> str:
        """An index of an axis."""
        if extent == ROWS and self.chance(0.5):
            return "i"
        literal = str(self.rng.randrange(-extent, extent))
        return self.rng.choice((literal, literal, f"j % {extent}", f"(i + 1) % {extent}"))

    def part(self, extent: int) -> tuple[str, int]:
        """A slice of an axis, and how many elements it surely has."""
        choices = [(":", extent), ("::-1", extent), ("::2", (extent + 1) // 2)]
        if extent > 1:
            choices += [("1:", extent - 1), (":-1", extent - 1), ("-1:0:-1", extent - 1)]
        if extent > 2:
            choices += [("j:", extent - 2), ("-3:", min(3, extent))]
        return self.rng.choice(choices)

    def view(self, name: str, rank: int | None = None) -> tuple[str, tuple[int, ...]]:
        """A part of an array with so many axes, and its shape. A thread has one row of y."""
        shape = self.shapes[name]
        own = name == "y"
        rank = self.rng.randint(1, len(shape) - own) if rank is None else min(rank, len(shape))
        kept = set(self.rng.sample(range(own, len(shape)), rank))
        texts, left = [], []
        for axis, extent in enumerate(shape):
            if axis in kept:
                text, length = self.part(extent)
                left.append(length)
            else:
                text = "i" if own and axis == 0 else self.place(extent)
            texts.append(text)
        while len(texts) > 1 and texts[-1] == ":":
            texts.pop()
        if len(texts) == len(shape) > 1 and texts[0] == ":" and self.chance(0.5):
            texts[0] = "..."
        return f"{name}[{', '.join(texts)}]", tuple(left)

    def element(self) -> str:
        """An element of an array of numbers, or a parameter that is a number."""
        names = [n for n, k in self.params.items() if isinstance(k, Array) and n[0] in "xmqry"]
        numbers = [f for n, k in self.params.items() for f, _ in fields(n, k) if n[0] in "su"]
        if numbers and self.chance(0.2):
            return self.rng.choice(numbers)
        return self.element_of(self.rng.choice(names))

    def element_of(self, name: str) -> str:
        shape = self.shapes[name]
        texts = [self.place(extent) for extent in shape]
        if name == "y":
            texts[0] = "i"
        if len(texts) > 1 and self.chance(0.2):
            return f"{name}[{texts[0]}][{', '.join(texts[1:])}]"
        return f"{name}[{', '.join(texts) or '()'}]"

    # --- Numbers ---

    def leaf(self, env: Env) -> str:
        numbers = [name for name, kind in env.items() if isinstance(kind, str)]
        tuples = [name for name, kind in env.items() if isinstance(kind, tuple) and kind]
        views = [name for name, kind in env.items() if isinstance(kind, Array) and name[0] == "v"]
        if views and self.chance(0.3):
            return self.element_of(self.rng.choice(views))
        if tuples and self.chance(0.2):
            name = self.rng.choice(tuples)
            same = len(set(env[name])) == 1 and isinstance(env[name][0], str)
            if same and not self.inside and self.chance(0.3):
                return f"{name}[{self.small()} % {len(env[name])}]"
            inner = fields(name, env[name])
            if inner:
                return self.rng.choice(inner)[0]
        if numbers and (self.inside or self.chance(0.6)):
            return self.rng.choice(numbers)
        return self.rng.choice(numbers) if self.inside else self.element()

    def small(self) -> str:
        """An int that is not known before the run."""
        return self.rng.choice(["i", "j", "n[0]", "n[1]", "n[2]"])

    def expression(self, env: Env, depth: int) -> str:
        """One that has a type where names have these types."""
        for _ in range(20):
            text = self.attempt(env, depth)
            if isinstance(self.type(text, env), str):
                return text
        return self.leaf(env)

    def type(self, text: str, env: Env) -> Type | None:
        try:
            return type_of(text, self.params | env, self.trees)
        except NoType:
            return None

    def attempt(self, env: Env, depth: int) -> str:
        """One that may have no type: a template, filled."""
        if depth <= 0:
            return self.leaf(env)
        template = self.rng.choice(TEMPLATES)
        if self.inside and ("count" in template or "vector" in template):
            return self.leaf(env)

        def fill(match: re.Match[str]) -> str:
            match match[1]:
                case "e":
                    return self.attempt(env, depth - self.rng.choice((1, 1, 2)))
                case "condition":
                    return self.condition(env)
                case "moving":
                    return self.moving(env)
                case "tuple":
                    return self.tuple(env)
                case "vector":
                    return self.vector(env)
                case "cast":
                    kinds = [k for k in SCALARS if k in CASTS or k in self.dtypes]
                    kind = self.rng.choice(kinds)
                    module = "gpu" if kind == "bfloat16" else self.rng.choice(("gpu", "np"))
                    return kind if kind in CASTS else f"{module}.{kind}"
                case "call":
                    return self.call(env, depth)
                case "lambda":
                    return self.call_lambda(env, depth)
                case word:
                    return self.rng.choice(WORDS[word])

        return re.sub(r"<(\w+)>", fill, template)

    def tuple(self, env: Env) -> str:
        """A tuple of two numbers or more."""
        names = [name for name, kind in env.items() if isinstance(kind, tuple) and len(kind) > 1]
        display = f"({', '.join(self.leaf(env) for _ in range(self.rng.choice((2, 2, 3))))})"
        if not names or self.chance(0.4):
            return display
        name = self.rng.choice(names)
        return self.rng.choice(
            (name, f"({name} + {display})", f"({display} + {name}[1:])", f"{name}[::-1]",
             f"({self.leaf(env)}, *{name})", f"({name} * 2)")
        )  # fmt: skip

    def vector(self, env: Env) -> str:
        """A view of one dimension."""
        names = [n for n, shape in self.shapes.items() if shape and n[0] in "xmqyv"]
        names = [n for n in names if n in env or n in self.params]
        return self.view(self.rng.choice(names), 1)[0]

    def call(self, env: Env, depth: int) -> str:
        """Of a function of the module; inside one there are none."""
        if self.inside or not self.trees:
            return self.leaf(env)
        tree = self.trees[self.rng.choice(list(self.trees))]
        return self.call_of(tree, env, depth)

    def call_of(self, tree: ast.FunctionDef, env: Env, depth: int) -> str:
        """Arguments by the letters of the parameters: p a number, k a small int, t a tuple, g a
        function; those with defaults may be named or missing."""
        args: list[str] = []
        words: list[str] = []
        names = [arg.arg for arg in tree.args.args]
        n_default = len(tree.args.defaults)
        for k, name in enumerate(names):
            value = self.argument(name[0], env, depth)
            if k < len(names) - n_default:
                args.append(value)
            elif self.chance(0.6):
                words.append(f"{name}={value}")
        if tree.args.vararg:
            args += [self.attempt(env, depth - 1) for _ in range(self.rng.choice((1, 2, 3)))]
        return f"{tree.name}({', '.join(args + words)})"

    def argument(self, letter: str, env: Env, depth: int) -> str:
        match letter:
            case "k":
                return self.rng.choice(("j", "n[2]", "n[0] - 1", "i"))
            case "t":
                return f"({self.leaf(env)}, {self.leaf(env)})"
            case "g":
                names = [name for name, kind in env.items() if isinstance(kind, Function)]
                text = f"lambda w: w {self.rng.choice('+-*')} {self.rng.choice(WORDS['literal'])}"
                return self.rng.choice([text, *(n for n in names if n[0] == "g")])
        return self.attempt(env, depth - 1)

    def call_lambda(self, env: Env, depth: int) -> str:
        names = [
            name for name, kind in env.items() if name[0] == "g" and isinstance(kind, Function)
        ]
        if not names:
            return self.leaf(env)
        return f"{self.rng.choice(names)}({self.attempt(env, depth - 1)})"

    def moving(self, env: Env) -> str:
        """A number that is not known before the run."""
        first = "p0" if self.inside else self.element()
        if self.chance(0.6):
            return first
        return f"({first} {self.rng.choice('+-*')} {self.leaf(env)})"

    def condition(self, env: Env) -> str:
        first = "p0" if self.inside else self.element()
        op = self.rng.choice(WORDS["compare"])
        return f"{first} {op} {self.attempt(env, self.rng.choice((0, 0, 1)))}"

    def checked_condition(self, env: Env) -> str:
        """One that has a type."""
        for _ in range(20):
            text = self.condition(env)
            if self.type(text, env) is not None:
                return text
        return "x0[i] > 1"

    def define(self, text: str) -> None:
        """A function of the module."""
        self.function_text += text
        self.trees = parsed(self.function_text)[0]
