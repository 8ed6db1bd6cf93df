"""A kernel's text with every meeting of types written out.

Python's variables have no types of their own, so a weak float that meets a float32 on another path
is still a double when CPython runs the function. This pass finds the type of each variable at
each joining point (least fixed point) and writes a text in which a value is converted on the way
to the point: after an `if`, before a loop, at the end of its body, before `continue`, after the
loop, around conditional expressions, `and`, `or` and the returns of functions. The text computes
on the python device what the kernel must compute. Functions are written once per list of argument
types.

Understood is what the generator writes; expressions are in values.py, what loops go over in
loops.py.
"""

import ast

from .loops import Items, Iteration
from .types import Array, Function, Joined, NoType, Type, binary, is_float, join, meeting, scalar
from .values import OPERATORS, Env

Instance = tuple[str, Type | None, list[tuple[str, int]]]


class Loop:
    """What leaves a loop's body: names and types at each `break` and `continue`. The rounds of one
    that is written out have no head to convert to."""

    def __init__(self, head: Env | None = None) -> None:
        self.breaks: list[Env] = []
        self.continues: list[Env] = []
        self.head = head


def as_joined(kind: Type) -> Type:
    """The type as that of a value that was converted."""
    if isinstance(kind, tuple):
        return tuple(map(as_joined, kind))
    return Joined(kind) if isinstance(kind, str) else kind


def plain(kind: Type) -> Type:
    if isinstance(kind, tuple):
        return tuple(map(plain, kind))
    return str(kind) if isinstance(kind, str) else kind


