"""The types of expressions, and their texts with conversions where types meet.

One half of explicit.py: `Values.expression` gives both for what the generator writes. What a
variable, a conditional expression, `and`, `or` or a function may have of several types is converted
where it is read; comparisons of tuples are written element by element, since Python takes an object
for equal to itself.
"""

import ast
from collections.abc import Callable

from .types import (
    INTS,
    Array,
    Function,
    NoType,
    Type,
    binary,
    common,
    element,
    float_from,
    is_a,
    is_float,
    is_read,
    join,
    meet,
    members,
    number_from,
    scalar,
    seen,
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
# Functions by what their result is.
FUNCTION_OPERATORS = {
    "add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "truediv": "/",
    "divide": "/", "floordiv": "//", "floor_divide": "//", "mod": "%", "remainder": "%",
    "lshift": "<<", "left_shift": "<<", "rshift": ">>", "right_shift": ">>", "and_": "&",
    "bitwise_and": "&", "or_": "|", "bitwise_or": "|", "xor": "^", "bitwise_xor": "^", "lt": "<",
    "less": "<", "le": "<=", "less_equal": "<=", "eq": "==", "equal": "==", "ne": "!=",
    "not_equal": "!=", "gt": ">", "greater": ">", "ge": ">=", "greater_equal": ">=",
}  # fmt: skip
FUNCTION_UNARY = {"neg": "-", "negative": "-", "pos": "+", "positive": "+", "invert": "~",
                  "abs": "-", "absolute": "-"}  # fmt: skip
TO_INT = ("len", "round", "math.floor", "math.ceil", "math.trunc", "operator.index",
          "np.bitwise_count")  # fmt: skip
TO_BOOL = ("isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_xor",
           "logical_not", "truth")  # fmt: skip
TO_SAME = ("floor", "ceil", "trunc", "sign", "square")
TO_JOIN = ("min", "max", "minimum", "maximum", "fmin", "fmax", "clip")
MEETING = {"syncthreads_count": "int", "syncthreads_and": "bool", "syncthreads_or": "bool",
           "any_sync": "bool", "all_sync": "bool", "ballot_sync": "uint32",
           "match_any_sync": "uint32"}  # fmt: skip
TO_FLOAT = ("sqrt", "fabs", "rint", "copysign")

Env = dict[str, Type]


def narrows(kind: str) -> bool:
    """Whether an int meets typed integers here: with check=True it must fit."""
    return "int" in members(kind) and kind in INTS


def cast(kind: Type, text: str, check: bool = False) -> str:
    """The text's value, of one of several types, as what its readers see."""
    if is_read(kind):
        return text
    if isinstance(kind, tuple):
        parts = "".join(f"{cast(part, f't[{k}]', check)}, " for k, part in enumerate(kind))
        return f"(lambda t: ({parts}))({text})"
    if check and narrows(kind):
        return f"narrow_{kind}({text})"
    return f"{kind}({text})" if kind in CASTS else f"gpu.{kind}({text})"


def compared(op: str, a: Type, b: Type, s: str, t: str) -> str:
    """Python's comparison of two values: tuples by the first elements that differ."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        scalar(a), scalar(b)
        return f"bool({s} {op} {t})"
    pairs = list(zip(a, b, strict=False))
    equal = [compared("==", x, y, f"{s}[{k}]", f"{t}[{k}]") for k, (x, y) in enumerate(pairs)]
    if op in ("==", "!="):
        same = " and ".join(equal) if len(a) == len(b) and equal else str(len(a) == len(b))
        return f"bool({same})" if op == "==" else f"bool(not ({same}))"
    text = {"<": str(len(a) < len(b)), "<=": str(len(a) <= len(b)), ">": str(len(a) > len(b)),
            ">=": str(len(a) >= len(b))}[op]  # fmt: skip
    for k, (x, y) in reversed(list(enumerate(pairs))):
        first = compared(op, x, y, f"{s}[{k}]", f"{t}[{k}]")
        text = f"({text} if {equal[k]} else {first})"
    return f"bool({text})"


class Values:
    """Types and texts of expressions; functions are the heir's."""

    check = False
    eager = False  # convert where paths meet, not where values are read

    def call(self, name: str, node: ast.Call, kinds: list[Type], env: Env) -> tuple[str, Type]:
        raise NotImplementedError

    def read(self, kind: Type, text: str) -> tuple[Type, str]:
        """The value as its readers see it."""
        return seen(kind), cast(kind, text, self.check)

    def expression(self, node: ast.expr, env: Env) -> tuple[Type, str]:
        """The type of an expression that something reads, and its text."""
        return self.read(*self.flowing(node, env))

    def passed(self, node: ast.expr, env: Env) -> tuple[Type, str]:
        """The same where the value is passed on without being read."""
        return self.expression(node, env) if self.eager else self.flowing(node, env)

    def flowing(self, node: ast.expr, env: Env) -> tuple[Type, str]:
        method: Callable | None = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise NoType(ast.unparse(node))
        return method(node, env)

    def on_Constant(self, node: ast.Constant, env: Env) -> tuple[Type, str]:
        if type(node.value) is int and node.value >= 1 << 63:
            return "uint64", repr(node.value)
        return type(node.value).__name__, repr(node.value)

    def on_Name(self, node: ast.Name, env: Env) -> tuple[Type, str]:
        if node.id not in env:
            raise NoType(f"{node.id} has no value")
        return env[node.id], node.id

    def on_NamedExpr(self, node: ast.NamedExpr, env: Env) -> tuple[Type, str]:
        kind, text = self.passed(node.value, env)
        env[node.target.id] = kind
        return kind, f"({node.target.id} := {text})"

    def on_Lambda(self, node: ast.Lambda, env: Env) -> tuple[Type, str]:
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names = tuple((name, seen(env[name])) for name in sorted(used) if name in env)
        text = ast.unparse(node)
        raw = [name for name, _ in names if not is_read(env[name])]
        if raw:  # it takes their values as it sees them
            values = ", ".join(self.read(env[name], name)[1] for name in raw)
            text = f"(lambda {', '.join(raw)}: {text})({values})"
        return Function(ast.unparse(node), names), text

    def on_Tuple(self, node: ast.Tuple, env: Env) -> tuple[Type, str]:
        kinds: tuple = ()
        texts = ""
        for part in node.elts:
            if isinstance(part, ast.Starred):
                kind, text = self.expression(part.value, env)
                if not isinstance(kind, tuple):
                    raise NoType("a star before no tuple")
                kinds, texts = kinds + kind, f"{texts}*{text}, "
            else:
                kind, text = self.expression(part, env)
                kinds, texts = (*kinds, kind), f"{texts}{text}, "
        return kinds, f"({texts})"

    # --- Elements and attributes ---

    def on_Subscript(self, node: ast.Subscript, env: Env) -> tuple[Type, str]:
        kind, name = self.expression(node.value, env)
        if isinstance(kind, Array):
            return self.item_of(kind, node.slice), f"{name}[{self.index(node.slice, env)}]"
        if not isinstance(kind, tuple):
            raise NoType("a number is indexed")
        text = f"{name}[{self.index(node.slice, env)}]"
        try:
            return eval(f"kind[{ast.unparse(node.slice)}]", {"kind": kind}), text
        except NameError:
            pass
        except IndexError:
            raise NoType("an index outside") from None
        if isinstance(node.slice, ast.Slice) or any(part != kind[0] for part in kind):
            raise NoType("a run-time index of a mixed tuple")
        return join(*kind), text

    def item_of(self, array: Array, index: ast.expr) -> Type:
        """An element, or a view of the axes that are left."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        constants = [part.value for part in parts if isinstance(part, ast.Constant)]
        new = sum(value is None for value in constants)
        dots = sum(value is Ellipsis for value in constants)
        slices = sum(isinstance(part, ast.Slice) for part in parts)
        rank = array.rank - (len(parts) - new - dots - slices) + new
        if rank < new or len(parts) - new - dots > array.rank:
            raise NoType("too many indices")
        return Array(array.dtype, rank) if rank or new or dots or slices else element(array.dtype)

    def index(self, node: ast.expr, env: Env) -> str:
        if isinstance(node, ast.Tuple) and node.elts:
            return ", ".join(self.index(part, env) for part in node.elts)
        if isinstance(node, ast.Slice):
            return ast.unparse(node)
        if isinstance(node, ast.Constant) and node.value in (None, Ellipsis):
            return ast.unparse(node)
        return self.expression(node, env)[1]

    def on_Attribute(self, node: ast.Attribute, env: Env) -> tuple[Type, str]:
        text = ast.unparse(node)
        if text.startswith("gpu."):
            return "int", text
        kind, value = self.expression(node.value, env)
        if not isinstance(kind, Array):
            raise NoType(text)
        if node.attr == "T":
            return kind, f"{value}.T"
        return ("int",) * kind.rank if node.attr == "shape" else "int", f"{value}.{node.attr}"

    # --- Operators ---

    def on_BinOp(self, node: ast.BinOp, env: Env) -> tuple[Type, str]:
        (a, left), (b, right) = self.expression(node.left, env), self.expression(node.right, env)
        op = OPERATORS[type(node.op)]
        if op == "*" and isinstance(a, tuple):
            times = node.right.value if isinstance(node.right, ast.Constant) else None
            if not isinstance(times, int):
                raise NoType("a tuple as often as the run says")
            return a * times, f"({left} * {right})"
        kind = binary(op, a, b)
        if op == "**" and isinstance(node.right, ast.UnaryOp) and not is_float(kind):
            kind = "float"  # a negative exponent of the program
        return kind, f"({left} {op} {right})"

    def on_UnaryOp(self, node: ast.UnaryOp, env: Env) -> tuple[Type, str]:
        kind, text = self.expression(node.operand, env)
        op = UNARY[type(node.op)]
        # `not` makes a bool of Python's own, whose ~ is an int's.
        return unary(op, kind), f"bool(not {text})" if op == "not" else f"({op}{text})"

    def on_Compare(self, node: ast.Compare, env: Env) -> tuple[Type, str]:
        parts = [self.expression(part, env) for part in (node.left, *node.comparators)]
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            return "bool", self.contained(*parts[0], *parts[1], isinstance(node.ops[0], ast.In))
        if any(isinstance(kind, tuple) for kind, _ in parts):
            if len(parts) != 2:
                raise NoType("a chain of comparisons of tuples")
            (a, left), (b, right) = parts
            if not (isinstance(a, tuple) and isinstance(b, tuple)):
                raise NoType("a tuple and a number")
            op = COMPARE[type(node.ops[0])]
            return "bool", f"(lambda s, t: {compared(op, a, b, 's', 't')})({left}, {right})"
        for kind, _ in parts:
            scalar(kind)
        text = parts[0][1]
        for op, (_, right) in zip(node.ops, parts[1:], strict=True):
            text += f" {COMPARE[type(op)]} {right}"
        return "bool", f"({text})"

    def contained(self, kind: Type, text: str, of: Type, values: str, yes: bool) -> str:
        if not isinstance(of, tuple):
            raise NoType("in no tuple")
        scalar(kind)
        tests = [compared("==", kind, part, "x", f"t[{k}]") for k, part in enumerate(of)]
        test = " or ".join(tests) or "False"
        return f"(lambda x, t: bool({'' if yes else 'not '}({test})))({text}, {values})"

    def on_BoolOp(self, node: ast.BoolOp, env: Env) -> tuple[Type, str]:
        """Each value but the last is read for its truth, and passed on as it is."""
        parts = [self.passed(part, env) for part in node.values]
        kind = meet(*(scalar(kind) for kind, _ in parts))
        text = parts[-1][1]
        word = "and" if isinstance(node.op, ast.And) else "or"
        for part, value in reversed(parts[:-1]):
            if is_read(part):
                text = f"({value} {word} {text})"
                continue
            self.counter += 1
            name = f"_b{self.counter}"
            test = self.read(part, f"({name} := {value})")[1]
            yes, no = (text, name) if word == "and" else (name, text)
            text = f"({yes} if {test} else {no})"
        return kind, text

    counter = 0  # of names for values in between

    def on_IfExp(self, node: ast.IfExp, env: Env) -> tuple[Type, str]:
        condition = self.truth(node.test, env)
        (a, yes), (b, no) = self.passed(node.body, env), self.passed(node.orelse, env)
        return meet(a, b), f"({yes} if {condition} else {no})"

    def truth(self, node: ast.expr, env: Env) -> str:
        """A condition. Where control only branches on `and` and `or`, no values meet."""
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return f"({word.join(self.truth(part, env) for part in node.values)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(not {self.truth(node.operand, env)})"
        return self.expression(node, env)[1]

    # --- Calls ---

    def on_Call(self, node: ast.Call, env: Env) -> tuple[Type, str]:
        name = ast.unparse(node.func)
        if name == "gpu.grid":
            n = node.args[0].value
            return "int" if n == 1 else ("int",) * n, ast.unparse(node)
        if name == "isinstance":
            return "bool", str(self.is_instance(node, env))
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("bit_length", "bit_count"):
            kind, value = self.expression(node.func.value, env)
            if is_float(scalar(kind)):
                raise NoType("the bits of a float")
            return "int", f"{value}.{node.func.attr}()"
        if name in ("gpu.shared.array", "gpu.local.array"):
            return Array(node.args[1].attr, 1), ast.unparse(node)
        args = [self.expression(arg, env) for arg in node.args if not isinstance(arg, ast.Starred)]
        if len(args) < len(node.args):
            raise NoType("a star in a call")
        kinds = [kind for kind, _ in args]
        found = self.function_of(node.func, env)
        if found is not None:
            return self.call_function(found, node, kinds, [text for _, text in args], env)
        return self.builtin(name, kinds), f"{name}({', '.join(text for _, text in args)})"

    def is_instance(self, node: ast.Call, env: Env) -> bool:
        kind = self.expression(node.args[0], env)[0]
        names = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        return any(is_a(kind, ast.unparse(name)) for name in names)

    def function_of(self, node: ast.expr, env: Env) -> Function | None:
        """A function of the program, by its name or on the spot."""
        if isinstance(node, ast.Lambda):
            return self.on_Lambda(node, env)[0]
        if not isinstance(node, ast.Name):
            return None
        found = env.get(node.id)
        return found if isinstance(found, Function) else None

    def call_function(
        self, f: Function, node: ast.Call, kinds: list[Type], texts: list[str], env: Env
    ) -> tuple[Type, str]:
        for word in node.keywords:
            kind, text = self.expression(word.value, env)
            kinds.append(kind)
            texts.append(f"{word.arg}={text}")
        if not f.text.startswith(("lambda", "def")):
            instance, result = self.call(f.text, node, kinds, env)
            return self.read(result, f"{instance}({', '.join(texts)})")
        result = self.simple(f, node, kinds, env)
        return result, f"{self.expression(node.func, env)[1]}({', '.join(texts)})"

    def simple(self, f: Function, node: ast.Call, kinds: list[Type], env: Env) -> Type:
        """What a function without joins gives: the type of the expression that it returns."""
        made: ast.Lambda | ast.FunctionDef
        if f.text.startswith("lambda"):
            made = ast.parse(f.text, mode="eval").body
            body = made.body
        else:
            made = ast.parse(f.text).body[0]
            body = made.body[-1].value
        return self.expression(body, dict(f.names) | self.bound(made.args, node, kinds))[0]

    def bound(self, args: ast.arguments, node: ast.Call, kinds: list[Type]) -> Env:
        """The types of parameters; those without an argument have the default's."""
        names = [arg.arg for arg in args.args]
        n_plain = len(node.args)
        env: Env = {}
        for name, default in zip(reversed(names), reversed(args.defaults), strict=False):
            env[name] = self.expression(default, {})[0]
        if args.vararg:
            env[args.vararg.arg] = tuple(kinds[len(names) : n_plain])
        env |= dict(zip(names, kinds[:n_plain], strict=False))
        env |= {word.arg: kind for word, kind in zip(node.keywords, kinds[n_plain:], strict=True)}
        if any(name not in env for name in names) or (n_plain > len(names) and not args.vararg):
            raise NoType("arguments")
        return env

    def builtin(self, name: str, kinds: list[Type]) -> Type:
        module, _, last = name.rpartition(".")
        if name in ("min", "max") and len(kinds) == 1:
            return common(*map(scalar, self.values(kinds[0])))
        if name == "sum":
            total = kinds[1] if len(kinds) > 1 else "int"
            for kind in self.values(kinds[0]):
                total = binary("+", total, scalar(kind))
            return total
        if name == "len" and not isinstance(kinds[0], str):
            return "int"
        for kind in kinds:
            scalar(kind)
        if name in TO_INT:
            if last in ("index", "bitwise_count") and is_float(kinds[0]):
                raise NoType(f"{last} of a float")
            return "int"
        if name == "divmod":
            return binary("//", *kinds), binary("%", *kinds)
        if module == "gpu" and last in MEETING:
            return MEETING[last]
        if last.startswith(("shfl_", "reduce_")):
            return kinds[1]
        if name == "np.where":
            return common(*kinds[1:])
        if last in TO_BOOL:
            return "bool"
        if last in TO_JOIN:
            return common(*kinds)
        if last in TO_FLOAT:
            return float_from(*kinds)
        if module in ("operator", "np") and last in FUNCTION_OPERATORS:
            return binary(FUNCTION_OPERATORS[last], *kinds)
        if last in FUNCTION_UNARY:
            return unary(FUNCTION_UNARY[last], kinds[0])
        if module == "np" and last in TO_SAME:
            return number_from(kinds[0])
        return last

    def values(self, kind: Type) -> tuple:
        """What a sum or a minimum goes over; of an array its element once."""
        if isinstance(kind, Array):
            if kind.rank != 1:
                raise NoType("rows")
            return (element(kind.dtype),)
        if not isinstance(kind, tuple) or not kind:
            raise NoType("no values")
        return kind
