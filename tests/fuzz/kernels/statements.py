"""Random statements of a kernel."""

from .expressions import Env, fields
from .meetings import MEETINGS, Meetings
from .types import Array, Type, element
from .words import AUGMENT, WORDS

STATEMENTS = ("view", "lambda", "nested", "star", "assign", "assign", "augment", "if", "if", "for",
              "for", "while", "store", "store", "leave", "tuple", "unpack", "swap", "call", "match",
              "walrus", "chain", "delete", "fill", "fill", "inplace", "atomic", "isinstance",
              "nest")  # fmt: skip


def shape_text(kind: Type, value: "object") -> str:
    """A display of the type's shape; `value()` gives each number."""
    if isinstance(kind, tuple):
        return f"({''.join(shape_text(part, value) + ', ' for part in kind)})"
    return value()  # type: ignore[operator]


class Statements(Meetings):
    atomic = "add"

    def statements(self, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            lines += self.statement(env, depth, loop, indent)
        return lines

    def numbers(self, env: Env) -> list[str]:
        """Variables that statements may change."""
        return [n for n, kind in env.items() if isinstance(kind, str) and n[0] in "abcs"]

    def statement(self, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        meets = self.crowd and not loop and indent == "    "
        kind = self.rng.choice((*STATEMENTS, *MEETINGS, *MEETINGS) if meets else STATEMENTS)
        if kind in ("if", "for", "while", "match", "walrus", "isinstance"):
            lines = self.compound(kind, env, depth - 1, loop, indent) if depth > 0 else []
        elif kind in ("lambda", "nested", "nest"):
            makes = {"lambda": self.lambda_, "nested": self.nested, "nest": self.nest}
            # A function's variables are set in one place.
            allowed = kind == "nest" or (not loop and indent == "    ")
            lines = makes[kind](env, indent) if allowed else []
        else:
            lines = getattr(self, "on_" + kind)(env, loop)
            lines = [indent + line for line in lines]
        return lines or [f"{indent}{line}" for line in self.on_assign(env, loop)]

    # --- Simple statements: their lines, none if there is nothing to write ---

    def assign(self, env: Env, name: str, text: str) -> list[str]:
        kind = self.type(text, env)
        if kind is None:
            return ["pass"]
        env[name] = kind
        return [f"{name} = {text}"]

    def on_assign(self, env: Env, loop: bool) -> list[str]:
        name = self.rng.choice(self.numbers(env))
        return self.assign(env, name, self.expression(env, self.rng.choice((1, 2))))

    def on_augment(self, env: Env, loop: bool) -> list[str]:
        name, op = self.rng.choice(self.numbers(env)), self.rng.choice(AUGMENT)
        text = self.expression(env, 1)
        kind = self.type(f"{name} {op} ({text})", env)
        if kind is None:
            return []
        env[name] = kind
        return [f"{name} {op}= {text}"]

    def on_store(self, env: Env, loop: bool) -> list[str]:
        target = self.rng.choice(("z[i]", "z[i - 6]", self.element_of("y")))
        op = self.rng.choice(("", "", *AUGMENT))
        text = self.expression(env, 1)
        if op and self.type(f"{target} {op} ({text})", env) is None:
            op = ""
        return [f"{target} {op}= {text}"]

    def on_fill(self, env: Env, loop: bool) -> list[str]:
        """A number or a vector for a part of the thread's row."""
        target = self.view("y", 1)[0]
        op = self.rng.choice(("", "", *AUGMENT))
        text = self.expression(env, 1)
        if self.chance(0.4):
            text, size = self.source()
            target = self.rng.choice((f"y[i, {4 - size}:]", f"y[i, :{size}]", f"y[i][-{size}:]"))
        kind = self.type(text, env)
        value = f"{text}[0]" if isinstance(kind, Array) else text
        if op and self.type(f"y[i, 0] {op} ({value})", env) is None:
            op = ""
        return [f"{target} {op}= {text}"]

    def source(self) -> tuple[str, int]:
        """A vector whose length is known."""
        sources = [("m[i]", 3), ("m[i, ::-1]", 3), ("x0[1:4]", 3), ("x0[::-2]", 3),
                   ("x0[j:][:2]", 2), ("q[0, 1, 1:]", 2), ("q[1, :, j]", 2)]  # fmt: skip
        return self.rng.choice([s for s in sources if s[0][0] == "x" or s[0][0] in self.params])

    def on_inplace(self, env: Env, loop: bool) -> list[str]:
        """Augmented assignment to a view by its name, and whole rows turned around."""
        if self.chance(0.3):
            return ["y[i] = y[i, ::-1]"]
        row, op = self.fresh("r"), self.rng.choice("+-*")
        return [f"{row} = {self.view('y', 1)[0]}", f"{row} {op}= {self.expression(env, 1)}"]

    def on_atomic(self, env: Env, loop: bool) -> list[str]:
        text = self.expression(env, 1)
        if self.type(f"({text}) & 0", env) is None:
            text = f"int({text})"
        at = self.rng.choice(("j", "i % 4", "-1", "(n[0] + i) % 4"))
        return [f"gpu.atomic.{self.atomic}(h, {at}, {text})"]

    def on_leave(self, env: Env, loop: bool) -> list[str]:
        if not loop:
            return []
        word = self.rng.choice(("break", "continue", "break", "continue", "return"))
        if self.crowd and word == "return":
            word = "break"
        return [f"if {self.checked_condition(env)}:", f"    {word}"]

    def tuples(self, env: Env, least: int = 1) -> list[str]:
        return [n for n, kind in env.items()
                if isinstance(kind, tuple) and n[0] in "t" and len(kind) >= least]  # fmt: skip

    def on_tuple(self, env: Env, loop: bool) -> list[str]:
        names = self.tuples(env)
        if not names:
            return []
        t = self.rng.choice(names)
        text = shape_text(env[t], lambda: self.expression(env, self.rng.choice((0, 1))))
        if self.chance(0.3):
            text = f"{t} if {self.checked_condition(env)} else {text}"
        return self.assign(env, t, text)

    def on_unpack(self, env: Env, loop: bool) -> list[str]:
        """All numbers of a tuple, nested ones too."""
        names, numbers = self.tuples(env), self.numbers(env)
        if not names:
            return []
        t = self.rng.choice(names)
        inner = fields(t, env[t])
        if len(inner) > len(numbers):
            return []
        chosen = iter(self.rng.sample(numbers, len(inner)))
        target = shape_text(env[t], lambda: next(chosen))
        self.set_all(target, env[t], env)
        return [f"{target} = {t}"]

    def set_all(self, target: str, kind: Type, env: Env) -> None:
        names = target.replace("(", "").replace(")", "").replace(",", " ").split()
        env |= {name: part for name, (_, part) in zip(names, fields("", kind), strict=True)}

    def on_star(self, env: Env, loop: bool) -> list[str]:
        names = [t for t in self.tuples(env, 2) if isinstance(env[t][0], str)]
        if not names:
            return []
        t, rest, name = self.rng.choice(names), self.fresh("t"), self.rng.choice(self.numbers(env))
        kind = env[t]
        env[rest], env[name] = kind[1:], kind[0]
        return [f"{name}, *{rest} = {t}"]

    def on_swap(self, env: Env, loop: bool) -> list[str]:
        numbers = self.numbers(env)
        if len(numbers) < 2:
            return []
        a, b = self.rng.sample(numbers, 2)
        env[a], env[b] = env[b], env[a]
        return [f"{a}, {b} = {b}, {a}"]

    def on_call(self, env: Env, loop: bool) -> list[str]:
        """A function's result, whole: number or tuple."""
        if not self.trees:
            return []
        text = self.call(env, 1)
        kind = self.type(text, env)
        if kind is None:
            return []
        if isinstance(kind, str):
            return self.assign(env, self.rng.choice(self.numbers(env)), text)
        return self.assign(env, self.fresh("t"), text) if fields("", kind) else []

    def on_chain(self, env: Env, loop: bool) -> list[str]:
        numbers = self.numbers(env)
        a, b = self.rng.choice(numbers), self.rng.choice(numbers)
        text = self.expression(env, 1)
        env[a] = env[b] = self.type(text, env) or "int"
        return [f"{a} = {b} = {text}" if a != b else f"{a} = z[i] = {text}"]

    def on_delete(self, env: Env, loop: bool) -> list[str]:
        name = self.fresh("d")
        lines = self.assign(env, name, self.expression(env, 1))
        if name not in env:
            return []
        target = self.rng.choice(self.numbers(env))
        lines += self.assign(env, target, f"{name} {self.rng.choice('+-*')} {self.leaf(env)}")
        del env[name]
        return [*lines, f"del {name}"]

    def on_view(self, env: Env, loop: bool) -> list[str]:
        """A name for a part of an array, sometimes one of two."""
        names = [n for n in self.shapes if n[0] in "xmqyv" and (n in self.params or n in env)]
        array = self.rng.choice([n for n in names if self.shapes[n]])
        text, shape = self.view(array)
        name = self.fresh("v")
        if self.chance(0.3):
            other, more = self.view(array, len(shape))
            text = f"{text} if {self.checked_condition(env)} else {other}"
            shape = tuple(map(min, shape, more))
        self.shapes[name] = shape
        dtype = (env | self.params)[array].dtype  # type: ignore[union-attr]
        env[name] = Array(dtype, len(shape))
        return [f"{name} = {text}"]

    # --- Compound statements ---

    def branch(self, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        return self.statements(dict(env), depth, loop, indent + "    ")

    def compound(self, kind: str, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        if kind == "match":
            return self.match(env, depth, loop, indent)
        if kind in ("if", "walrus", "isinstance"):
            return self.if_(kind, env, depth, loop, indent)
        more = indent + "    "
        k = self.fresh("k")
        inner = dict(env)
        if kind == "while":
            lines = [f"{indent}{k} = n[1]", f"{indent}while {k} < n[0]:", f"{more}{k} += 1"]
            if self.chance(0.3):
                w = self.fresh("w")
                lines[1] = f"{indent}while ({w} := {k} * 2) < n[0] * 2:"
                inner[w] = "int"
            inner[k] = "int"
        else:
            heading, names = self.heading(k, env)
            inner |= names
            lines = [f"{indent}for {heading}:"]
        lines += self.statements(inner, depth, True, more)
        if self.chance(0.2):
            lines += [f"{indent}else:", *self.statements(dict(env), 0, loop, more)]
        return lines

    def if_(self, kind: str, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        inner = dict(env)
        if kind == "walrus":
            w, text = self.fresh("w"), self.moving(env)
            type_ = self.type(text, env)
            if not isinstance(type_, str):
                return []
            op = self.rng.choice(WORDS["compare"])
            test = f"({w} := {text}) {op} {self.leaf(env)}"
            inner[w] = env[w] = type_
        elif kind == "isinstance":
            name = self.rng.choice([n for n, k in env.items() if isinstance(k, str | tuple)])
            test = f"isinstance({name}, {self.rng.choice(CLASSES)})"
        else:
            test = self.checked_condition(env)
        lines = [f"{indent}if {test}:", *self.branch(inner, depth, loop, indent)]
        if self.chance(0.3):
            lines += [f"{indent}elif {self.checked_condition(env)}:"]
            lines += self.branch(inner, depth, loop, indent)
        if self.chance(0.5):
            lines += [f"{indent}else:", *self.branch(inner, depth, loop, indent)]
        return lines

    def match(self, env: Env, depth: int, loop: bool, indent: str) -> list[str]:
        """Over ints that the run knows: literals, alternatives, names with guards."""
        subject = self.rng.choice(("i", "j", "n[0] + j", "i * 2 - n[1]"))
        lines = [f"{indent}match {subject}:"]
        more = indent + "    "
        patterns = self.rng.sample(
            ("0", "1", "2", "1 | 3", "-1", "4 | 5 | 6"), self.rng.choice((1, 2))
        )
        for pattern in patterns:
            if self.chance(0.3):
                pattern += f" if {self.checked_condition(env)}"
            lines += [f"{more}case {pattern}:", *self.branch(env, depth, loop, more)]
        if self.chance(0.5):
            w = self.fresh("w")
            inner = env | {w: "int"}
            lines.append(f"{more}case {w} if {w} {self.rng.choice(WORDS['compare'])} j:")
            lines += self.branch(inner, depth, loop, more)
        if self.chance(0.5):
            lines += [f"{more}case _:", *self.branch(env, depth, loop, more)]
        return lines

    def nest(self, env: Env, indent: str) -> list[str]:
        """Rows of an array and their elements, each a number that goes into a variable."""
        arrays = [n for n, s in self.shapes.items() if len(s) > 1 and n in self.params and n != "y"]
        if not arrays:
            return []
        array = self.rng.choice(arrays)
        name, op = self.rng.choice(self.numbers(env)), self.rng.choice("+-*")
        lines, now = [], array
        for _ in self.shapes[array]:
            lines.append(f"for {(inner := self.fresh('e'))} in {now}:")
            now = inner
        stop = self.rng.choice(("break", "continue"))
        dtype = self.params[array].dtype  # type: ignore[union-attr]
        env_in = env | {now: element(dtype)}
        body = [f"if {now} > {self.leaf(env)}:", f"    {stop}", f"{name} = {name} {op} {now}"]
        if self.type(f"{name} {op} {now}", env_in) is None:
            return []
        lines = [indent + "    " * k + line for k, line in enumerate(lines)]
        return lines + [indent + "    " * len(lines) + line for line in body]

    def heading(self, k: str, env: Env) -> tuple[str, Env]:
        """`target in iterable`, and the names in the body."""
        iterable, kind, shape = self.iterable(env, 1)
        names: Env = {}

        def target(kind: Type, name: str) -> str:
            if isinstance(kind, tuple) and self.chance(0.8):
                return f"({', '.join(target(x, f'{name}_{n}') for n, x in enumerate(kind))},)"
            if isinstance(kind, Array):
                name = "v" + name
                self.shapes[name] = shape
            names[name] = kind
            return name

        return f"{target(kind, k)} in {iterable}", names

    def iterable(self, env: Env, depth: int) -> tuple[str, Type, tuple[int, ...]]:
        """Its text, what it gives, and the shape of that if it is an array."""
        choice = self.rng.choice(("range", "range", "array", "array", "tuple", "tuple", "enumerate",
                                  "zip", "reversed"))  # fmt: skip
        if choice in ("enumerate", "zip") and depth:
            text, kind, shape = self.iterable(env, depth - 1)
            if choice == "enumerate":
                start = self.rng.choice(("", "", ", 1", ", j"))
                return f"enumerate({text}{start})", ("int", kind), shape
            other, more, _ = self.iterable(env, 0)
            if isinstance(kind, Array) or isinstance(more, Array):
                return text, kind, shape
            return f"zip({text}, {other})", (kind, more), ()
        if choice == "tuple":
            text = self.tuple(env)
            kind = self.type(text, env)
            if isinstance(kind, tuple) and kind and self.chance(0.8):
                return text, kind[0], ()
        if choice == "array":
            names = [n for n, s in self.shapes.items()
                     if s and n[0] in "xmqv" and (n in self.params or n in env)]  # fmt: skip
            name = self.rng.choice(names)
            shape = self.shapes[name]
            dtype = (env | self.params)[name].dtype  # type: ignore[union-attr]
            text = f"reversed({name})" if self.chance(0.2) else name
            kind = element(dtype) if len(shape) == 1 else Array(dtype, len(shape) - 1)
            return text, kind, shape[1:]
        bounds = self.rng.choice(("n[0]", "n[1], n[0]", "n[0], n[1], -1", "n[1], n[0], n[2]", "3"))
        text = f"range({bounds})"
        return (f"reversed({text})" if choice == "reversed" else text), "int", ()


CLASSES = ("int", "float", "bool", "np.integer", "np.floating", "np.float32", "np.uint64", "tuple",
           "(int, np.floating)")  # fmt: skip
