"""The reducer of random kernels, with faults that are planted."""

import ast
import dataclasses
import time

import numpy as np
import pytest
from kernels.case import Case
from kernels.generate import generate
from kernels.reduce import cuts, edited, kind_of, reduce
from kernels.run import differences, on_python


class Wrong(ast.NodeTransformer):
    """A device that computes one operator wrongly."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, self.old):
            node.op = self.new()
        return node


def fault(old, new):
    """fails() of a device whose `old` is `new`."""

    def fails(case):
        wrong = ast.unparse(Wrong(old, new).visit(ast.parse(case.source)))
        got = on_python(dataclasses.replace(case, source=wrong))
        lines = differences(got, on_python(case))
        return lines[0] if lines else None

    return fails


def cases(fails, count):
    """Long kernels that show the fault."""
    found, seed = [], 0
    while len(found) < count:
        seed += 1
        case = generate(seed)
        if len(case.source.splitlines()) < 40 or case.check:
            continue
        try:
            failure = fails(case)
        except Exception:
            continue  # the wrong operator has no meaning here
        if failure:
            found.append(case)
    return found


@pytest.mark.parametrize(("old", "new"), [(ast.Mult, ast.Add), (ast.Sub, ast.Mult)])
def test_a_long_kernel_becomes_short(old, new):
    fails = fault(old, new)
    trials = 0

    def counted(case):
        nonlocal trials
        trials += 1
        return fails(case)

    for case in cases(fails, 2):
        trials = 0
        small = reduce(case, counted)
        assert fails(small)
        assert len(small.source.splitlines()) <= 6, small.source
        assert trials < 600


def test_it_does_not_wander_to_another_failure():
    source = "def kernel(x):\n    a = 1\n    b = 2\n    c = 3\n"
    case = Case(0, source, {}, {"x": np.zeros(1)})

    def fails(case):
        if "b = 2" not in case.source:
            return "TypingError: b has no value"
        return "x[0]: 1, the reference has 2"

    assert reduce(case, fails).source == "def kernel(x):\n    b = 2\n"
    assert kind_of("TypingError: text") == "TypingError"
    assert kind_of("x[0]: 1") == kind_of("raised nothing\nthe reference") == "difference"
    assert kind_of(None) is None


def test_an_edit_may_leave_a_loop_that_never_ends():
    source = "def kernel(x):\n    k = 0\n    while k < 3:\n        k += 1\n        x[0] = 4\n"
    case = Case(0, source, {}, {"x": np.zeros(1)})

    def fails(case):
        scope = {}
        exec(case.source, scope)
        x = [0]
        scope["kernel"](x)
        return "x[0]: 4, the reference has 0" if x[0] == 4 else None

    assert reduce(case, fails, until=time.monotonic() + 60).source == (
        "def kernel(x):\n    x[0] = 4\n"
    )


def test_what_does_not_fail_stays():
    case = Case(0, "def kernel(x):\n    a = 1\n", {}, {})
    assert reduce(case, lambda case: None) is case


def test_halves_come_first():
    source = "def kernel(x):\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n"
    texts = [edited(source, edit) for edit in cuts(ast.parse(source))]
    assert texts[0] == "def kernel(x):\n    pass\n"
    assert texts[1] == "def kernel(x):\n    c = 3\n    d = 4\n"
    assert texts[-1] == "def kernel(x):\n    a = 1\n    b = 2\n    c = 3\n"


def test_no_branch_becomes_constant():
    for line in ("if x:", "while x:", "while not x:"):
        source = f"def kernel(x):\n    {line}\n        pass\n"

        def edit(nodes):
            next(n for n in nodes if isinstance(n, ast.If | ast.While)).test = ast.Constant(1)

        assert edited(source, edit) is None
        assert edited(source, lambda nodes: None) is not None
