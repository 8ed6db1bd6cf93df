"""What loops go over: the types of the items, and whether the loop is written out.

A loop over elements of one type stays a loop. Over a tuple of different types it is written out,
each round in the `else` of the round before, so that `break` leaves them all and `continue` only
its own.
"""

import ast
from dataclasses import dataclass

from .types import Array, NoType, Type, element
from .values import Env, Values


@dataclass
class Items:
    """Types of the items one by one, or one for all of them in any number."""

    kinds: list[Type] | None = None
    kind: Type = "int"

    def mixed(self) -> bool:
        return self.kinds is not None and any(kind != self.kinds[0] for kind in self.kinds)

    def one(self) -> Type:
        return self.kinds[0] if self.kinds else self.kind


class Iteration(Values):
    def items(self, node: ast.expr, env: Env) -> tuple[Items, str]:
        """What iteration over the expression gives, and the iterable's text."""
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name == "range":
            return Items(), f"range({', '.join(self.expression(x, env)[1] for x in node.args)})"
        if name in ("enumerate", "zip", "reversed", "gpu.unroll"):
            start = [self.expression(x, env)[1] for x in node.args[1:]] * (name == "enumerate")
            parts = [self.items(x, env) for x in node.args[: 1 if start else None]]
            text = f"{name}({', '.join([text for _, text in parts] + start)})"
            return self.composed(name, [items for items, _ in parts]), text
        kind, text = self.expression(node, env)
        if isinstance(kind, tuple):
            if not kind:
                raise NoType("a loop over nothing")
            return Items(list(kind)), text
        if not isinstance(kind, Array) or not kind.rank:
            raise NoType("a loop over a number")
        inner = Array(kind.dtype, kind.rank - 1) if kind.rank > 1 else element(kind.dtype)
        return Items(kind=inner), text

    def composed(self, name: str, parts: list[Items]) -> Items:
        first = parts[0]
        if name == "gpu.unroll":
            return first
        if name == "reversed":
            return Items(first.kinds and first.kinds[::-1], first.kind)
        if name == "enumerate":
            return Items(first.kinds and [("int", kind) for kind in first.kinds],
                         ("int", first.kind))  # fmt: skip
        if any(part.kinds is None for part in parts):
            if any(part.mixed() for part in parts):
                raise NoType("a mixed tuple beside a run-time number of items")
            return Items(kind=tuple(part.one() for part in parts))
        return Items([tuple(kinds) for kinds in zip(*(p.kinds for p in parts), strict=False)])

    def bind(self, target: ast.expr, kind: Type, env: Env) -> None:
        """The names of a target, nested and with a star, added to the names."""
        if isinstance(target, ast.Name):
            env[target.id] = kind
            return
        if not isinstance(target, ast.Tuple):
            return
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        if not isinstance(kind, tuple) or len(kind) < len(target.elts) - len(stars):
            raise NoType("unpacking")
        if stars:
            k, extra = stars[0], len(kind) - len(target.elts) + 1
            kind = (*kind[:k], kind[k : k + extra], *kind[k + extra :])
        if len(kind) != len(target.elts):
            raise NoType("unpacking")
        for part, inner in zip(target.elts, kind, strict=True):
            self.bind(part.value if isinstance(part, ast.Starred) else part, inner, env)
