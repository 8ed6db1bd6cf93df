"""Random functions of the module, and functions that kernels define."""

from .expressions import Env, Expressions
from .types import Function
from .words import WORDS

# Parameters by letter: p a number, k a small int, t a pair, g a function, *p the rest.
SHAPES = {
    "plain": ("p0", "p0, p1", "p0, p1", "p0, p1, p2"),
    "defaults": ("p0, p1=2", "p0, p1=0.5, p2=True", "p0, p1, p2=3"),
    "rest": ("p0, *ps", "*ps"),
    "recursive": ("k, p0", "k, p0, p1"),
    "higher": ("p0, g", "p0, p1, g"),
    "pair": ("p0, t", "t, p0"),
    "nest": ("p0, p1",),
}


class Functions(Expressions):
    def function(self) -> None:
        """One of the module."""
        kind = self.rng.choice(("plain", *SHAPES))
        text = self.rng.choice(SHAPES[kind])
        name = self.fresh("f")
        self.inside = True
        env: Env = {p: "float32" for p in ("p0", "p1", "p2") if p in text}
        if kind == "rest" and "p0" not in text:
            env["ps[0]"] = "float32"
        lines = getattr(self, "body_" + kind)(name, env)
        self.inside = False
        self.define("\n".join([f"def {name}({text}):", *(f"    {x}" for x in lines)]) + "\n")

    def value(self, env: Env, results: int = 1) -> str:
        texts = [self.attempt(env, self.rng.choice((0, 1, 2))) for _ in range(results)]
        return texts[0] if results == 1 else f"({', '.join(texts)})"

    def body_plain(self, name: str, env: Env) -> list[str]:
        results = self.rng.choice((1, 1, 2))
        lines = []
        if self.chance(0.5):
            params = [p for p in env if p != "p0"]
            lines.append(f"{self.rng.choice(params or ['q'])} = {self.attempt(env, 1)}")
            env = env | ({"q": "float32"} if lines[-1].startswith("q") else {})
        if self.chance(0.4):
            lines += ["k = 0", "while k < 3:", "    k += 1"]
            lines += [
                f"    if {self.condition(env)}:",
                f"        return {self.value(env, results)}",
            ]
        if self.chance(0.6):
            lines += [f"if {self.condition(env)}:", f"    return {self.value(env, results)}"]
        return [*lines, f"return {self.value(env, results)}"]

    def body_defaults(self, name: str, env: Env) -> list[str]:
        return [f"if {self.condition(env)}:", f"    return {self.value(env)}",
                f"return {self.value(env)}"]  # fmt: skip

    def body_rest(self, name: str, env: Env) -> list[str]:
        op = self.rng.choice("+-*")
        first = self.rng.choice(list(env))
        test = "p0" if "p0" in env else "ps[0]"
        lines = [f"q = {first}", "for r in ps:", f"    q = q {op} r"]
        if self.chance(0.5):
            word = self.rng.choice(("break", "continue"))
            lines += [f"    if r {self.rng.choice(WORDS['compare'])} {test}:", f"        {word}"]
            lines += [f"    q = q + {self.rng.choice(WORDS['literal'])}"]
        return [*lines, f"return {self.rng.choice(('q', 'q + len(ps)', '(q, ps)', 'sum(ps) * q'))}"]

    def body_recursive(self, name: str, env: Env) -> list[str]:
        params = [p for p in env if p[0] == "p"]
        again = f"{name}(k - 1, {', '.join(self.attempt(env, 1) for _ in params)})"
        op, last = self.rng.choice("+-*"), self.rng.choice(params)
        lines = ["if k <= 0:", f"    return {self.value(env)}"]
        if self.chance(0.4):
            lines += [f"if {self.condition(env)}:", f"    return {self.value(env)}"]
        return [*lines, f"return {self.rng.choice((again, f'{again} {op} {last}'))}"]

    def body_higher(self, name: str, env: Env) -> list[str]:
        op, last = self.rng.choice("+-*"), self.rng.choice(list(env))
        result = self.rng.choice(("g(q)", "q"))
        return [f"q = g({self.attempt(env, 1)})", f"return {result} {op} {last}"]

    def body_pair(self, name: str, env: Env) -> list[str]:
        op = self.rng.choice("+-*")
        first = self.rng.choice(("q, r = t", "q, *r = t\nr = r[0]", "r, q = t[::-1]"))
        env = env | {"q": "float32", "r": "float32"}
        result = self.rng.choice(
            (f"(q {op} r, ({self.value(env)}, t))", f"(r, q {op} p0)", f"q {op} r", "(p0, *t)")
        )
        return [*first.split("\n"), f"if {self.condition(env)}:", "    q = r", f"return {result}"]

    def body_nest(self, name: str, env: Env) -> list[str]:
        """A return from two loops."""
        inner = self.rng.choice(("range(2)", "(p0, p1)", "reversed((p1, p0))", "range(2, -1, -1)"))
        env_in = env | {"q": "float32", "b": "int", "r": "float32"}
        lines = ["q = p1", "for b in range(3):", f"    for r in {inner}:"]
        lines += [
            f"        if {self.condition(env_in)}:",
            f"            return {self.value(env_in)}",
        ]
        lines += [f"        q = {self.attempt(env_in, 1)}"] * self.chance(0.6)
        lines += ["    else:", "        q += b"] * self.chance(0.4)
        return [*lines, f"return {self.value(env | {'q': 'float32'})}"]

    # --- Inside of kernels ---

    def lambda_(self, env: Env, indent: str) -> list[str]:
        """A function of one number and of a variable of the kernel, which is set once."""
        held, name = self.fresh("h"), self.fresh("g")
        text = self.leaf(env)
        kind = self.type(text, env)
        if not isinstance(kind, str):
            return [f"{indent}pass"]
        env[held] = kind
        ops = [self.rng.choice(WORDS["binary"]) for _ in range(2)]
        made = f"lambda p: ((p {ops[0]} {held}) {ops[1]} {self.rng.choice(WORDS['literal'])})"
        env[name] = Function(made, ((held, kind),))
        return [f"{indent}{held} = {text}", f"{indent}{name} = {made}"]

    def nested(self, env: Env, indent: str) -> list[str]:
        """A function that counts its calls in a variable of the kernel."""
        count, name = self.fresh("o"), self.fresh("g")
        op = self.rng.choice("+-*")
        step = self.rng.choice(("1", "i", "by"))
        lines = [f"def {name}(p, by=2):", f"    nonlocal {count}",
                 f"    {count} += {step}", f"    return p {op} {count}"]  # fmt: skip
        env[count] = "int"
        env[name] = Function("\n".join(lines), ((count, "int"), ("i", "int")))
        return [f"{indent}{count} = 0", *(indent + line for line in lines)]
