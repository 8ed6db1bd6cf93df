"""Makes a failing case smaller while it still fails the same way.

Greedy over the text's tree: a statement is left out, a compound statement becomes its body, an
expression becomes one of its operands or a literal. What is no program any more (no type, no
meaning) does not fail and is not kept.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from .generate import Case
from .types import NoType

Fails = Callable[[Case], str | None]


def kind_of(failure: str | None) -> str | None:
    """A difference, or the class of an error: reduction must not wander from one to another."""
    if failure is None:
        return None
    head = failure.split(":", 1)[0]
    return head if head.isidentifier() and head[0].isupper() else "difference"


def smaller_blocks(tree: ast.Module) -> Iterator[ast.Module]:
    """Trees with one statement fewer, or a compound one replaced by its body."""
    for number, node in enumerate(ast.walk(tree)):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for k, statement in enumerate(block):
                inner = (
                    getattr(statement, "body", None)
                    if isinstance(statement, ast.If | ast.For | ast.While)
                    else None
                )
                for instead in ([], inner):
                    if instead is None:
                        continue
                    copied = copy.deepcopy(tree)
                    twin = list(ast.walk(copied))[number]
                    body = getattr(twin, name)
                    body[k : k + 1] = copy.deepcopy(instead)
                    if not body and name == "body" and twin is not copied:
                        body.append(ast.Pass())
                    yield copied


def smaller_expressions(tree: ast.Module) -> Iterator[ast.Module]:
    """Trees in which one expression is one of its operands, or a literal."""
    for number, node in enumerate(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for k, old in enumerate(values):
                if not isinstance(
                    old, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.IfExp | ast.Call | ast.Compare
                ):
                    continue
                parts = [part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)]
                if isinstance(old, ast.Call):
                    parts = parts[1:]
                for instead in (ast.Constant(1), *parts):
                    copied = copy.deepcopy(tree)
                    twin = list(ast.walk(copied))[number]
                    if isinstance(value, list):
                        getattr(twin, name)[k] = copy.deepcopy(instead)
                    else:
                        setattr(twin, name, copy.deepcopy(instead))
                    yield copied


def reduce(case: Case, fails: Fails, limit: int = 2000) -> Case:
    """The smallest case found that fails like the given one, in at most `limit` trials."""
    wanted = kind_of(fails(case))
    progress = True
    while progress:
        progress = False
        tree = ast.parse(case.source)
        for candidates in (smaller_blocks, smaller_expressions):
            for candidate in candidates(tree):
                limit -= 1
                if limit < 0:
                    return case
                try:
                    smaller = replace(
                        case, source=ast.unparse(ast.fix_missing_locations(candidate)) + "\n"
                    )
                    same = (
                        len(smaller.source) < len(case.source) and kind_of(fails(smaller)) == wanted
                    )
                except (NoType, Exception):  # no program
                    same = False
                if same:
                    case, progress = smaller, True
                    break
            if progress:
                break
    return case
