"""Random kernels whose threads talk, and whose results do not depend on the order of threads.

Each statement stands in a place that is reached by all threads of the block ("block"), or only by
some lanes ("lanes"). Conditions and bounds of the first kind are the same for all: they come from
arguments, loop counters, votes, and elements that everybody reads between two barriers. A shared
array is written by each thread in its own element, or by atomics of one operation that commutes,
and read behind a barrier; another barrier comes before the next write. Every variable has one type,
which each assignment names, so the text means the same on the python device.

Threads that return early leave the masks (`full`) first; arrays keep what they last wrote.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .words import COMMUTE, FLOATS, HEAD, INTS, LAUNCHES, VARIABLES


@dataclass
class Case:
    seed: int
    source: str
    launch: tuple
    options: dict
    data: dict[str, Any] = field(default_factory=dict)


class Generator:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed, self.names, self.left = seed, 0, 26
        self.grid, self.block = self.rng.choice(LAUNCHES)
        self.threads = int(np.prod(self.block))
        self.check = self.rng.random() < 0.15
        self.shared: dict[str, str] = {}  # one element for each thread: name, type
        self.bins: dict[str, tuple[str, str]] = {}  # name, type, the operation
        self.locals: dict[str, tuple[str, int, int]] = {}
        self.functions: list[str] = []
        self.inner: list[str] = []  # names of nested functions that meet
        self.counters: list[str] = []
        self.alive = True  # nobody has returned yet

    # ---- Words ----

    def pick(self, *of: Any) -> Any:
        return self.rng.choice(of)

    def chance(self, part: float) -> bool:
        return self.rng.random() < part

    def fresh(self, first: str) -> str:
        self.names += 1
        return f"{first}{self.names}"

    # ---- Expressions ----

    def int_(self, depth: int = 2) -> str:
        """An int64 that differs between threads."""
        if depth == 0 or self.chance(0.25):
            leaves = [
                "a",
                "b",
                "gpu.int64(u)",
                "gpu.int64(v)",
                "gpu.int64(w)",
                "gpu.int64(t)",
                "x[t % x.shape[0]]",
                "gpu.int64(p)",
                f"gpu.int64({self.rng.randint(-9, 99)})",
            ]
            leaves += [f"gpu.int64({c})" for c in self.counters]
            for name, (kind, rows, columns) in self.locals.items():
                if kind in INTS:
                    at = f"(a + {self.rng.randint(0, 3)}) % {rows}, gpu.int64(u) % {columns}"
                    leaves.append(f"gpu.int64({name}[{at}])")
            return self.rng.choice(leaves)
        one, other = self.int_(depth - 1), self.int_(depth - 1)
        if self.check:
            return f"(({one}) % 1000 {self.pick('+', '-', '*')} ({other}) % 1000)"
        return self.pick(
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {other})",
            f"({one} ^ {other})",
            f"({one} & {other})",
            f"({one} >> ({other} & 15))",
            f"({one} % 1009 * {other})",
            f"({one} if {self.bool_(0)} else {other})",
            f"min({one}, {other})",
        )

    def float_(self, depth: int = 1) -> str:
        """A float64 of few digits."""
        leaves = [
            "g",
            "gpu.float64(f)",
            "gpu.float64(h)",
            f"gpu.float64({self.int_(0)} & 255)",
            f"gpu.float64({self.pick(0.5, 1.25, -3.0, 0.1)})",
        ]
        leaf = self.rng.choice(leaves)
        if depth == 0:
            return leaf
        return f"({leaf} {self.pick('+', '-', '*')} {self.float_(depth - 1)})"

    def bool_(self, depth: int = 1) -> str:
        simple = self.pick(
            "p",
            "q",
            f"{self.int_(depth)} % 3 == 0",
            f"a > {self.int_(depth)}",
            "lane & 1 == 0",
            "f < g",
            f"u % 7 < {self.rng.randint(1, 6)}",
        )
        if depth and self.chance(0.3):
            return f"({simple} {self.pick('and', 'or')} {self.bool_(depth - 1)})"
        return simple

    def value(self, kind: str, depth: int = 2) -> str:
        if kind == "bool":
            return f"bool({self.bool_()})"
        if kind in FLOATS:
            return f"gpu.{kind}({self.float_()})"
        if self.check:
            return f"gpu.{kind}({self.int_(depth)} % 100)"
        return f"gpu.{kind}({self.int_(depth)})"

    def uniform(self) -> str:
        """A small int that is the same for all threads of the block."""
        parts = ["s", "block", "s % 3", str(self.rng.randint(0, 3)), *self.counters]
        if self.chance(0.2):
            return f"({self.rng.choice(parts)} + {self.rng.choice(parts)}) % 4"
        return self.rng.choice(parts)

    def uniform_bool(self) -> str:
        simple = f"{self.uniform()} {self.pick('<', '>', '==', '!=')} {self.uniform()}"
        vote = f"gpu.syncthreads_{self.pick('or', 'and')}({self.bool_()})"
        count = f"gpu.syncthreads_count({self.bool_()}) {self.pick('<', '>')} T // 2"
        return self.pick(simple, simple, f"z[block] > {self.rng.randint(0, 9)}", vote, count)

    def variable(self, *kinds: str) -> str:
        return self.rng.choice([v for v, k in VARIABLES.items() if not kinds or k in kinds])

    # ---- Statements that all threads come by ----

    def body(self, n: int, depth: int, where: str) -> list[str]:
        lines: list[str] = []
        for _ in range(n):
            if self.left <= 0:
                break
            self.left -= 1
            words = (
                self.block_words(depth) if where == "block" else ("set", "set", "local", "count")
            )
            if where == "lanes" and depth:
                words = (*words, "branch", "for")
            lines += getattr(self, "on_" + self.rng.choice(words))(depth, where)
        return lines or ["pass"]

    def block_words(self, depth: int) -> tuple[str, ...]:
        words = (
            "set",
            "exchange",
            "exchange",
            "twice",
            "bins",
            "vote",
            "shuffle",
            "shuffle",
            "group",
            "count",
            "local",
            "call",
            "inner",
            "tuple",
            "turns",
            "view",
        )
        return (*words, "if", "if", "for", "while", "branch") if depth else words

    def on_set(self, depth: int, where: str) -> list[str]:
        name = self.variable()
        return [f"{name} = {self.value(VARIABLES[name])}"]

    def on_local(self, depth: int, where: str) -> list[str]:
        if not self.locals:
            return []
        name, (kind, rows, columns) = self.rng.choice(sorted(self.locals.items()))
        at = f"{self.int_(1)} % {rows}, gpu.int64(u) % {columns}"
        return [f"{name}[{at}] = {self.value(kind)}"]

    def reading(self, name: str) -> str:
        at = self.pick(
            "(t + 1) % T",
            "T - 1 - t",
            "t // 2",
            "t ^ 1 if t ^ 1 < T else t",
            f"{self.uniform()} % T",
            f"(t + {self.uniform()}) % T",
            "-1",
        )
        return f"{name}[{at}]"

    def into(self, target: str, kind: str, text: str) -> list[str]:
        """The value of a type into a variable of another, if it may not fit."""
        to = VARIABLES[target]
        value = f"gpu.{to}({text})"
        if to == "bool":
            value = f"bool({text} != 0)"
        elif to in INTS and kind in FLOATS:
            value = f"gpu.{to}(gpu.int64({text} > gpu.{kind}(1)))"
        elif to in INTS and self.check:
            value = f"gpu.{to}(gpu.int64({text}) % 100)"
        return [f"{target} = {value}", *self.noted(target)]

    def noted(self, *names: str) -> list[str]:
        """The values go into a checksum, so that nothing is forgotten."""
        lines = []
        for name in names:
            number = f"gpu.int64({name})"
            if VARIABLES[name] in FLOATS:
                number = f"(1 if {name} > 1 else 2 if {name} < 0.5 else 3)"
            lines.append(f"acc = (acc * 31 + {number}) % 1000003")
        return lines

    def on_exchange(self, depth: int, where: str) -> list[str]:
        name, kind = self.rng.choice(sorted(self.shared.items()))
        target = self.variable()
        value = self.pick(self.value(kind), f"{name}[t]")
        return [
            f"{name}[t] = {value}",
            "gpu.syncthreads()",
            *self.into(target, kind, self.reading(name)),
            "gpu.syncthreads()",
        ]

    def on_twice(self, depth: int, where: str) -> list[str]:
        """What the neighbour has before and after."""
        name, kind = self.rng.choice(sorted(self.shared.items()))
        read = f"{name}[(t + 1) % T]"
        bound = self.pick("2", "3", "s + 1")
        k = self.fresh("k")
        wide = "int64" if kind in INTS else "float64"
        add, target = f"gpu.{wide}({read})", "a" if wide == "int64" else "g"
        lines = [
            f"for {k} in range({bound}):",
            f"    r0 = {add}",
            "    gpu.syncthreads()",
            f"    {name}[t] = {self.value(kind, 1)}",
            "    gpu.syncthreads()",
            f"    r1 = {add}",
            "    gpu.syncthreads()",
            f"    {target} = r0 % 997 + r1 % 991",
            *indented(self.noted(target)),
        ]
        return lines

    def on_bins(self, depth: int, where: str) -> list[str]:
        name, (kind, op) = self.rng.choice(sorted(self.bins.items()))
        value = self.value(kind)
        line = f"gpu.atomic.{op}({name}, {self.int_(1)} % 5, {value})"
        guard = [f"if {self.bool_()}:", f"    {line}"] if self.chance(0.4) else [line]
        target = self.variable()
        return [
            *guard,
            "gpu.syncthreads()",
            *self.into(target, kind, f"{name}[(t + {self.uniform()}) % 5]"),
            "gpu.syncthreads()",
        ]

    def on_vote(self, depth: int, where: str) -> list[str]:
        word = self.pick("count", "and", "or")
        text = f"gpu.syncthreads_{word}({self.bool_()})"
        target = self.variable(*INTS)
        return self.into(target, "int64", text)

    def on_shuffle(self, depth: int, where: str) -> list[str]:
        name = self.variable(*INTS, "float16", "float32", "float64")
        if not self.alive:
            return [f"{name} = gpu.shfl_sync(full, {name}, gpu.ffs(full) - 1)"]
        text = self.pick(
            f"gpu.shfl_sync(full, {name}, (lane + {self.rng.randint(0, 40)}) % lanes)",
            f"gpu.shfl_up_sync(full, {name}, {self.uniform()})",
            f"gpu.shfl_xor_sync(full, {name}, 1)" if self.threads % 2 == 0 else f"{name}",
        )
        return [f"{name} = {text}", *self.noted(name)]

    def on_group(self, depth: int, where: str) -> list[str]:
        """What lanes tell each other for which a condition holds."""
        m, c = self.fresh("m"), self.fresh("c")
        lines = [f"{c} = bool({self.bool_()})", f"{m} = gpu.ballot_sync(full, {c})"]
        inside = self.meeting(m)
        if self.chance(0.5):
            inside += self.body(1, 0, "lanes")
        if self.chance(0.4):
            d, m2 = self.fresh("c"), self.fresh("m")
            inside += [
                f"{d} = bool({self.bool_()})",
                f"{m2} = gpu.ballot_sync({m}, {d})",
                f"if {d}:",
                *indented(self.meeting(m2)),
            ]
        if self.chance(0.3):
            k = self.fresh("k")
            inside = [f"for {k} in range({self.rng.randint(1, 3)}):", *indented(inside)]
        lines += [f"if {c}:", *indented(inside)]
        if self.chance(0.5):
            lines += ["else:", *indented(self.meeting(f"(full & ~{m})"))]
        return [*lines, *self.noted("a", "u", "v")]

    def meeting(self, m: str) -> list[str]:
        word = self.pick("add", "min", "max", "and", "or", "xor")
        return self.pick(
            [f"u = gpu.reduce_{word}_sync({m}, u)"],
            [f"v = gpu.reduce_{self.pick('add', 'min', 'max')}_sync({m}, v)"],
            [f"u = gpu.match_any_sync({m}, {self.pick('a', 'u', 'v', 'f', 'g')})"],
            [f"a = gpu.shfl_sync({m}, a, gpu.ffs({m}) - 1)"],
            [f"h = gpu.shfl_sync({m}, h, gpu.ffs({m}) - 1)"],
            [f"p = bool(gpu.any_sync({m}, {self.bool_()}))"],
            [f"q = bool(gpu.all_sync({m}, {self.bool_()}))"],
            [f"gpu.syncwarp({m})", f"u = gpu.uint32(gpu.popc({m}))"],
            [f"u = gpu.ballot_sync({m}, {self.bool_()})"],
        )

    def on_count(self, depth: int, where: str) -> list[str]:
        k = self.rng.randrange(len(COMMUTE))
        return [f"gpu.atomic.{COMMUTE[k]}(e, ({k}, {self.int_(1)} % 3), {self.value('int32')})"]

    def on_call(self, depth: int, where: str) -> list[str]:
        name, kind = self.rng.choice(sorted(self.shared.items()))
        f = self.fresh("talk")
        wide = "int64" if kind in INTS else "float64"
        loop = self.chance(0.5)
        body = [
            f"s[t] = gpu.{kind}(d)",
            "gpu.syncthreads()",
            f"r = gpu.{wide}({self.pick('s[(t + 1) % T]', 's[T - 1 - t]')})",
            "gpu.syncthreads()",
        ]
        if loop:
            body = [
                f"r = gpu.{wide}(0)",
                f"for k in range({self.pick('2', 'n')}):",
                *indented([*body, f"d = gpu.{wide}(r % 97)"]),
            ]
        if self.chance(0.3):
            body = [f"if n == {self.rng.randint(0, 2)}:", f"    return gpu.{wide}(d % 31)", *body]
        lines = [f"def {f}(s, t, T, d, n):", *indented([*body, "return r"])]
        self.functions.append("\n".join(lines) + "\n")
        d = f"{self.int_(1)} % 100" if wide == "int64" else self.float_()
        target = self.variable("int64" if wide == "int64" else "float64")
        call = f"{target} = {f}({name}, t, T, {d}, {self.uniform()})"
        return [call, *self.noted(target)]

    def on_inner(self, depth: int, where: str) -> list[str]:
        """A closure that meets, over variables that change."""
        name = self.rng.choice([n for n, k in sorted(self.shared.items()) if k in INTS])
        f = self.fresh("inner")
        kind = self.shared[name]
        change = self.chance(0.4)
        body = ["nonlocal b"] if change else []
        body += [
            f"{name}[t] = gpu.{kind}({'(b + d) % 100' if self.check else 'b + d'})",
            "gpu.syncthreads()",
            f"r = gpu.int64({name}[(t + d) % T])",
            "gpu.syncthreads()",
        ]
        body += ["b = gpu.int64(r % 1000)"] if change else []
        twice = f"b = {f}(1) if {self.uniform_bool()} else {f}(2)"
        return [
            f"def {f}(d):",
            *indented([*body, "return gpu.int64(r)"]),
            self.pick(f"a = {f}({self.rng.randint(0, 3)})", twice),
            *self.noted("a", "b"),
        ]

    def on_tuple(self, depth: int, where: str) -> list[str]:
        """Values of many types that live over a barrier."""
        names = [self.variable() for _ in range(self.rng.randint(2, 9))]
        tup = self.fresh("tup")
        return [
            f"{tup} = ({', '.join(names)})",
            *self.on_exchange(depth, where),
            f"{', '.join(names)} = {tup}",
        ]

    def on_view(self, depth: int, where: str) -> list[str]:
        """Views of shared arrays that live over a barrier."""
        name, kind = self.rng.choice(sorted(self.shared.items()))
        view = self.fresh("view")
        part = self.pick("[::-1]", "[:]", "[t:]", "[t::-1]")
        return [
            f"{view} = {name}{part}",
            f"{name}[t] = {self.value(kind)}",
            "gpu.syncthreads()",
            *self.into(self.variable(), kind, f"{view}[{self.pick('0', '-1')}]"),
            "gpu.syncthreads()",
        ]

    def on_turns(self, depth: int, where: str) -> list[str]:
        """Threads one after the other, each looks at memory until it is its turn."""
        if not self.alive or (self.grid != 1 and self.chance(0.5)):
            return []
        kind = self.pick("plain", "function", "view", "atomic", "cas", "closure", "tuple", "break")
        after = ["gpu.threadfence()", "turn[0] = t + 1"]
        work = [
            f"total[0] = (total[0] * 3 + gpu.int32({self.int_(1)} % 50)) % 10007",
            "a = gpu.int64(total[0])",
        ]
        match kind:
            case "function":
                f = self.fresh("look")
                self.functions.append(f"def {f}(at, k):\n    return at[k] - 0\n")
                wait = [f"while {f}(turn, 0) != t:", "    pass"]
            case "view":
                wait = ["seen = turn[:1]", "while seen[-1] != t:", "    pass"]
            case "atomic":
                wait = ["while gpu.atomic.add(turn, 0, 0) != t:", "    pass"]
                after[1] = "gpu.atomic.exch(turn, 0, t + 1)"
            case "cas":
                wait = [
                    "while True:",
                    "    if gpu.atomic.cas(turn, 0, t, t) == t:",
                    "        break",
                ]
                after[1] = "gpu.atomic.add(turn, 0, 1)"
            case "closure":
                f = self.fresh("ready")
                wait = [f"{f} = lambda: turn[0] == t", f"while not {f}():", "    gpu.nanosleep(10)"]
            case "tuple":
                wait = ["both = (turn, t)", "while both[0][0] < both[1]:", "    pass"]
            case "break":
                wait = ["while True:", "    now = turn[0]", "    if now >= t:", "        break"]
            case _:
                wait = ["while turn[0] != t:", "    pass"]
        fresh = ["if t == 0:", "    turn[0] = 0", "    total[0] = 1", "gpu.syncthreads()"]
        return [*fresh, *wait, "gpu.threadfence()", *work, *after, "gpu.syncthreads()"]

    def on_if(self, depth: int, where: str) -> list[str]:
        lines = [f"if {self.uniform_bool()}:", *indented(self.body(2, depth - 1, where))]
        if self.chance(0.5):
            lines += ["else:", *indented(self.body(2, depth - 1, where))]
        return lines

    def on_branch(self, depth: int, where: str) -> list[str]:
        """Some threads do something alone."""
        lines = [f"if {self.bool_()}:", *indented(self.body(2, depth - 1, "lanes"))]
        if self.chance(0.5):
            lines += ["else:", *indented(self.body(1, depth - 1, "lanes"))]
        return lines

    def on_for(self, depth: int, where: str) -> list[str]:
        k = self.fresh("k")
        bound = self.uniform() if where == "block" else f"{self.int_(1)} % 4"
        self.counters.append(k)
        inside = self.body(2, depth - 1, where)
        if where == "block" and self.chance(0.3):
            inside += [f"if {self.uniform_bool()}:", f"    {self.pick('break', 'continue')}"]
        inside += self.body(1, depth - 1, where)
        self.counters.pop()
        return [f"for {k} in range({bound}):", *indented(inside)]

    def on_while(self, depth: int, where: str) -> list[str]:
        k = self.fresh("k")
        condition = self.pick(
            f"{k} < {self.uniform()}",
            f"{k} < 3 and {self.uniform_bool()}",
            f"{self.uniform_bool()} and {k} < 2",
        )
        self.counters.append(k)
        inside = self.body(2, depth - 1, where)
        self.counters.pop()
        return [f"{k} = 0", f"while {condition}:", *indented([f"{k} += 1", *inside])]

    # ---- The kernel ----

    def leave(self) -> list[str]:
        """Some threads return."""
        self.alive = False
        c = self.fresh("c")
        return [
            f"{c} = bool({self.bool_()})",
            f"full = gpu.ballot_sync(full, not {c})",
            f"if {c}:",
            "    out[block, t, 11] = acc",
            "    out[block, t, 9] = -1",
            "    return",
        ]

    def declarations(self) -> list[str]:
        lines = []
        for _ in range(self.rng.randint(1, 3)):
            name, kind = self.fresh("S"), self.pick(*INTS, *FLOATS)
            if not self.shared:
                kind = self.pick(*INTS)
            self.shared[name] = kind
            lines += [
                f"{name} = gpu.shared.array({self.threads}, gpu.{kind})",
                f"{name}[t] = gpu.{kind}(0)",
            ]
        for _ in range(self.rng.randint(1, 2)):
            name, kind = self.fresh("B"), self.pick("int32", "uint32", "int64", "uint64")
            self.bins[name] = kind, self.pick(*COMMUTE)
            lines += [
                f"{name} = gpu.shared.array((5,), gpu.{kind})",
                "if t == 0:",
                "    for j in range(5):",
                f"        {name}[j] = gpu.{kind}(3)",
            ]
        for _ in range(self.rng.randint(0, 2)):
            name, kind = self.fresh("L"), self.pick(*INTS, *FLOATS)
            rows, columns = self.rng.randint(1, 4), self.rng.randint(1, 4)
            self.locals[name] = kind, rows, columns
            lines += [
                f"{name} = gpu.local.array(({rows}, {columns}), gpu.{kind})",
                f"for j in range({rows * columns}):",
                f"    {name}[j // {columns}, j % {columns}] = gpu.{kind}(j)",
            ]
        lines += ["turn = gpu.shared.array(1, gpu.int32)", "total = gpu.shared.array(1, gpu.int32)"]
        return [*lines, "gpu.syncthreads()"]

    def case(self) -> Case:
        first = [
            "a = x[t % x.shape[0]]",
            "b = gpu.int64(t * 3)",
            "u = gpu.uint32(t + 1)",
            "v = gpu.int32(5 - t)",
            "w = gpu.uint8(t)",
            "f = gpu.float32(t) * gpu.float32(0.5)",
            "g = gpu.float64(t)",
            "h = gpu.float16(1)",
            "p = bool(t % 2 == 0)",
            "q = bool(x[0] > 0)",
            "acc = gpu.int64(t)",
        ]
        lines = [*first, *self.declarations()]
        lines += self.body(self.rng.randint(3, 6), 2, "block")
        if self.chance(0.25):
            lines += self.leave()
            lines += self.body(2, 1, "block")
        lines.append("out[block, t, 11] = acc")
        for k, name in enumerate(VARIABLES):
            text = f"gpu.float64({name})" if VARIABLES[name] in FLOATS else f"gpu.int64({name})"
            lines.append(
                f"{'fout' if VARIABLES[name] in FLOATS else 'out'}[block, t, {k}] = {text}"
            )
        for name, (kind, rows, columns) in self.locals.items():
            to = "out" if kind in INTS else "fout"
            wide = "int64" if kind in INTS else "float64"
            lines.append(f"{to}[block, t, 10] = gpu.{wide}({name}[{rows - 1}, {columns - 1}])")
        source = "\n".join([*self.functions, "def kernel(s, x, z, e, out, fout):"])
        source += "\n" + HEAD + "\n".join(indented(lines)) + "\n"
        rng = np.random.default_rng(self.seed)
        shape = (self.grid, self.threads, 12)
        data = {
            "s": self.rng.randint(0, 3),
            "x": rng.integers(-50, 50, self.rng.randint(1, 40)),
            "z": rng.integers(0, 9, 4),
            "e": np.ones((len(COMMUTE), 3), np.int32),
            "out": np.zeros(shape, np.int64),
            "fout": np.zeros(shape),
        }
        options = {"fma": self.chance(0.5)} | ({"check": True} if self.check else {})
        return Case(self.seed, source, (self.grid, self.block), options, data)


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def generate(seed: int) -> Case:
    return Generator(seed).case()