class Writer(Iteration):
    """One function for one list of argument types. `lines` is its text, each with the line of the
    kernel that it comes from."""

    def __init__(self, functions: dict[str, ast.FunctionDef], check: bool = False):
        self.functions = functions
        self.check = check
        self.instances: dict[tuple, Instance] = {}
        self.lines: list[tuple[str, int]] = []
        self.loops: list[Loop] = []
        self.returns: list[Type] = []
        self.line = 0

    # --- Functions ---

    def call(self, name: str, node: ast.Call, kinds: list[Type], env: Env) -> tuple[str, Type]:
        """The instance of a function for these argument types, and what it returns."""
        words = tuple(word.arg for word in node.keywords)
        key = (name, *kinds, *words)
        if key not in self.instances:
            self.instantiate(key, self.functions[name], self.bound_of(name, node, kinds))
        instance, result, _ = self.instances[key]
        if result is None:
            raise NoType("recursion")
        return instance, result

    def bound_of(self, name: str, node: ast.Call, kinds: list[Type]) -> Env:
        return self.bound(self.functions[name].args, node, kinds)

    def instantiate(self, key: tuple, function: ast.FunctionDef, env: Env) -> None:
        """A function that calls itself has the type of its other returns first, until that is its
        own result."""
        instance = f"{key[0]}_{len(self.instances)}"
        heading = (f"def {instance}({ast.unparse(function.args)}):", function.lineno)
        result: Type | None = None
        recursive = False
        for _ in range(9):
            self.instances[key] = (instance, result, [])
            inner = Writer(self.functions, self.check)
            inner.instances = self.instances
            names = {f: Function(f) for f in self.functions}
            if inner.block(function.body, names | env, 1) is not None or not inner.returns:
                raise NoType("a function that may return None")
            new = plain(meeting(*inner.returns))
            recursive = recursive or inner.recursive
            if new == result or not recursive:
                self.instances[key] = (instance, new, [heading, *inner.lines])
                return
            result = new
        raise NoType("a result that rises for ever")

    recursive = False

    # --- Statements ---

    def put(self, depth: int, text: str) -> None:
        self.lines.append(("    " * depth + text, self.line))

    def convert(self, depth: int, ways: list[Env], to: Env) -> None:
        """Every variable whose type differs on a way from the one at the joining point."""
        for name, kind in to.items():
            olds = [way[name] for way in ways if name in way]
            if any(old != kind for old in olds):
                self.put(depth, f"{name} = {self.cast(kind, name, *olds)}")

    def meet(self, ways: list[Env]) -> Env | None:
        """Names that all the ways that arrive here know."""
        if not ways:
            return None
        names = [name for name in ways[0] if all(name in way for way in ways)]
        return {name: meeting(*(way[name] for way in ways)) for name in names}

    def joined(self, depth: int, ways: list[Env]) -> Env | None:
        env = self.meet(ways)
        if env is not None:
            self.convert(depth, ways, env)
        return env

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
        if ast.unparse(call.func) != "gpu.atomic.add":
            self.put(depth, self.expression(call, env)[1])
            return env
        array, at, value = call.args
        kind, text = self.expression(value, env)
        if is_float(scalar(kind)):
            raise NoType("a float for integers")
        self.put(depth, f"gpu.atomic.add({ast.unparse(array)}, {self.index(at, env)}, {text})")
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
        kind, text = self.expression(node.value, env)
        targets = ""
        for target in node.targets:
            targets += f"{self.target(target, kind, env)} = "
            self.bind(target, kind, env)
        self.put(depth, targets + text)
        for star in (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Starred)):
            name = ast.unparse(star.value)  # a list in Python
            self.put(depth, f"{name} = tuple({name})")
        return env

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
            env = env | {target: binary(op, old, kind)}
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
        self.put(depth, f"if {self.expression(node.test, env)[1]}:")
        ways = [self.block(node.body, env, depth + 1)]
        if node.orelse:
            self.put(depth, "else:")
            ways.append(self.block(node.orelse, env, depth + 1))
        else:
            ways.append(env)
        return self.joined(depth, [way for way in ways if way is not None])

    def known(self, node: ast.If, env: Env, depth: int) -> Env | None:
        """A branch that is decided by types. What the other side sets is still set on two paths,
        so it is no product."""
        taken = self.is_instance(node.test, env)
        self.put(depth, f"if {ast.unparse(node.test)}:")
        for side in (True, False):
            body = node.body if side else node.orelse
            if side == taken:
                self.put(depth + 1, "pass")
                result = self.block(body, env, depth + 1)
            else:
                stores = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Name)]
                names = sorted({n.id for n in stores if isinstance(n.ctx, ast.Store)})
                for line in [f"{name} = 0" for name in names] or ["pass"]:
                    self.put(depth + 1, line)
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
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.name:
                inner[case.pattern.name] = kind
            guard = f" if {self.expression(case.guard, inner)[1]}" if case.guard else ""
            self.put(depth + 1, f"case {pattern}{guard}:")
            ways.append(self.block(case.body, inner, depth + 2))
        last = node.cases[-1]
        if last.guard or not isinstance(last.pattern, ast.MatchAs):
            ways.append(env)
        return self.joined(depth, [way for way in ways if way is not None])

    # --- Loops ---

    def do_For(self, node: ast.For, env: Env, depth: int) -> Env | None:
        items, text = self.items(node.iter, env)
        if items.mixed():
            return self.rounds(node, items, text, env, depth)
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
            self.loops.append(Loop())
            end = self.block(node.body, now, depth + k + 1)
            loop = self.loops.pop()
            breaks += loop.breaks
            self.put(depth + k, "else:")
            ways = [*loop.continues, *([] if end is None else [end])]
            now = self.joined(depth + k + 1, ways)
        inner = depth + len(items.kinds)
        if now is not None:
            now = self.block(node.orelse or [ast.Pass(lineno=self.line)], now, inner)
        return self.joined(depth, breaks + ([] if now is None else [now]))

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
            self.convert(depth, [env], head)
            first = dict(head)
            if heading is None:
                assert isinstance(node, ast.While)
                self.put(depth, f"while {self.expression(node.test, first)[1]}:")
            else:
                self.put(depth, heading)
            self.loops.append(loop)
            end = self.block(node.body, first | targets, depth + 1)
            self.loops.pop()
            if end is not None:
                self.convert(depth + 1, [end], head)
                loop.continues.append(end)
            new = {name: join(*(way[name] for way in (head, *loop.continues))) for name in head}
            if new == head:
                for name in head:
                    meeting(env[name], *(way[name] for way in loop.continues))
                return self.behind(node, loop, first, depth)
            head = {
                name: as_joined(kind) if kind != env[name] else kind for name, kind in new.items()
            }
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
        joined = self.joined(depth, ways)
        known = loop.head or {}
        return joined and {name: kind for name, kind in joined.items() if name in known}

    def do_Break(self, node: ast.Break, env: Env, depth: int) -> None:
        self.loops[-1].breaks.append(env)
        self.put(depth, "break")

    def do_Continue(self, node: ast.Continue, env: Env, depth: int) -> None:
        loop = self.loops[-1]
        loop.continues.append(env)
        if loop.head is not None:
            self.convert(depth, [env], loop.head)
        self.put(depth, "continue")

    def do_Return(self, node: ast.Return, env: Env, depth: int) -> None:
        if node.value is None:
            self.put(depth, "return")
            return
        try:
            kind, text = self.expression(node.value, env)
        except NoType as error:
            if str(error) != "recursion":
                raise
            self.recursive = True  # its type comes from the other returns first
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


def written(source: str, params: Env, check: bool = False) -> tuple[Writer, Env | None]:
    """The kernel's text, and the types of its variables at its end. Raises NoType."""
    functions, kernel = parsed(source)
    assert kernel is not None
    writer = Writer(functions, check)
    env = {name: Function(name) for name in functions} | params
    return writer, writer.block(kernel.body, env, 1)


def explicit(source: str, params: Env, check: bool = False) -> tuple[str, list[int]]:
    """The text of functions and `kernel`, with every conversion at a join written, and the line of
    the source that each of its lines comes from (0: none). `params` are the types of the kernel's
    parameters. Raises NoType."""
    writer, _ = written(source, params, check)
    _, kernel = parsed(source)
    assert kernel is not None
    lines = [(line, 0) for line in narrowing().splitlines()] if check else []
    for _, _, text in writer.instances.values():
        lines += text
    lines += [(f"def kernel({ast.unparse(kernel.args)}):", 0), *writer.lines]
    return "\n".join(line for line, _ in lines) + "\n", [number for _, number in lines]


def type_of(source: str, env: Env, functions: dict[str, ast.FunctionDef] | None = None) -> Type:
    """The type of an expression where names have these types."""
    writer = Writer(functions or {})
    names: Env = {name: Function(name) for name in writer.functions}
    return writer.expression(ast.parse(source, mode="eval").body, names | env)[0]
