"""What is compiled again because something changed, and what is found although text moved."""

import dataclasses
import enum
import importlib
import re
import sys
import types
from typing import NamedTuple

import gpu
import numpy as np
import pytest
from cachekit import FAKE, expect, launch, origin, program

BY_GLOBAL = """
N = {}
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = N
"""


def by_global(value):
    return launch(program(BY_GLOBAL.format(value))["entry"])


def test_the_same_program_is_found(device):
    expect(by_global(3), "compiled", 3)
    expect(by_global(3), "disk", 3)


@pytest.mark.parametrize("values", [
    (3, 4), (1, 1.0), (1, True), (1.0, True), (0.0, -0.0), (1, "gpu.uint64(1)"),
    ("gpu.float32(1)", "gpu.float64(1)"), ("(1, 2)[0]", "(2, 1)[0]"), (2**62, 2**63),
])  # fmt: skip
def test_a_global_changes(device, values):
    for value in values:
        expect(by_global(value), "compiled", float(eval(str(value))))
    for value in values:
        expect(by_global(value), "disk", float(eval(str(value))))


def test_a_constant_in_the_text_changes(device):
    text = "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = {}\n"
    for value in ("1", "1.0", "True", "2", "-1"):
        expect(launch(program(text.format(value))["entry"]), "compiled", float(eval(value)))
    expect(launch(program(text.format("1"))["entry"]), "disk", 1)


def test_a_closure_changes(device):
    text = """
def make(k):
    def entry(x):
        x[gpu.grid(1)] = k
    entry.__qualname__ = "entry"
    return gpu.jit(entry)
"""
    for k in (3, 4, 3.0):
        expect(launch(program(text)["make"](k)), "compiled", float(k))
    for k in (3, 4, 3.0):
        expect(launch(program(text)["make"](k)), "disk", float(k))


BY_MODULE = """
import other
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = other.helper(2)
"""


def test_a_callee_in_another_module_changes(device, monkeypatch):
    for text, where, value in [
        ("return v + 1", "compiled", 3), ("return v * 5", "compiled", 10),
        ("# nothing new\n    return v + 1", "disk", 3), ("return deeper(v)", "compiled", 102),
    ]:  # fmt: skip
        other = types.ModuleType("other")
        source = f"def deeper(v):\n    return v + 100\ndef helper(v):\n    {text}\n"
        exec(compile(source, "other.py", "exec"), other.__dict__)
        monkeypatch.setitem(sys.modules, "other", other)
        expect(launch(program(BY_MODULE)["entry"]), where, value)


def test_a_default_of_a_callee_changes(device):
    text = """
def helper(v{}):
    return v + w
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = helper(1)
"""
    for default in (", w=1", ", w=2", ", *, w=2", ", w=2.5"):
        expect(launch(program(text.format(default))["entry"]), "compiled",
               1 + float(default[-3:].strip("w=")))  # fmt: skip
    expect(launch(program(text.format(", w=2"))["entry"]), "disk", 3)


def test_an_attribute_of_an_object_changes(device):
    text = "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = TABLE.inner.value\n"
    for value, where in [(1, "compiled"), (2, "compiled"), (1, "disk"), (1.0, "compiled")]:
        table = types.SimpleNamespace(inner=types.SimpleNamespace(value=value))
        expect(launch(program(text, TABLE=table)["entry"]), where, float(value))


def test_a_global_shadows_a_builtin(device):
    text = "{}\n@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = abs(-3)\n"
    expect(launch(program(text.format(""))["entry"]), "compiled", 3)
    expect(launch(program(text.format("def abs(v):\n    return 77"))["entry"]), "compiled", 77)
    expect(launch(program(text.format("from math import fabs as abs"))["entry"]), "compiled", 3)
    expect(launch(program(text.format(""))["entry"]), "disk", 3)


def test_a_code_that_a_reloader_swaps(device):
    scope = program(BY_GLOBAL.format(3))
    entry = scope["entry"]
    expect(launch(entry), "compiled", 3)
    new = program("N = 3\ndef entry(x):\n    x[gpu.grid(1)] = N + 1\n")["entry"]
    old = entry.py_func.__code__
    entry.py_func.__code__ = new.__code__
    expect(launch(entry), "compiled", 4)
    entry.py_func.__code__ = old
    launch(entry)
    entry.py_func.__code__ = new.__code__
    expect(launch(program("N = 3\n@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = N + 1\n")["entry"]),
           "disk", 4)  # fmt: skip


def test_another_dtype(device):
    text = "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = x[gpu.grid(1)] / 3\n"
    for dtype in (np.float32, np.float64, np.int16):
        for where in ("compiled", "disk"):
            x = gpu.to_device(np.array([7], dtype))
            entry = program(text)["entry"]
            if dtype is np.int16:
                entry = program(text.replace("/", "//"))["entry"]
            entry[1, 1](x)
            assert origin(entry) == where
            if device == "cpu" or not FAKE:
                want = np.array([7], dtype) // 3 if dtype is np.int16 else np.array([7], dtype) / 3
                assert x.copy_to_host()[0] == want.astype(dtype)[0]


