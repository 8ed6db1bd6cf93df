"""Makes a failing case smaller while it still fails the same way.

Greedy over the text's tree, larger edits first: half of a block is left out, then quarters, down to
one statement; a compound statement becomes its body; an expression becomes one of its operands or
a literal. After an edit that is kept the next one of the same kind follows, so that a text of 80
lines needs some 300 trials. What is no program any more (no type, no meaning) does not fail and is
not kept.
"""

import ast
import contextlib
import copy
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .case import Case
from .types import NoType

TRIAL = 3  # seconds
Fails = Callable[[Case], str | None]
Edit = Callable[[list[ast.AST]], None]  # changes a copy of the tree, given as its nodes in order
COMPOUND = ast.If | ast.For | ast.While
LARGE = (ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.IfExp | ast.Call | ast.Compare | ast.Tuple
         | ast.Subscript | ast.Lambda)  # fmt: skip


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """TimeoutError after some seconds, and again and again for other threads of a kernel: an edit
    may leave a loop that never ends."""

    def stop(*_: object) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def kind_of(failure: str | None) -> str | None:
    """A difference, or the class of an error: reduction must not wander from one to another."""
    if failure is None:
        return None
    head = failure.split(":", 1)[0]
    return head if head.isidentifier() and head[0].isupper() else "difference"


def blocks(tree: ast.AST) -> list[tuple[int, str, list[ast.stmt]]]:
    """Every list of statements: its node's number, the field's name, the statements."""
    return [(number, name, block) for number, node in enumerate(ast.walk(tree))
            for name in ("body", "orelse", "cases")
            if isinstance(block := getattr(node, name, None), list) and block]  # fmt: skip


def cut(number: int, name: str, first: int, last: int) -> Edit:
    """Without some statements; a block that must not be empty has `pass`."""

    def edit(nodes: list[ast.AST]) -> None:
        body = getattr(nodes[number], name)
        body[first:last] = []
        if not body and name == "body" and not isinstance(nodes[number], ast.Module):
            body.append(ast.Pass())

    return edit


def cuts(tree: ast.AST) -> list[Edit]:
    """Halves of all blocks, then quarters and so on."""
    found: list[tuple[int, Edit]] = []
    for number, name, block in blocks(tree):
        size = len(block)
        while size:
            for first in range(0, len(block), size):
                found.append((size, cut(number, name, first, first + size)))
            size //= 2
    return [edit for _, edit in sorted(found, key=lambda pair: -pair[0])]


def opened(tree: ast.AST) -> list[Edit]:
    """A compound statement replaced by its body."""

    def opening(number: int, name: str, k: int, part: str) -> Edit:
        def edit(nodes: list[ast.AST]) -> None:
            block = getattr(nodes[number], name)
            block[k : k + 1] = getattr(block[k], part)

        return edit

    return [opening(number, name, k, part) for number, name, block in blocks(tree)
            for k, statement in enumerate(block) if isinstance(statement, COMPOUND)
            for part in ("body", "orelse") if getattr(statement, part)]  # fmt: skip


def simpler(tree: ast.AST) -> list[Edit]:
    """An expression replaced by a literal or by one of its operands."""

    def swap(number: int, name: str, k: int | None, instead: ast.expr) -> Edit:
        def edit(nodes: list[ast.AST]) -> None:
            if k is None:
                setattr(nodes[number], name, copy.deepcopy(instead))
            else:
                getattr(nodes[number], name)[k] = copy.deepcopy(instead)

        return edit

    found = []
    for number, node in enumerate(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            for k, old in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(old, LARGE) or name in ("targets", "target", "func"):
                    continue
                parts = [part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)]
                parts = parts[1:] if isinstance(old, ast.Call) else parts
                place = k if isinstance(value, list) else None
                found += [swap(number, name, place, x) for x in (ast.Constant(1), *parts)]
    return found


def is_decided(node: ast.AST) -> bool:
    """A branch on a constant, of which the compiler of Python leaves out one side: the reference
    does not, which would be another failure."""
    test = getattr(node, "guard" if isinstance(node, ast.match_case) else "test", None)
    return test is not None and not any(isinstance(x, ast.Name) for x in ast.walk(test))


def edited(source: str, edit: Edit) -> str | None:
    tree = ast.parse(source)
    edit(list(ast.walk(tree)))
    if any(map(is_decided, ast.walk(tree))):
        return None
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError, RecursionError):
        return None


class Reduction:
    def __init__(self, case: Case, fails: Fails, limit: int, until: float):
        self.case, self.fails, self.limit, self.until = case, fails, limit, until
        self.wanted = kind_of(fails(case))
        self.seen: set[str] = set()

    def try_(self, edit: Edit) -> bool:
        """Whether the edit gives a smaller case that fails alike; it is the case then."""
        source = edited(self.case.source, edit)
        if source is None or source in self.seen or len(source) >= len(self.case.source):
            return False
        self.seen.add(source)
        self.limit -= 1
        if time.monotonic() > self.until:
            self.limit = 0
            return False
        smaller = replace(self.case, source=source)
        try:
            with within(TRIAL):
                same = kind_of(self.fails(smaller)) == self.wanted
        except (NoType, Exception):  # no program
            return False
        if same:
            self.case = smaller
        return same

    def sweep(self, edits: Callable[[ast.AST], list[Edit]]) -> bool:
        """All edits of a kind once, each on what the ones before it left."""
        progress, k = False, 0
        while self.limit > 0:
            now = edits(ast.parse(self.case.source))
            if k >= len(now):
                break
            while k < len(now) and self.limit > 0 and not self.try_(now[k]):
                k += 1
            progress = progress or k < len(now)
        return progress


def reduce(case: Case, fails: Fails, limit: int = 1000, until: float = float("inf")) -> Case:
    """The smallest case found that fails like the given one, in at most `limit` trials and until
    that time of the monotonic clock."""
    source = ast.unparse(ast.parse(case.source)) + "\n"  # lines as edits leave them
    reduction = Reduction(replace(case, source=source), fails, limit, until)
    if reduction.wanted is None:
        return case
    progress = True
    while progress and reduction.limit > 0:
        progress = False
        for edits in (cuts, opened, simpler):
            progress = reduction.sweep(edits) or progress
    return reduction.case
