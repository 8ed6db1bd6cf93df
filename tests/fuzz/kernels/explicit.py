"""A kernel's text with every meeting of types written out.

Python's variables have no types of their own, so a weak float that meets a float32 on another path
is still a double when CPython runs the function. This pass finds which types the assignments have
that reach each reader (least fixed point) and writes a text in which a variable with several is
converted where it is read. Assigning it to another variable, choosing it in a conditional
expression or with `and` and `or` and returning it do not read it. The text computes on the python
device what the kernel must compute. Functions are written once per list of argument types.

Understood is what the generator writes; expressions are in values.py, what loops go over in
loops.py.
"""

import ast
from dataclasses import dataclass, field

from .loops import Items, Iteration
from .types import Array, Function, NoType, Type, binary, exactly, is_float, is_read, meet, scalar
from .values import OPERATORS, Env, narrows


class Again(Exception):
    """A loop is to be written out that was not."""


class Loop:
    """What leaves a loop's body: names and types at each `break` and `continue`. The rounds of one
    that is written out have no head."""

    def __init__(self, head: Env) -> None:
        self.head = head
        self.breaks: list[Env] = []
        self.continues: list[Env] = []


@dataclass
class Instance:
    """A function for one list of argument types: what it returns as far as is known, its text."""

    name: str
    function: ast.FunctionDef
    env: Env
    result: Type | None = None
    waits: bool = False  # for a result of its own
    lines: list[tuple[str, int]] = field(default_factory=list)


def parts_of(name: str, kind: Type) -> list[tuple[str, str]]:
    """The numbers in a value, each with its type."""
    if isinstance(kind, tuple):
        return [p for k, part in enumerate(kind) for p in parts_of(f"{name}[{k}]", part)]
    return [(name, kind)] if isinstance(kind, str) else []


def leaves(body: list[ast.stmt]) -> list[str]:
    """The words by which the statements leave or repeat the loop around them."""
    words = set()
    for node in body:
        if isinstance(node, ast.Break | ast.Continue):
            words.add(ast.unparse(node))
        elif isinstance(node, ast.For | ast.While):
            words.update(leaves(node.orelse))
        elif isinstance(node, ast.If):
            words.update(leaves(node.body + node.orelse))
        elif isinstance(node, ast.Match):
            words.update(word for case in node.cases for word in leaves(case.body))
    return sorted(words)


