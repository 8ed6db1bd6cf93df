"""Runs the text of a small kernel by the oracle: types by its own inference, values by Num.

Understood: functions beside the kernel, assignments to names, augmented and plain assignments to
elements of one-dimensional arrays, if, while, for over range, break, continue, conditional expressions, the operators, min, max,
abs, round, casts. Names that meet get the type of the join, computed to a fixed point per joining
point as a set of all types that arrive; nothing is shared with the compiler.
"""

import ast
from typing import Any

from oracle import TYPES, Num, binary, convert, join, min_max, result_type, rounded, unary

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=",
    ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}

Types = dict[str, str]


def element(dtype: str) -> str:
    """What reading an element of an array gives."""
    return "int" if dtype in TYPES[2:9] else dtype


def callee(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id


# --- Types ------------------------------------------------------------------------------------------


class Typing:
    """Finds the type of each name at each joining point. `joined[id, name]` is the result."""

    def __init__(self, arrays: dict[str, str], functions: dict[str, ast.FunctionDef]):
        self.arrays = arrays
        self.functions = functions
        self.instance: tuple = ()  # the function whose body is typed, and its arguments' types
        self.returns: list[str] = []
        self.joined: dict[tuple, Types] = {}
        self.values: dict[tuple, str] = {}  # joins inside expressions, results of functions

    def join(self, point: tuple, ways: list[Types | None]) -> Types | None:
        """Names that all the ways that arrive here know."""
        ways = [way for way in ways if way is not None]
        if not ways:
            return None
        names = set.intersection(*(set(way) for way in ways))
        joined = {name: join(*(way[name] for way in ways)) for name in names}
        self.joined[*point, self.instance] = joined
        return dict(joined)

    def expression(self, node: ast.expr, env: Types) -> str:
        match node:
            case ast.Constant(value=bool()):
                return "bool"
            case ast.Constant(value=int()):
                return "int"
            case ast.Constant():
                return "float"
            case ast.Name(id=name):
                return env[name]
            case ast.Subscript(value=ast.Name(id=name)):
                self.expression(node.slice, env)
                return element(self.arrays[name])
            case ast.BinOp():
                a, b = self.expression(node.left, env), self.expression(node.right, env)
                return result_type(OPERATORS[type(node.op)], a, b)
            case ast.UnaryOp():
                a = self.expression(node.operand, env)
                return unary(UNARY[type(node.op)], Num(a, 1)).kind
            case ast.Compare():
                for part in (node.left, *node.comparators):
                    self.expression(part, env)
                return "bool"
            case ast.IfExp():
                self.expression(node.test, env)
                ways = [self.expression(node.body, env), self.expression(node.orelse, env)]
            case ast.BoolOp():
                ways = self.ways(node, None, env)
            case ast.Call():
                return self.call(node, env)
            case _:
                raise NotImplementedError(ast.dump(node))
        self.values[id(node), self.instance] = join(*ways)
        return self.values[id(node), self.instance]

    def ways(self, node: ast.expr, truth: bool | None, env: Types) -> list[str]:
        """What a value can be that comes out of `and` and `or`, all of it or only what is true or
        false: the x of `(x and y) or z` is false and goes no further."""
        if not isinstance(node, ast.BoolOp):
            return [self.expression(node, env)]
        stops = isinstance(node.op, ast.Or)
        last = self.ways(node.values[-1], truth, env)
        found = [self.ways(part, stops, env) for part in node.values[:-1]]
        return [*last, *(way for ways in found for way in ways if truth in (None, stops))]

    def call(self, node: ast.Call, env: Types) -> str:
        kinds = [self.expression(arg, env) for arg in node.args]
        name = callee(node)
        if name in self.functions:
            return self.instantiate(name, kinds)
        if name in ("min", "max"):
            return join(*kinds)
        if name == "abs":
            return "int" if kinds[0] == "bool" else kinds[0]
        return "int" if name in ("round", "floor", "ceil", "trunc") else name

    def instantiate(self, name: str, kinds: list[str]) -> str:
        """Types the function for these arguments: the join of what it returns."""
        outer = self.instance, self.returns
        self.instance, self.returns = (name, *kinds), []
        names = [arg.arg for arg in self.functions[name].args.args]
        self.block(self.functions[name].body, dict(zip(names, kinds, strict=True)), None)
        self.values[self.instance] = result = join(*self.returns)
        self.instance, self.returns = outer
        return result

    def block(self, body: list[ast.stmt], env: Types | None, loop: dict | None) -> Types | None:
        for statement in body:
            if env is None:
                break
            env = self.statement(statement, dict(env), loop)
        return env

    def statement(self, node: ast.stmt, env: Types, loop: dict | None) -> Types | None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                env[name] = self.expression(node.value, env)
            case ast.Assign(targets=[ast.Subscript() as target]):
                self.expression(target.slice, env)
                self.expression(node.value, env)
            case ast.AugAssign(target=target):
                a, b = self.expression(load(target), env), self.expression(node.value, env)
                kind = result_type(OPERATORS[type(node.op)], a, b)
                if isinstance(target, ast.Name):
                    env[target.id] = kind
            case ast.If():
                self.expression(node.test, env)
                ways = [self.block(node.body, env, loop), self.block(node.orelse, env, loop)]
                return self.join(("after", id(node)), ways)
            case ast.While() | ast.For():
                return self.loop(node, env)
            case ast.Break():
                loop["break"].append(env)
                return None
            case ast.Continue():
                loop["continue"].append(env)
                return None
            case ast.Return():
                self.returns.append(self.expression(node.value, env))
                return None
            case _:
                raise NotImplementedError(ast.dump(node))
        return env

    def loop(self, node: ast.While | ast.For, entry: Types) -> Types | None:
        if isinstance(node, ast.For):
            for arg in node.iter.args:
                self.expression(arg, entry)
        back: list[Types | None] = []
        while True:
            head = self.join(("head", id(node)), [entry, *back])
            inner = dict(head)
            if isinstance(node, ast.For):
                inner[node.target.id] = "int"
            else:
                self.expression(node.test, inner)
            found = {"break": [], "continue": []}
            end = self.block(node.body, inner, found)
            ways = [end, *found["continue"]]
            if ways == back:
                break
            back = ways
        return self.join(("after", id(node)), [head, *found["break"]])


def load(target: ast.expr) -> ast.expr:
    """The same expression, read instead of written."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load())


# --- Values -----------------------------------------------------------------------------------------


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    pass


class Program:
    """The statements of a kernel, run over arrays that are lists of Num with a dtype."""

    def __init__(self, source: str, arrays: dict[str, str], names: Types, contract: bool = False):
        self.contract = contract
        *functions, kernel = ast.parse(source).body
        self.functions = {function.name: function for function in functions}
        self.body = kernel.body
        self.types = arrays
        self.instance: tuple = ()
        self.typing = Typing(arrays, self.functions)
        self.typing.block(self.body, dict(names), None)

    def run(self, arrays: dict[str, list[Any]], names: dict[str, Num]) -> None:
        self.arrays = arrays
        self.env = dict(names)
        self.block(self.body)

    def arrive(self, how: str, node: ast.stmt) -> None:
        """Converts the names to the types of a joining point."""
        for name, kind in self.typing.joined.get((how, id(node), self.instance), {}).items():
            if name in self.env:
                self.env[name] = convert(self.env[name], kind)

    def get(self, name: str, index: Num) -> Num:
        return Num(element(self.types[name]), self.arrays[name][index.value])

    def set(self, name: str, index: Num, value: Num) -> None:
        self.arrays[name][index.value] = convert(value, self.types[name]).value

    def expression(self, node: ast.expr) -> Num:
        match node:
            case ast.Constant(value=value):
                return Num({bool: "bool", int: "int", float: "float"}[type(value)], value)
            case ast.Name(id=name):
                return self.env[name]
            case ast.Subscript(value=ast.Name(id=name)):
                return self.get(name, self.expression(node.slice))
            case ast.BinOp():
                a, b = self.expression(node.left), self.expression(node.right)
                return binary(OPERATORS[type(node.op)], a, b, self.contract)
            case ast.UnaryOp():
                return unary(UNARY[type(node.op)], self.expression(node.operand))
            case ast.Compare():
                left = self.expression(node.left)
                for op, part in zip(node.ops, node.comparators, strict=True):
                    right = self.expression(part)
                    if not binary(OPERATORS[type(op)], left, right).value:
                        return Num("bool", False)
                    left = right
                return Num("bool", True)
            case ast.IfExp():
                chosen = node.body if self.expression(node.test).value else node.orelse
                return convert(self.expression(chosen), self.joined(node))
            case ast.BoolOp():
                return convert(self.flow(node), self.joined(node))
        return self.call(node)

    def flow(self, node: ast.expr) -> Num:
        """The value that comes out of nested `and` and `or`, in its own type."""
        if not isinstance(node, ast.BoolOp):
            return self.expression(node)
        for part in node.values:
            value = self.flow(part)
            if bool(value.value) == isinstance(node.op, ast.Or):
                break
        return value

    def joined(self, node: ast.expr) -> str:
        return self.typing.values[id(node), self.instance]

    def call_function(self, name: str, args: list[Num]) -> Num:
        outer = self.env, self.instance
        names = [arg.arg for arg in self.functions[name].args.args]
        self.env = dict(zip(names, args, strict=True))
        self.instance = (name, *(arg.kind for arg in args))
        kind = self.typing.values[self.instance]
        try:
            self.block(self.functions[name].body)
        except Return as result:
            return convert(result.args[0], kind)
        finally:
            self.env, self.instance = outer
        raise AssertionError("the functions of random programs return a value on every path")

    def call(self, node: ast.Call) -> Num:
        args = [self.expression(arg) for arg in node.args]
        name = callee(node)
        if name in self.functions:
            return self.call_function(name, args)
        if name in ("min", "max"):
            return min_max(name, *args)
        if name == "abs":
            return unary("abs", args[0])
        if name in ("round", "floor", "ceil", "trunc"):
            return rounded(args[0], name)
        return convert(args[0], name)

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.env[name] = self.expression(node.value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as target]):
                self.set(name, self.expression(target.slice), self.expression(node.value))
            case ast.AugAssign(target=ast.Name(id=name)):
                value = self.expression(node.value)
                self.env[name] = binary(OPERATORS[type(node.op)], self.env[name], value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)) as target):
                index = self.expression(target.slice)
                old, value = self.get(name, index), self.expression(node.value)
                self.set(name, index, binary(OPERATORS[type(node.op)], old, value))
            case ast.If():
                self.block(node.body if self.expression(node.test).value else node.orelse)
                self.arrive("after", node)
            case ast.While() | ast.For():
                self.loop(node)
            case ast.Break():
                raise Break
            case ast.Continue():
                raise Continue
            case ast.Return():
                raise Return(self.expression(node.value))

    def loop(self, node: ast.While | ast.For) -> None:
        count = iter(())
        if isinstance(node, ast.For):
            args = [int(self.expression(arg).value) for arg in node.iter.args]
            count = iter(range(*args))
        while True:
            self.arrive("head", node)
            if isinstance(node, ast.For):
                k = next(count, None)
                if k is None:
                    break
                self.env[node.target.id] = Num("int", k)
            elif not self.expression(node.test).value:
                break
            try:
                self.block(node.body)
            except Continue:
                pass
            except Break:
                break
        self.arrive("after", node)