@pytest.mark.parametrize("option", [
    "check=True", "fma=False", "opt_level=1", "fastmath=True", "float=gpu.float32", "ftz=True",
    "lineinfo=True", "max_registers=32", "launch_bounds=64", "prec_div=False",
])  # fmt: skip
def test_another_option(device, option):
    text = "@gpu.jit({})\ndef entry(x):\n    x[gpu.grid(1)] = x[gpu.grid(1)] / 3.0 + 1.0\n"
    expect(launch(program(text.format(""))["entry"]), "compiled", 1)
    expect(launch(program(text.format(option))["entry"]), "compiled", 1)
    expect(launch(program(text.format(option))["entry"]), "disk", 1)
    expect(launch(program(text.format(""))["entry"]), "disk", 1)


def test_cache_false_is_neither_kept_nor_found(device):
    text = "@gpu.jit({})\ndef entry(x):\n    x[gpu.grid(1)] = 5\n"
    expect(launch(program(text.format("cache=False"))["entry"]), "compiled, not kept", 5)
    expect(launch(program(text.format("cache=True"))["entry"]), "compiled", 5)
    expect(launch(program(text.format("cache=False"))["entry"]), "compiled, not kept", 5)
    expect(launch(program(text.format(""))["entry"]), "disk", 5)


def test_an_array_of_the_program_changes(device):
    text = "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = TABLE[gpu.grid(1) + 1]\n"
    for table, where in [
        ([1, 2], "compiled"), ([1, 3], "compiled"), ([1, 2], "disk"), ([1.0, 2.0], "compiled"),
        ([[1, 2]][0], "disk"), ([1, 2, 3], "compiled"),
    ]:  # fmt: skip
        array = np.array(table)
        array.flags.writeable = False
        expect(launch(program(text, TABLE=array)["entry"]), where, float(table[1]))


# ---- What only Python can answer: questions of a compilation


def test_functions_as_arguments(device):
    text = "@gpu.jit\ndef entry(x, f):\n    x[gpu.grid(1)] = f(3)\n"

    def function(body):
        return program(f"K = 10\ndef f(v):\n    return {body}\n")["f"]

    for body, where, value in [
        ("v + 1", "compiled", 4), ("v * K", "compiled", 30), ("v + 1", "disk", 4),
        ("v * K", "disk", 30), ("(lambda w: w + 2)(v)", "compiled", 5),
    ]:  # fmt: skip
        expect(launch(program(text)["entry"], function(body)), where, value)


class Pair(NamedTuple):
    left: float
    right: int = 2


def test_tuples_texts_types_and_none_as_arguments(device):
    text = "@gpu.jit\ndef entry(x, p, t):\n    x[gpu.grid(1)] = {}\n"
    cases = [
        ("p.left + p.right", Pair(1.0, 5), "a", 6.0),
        ("p[0] + p[1]", (1, 5), "a", 6.0),
        ("1 if t == 'a' else 2", 0, "a", 1.0),
        ("1 if t == 'a' else 2", 0, "b", 2.0),
        ("3 if t is None else 2", 0, None, 3.0),
        ("t(2.7)", 0, gpu.int32, 2.0),
        ("t(2.7)", 0, int, 2.0),
    ]
    for body, p, t, value in cases:
        expect(launch(program(text.format(body))["entry"], p, t), "compiled", value)
    for body, p, t, value in cases:
        expect(launch(program(text.format(body))["entry"], p, t), "disk", value)


class Config:
    def __init__(self, n):
        self.n = n
        self.deep = types.SimpleNamespace(m=n + 1)


def test_attributes_of_objects(device):
    """Of objects that a helper is given: asked while the types are found."""
    text = """
def get(c):
    return c.n * 10 + c.deep.m
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = get(C) + get(D)
"""
    for n, where in [(1, "compiled"), (2, "compiled"), (1, "disk"), (2, "disk")]:
        names = {"C": Config(n), "D": Config(5)}
        expect(launch(program(text, **names)["entry"]), where, 11.0 * n + 1 + 56)
    names = {"C": Config(5), "D": Config(1)}
    expect(launch(program(text, **names)["entry"]), "compiled", 56 + 12)