class Writer(Iteration):
    """One function for one list of argument types. `lines` is its text, each with the line of the
    kernel that it comes from."""

    def __init__(
        self, functions: dict[str, ast.FunctionDef], check: bool = False, eager: bool = False
    ):
        self.functions = functions
        self.check, self.eager = check, eager
        self.instances: dict[tuple, Instance] = {}
        self.lines: list[tuple[str, int]] = []
        self.loops: list[Loop] = []
        # A loop that was taken for one of elements of one type and turns out to be none stays
        # written out, whatever types follow from that: each by itself in the rounds of loops
        # around it.
        self.once_loops: list[tuple[ast.For, tuple[int, ...]]] = []
        self.written_out: list[tuple[ast.For, tuple[int, ...]]] = []
        self.round: tuple[int, ...] = ()
        self.decided: dict[ast.If, bool] = {}
        self.returns: list[Type] = []
        self.line = 0

    # --- Functions ---

    def call(self, name: str, node: ast.Call, kinds: list[Type], env: Env) -> tuple[str, Type]:
        """The instance of a function for these argument types, and what it returns."""
        words = tuple(word.arg for word in node.keywords)
        key = (name, *kinds, *words)
        if key not in self.instances:
            function = self.functions[name]
            env = self.bound(function.args, node, kinds)
            self.instances[key] = Instance(f"{name}_{len(self.instances)}", function, env)
            self.write(self.instances[key])
            if not self.within and any(i.waits for i in self.instances.values()):
                self.settle()
        instance = self.instances[key]
        if instance.result is None:
            raise NoType("recursion")
        return instance.name, instance.result

    within: Instance | None = None  # the function that this is the text of

    def write(self, instance: Instance) -> bool:
        """The text of a function by what is known of results; true if its own result rose. A
        return that needs a result of which nothing is known yet waits."""
        inner = Writer(self.functions, self.check, self.eager)
        inner.instances, inner.within = self.instances, instance
        names = {f: Function(f) for f in self.functions}
        function = instance.function
        if inner.whole(function.body, names | instance.env) is not None:
            raise NoType("a function that may return None")
        heading = (f"def {instance.name}({ast.unparse(function.args)}):", function.lineno)
        instance.lines = [heading, *inner.lines]
        old = instance.result
        if inner.returns:
            instance.result = meet(*inner.returns)
        return inner.returns != [] and (old is None or exactly(old) != exactly(instance.result))

    def settle(self) -> None:
        """Results that depend on each other, until none rises."""
        for _ in range(20):
            rising = [self.write(instance) for instance in list(self.instances.values())]
            if not any(rising):
                break
        else:
            raise NoType("a result that rises for ever")
        if any(instance.result is None for instance in self.instances.values()):
            raise NoType("a function that never returns")

    # --- Statements ---

    def put(self, depth: int, text: str) -> None:
        self.lines.append(("    " * depth + text, self.line))

    def meet(self, depth: int, ways: list[Env]) -> Env | None:
        """Names that all the ways that arrive here know."""
        if not ways:
            return None
        names = [name for name in ways[0] if all(name in way for way in ways)]
        env = {name: meet(*(way[name] for way in ways)) for name in names}
        if self.eager:
            self.narrow(depth, env)
        return env

    def narrow(self, depth: int, env: Env) -> None:
        for name, kind in env.items():
            for part, inner in parts_of(name, kind):
                if narrows(inner):
                    self.put(depth, f"narrow_{inner}({part})")

    def whole(self, body: list[ast.stmt], env: Env) -> Env | None:
        """The text of a function's body, from the start where what a loop is was mistaken."""
        while True:
            try:
                return self.block(body, env, 1)
            except Again:
                self.lines, self.loops, self.returns, self.decided = [], [], [], {}
                self.round = ()

    def block(self, body: list[ast.stmt], env: Env, depth: int) -> Env | None:
        """The names behind the statements; None if control never comes there."""
        now: Env | None = dict(env)
        for statement in body:
            if now is None:
                raise NoType("code that is never reached")
            self.line = statement.lineno
            method = getattr(self, "do_" + type(statement).__name__, None)
            if method is None:
                raise NoType(type(statement).__name__)
            now = method(statement, now, depth)
        return now

    def do_Pass(self, node: ast.Pass, env: Env, depth: int) -> Env:
        self.put(depth, "pass")
        return env

    def do_Expr(self, node: ast.Expr, env: Env, depth: int) -> Env:
        """An atomic addition, or a call for its effect."""
        call = node.value
        assert isinstance(call, ast.Call)
        if not ast.unparse(call.func).startswith("gpu.atomic."):
            self.put(depth, self.expression(call, env)[1])
            return env
        array, at, value = call.args
        kind, text = self.expression(value, env)
        if is_float(scalar(kind)):
            raise NoType("a float for integers")
        where = f"{ast.unparse(array)}, {self.index(at, env)}"
        self.put(depth, f"{ast.unparse(call.func)}({where}, {text})")
        return env

    def do_Delete(self, node: ast.Delete, env: Env, depth: int) -> Env:
        self.put(depth, ast.unparse(node))
        return {name: kind for name, kind in env.items() if name != ast.unparse(node.targets[0])}

    def do_Nonlocal(self, node: ast.Nonlocal, env: Env, depth: int) -> Env:
        return env

    def do_FunctionDef(self, node: ast.FunctionDef, env: Env, depth: int) -> Env:
        """A nested function without joins: it is written as it is."""
        for line in ast.unparse(node).splitlines():
            self.put(depth, line)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names = tuple((name, env[name]) for name in sorted(used) if name in env)
        return env | {node.name: Function(ast.unparse(node), names)}

    def do_Assign(self, node: ast.Assign, env: Env, depth: int) -> Env:
        kind, text = self.assigned(node, env)
        if not is_read(kind) and any(isinstance(t, ast.Subscript) for t in node.targets):
            self.put(depth, f"_v = {text}")
            text = "_v"
        targets = ""
        for target in node.targets:
            if isinstance(target, ast.Subscript) and not is_read(kind):
                type_, value = self.read(kind, text)
                self.put(depth, f"{self.target(target, type_, env)} = {value}")
                continue
            targets += f"{self.target(target, kind, env)} = "
            self.bind(target, kind, env)
        if targets:
            self.put(depth, targets + text)
        for star in (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Starred)):
            name = ast.unparse(star.value)  # a list in Python
            self.put(depth, f"{name} = tuple({name})")
        return env

    def assigned(self, node: ast.Assign, env: Env) -> tuple[Type, str]:
        """What is assigned: passed on to names, read to be taken apart. `a, b = b, a` makes no
        tuple of two or three values."""
        value, target = node.value, node.targets[0]
        if isinstance(target, ast.Subscript) and len(node.targets) == 1:
            return self.expression(value, env)
        if not isinstance(target, ast.Tuple):
            return self.passed(value, env)
        names = all(isinstance(part, ast.Name) for part in target.elts)
        swap = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) <= 3
        if not (names and swap and len(node.targets) == 1):
            return self.expression(value, env)
        parts = [self.passed(part, env) for part in value.elts]
        return tuple(kind for kind, _ in parts), f"({', '.join(text for _, text in parts)},)"

    def target(self, node: ast.expr, kind: Type, env: Env) -> str:
        if not isinstance(node, ast.Subscript):
            return ast.unparse(node)
        array = self.place(node, env)
        if isinstance(array, Array) and isinstance(kind, Array):
            if kind.rank > array.rank:
                raise NoType("more axes than the view has")
        else:
            scalar(kind)
        return f"{self.expression(node.value, env)[1]}[{self.index(node.slice, env)}]"

    def place(self, node: ast.Subscript, env: Env) -> Type:
        """What is stored in: an element or a view."""
        array = self.expression(node.value, env)[0]
        if not isinstance(array, Array):
            raise NoType("a store to no array")
        return self.item_of(array, node.slice)

    def do_AugAssign(self, node: ast.AugAssign, env: Env, depth: int) -> Env:
        kind, text = self.expression(node.value, env)
        op = OPERATORS[type(node.op)]
        if isinstance(node.target, ast.Name):
            old, target = env[node.target.id], node.target.id
        else:
            assert isinstance(node.target, ast.Subscript)
            old, target = self.place(node.target, env), self.target(node.target, "int", env)
        if isinstance(old, Array):
            if isinstance(kind, Array) and kind.rank > old.rank:
                raise NoType("more axes than the view has")
            binary(op, *(self.values_of(k) for k in (old, kind)))
        elif isinstance(node.target, ast.Name):
            value = self.read(old, target)
            env = env | {target: binary(op, value[0], kind)}
            if not is_read(old):
                self.put(depth, f"{target} = {value[1]} {op} ({text})")
                return env
        else:
            binary(op, scalar(old), kind)
        self.put(depth, f"{target} {op}= {text}")
        return env

    def values_of(self, kind: Type) -> Type:
        return self.item_of_all(kind) if isinstance(kind, Array) else scalar(kind)

    def item_of_all(self, array: Array) -> Type:
        return self.values(Array(array.dtype, 1))[0]

    # --- Branches ---

    def do_If(self, node: ast.If, env: Env, depth: int) -> Env | None:
        if isinstance(node.test, ast.Call) and ast.unparse(node.test.func) == "isinstance":
            return self.known(node, env, depth)
        self.put(depth, f"if {self.truth(node.test, env)}:")
        ways = [self.block(node.body, env, depth + 1)]
        if node.orelse:
            self.put(depth, "else:")
            ways.append(self.block(node.orelse, env, depth + 1))
        else:
            ways.append(env)
        return self.meet(depth, [way for way in ways if way is not None])

    def known(self, node: ast.If, env: Env, depth: int) -> Env | None:
        """A branch that is decided by types. What the other side sets is still set on two paths,
        so it is no product; neither is what a `break` or `continue` there passes by."""
        taken = self.is_instance(node.test, env)
        if self.decided.setdefault(node, taken) != taken:
            raise NoType("isinstance of a type that rises around a loop")
        value = self.expression(node.test.args[0], env)[1]
        self.put(depth, f"if isinstance({value}, {ast.unparse(node.test.args[1])}):")
        for side in (True, False):
            body = node.body if side else node.orelse
            if side == taken:
                self.put(depth + 1, "pass")
                result = self.block(body, env, depth + 1)
            else:
                stores = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Name)]
                names = sorted({n.id for n in stores if isinstance(n.ctx, ast.Store)})
                ends = leaves(body)
                for line in [f"{name} = 0" for name in names] or ([] if ends else ["pass"]):
                    self.put(depth + 1, line)
                for k, word in enumerate(ends):
                    self.put(depth + 1, f"{'el' if k else ''}if n[{k}] < 0:")
                    self.put(depth + 2, word)
            if side:
                self.put(depth, "else:")
        return result

    def do_Match(self, node: ast.Match, env: Env, depth: int) -> Env | None:
        kind, text = self.expression(node.subject, env)
        self.put(depth, f"match {text}:")
        ways: list[Env | None] = []
        for case in node.cases:
            inner = dict(env)
            pattern = ast.unparse(case.pattern)
            self.line = case.pattern.lineno
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.name:
                inner[case.pattern.name] = kind
            guard = f" if {self.truth(case.guard, inner)}" if case.guard else ""
            self.put(depth + 1, f"case {pattern}{guard}:")
            ways.append(self.block(case.body, inner, depth + 2))
        last = node.cases[-1]
        if last.guard or not isinstance(last.pattern, ast.MatchAs):
            ways.append(env)
        return self.meet(depth, [way for way in ways if way is not None])

    # --- Loops ---

    def do_For(self, node: ast.For, env: Env, depth: int) -> Env | None:
        items, text = self.items(node.iter, env)
        key = (node, self.round)
        if items.mixed() and key not in self.written_out:
            self.written_out.append(key)
            if key in self.once_loops:
                raise Again
        if key in self.written_out:
            return self.rounds(node, items, text, env, depth)
        self.once_loops.append(key)
        targets: Env = {}
        self.bind(node.target, items.one(), targets)
        return self.loop(node, env, depth, f"for {ast.unparse(node.target)} in {text}:", targets)

    def do_While(self, node: ast.While, env: Env, depth: int) -> Env | None:
        return self.loop(node, env, depth, None, {})

    def rounds(self, node: ast.For, items: Items, text: str, env: Env, depth: int) -> Env | None:
        """The loop written out, each round in the `else` of the one before."""
        name = f"all{len(self.lines)}"
        self.put(depth, f"{name} = tuple({text})")
        assert items.kinds is not None
        now: Env | None = env
        breaks: list[Env] = []
        for k, kind in enumerate(items.kinds):
            if now is None:
                raise NoType("rounds that are never reached")
            self.bind(node.target, kind, now := dict(now))
            self.put(depth + k, f"for {ast.unparse(node.target)} in ({name}[{k}],):")
            self.loops.append(Loop({}))
            self.round = (*self.round, k)
            end = self.block(node.body, now, depth + k + 1)
            self.round = self.round[:-1]
            loop = self.loops.pop()
            breaks += loop.breaks
            self.put(depth + k, "else:")
            ways = [*loop.continues, *([] if end is None else [end])]
            now = self.meet(depth + k + 1, ways)
        inner = depth + len(items.kinds)
        if now is not None:
            now = self.block(node.orelse or [ast.Pass(lineno=self.line)], now, inner)
        return self.meet(depth, breaks + ([] if now is None else [now]))

    def loop(
        self, node: ast.For | ast.While, env: Env, depth: int, heading: str | None, targets: Env
    ) -> Env | None:
        """Types at the head rise until the body brings no new ones; then the text is written."""
        head = dict(env)
        start = len(self.lines)
        for _ in range(40):
            del self.lines[start:]
            returns = len(self.returns)
            loop = Loop(head)
            first = dict(head)
            if self.eager:
                self.narrow(depth, head)
            if heading is None:
                assert isinstance(node, ast.While)
                self.put(depth, f"while {self.truth(node.test, first)}:")
            else:
                self.put(depth, heading)
            self.loops.append(loop)
            end = self.block(node.body, first | targets, depth + 1)
            self.loops.pop()
            loop.continues += [] if end is None else [end]
            new = {name: meet(env[name], *(way[name] for way in loop.continues)) for name in head}
            if exactly(tuple(new.values())) == exactly(tuple(head.values())):
                if self.eager and end is not None:
                    self.narrow(depth + 1, new)
                return self.behind(node, loop, first, depth)
            head = new
            del self.returns[returns:]
        raise NoType("types that rise for ever")

    def behind(self, node: ast.For | ast.While, loop: Loop, first: Env, depth: int) -> Env | None:
        """The names behind the loop."""
        ways = list(loop.breaks)
        if node.orelse:
            self.put(depth, "else:")
            end = self.block(node.orelse, first, depth + 1)
            ways += [] if end is None else [end]
        else:
            ways.append(first)
        joined = self.meet(depth, ways)
        return joined and {name: kind for name, kind in joined.items() if name in loop.head}

    def do_Break(self, node: ast.Break, env: Env, depth: int) -> None:
        self.loops[-1].breaks.append(env)
        self.put(depth, "break")

    def do_Continue(self, node: ast.Continue, env: Env, depth: int) -> None:
        self.loops[-1].continues.append(env)
        if self.eager:
            self.narrow(depth, self.loops[-1].head)
        self.put(depth, "continue")

    def do_Return(self, node: ast.Return, env: Env, depth: int) -> None:
        if node.value is None:
            self.put(depth, "return")
            return
        try:
            kind, text = self.passed(node.value, env)
        except NoType as error:
            if str(error) != "recursion":
                raise
            assert self.within is not None
            self.within.waits = True
            self.put(depth, "pass")  # its type comes from the other returns first
            return
        self.returns.append(kind)
        self.put(depth, f"return {text}")


