"""A kernel's text with every meeting of types written out.

Python's variables have no types of their own, so a weak float that meets a float32 on another path
is still a double when CPython runs the function. This pass finds the type of each variable at
each joining point (least fixed point) and writes a text in which a value is converted on the way
to the point: after an `if`, before a loop, at the end of its body, before `continue`, after the
loop, around conditional expressions, `and`, `or` and the returns of functions. The text computes
on the python device what the kernel must compute. Functions are written once per list of argument
types.

Understood is what generate.py writes.
"""

import ast
from collections.abc import Callable

from .types import (
    Array,
    Function,
    NoType,
    Type,
    binary,
    common,
    element,
    join,
    scalar,
    unary,
)  # fmt: skip

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
}  # fmt: skip
COMPARE = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
CASTS = ("bool", "int", "float")

Env = dict[str, Type]


def cast(kind: Type, text: str) -> str:
    """The text's value as the type; arrays and functions meet only their like."""
    if isinstance(kind, Array | Function):
        return text
    if isinstance(kind, tuple):
        parts = "".join(f"{cast(part, f't[{k}]')}, " for k, part in enumerate(kind))
        return f"(lambda t: ({parts}))({text})"
    return f"{kind}({text})" if kind in CASTS else f"gpu.{kind}({text})"


class Loop:
    """What leaves a loop's body: names and types at each `break` and `continue`."""

    def __init__(self) -> None:
        self.breaks: list[Env] = []
        self.continues: list[Env] = []
        self.head: Env = {}