def test_dataclasses_and_enums(device):
    @dataclasses.dataclass(frozen=True)
    class Size:
        n: int

    class Mode(enum.Enum):
        ONE = 1
        TWO = 2

    text = "@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = S.n * 10 + M.value\n"
    for n, mode, where in [(1, Mode.ONE, "compiled"), (1, Mode.TWO, "compiled"),
                           (2, Mode.TWO, "compiled"), (1, Mode.ONE, "disk")]:  # fmt: skip
        names = {"S": Size(n), "M": types.SimpleNamespace(value=mode.value)}
        expect(launch(program(text, **names)["entry"]), where, 10.0 * n + mode.value)


# ---- What moves along: lines, files, classes


RAISES = """
class Bad(Exception):
    pass

class Worse(Exception):
    pass

@gpu.jit({})
def entry(x, n):
    i = gpu.grid(1)
    if n == 1:
        assert i > 5, "small"
    if n == 2:
        raise Bad("bad", n)
    if n == 3:
        x[i + 1000] = 1
    x[i] = n
"""


def line_of(text, what):
    return next(i for i, line in enumerate(text.splitlines(), 1) if what in line)


def variants():
    moved = "\n# A comment.\n\n\n" + RAISES
    wide = RAISES.replace(
        "    if n == 2:", "    # about two\n\n    if (\n        n\n        == 2\n    ):"
    )
    return [RAISES, moved, wide, RAISES.replace("assert i > 5, ", "assert (i\n            > 5), ")]


def lines_of(exception):
    """Those of its traceback, and those that its text names."""
    shown = str(exception) + "".join(getattr(exception, "__notes__", []))
    named = [int(n) for n in re.findall(r"line (\d+)", shown)]
    return named + [at.tb_lineno for at in trace(exception)]


def raised(text, file, n, error):
    scope = program(text.replace("@gpu.jit({})", "@gpu.jit"), file=file)
    entry = scope["entry"]
    with pytest.raises(scope[error] if error == "Bad" else error) as caught:
        entry[1, 1](gpu.zeros(1), n)
        gpu.synchronize()
    return origin(entry), caught.value


@pytest.mark.parametrize("number", range(4))
def test_lines_that_moved(number):
    """Not compiled again, and what fires names the line as it is now."""
    first = program(RAISES.replace("@gpu.jit({})", "@gpu.jit"))["entry"]
    first[1, 1](gpu.zeros(1), 0)
    assert origin(first) == "compiled"
    text = variants()[number]
    file = f"/nowhere/other{number}.py"
    for n, error, what in [(1, AssertionError, "assert"), (2, "Bad", "raise Bad"),
                           (3, IndexError, "x[i + 1000]")]:  # fmt: skip
        where, exception = raised(text, file, n, error)
        assert where == "disk"
        assert line_of(text, what) in lines_of(exception)
        shown = str(exception) + "".join(getattr(exception, "__notes__", []))
        assert file in shown or any(file == t.tb_frame.f_code.co_filename for t in trace(exception))


def trace(exception):
    at = exception.__traceback__
    while at:
        yield at
        at = at.tb_next


def test_with_line_tables_lines_are_part_of_the_code():
    text = RAISES.replace("@gpu.jit({})", "@gpu.jit(lineinfo=True)")
    moved = "\n" + text
    for source, where in [(text, "compiled"), (text, "disk"), (moved, "compiled"), (moved, "disk")]:
        entry = program(source)["entry"]
        entry[1, 1](gpu.zeros(1), 0)
        assert origin(entry) == where
    other = program(text, file="elsewhere.py")["entry"]
    other[1, 1](gpu.zeros(1), 0)
    assert origin(other) == "compiled"