NARROW = """
def narrow_{name}(x):
    if int(x) < {low} or int(x) > {high}:
        raise OverflowError("a join")
    return gpu.{name}(x)
"""


def narrowing() -> str:
    """Conversions of ints that must fit, for check=True."""
    import numpy as np

    from .types import INTS

    return "".join(
        NARROW.format(name=name, low=np.iinfo(name).min, high=np.iinfo(name).max)
        for name in INTS
        if name not in ("int64", "uint64")
    ) + (  # an int is in the range of int64; in uint64's if it is no negative number
        "\ndef narrow_int64(x):\n    return gpu.int64(x)\n"
        '\ndef narrow_uint64(x):\n    if x < 0:\n        raise OverflowError("a join")\n'
        "    return gpu.uint64(x)\n"
    )


def parsed(source: str) -> tuple[dict[str, ast.FunctionDef], ast.FunctionDef | None]:
    """The functions of a text, and its kernel."""
    functions = {f.name: f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef)}
    return functions, functions.pop("kernel", None)


def written(
    source: str, params: Env, check: bool = False, eager: bool = False
) -> tuple[Writer, Env | None]:
    """The kernel's text, and the types of its variables at its end. Raises NoType."""
    functions, kernel = parsed(source)
    assert kernel is not None
    writer = Writer(functions, check, eager)
    env = {name: Function(name) for name in functions} | params
    return writer, writer.whole(kernel.body, env)


def explicit(
    source: str, params: Env, check: bool = False, eager: bool = False
) -> tuple[str, list[int]]:
    """The text of functions and `kernel`, with every conversion at a join written, and the line of
    the source that each of its lines comes from (0: none). `params` are the types of the kernel's
    parameters. With `eager` an int that must fit is looked at where paths meet, too. Raises NoType.
    """
    writer, _ = written(source, params, check, eager)
    _, kernel = parsed(source)
    assert kernel is not None
    lines = [(line, 0) for line in narrowing().splitlines()] if check else []
    for instance in writer.instances.values():
        lines += instance.lines
    lines += [(f"def kernel({ast.unparse(kernel.args)}):", 0), *writer.lines]
    return "\n".join(line for line, _ in lines) + "\n", [number for _, number in lines]


def type_of(source: str, env: Env, functions: dict[str, ast.FunctionDef] | None = None) -> Type:
    """The type of an expression where names have these types."""
    writer = Writer(functions or {})
    names: Env = {name: Function(name) for name in writer.functions}
    return writer.expression(ast.parse(source, mode="eval").body, names | env)[0]
