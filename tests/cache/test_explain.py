"""kernel.explain(): where each signature came from, and what differs from the nearest entry."""

import re
import time
import types

import gpu
import numpy as np
import pytest
from cachekit import launch, program, run

TEXT = """
def helper(v, w=1):
    return v + w
@gpu.jit({options})
def entry(x, a):
    x[gpu.grid(1)] = helper(N) * {factor} + a
"""


def explained(factor=2, options="", a=0, **names):
    entry = program(TEXT.format(factor=factor, options=options), **{"N": 3, **names})["entry"]
    launch(entry, a)
    return entry.explain()


def past():
    """Entries on disk are compared by the second."""
    time.sleep(1.1)


def test_where_it_came_from(device):
    name = "cpu" if device == "cpu" else "cuda:0"
    first = explained()
    head = re.escape(f"entry(float64[::1], int) on {name}: compiled, and kept on disk, ")
    assert re.fullmatch(head + r"\d+\.\d ms\n    because it was not compiled before", first)
    assert re.fullmatch(
        re.escape(f"entry(float64[::1], int) on {name}: found on disk, ") + r"\d+\.\d ms",
        explained(),
    )
    assert "compiled, and not kept on disk" in explained(options="cache=False")


def test_nothing_was_launched():
    entry = program(TEXT.format(factor=1, options=""), N=3)["entry"]
    assert entry.explain() == "entry was not launched yet: nothing is compiled"


@pytest.mark.parametrize(("change", "reason"), [
    ({"N": 4}, "global N was 3 and is 4"),
    ({"N": 3.0}, "global N was 3 and is 3.0"),
    ({"factor": 7}, "the text of function entry differs"),
    ({"options": "fma=False"}, "option fma was 1 and is 0"),
    ({"a": 1.5}, r"signature was float64[::1], int and is float64[::1], float"),
])  # fmt: skip
def test_why_it_was_compiled_again(change, reason):
    explained()
    past()
    assert reason in explained(**change)


def test_the_reader_of_an_attribute_and_of_a_closure():
    text = """
def make(k):
    @gpu.jit
    def entry(x):
        x[gpu.grid(1)] = k + TABLE.value
    return entry
"""
    for k, value, reason in [
        (1, 5, "it was not compiled before"),
        (2, 5, "closure variable k was 1 and is 2"),
        (2, 6, "attribute value was 5 and is 6"),
    ]:
        entry = program(text, TABLE=types.SimpleNamespace(value=value))["make"](k)
        launch(entry)
        assert f"because {reason}" in entry.explain()
        past()


def test_defaults_and_callees():
    text = (
        "def helper(v, w={}):\n    return v + w{}\n@gpu.jit\ndef entry(x):\n    x[0] = helper(1)\n"
    )
    reasons = []
    for default, more in ((1, ""), (2, ""), (2, " * 3")):
        entry = program(text.format(default, more))["entry"]
        launch(entry)
        reasons.append(entry.explain())
        past()
    assert "because defaults of function helper was (1,) and is (2,)" in reasons[1]
    assert "because the text of function helper differs" in reasons[2]


def test_within_one_process(monkeypatch):
    """Also what is not kept is compared."""
    scope = program(TEXT.format(factor=2, options="cache=False"), N=3)
    launch(scope["entry"], 0)
    scope["N"] = 4
    launch(scope["entry"], 0)
    scope["helper"].__defaults__ = (5,)
    launch(scope["entry"], 0)
    launch(scope["entry"], 1.5)
    lines = [line.strip() for line in scope["entry"].explain().splitlines()[1::2]]
    assert lines == [
        "because it was not compiled before",
        "because global N was 3 and is 4",
        "because defaults of function helper was (1,) and is (5,)",
        "because signature was float64[::1], int and is float64[::1], float",
    ]


def test_a_shadowed_builtin():
    text = "{}@gpu.jit\ndef entry(x):\n    x[0] = abs(-2)\n"
    launch(program(text.format(""))["entry"])
    past()
    entry = program(text.format("def abs(v):\n    return 9\n"))["entry"]
    launch(entry)
    assert "global abs was absent and is function abs" in entry.explain()


def test_a_captured_array():
    text = "@gpu.jit\ndef entry(x):\n    x[0] = T[1]\n"
    reasons = []
    for last in (1, 2):
        table = np.array([0, last])
        table.flags.writeable = False
        entry = program(text, T=table)["entry"]
        launch(entry)
        reasons.append(entry.explain())
        past()
    assert re.search(r"because global T was array \w+ and is array \w+$", reasons[1])


def test_another_process(tmp_path):
    source = """
import gpu
N = {}
@gpu.jit
def entry(x):
    x[0] = N
entry[1, 1](gpu.zeros(1))
print(entry.explain())
"""
    assert "not compiled before" in run(source.format(1), tmp_path)
    past()
    assert "because global N was 1 and is 2" in run(source.format(2), tmp_path)
    assert "found on disk" in run(source.format(1), tmp_path)


def test_after_the_python_device():
    gpu.select_device("python")
    try:
        entry = program(TEXT.format(factor=1, options=""), N=3)["entry"]
        entry[1, 1](gpu.zeros(1), 0)
        assert "not launched yet" in entry.explain()
    finally:
        gpu.select_device("cpu")