def test_without_columns_only_whole_functions_move():
    """python -X no_debug_ranges keeps lines alone: instructions of a line look alike."""

    def strip(code):
        rest = [strip(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
        lines = [(p[0], p[1], None, None) for p in code.co_positions()]
        return code.replace(co_consts=tuple(rest), co_linetable=table_of(lines, code))

    def table_of(lines, code):
        out, last = bytearray(), code.co_firstlineno
        for line, *_ in lines:
            if line is None:
                out.append(0x80 | 15 << 3)
                continue
            delta, last = line - last, line
            value = delta << 1 if delta >= 0 else -delta << 1 | 1
            out.append(0x80 | 13 << 3)
            while value >= 64:
                out.append(64 | value & 63)
                value >>= 6
            out.append(value)
        return bytes(out)

    def entry_of(text):
        module = types.ModuleType("program")
        module.gpu = gpu
        exec(strip(compile(text.replace("@gpu.jit({})", "@gpu.jit"), "p.py", "exec")), vars(module))
        kernel = module.entry
        kernel[1, 1](gpu.zeros(1), 0)
        return kernel

    assert origin(entry_of(RAISES)) == "compiled"
    assert origin(entry_of("\n\n" + RAISES)) == "disk"
    inside = RAISES.replace("    if n == 2:", "\n    if n == 2:")
    assert origin(entry_of(inside)) == "compiled"
    kernel = entry_of("\n\n\n" + inside)
    assert origin(kernel) == "disk"
    with pytest.raises(IndexError) as caught:
        kernel[1, 1](gpu.zeros(1), 3)
        gpu.synchronize()
    line = line_of("\n\n\n" + inside, "x[i + 1000]")
    assert line in lines_of(caught.value)


def test_classes_are_those_of_the_program_that_runs():
    """Numbers of classes differ between processes; equal names are not equal classes."""
    first = program(RAISES.replace("@gpu.jit({})", "@gpu.jit"))
    first["entry"][1, 1](gpu.zeros(1), 0)
    second = program(RAISES.replace("@gpu.jit({})", "@gpu.jit"))
    with pytest.raises(second["Bad"]) as caught:
        second["entry"][1, 1](gpu.zeros(1), 2)
        gpu.synchronize()
    assert origin(second["entry"]) == "disk"
    assert type(caught.value) is second["Bad"] is not first["Bad"]
    assert caught.value.args == ("bad", 2)


def test_two_classes_of_one_name():
    text = """
def make():
    class Bad(Exception):
        pass
    return Bad
A, B = make(), make()
@gpu.jit
def entry(x, n):
    if n == 1:
        raise A
    if n == 2:
        raise B("b")
    x[0] = 1
"""
    for where in ("compiled", "disk"):
        scope = program(text)
        for n, name in ((1, "A"), (2, "B")):
            with pytest.raises(Exception) as caught:
                scope["entry"][1, 1](gpu.zeros(1), n)
                gpu.synchronize()
            assert type(caught.value) is scope[name]
        assert origin(scope["entry"]) == where


def test_printing_and_warnings_are_kept(capfd):
    text = """
@gpu.jit
def entry(x):
    print("value", x[0], gpu.threadIdx)
    x[0] = TABLE[1]
"""
    shown = []
    for source, where, line in [
        (text, "compiled", 5), (text, "disk", 5), ("\n\n" + text, "disk", 7),
    ]:  # fmt: skip
        entry = program(source, TABLE=np.arange(3.0))["entry"]
        with pytest.warns(gpu.NumericWarning, match="array 'TABLE'") as caught:
            entry[1, 1](gpu.to_device(np.ones(1, np.float32)))
        assert [w.lineno for w in caught] == [line]
        gpu.synchronize()
        assert origin(entry) == where
        shown.append(capfd.readouterr().out)
    assert shown == ["value 1.0 (0, 0, 0)\n"] * 3


def test_kernels_that_wait_recurse_and_share():
    text = """
def depth(n):
    return 0 if n == 0 else depth(n - 1) + 1
@gpu.jit
def entry(x):
    s = gpu.shared.array(8, gpu.float64)
    i = gpu.threadIdx.x
    s[i] = i
    gpu.syncthreads()
    x[i] = s[7 - i] + gpu.shfl_sync(0xff, i, 0) + depth(3)
"""
    for where in ("compiled", "disk"):
        expect(launch(program(text)["entry"], n=8), where, *[10.0 - i for i in range(8)])
    deadlock = """
@gpu.jit
def entry(x):
    if gpu.threadIdx.x == 0:
        gpu.syncthreads()
    else:
        gpu.syncwarp(3)
"""
    for text, line, where in [(deadlock, 7, "compiled"), ("\n\n" + deadlock, 9, "disk")]:
        entry = program(text)["entry"]
        with pytest.raises(gpu.KernelError) as caught:
            entry[1, 3](gpu.zeros(1))
            gpu.synchronize()
        assert line in lines_of(caught.value)
        assert origin(entry) == where


def test_several_signatures_and_both_devices():
    text = "@gpu.jit\ndef entry(x, a):\n    x[gpu.grid(1)] = a\n"
    names = ["cpu", "cuda"] if gpu.is_available() else ["cpu"]
    for where in ("compiled", "disk"):
        for name in names:
            gpu.select_device(name)
            for a in (1, 2.5, np.float32(2)):
                expect(launch(program(text)["entry"], a), where, float(a))
            entry = program(text)["entry"]
            for a in (1, 2.5):
                expect(launch(entry, a), "disk", float(a))
    gpu.select_device("cpu")


def test_a_module_that_is_reloaded(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "import gpu\nN = {}\n@gpu.jit\ndef entry(x):\n    x[gpu.grid(1)] = N\n"
    path = tmp_path / "reloaded_kernels.py"
    path.write_text(text.format(1))
    module = importlib.import_module("reloaded_kernels")
    expect(launch(module.entry), "compiled", 1)
    path.write_text(text.format(22))
    importlib.invalidate_caches()
    expect(launch(importlib.reload(module).entry), "compiled", 22)
    path.write_text("# hello\n" + text.format(1))
    importlib.invalidate_caches()
    expect(launch(importlib.reload(module).entry), "disk", 1)
