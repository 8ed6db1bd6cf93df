"""The second text of random kernels: conversions where variables are read."""

import ast

import pytest
from kernels.explicit import explicit
from kernels.types import Array, NoType, exactly, meet, seen

PARAMS = {"x": Array("int64", 1), "f": Array("float32", 1), "out": Array("float64", 1)}


def written(body, functions="", check=False):
    """The lines of the kernel's reference text."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = explicit(f"{functions}def kernel(x, f, out):\n{lines}", PARAMS, check)[0]
    tree = ast.parse(text)
    assert isinstance(tree.body[-1], ast.FunctionDef)
    return [ast.unparse(statement) for statement in tree.body[-1].body], text


def test_types_that_meet_are_a_set():
    assert meet("int", "uint32") == "uint32"
    assert meet(meet("int", "uint32"), "float") == "float"
    assert exactly(meet(meet("int", "uint32"), "float")) == exactly(meet("float", "uint32", "int"))
    assert exactly(meet("int", "int")) == exactly("int")
    assert meet(meet("uint64", "int8"), "float") == "float"
    with pytest.raises(NoType):
        seen(meet("uint64", "int8"))
    assert seen(meet(("int", "bool"), ("float32", "bool"))) == ("float32", "bool")


def test_a_reader_converts_once():
    lines, _ = written("v = x[0]\nif x[1]:\n    v = gpu.uint32(7)\nout[0] = v\n"
                       "if x[2]:\n    v = 0.5\nout[1] = v")  # fmt: skip
    assert lines[2] == "out[0] = gpu.uint32(v)"
    assert lines[4] == "out[1] = float(v)"


def test_what_passes_a_value_on_does_not_read_it():
    lines, _ = written("v = 1\nif x[1]:\n    v = f[0]\nw = v\nv, w = w, v\n"
                       "u = w if x[2] else 0.5\nout[0] = u")  # fmt: skip
    assert lines[2:] == ["w = v", "v, w = (w, v)", "u = w if x[2] else 0.5",
                         "out[0] = gpu.float32(u)"]  # fmt: skip


def test_loops_rise_to_what_their_bodies_bring():
    lines, _ = written("v = 0\nfor k in range(3):\n    v = v + f[k]\nout[0] = v")
    assert lines[1] == "for k in range(3):\n    v = gpu.float32(v) + f[k]"
    assert lines[2] == "out[0] = gpu.float32(v)"


def test_a_loop_that_was_written_out_stays_so():
    """The types that follow would make it a loop over elements of one type again."""
    body = ("b = 1\ns = gpu.uint64(2)\nfor k in range(2):\n    for t in (k, b):\n"
            "        s, b = b, s\nout[0] = b")  # fmt: skip
    lines, text = written(body)
    assert lines[-1] == "out[0] = b"
    assert text.count("s, b") == 2


def test_results_of_functions_that_call_each_other():
    functions = "def g(k, p, q):\n    if k <= 0:\n        return 1\n    return g(k - 1, q, p) * p\n"
    lines, text = written("out[0] = g(2, f[0], 1)", functions)
    assert lines == ["out[0] = gpu.float32(g_0(2, f[0], 1))"]
    assert "gpu.float32(g_1(k - 1, q, p)) * p" in ast.unparse(ast.parse(text))
    with pytest.raises(NoType):
        written("out[0] = g(1)", "def g(k):\n    return g(k)\n")


def test_ints_must_fit_with_check():
    lines, text = written("v = x[0]\nif x[1]:\n    v = gpu.uint8(7)\nout[0] = v", check=True)
    assert lines[2] == "out[0] = narrow_uint8(v)"
    assert "def narrow_uint8(x):" in text


def test_a_loop_is_written_out_in_each_round_by_itself():
    """In the last two rounds the inner loop goes over elements of one type: it may have none."""
    body = ("a = x[0]\nt = f[0]\nfor k in (a, t, t):\n    for m in (t, k):\n        pass\n"
            "out[0] = m / 3")  # fmt: skip
    lines, text = written(body)
    assert text.count("for m in") == 4
    assert lines[-1] == "out[0] = gpu.float32(m) / 3"


def test_a_break_that_types_exclude_still_makes_two_paths():
    body = ("b = f[0]\nfor k in range(3):\n    if isinstance(b, np.floating):\n        pass\n"
            "    else:\n        break\nelse:\n    b = f[1] * f[2]\nout[0] = b - b")  # fmt: skip
    text = written(body)[1]
    assert "break" in text