class Writer:
    """One function for one list of argument types. `lines` is its text."""

    def __init__(self, functions: dict[str, ast.FunctionDef], arrays: dict[str, tuple[str, int]]):
        self.functions = functions
        self.arrays = arrays  # dtype and rank
        self.instances: dict[tuple, tuple[str, Type | None, list[str]]] = {}
        self.lines: list[str] = []
        self.loops: list[Loop] = []
        self.returns: list[Type] = []
        self.result: Type | None = None

    # --- Expressions: the type, and the text ---

    def expression(self, node: ast.expr, env: Env) -> tuple[Type, str]:
        method: Callable = getattr(self, "on_" + type(node).__name__)
        return method(node, env)

    def on_Constant(self, node: ast.Constant, env: Env) -> tuple[Type, str]:
        return type(node.value).__name__, repr(node.value)

    def on_Name(self, node: ast.Name, env: Env) -> tuple[Type, str]:
        return self.name(node.id, env), node.id

    def on_Lambda(self, node: ast.Lambda, env: Env) -> tuple[Type, str]:
        return Function(ast.unparse(node)), ast.unparse(node)

    def on_Tuple(self, node: ast.Tuple, env: Env) -> tuple[Type, str]:
        parts = [self.expression(part, env) for part in node.elts]
        return tuple(kind for kind, _ in parts), f"({''.join(text + ', ' for _, text in parts)})"

    def on_Subscript(self, node: ast.Subscript, env: Env) -> tuple[Type, str]:
        kind, name = self.expression(node.value, env)
        if isinstance(kind, Array):
            return self.item_of(kind, node.slice), f"{name}[{self.index(node.slice, env)}]"
        if not isinstance(kind, tuple):
            raise NoType("a number is indexed")
        if isinstance(node.slice, ast.Constant):
            return kind[node.slice.value], ast.unparse(node)
        joined = join(*kind)
        if any(part != kind[0] for part in kind):
            raise NoType("a run-time index of a mixed tuple")
        return joined, f"{name}[{self.index(node.slice, env)}]"

    def name(self, name: str, env: Env) -> Type:
        if name in self.arrays:
            return Array(*self.arrays[name])
        if name not in env:
            raise NoType(f"{name} has no value")
        return env[name]

    def item_of(self, array: Array, index: ast.expr) -> Type:
        """An element, or a view of the axes that are left."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        rank = array.rank - sum(not isinstance(part, ast.Slice) for part in parts)
        return Array(array.dtype, rank) if rank else element(array.dtype)

    def index(self, node: ast.expr, env: Env) -> str:
        if isinstance(node, ast.Tuple):
            return ", ".join(self.index(part, env) for part in node.elts)
        if isinstance(node, ast.Slice):
            return ast.unparse(node)
        return self.expression(node, env)[1]

    def on_BinOp(self, node: ast.BinOp, env: Env) -> tuple[Type, str]:
        (a, left), (b, right) = self.expression(node.left, env), self.expression(node.right, env)
        op = OPERATORS[type(node.op)]
        return binary(op, a, b), f"({left} {op} {right})"

    def on_UnaryOp(self, node: ast.UnaryOp, env: Env) -> tuple[Type, str]:
        kind, text = self.expression(node.operand, env)
        op = UNARY[type(node.op)]
        # `not` makes a bool of Python's own, whose ~ is an int's.
        return unary(op, kind), f"bool(not {text})" if op == "not" else f"({op}{text})"

    def on_Compare(self, node: ast.Compare, env: Env) -> tuple[Type, str]:
        parts = [self.expression(part, env) for part in (node.left, *node.comparators)]
        for kind, _ in parts:
            scalar(kind)
        text = parts[0][1]
        for op, (_, right) in zip(node.ops, parts[1:], strict=True):
            text += f" {COMPARE[type(op)]} {right}"
        return "bool", f"({text})"

    def on_BoolOp(self, node: ast.BoolOp, env: Env) -> tuple[Type, str]:
        parts = [self.expression(part, env) for part in node.values]
        kind = join(*(kind for kind, _ in parts))
        word = " and " if isinstance(node.op, ast.And) else " or "
        return kind, cast(kind, word.join(text for _, text in parts))

    def on_IfExp(self, node: ast.IfExp, env: Env) -> tuple[Type, str]:
        condition = self.expression(node.test, env)[1]
        (a, yes), (b, no) = self.expression(node.body, env), self.expression(node.orelse, env)
        kind = join(a, b)
        return kind, cast(kind, f"{yes} if {condition} else {no}")

    def on_Attribute(self, node: ast.Attribute, env: Env) -> tuple[Type, str]:
        return "int", ast.unparse(node)  # x.size

    def on_Call(self, node: ast.Call, env: Env) -> tuple[Type, str]:
        args = [self.expression(arg, env) for arg in node.args]
        kinds = [kind for kind, _ in args]
        name = ast.unparse(node.func)
        text = f"{name}({', '.join(text for _, text in args)})"
        if isinstance(node.func, ast.Name) and name in self.functions:
            instance, result = self.call(name, kinds)
            return result, cast(result, f"{instance}({', '.join(text for _, text in args)})")
        if isinstance(env.get(name), Function):
            return self.call_lambda(env[name], kinds, env), text
        if name == "len":
            return "int", text
        for kind in kinds:
            scalar(kind)
        match name.removeprefix("gpu."):
            case "min" | "max":
                return common(*kinds), text
            case "abs":
                return unary("-", kinds[0]), text
            case "grid":
                return "int", text
            case "round" | "math.floor" | "math.ceil" | "math.trunc":
                return "int", text
            case "divmod":
                return (binary("//", *kinds), binary("%", *kinds)), text
            case "math.sqrt" | "math.fabs":
                return kinds[0] if common("float", kinds[0]) == kinds[0] else "float", text
            case "math.isnan" | "math.isinf" | "math.isfinite":
                return "bool", text
            case kind:
                return kind, text

    # --- Functions ---

    def call(self, name: str, kinds: list[Type]) -> tuple[str, Type]:
        """The instance of a function for these argument types, and what it returns."""
        key = (name, *kinds)
        if key not in self.instances:
            instance = f"{name}_{len(self.instances)}"
            self.instances[key] = (instance, None, [])
            function = self.functions[name]
            inner = Writer(self.functions, self.arrays)
            inner.instances = self.instances
            env = {arg.arg: kind for arg, kind in zip(function.args.args, kinds, strict=True)}
            if inner.block(function.body, env, 1) is not None:
                raise NoType("a function that may return None")
            result = join(*inner.returns)
            heading = f"def {instance}({', '.join(env)}):"
            self.instances[key] = (instance, result, [heading, *inner.lines])
        instance, result, _ = self.instances[key]
        if result is None:
            raise NoType("recursion")
        return instance, result

    def call_lambda(self, function: Type, kinds: list[Type], env: Env) -> Type:
        """What the body is where it is called; it has no joins of its own."""
        assert isinstance(function, Function)
        node = ast.parse(function.text, mode="eval").body
        assert isinstance(node, ast.Lambda)
        names = {arg.arg: kind for arg, kind in zip(node.args.args, kinds, strict=True)}
        return self.expression(node.body, env | names)[0]

    # --- Statements ---

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def convert(self, depth: int, env: Env, to: Env) -> None:
        """Every variable whose type differs from the one it has at the joining point."""
        for name, kind in to.items():
            if name in env and env[name] != kind:
                self.put(depth, f"{name} = {cast(kind, name)}")

    def meet(self, ways: list[Env]) -> Env | None:
        """Names that all the ways that arrive here know."""
        if not ways:
            return None
        names = [name for name in ways[0] if all(name in way for way in ways)]
        return {name: join(*(way[name] for way in ways)) for name in names}

    def block(self, body: list[ast.stmt], env: Env, depth: int) -> Env | None:
        """The names behind the statements; None if control never comes there."""
        now: Env | None = dict(env)
        for statement in body:
            if now is None:
                raise NoType("code that is never reached")
            now = getattr(self, "do_" + type(statement).__name__)(statement, now, depth)
        return now

    def do_Pass(self, node: ast.Pass, env: Env, depth: int) -> Env:
        self.put(depth, "pass")
        return env

    def do_Assign(self, node: ast.Assign, env: Env, depth: int) -> Env:
        kind, text = self.expression(node.value, env)
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            self.put(depth, f"{ast.unparse(target)[1:-1]} = {text}")
            return env | self.unpack(target, kind)
        if isinstance(target, ast.Name):
            self.put(depth, f"{target.id} = {text}")
            return env | {target.id: kind}
        assert isinstance(target, ast.Subscript)
        scalar(kind)
        self.put(depth, f"{ast.unparse(target.value)}[{self.index(target.slice, env)}] = {text}")
        return env

    def unpack(self, target: ast.Tuple, kind: Type) -> Env:
        """The names of a target; one of them may be starred."""
        stars = [k for k, name in enumerate(target.elts) if isinstance(name, ast.Starred)]
        if not isinstance(kind, tuple) or len(kind) < len(target.elts) - len(stars):
            raise NoType("unpacking")
        if stars:
            k, extra = stars[0], len(kind) - len(target.elts) + 1
            kind = (*kind[:k], kind[k : k + extra], *kind[k + extra :])
        if len(kind) != len(target.elts):
            raise NoType("unpacking")
        return {ast.unparse(name).lstrip("*"): part
                for name, part in zip(target.elts, kind, strict=True)}  # fmt: skip

    def do_AugAssign(self, node: ast.AugAssign, env: Env, depth: int) -> Env:
        kind, text = self.expression(node.value, env)
        op = OPERATORS[type(node.op)]
        if isinstance(node.target, ast.Name):
            result = binary(op, env[node.target.id], kind)
            self.put(depth, f"{node.target.id} {op}= {text}")
            return env | {node.target.id: result}
        assert isinstance(node.target, ast.Subscript)
        name = ast.unparse(node.target.value)
        array = self.name(name, env)
        assert isinstance(array, Array)
        binary(op, scalar(self.item_of(array, node.target.slice)), kind)
        self.put(depth, f"{name}[{self.index(node.target.slice, env)}] {op}= {text}")
        return env

    def do_If(self, node: ast.If, env: Env, depth: int) -> Env | None:
        self.put(depth, f"if {self.expression(node.test, env)[1]}:")
        ways = []
        yes = self.block(node.body, env, depth + 1)
        if yes is not None:
            ways.append((len(self.lines), yes))
        if node.orelse:
            self.put(depth, "else:")
            no = self.block(node.orelse, env, depth + 1)
        else:
            no = env
        if no is not None:
            ways.append((len(self.lines), no))
        joined = self.meet([way for _, way in ways])
        if joined is not None:
            self.convert(depth, self.differing([way for _, way in ways], joined), joined)
        return joined

    def differing(self, ways: list[Env], joined: Env) -> Env:
        """The joined names, with another type where some way brings another one."""
        env = dict(joined)
        for name, kind in joined.items():
            for way in ways:
                if way[name] != kind:
                    env[name] = way[name]
        return env

    def do_For(self, node: ast.For, env: Env, depth: int) -> Env | None:
        assert isinstance(node.iter, ast.Call | ast.Name)
        targets = self.targets(node, env)
        heading = f"for {ast.unparse(node.target)} in {self.iterable(node.iter, env)}:"
        return self.loop(node, env, depth, heading, targets)

    def do_While(self, node: ast.While, env: Env, depth: int) -> Env | None:
        return self.loop(node, env, depth, None, {})

    def iterable(self, node: ast.expr, env: Env) -> str:
        if isinstance(node, ast.Name):
            return node.id
        assert isinstance(node, ast.Call)
        name = ast.unparse(node.func)
        if name == "range":
            texts = [self.expression(arg, env)[1] for arg in node.args]
        else:
            texts = [self.iterable(arg, env) for arg in node.args]
        return f"{name}({', '.join(texts)})"

    def item(self, node: ast.expr, env: Env) -> Type:
        """What iteration over the expression gives."""
        if isinstance(node, ast.Name):
            kind = self.name(node.id, env)
            if isinstance(kind, Array):
                return Array(kind.dtype, kind.rank - 1) if kind.rank > 1 else element(kind.dtype)
            if not isinstance(kind, tuple) or not kind or any(part != kind[0] for part in kind):
                raise NoType("iteration over what is no tuple of one type")
            return kind[0]
        assert isinstance(node, ast.Call)
        match ast.unparse(node.func):
            case "range":
                return "int"
            case "enumerate":
                return ("int", self.item(node.args[0], env))
            case "zip":
                return tuple(self.item(arg, env) for arg in node.args)
            case "reversed":
                return self.item(node.args[0], env)
        raise NoType("iterator")

    def targets(self, node: ast.For, env: Env) -> Env:
        found: Env = {}

        def bind(target: ast.expr, kind: Type) -> None:
            if isinstance(target, ast.Tuple):
                if not isinstance(kind, tuple) or len(kind) != len(target.elts):
                    raise NoType("unpacking")
                for part, inner in zip(target.elts, kind, strict=True):
                    bind(part, inner)
            else:
                found[ast.unparse(target)] = kind

        bind(node.target, self.item(node.iter, env))
        return found

    def loop(
        self, node: ast.For | ast.While, env: Env, depth: int, heading: str | None, targets: Env
    ) -> Env | None:
        """Types at the head rise until the body brings no new ones; then the text is written."""
        head = dict(env)
        start = len(self.lines)
        for _ in range(40):
            del self.lines[start:]
            returns = len(self.returns)
            loop = Loop()
            loop.head = head
            self.convert(depth, env, head)
            if heading is None:
                assert isinstance(node, ast.While)
                self.put(depth, f"while {self.expression(node.test, head)[1]}:")
            else:
                self.put(depth, heading)
            self.loops.append(loop)
            end = self.block(node.body, head | targets, depth + 1)
            self.loops.pop()
            if end is not None:
                self.convert(depth + 1, end, head)
                loop.continues.append(end)
            new = {name: join(*(way[name] for way in (head, *loop.continues))) for name in head}
            if new == head:
                return self.behind(node, loop, depth)
            head = new
            del self.returns[returns:]
        raise NoType("types that rise for ever")

    def behind(self, node: ast.For | ast.While, loop: Loop, depth: int) -> Env | None:
        """The names behind the loop."""
        ways = list(loop.breaks)
        if node.orelse:
            self.put(depth, "else:")
            end = self.block(node.orelse, loop.head, depth + 1)
            if end is not None:
                ways.append(end)
        else:
            ways.append(loop.head)
        joined = self.meet(ways)
        if joined is None:
            return None
        joined = {name: kind for name, kind in joined.items() if name in loop.head}
        self.convert(depth, self.differing(ways, joined), joined)
        return joined

    def do_Break(self, node: ast.Break, env: Env, depth: int) -> None:
        self.loops[-1].breaks.append(env)
        self.put(depth, "break")

    def do_Continue(self, node: ast.Continue, env: Env, depth: int) -> None:
        loop = self.loops[-1]
        loop.continues.append(env)
        self.convert(depth, env, loop.head)
        self.put(depth, "continue")

    def do_Return(self, node: ast.Return, env: Env, depth: int) -> None:
        if node.value is None:
            self.put(depth, "return")
            return
        kind, text = self.expression(node.value, env)
        self.returns.append(kind)
        self.put(depth, f"return {text}")


def explicit(source: str, arrays: dict[str, tuple[str, int]]) -> str:
    """The text of functions and `kernel`, with every conversion at a join written. `arrays` has the
    dtype and rank of the kernel's parameters. Raises NoType."""
    module = ast.parse(source)
    functions = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
    kernel = functions.pop("kernel")
    writer = Writer(functions, arrays)
    writer.block(kernel.body, {}, 1)
    lines = []
    for _, _, text in writer.instances.values():
        lines += text
    lines += [f"def kernel({', '.join(arg.arg for arg in kernel.args.args)}):", *writer.lines]
    return "\n".join(lines) + "\n"


def type_of(source: str, arrays: dict[str, tuple[str, int]], env: Env, functions: str = "") -> Type:
    """The type of an expression where names have these types."""
    module = ast.parse(functions)
    table = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
    return Writer(table, arrays).expression(ast.parse(source, mode="eval").body, env)[0]
