"""The front end over the running interpreter: names, attributes, guards, hand-made code.

`fe_reader` is a small extension (fe_reader.c) with the front end alone; it is on PYTHONPATH.
"""

import collections
import dataclasses
import enum
import gc
import math
import opcode
import os
import random
import subprocess
import sys
import textwrap
import types
import weakref
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

fe_reader = pytest.importorskip("fe_reader", reason="Meson builds this module and runs this file")

N = 7
SCALE = 2.5
FLAG = True
NAME = "left"
PAIR = (1, (2.0, "x"))
BIG = 2**63
HUGE = 2**70
TABLE = [1, 2, 3]
ARRAY = np.zeros((3, 4))
OBJECTS = np.array([None, ARRAY], object)
F32 = np.float32(1.5)
F64 = np.float64(1.5)
I8 = np.int8(-3)
U64 = np.uint64(2**63)
NPBOOL = np.bool_(True)
TYPE = np.float32
DTYPE = np.dtype("int16")


class Color(enum.Enum):
    RED = 3
    BLUE = 4.5


class Level(enum.IntEnum):
    LOW = 1


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Config:
    width: int = 640
    ratio: float = 0.5

    @property
    def area(self) -> int:
        return 1

    def method(self) -> int:
        return 2

    @staticmethod
    def plain(a):
        return a + 1


class Slots:
    __slots__ = ("a", "missing")

    def __init__(self) -> None:
        self.a = 11


class Dynamic:
    def __getattr__(self, name):
        return 1


class Wild:
    def __getattribute__(self, name):
        return 1


class Base:
    inherited = 8


class Derived(Base):
    own = 9


POINT = Point(1, 2.5)
CONFIG = Config()
SLOTS = Slots()
DYNAMIC = Dynamic()
WILD = Wild()
DERIVED = Derived()


def returned(function) -> str:
    """The constant that the function returns, as IR text."""
    text = fe_reader.read(function)
    text = text.split("\nfunc @1 ")[0]
    (value,) = [line.split()[1] for line in text.splitlines() if line.startswith("  ret ")]
    (line,) = [line for line in text.splitlines() if line.startswith(f"  {value} = const")]
    return line.split(" = const ", 1)[1].rsplit(" !", 1)[0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: N, "7"),
        (lambda: SCALE, "2.5"),
        (lambda: FLAG, "True"),
        (lambda: NAME, '"left"'),
        (lambda: PAIR, '(1, (2.0, "x"))'),
        (lambda: None, "None"),
        (lambda: F64, "1.5"),
        (lambda: I8, "-3"),
        (lambda: NPBOOL, "True"),
        (lambda: math.pi, "3.141592653589793"),
        (lambda: math.sqrt, "intrin math.sqrt"),
        (lambda: sqrt, "intrin math.sqrt"),
        (lambda: abs, "intrin builtins.abs"),
        (lambda: range, "intrin builtins.range"),
        (lambda: len, "intrin builtins.len"),
        (lambda: np.pi, "3.141592653589793"),
        (lambda: Color.RED.value, "3"),
        (lambda: Color.RED, 'plain member "Color.RED" 3'),
        (lambda: Color.RED.name, '"RED"'),
        (lambda: Color.BLUE, 'plain member "Color.BLUE" 4.5'),
        (lambda: Level.LOW, 'member "Level.LOW" 1'),
        (lambda: POINT.y, "2.5"),
        (lambda: CONFIG.width, "640"),
        (lambda: Config.ratio, "0.5"),
        (lambda: SLOTS.a, "11"),
        (lambda: DERIVED.own, "9"),
        (lambda: DERIVED.inherited, "8"),
        (lambda: Derived.inherited, "8"),
        (lambda: Config.plain, "@1"),
        (lambda: sys.maxsize, str(sys.maxsize)),
    ],
)
def test_constants(function, expected):
    assert returned(function) == expected


def test_a_named_tuple():
    assert returned(lambda: POINT).startswith('class ("Point", "x", "y")')
    assert returned(lambda: POINT).endswith("(1, 2.5)")


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (lambda: F32, "float32"),
        (lambda: U64, "uint64"),
        (lambda: BIG, str(BIG)),
        (lambda: HUGE, str(HUGE)),
        (lambda: TYPE, "float32"),
        (lambda: DTYPE, "int16"),
        (lambda: int, "int"),
        (lambda: float, "float"),
        (lambda: bool, "bool"),
        (lambda: np.uint8, "uint8"),
        (lambda: TABLE, "list"),
        (lambda: ARRAY, "array float64 (3, 4) writeable"),
        (lambda: math, "math"),
    ],
)
def test_constants_of_kinds(function, part):
    assert part in returned(function)


@pytest.mark.parametrize(
    ("function", "code", "part"),
    [
        (lambda: missing_name, "UNKNOWN_NAME", "name 'missing_name' is not defined"),
        (lambda: math.missing, "UNKNOWN_ATTRIBUTE", "'math' has no attribute 'missing'"),
        (lambda: math.comb, "NYI_CONSTRUCT", "'math.comb' cannot be used"),
        (lambda: np.missing, "UNKNOWN_ATTRIBUTE", "'numpy' has no attribute 'missing'"),
        (lambda: CONFIG.area, "DYNAMIC_ATTRIBUTE", "'area'"),
        (lambda: CONFIG.nothing, "UNKNOWN_ATTRIBUTE", "'Config' has no attribute 'nothing'"),
        (lambda: SLOTS.missing, "UNKNOWN_ATTRIBUTE", "'missing'"),
        (lambda: DYNAMIC.x, "DYNAMIC_ATTRIBUTE", "'x'"),
        (lambda: WILD.x, "DYNAMIC_ATTRIBUTE", "'x'"),
        (lambda: open, "NYI_CONSTRUCT", "the builtin 'open' cannot be used"),
        (lambda i: TABLE[i], "HOST_OBJECT", "'TABLE' of type 'list' lives on the host"),
        (lambda i: OBJECTS[i], "HOST_OBJECT", "'OBJECTS' of type 'ndarray'"),
        (lambda i: np.dot(i, i), "NYI_CONSTRUCT", "dot"),
        (lambda: [i for i in PAIR], "NYI_CONSTRUCT", "a list comprehension"),
        (lambda: {i for i in PAIR}, "NYI_CONSTRUCT", "a set comprehension"),
        (lambda: {i: 1 for i in PAIR}, "NYI_CONSTRUCT", "a dict comprehension"),
        (lambda: tuple(i for i in PAIR), "NYI_CONSTRUCT", "a generator expression cannot be used"),
        (lambda: {"a": 1}, "NYI_CONSTRUCT", "a dict cannot be used"),
        (lambda a: math.sqrt(**a), "NYI_CONSTRUCT", "a call with *arguments or **arguments"),
    ],
)
def test_errors(function, code, part):
    errors = fe_reader.errors(function)
    assert errors, "no error at all"
    assert errors[0][0] == code and part in errors[0][1]
    assert errors[0][2] == function.__code__.co_firstlineno


def test_parameters_with_stars():
    def several(*args):
        return args

    def named(**args):
        return args

    assert fe_reader.error(several) is None
    expected = ("NYI_CONSTRUCT", "a parameter with ** cannot be used in a kernel")
    assert fe_reader.error(named)[:2] == expected
    assert fe_reader.errors(lambda a: named(a))[0][:2] == expected


def test_undefined_variable():
    def surely(a):
        b = b + a  # noqa: F821
        return b

    def perhaps(a):
        if a:
            b = 1
        return b

    def loop(n):
        for _ in range(n):
            n = later  # noqa: F821
        later = 1
        return n

    assert fe_reader.errors(surely)[0][:2] == (
        "UNDEFINED_VARIABLE",
        "variable 'b' is used before it has a value",
    )
    assert fe_reader.errors(loop)[0][0] == "UNDEFINED_VARIABLE"
    assert fe_reader.errors(perhaps) == []
    assert 'undef "b"' in fe_reader.read(perhaps)


def test_nonlocal_and_closures():
    width = 3

    def reads(a):
        return a + width

    def writes(a):
        nonlocal width
        width = a

    assert "const 3" in fe_reader.read(reads)
    assert "assignment to a variable of an enclosing function" in fe_reader.errors(writes)[0][1]
    width = 4  # noqa: F841
    assert "const 4" in fe_reader.read(reads)


def test_functions_are_read_once():
    namespace = {}
    exec(
        "def a(x): return b(x) + c(x)\ndef b(x): return c(x)\ndef c(x): return a(x)\n"
        "def d(x, f=a, *, g=b): return f(x) + g(x)",
        namespace,
    )
    text = fe_reader.read(namespace["a"])
    assert text.count("\nfunc @") == 3
    assert fe_reader.read(namespace["d"]).count("\nfunc @") == 4


def test_unreadable_callee_is_no_error_until_called():
    namespace = {}
    exec("def gen(n):\n  yield n\ndef f(n):\n  return gen(n)", namespace)
    assert (
        fe_reader.errors(namespace["f"])[0][1] == "yield (a generator) cannot be used in a kernel"
    )
    assert fe_reader.error(namespace["gen"])[0] == "NYI_CONSTRUCT"


# ---- Where code comes from ----


def test_exec_and_lambda():
    namespace = {}
    exec("def f(x):\n  return x + 1", namespace)
    assert 'bin "+"' in fe_reader.read(namespace["f"])
    assert 'bin "*"' in fe_reader.read(eval("lambda x: x * 2"))


def test_deleted_file(tmp_path):
    path = tmp_path / "gone.py"
    path.write_text("def f(x):\n    return x - 1\n")
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.unlink()
    text = fe_reader.read(namespace["f"])
    assert 'bin "-"' in text and "gone.py" in text


def test_command_line():
    program = "import fe_reader\ndef f(x):\n  return x % 3\nprint(fe_reader.read(f))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 'bin "%"' in done.stdout


def test_no_columns():
    program = "import fe_reader\ndef f(x):\n  return x % 3\nprint(fe_reader.read(f))"
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONNODEBUGRANGES": "1"},
    )
    assert 'bin "%"' in done.stdout


# ---- Guards ----


def reading_of(source: str, **names):
    namespace = dict(names)
    exec(textwrap.dedent(source), namespace)
    return fe_reader.Reading(namespace["f"]), namespace


def test_guard_global():
    reading, names = reading_of("def f(): return N", N=1)
    assert reading.valid()
    names["N"] = 2
    assert not reading.valid()
    names["N"] = 1
    assert reading.valid()
    names["N"] = True
    assert not reading.valid()
    del names["N"]
    assert not reading.valid()


def test_guard_equal_values_rearm():
    reading, names = reading_of("def f(): return A, B, C", A=1.5, B=(1, "a", 2.5), C=10**30)
    names.update(A=float("1.5"), B=(1, "".join(["a"]), float("2.5")), C=10**29 * 10)
    assert reading.valid()
    names["A"] = -0.0
    assert not reading.valid()
    reading, names = reading_of("def f(): return A", A=0.0)
    names["A"] = -0.0
    assert not reading.valid()
    reading, names = reading_of("def f(): return A", A=float("nan"))
    names["A"] = float("nan")
    assert reading.valid()


def test_guard_shadowed_builtin():
    reading, names = reading_of("def f(x): return abs(x)")
    assert reading.valid()
    names["abs"] = max
    assert not reading.valid()


def test_guard_cell():
    def make(k):
        def f(x):
            return x + k

        def change(value):
            nonlocal k
            k = value

        return f, change

    f, change = make(3)
    reading = fe_reader.Reading(f)
    assert reading.valid()
    change(4)
    assert not reading.valid()


def test_guard_attribute_chain():
    config = Config()
    holder = types.SimpleNamespace(config=config)
    reading, names = reading_of("def f(): return holder.config.width", holder=holder)
    assert reading.valid()
    config.width = 100
    assert not reading.valid()
    config.width = 640
    assert reading.valid()
    holder.config = Config(width=1)
    assert not reading.valid()


def test_guard_class_attribute():
    class Local:
        size = 3

    reading, _ = reading_of("def f(): return Local.size", Local=Local)
    assert reading.valid()
    Local.size = 4
    assert not reading.valid()


def test_guard_module_attribute():
    module = types.ModuleType("settings")
    module.width = 5
    reading, _ = reading_of("def f(): return settings.width", settings=module)
    module.width = 6
    assert not reading.valid()


def test_guard_function_parts():
    reading, names = reading_of("def g(a, b=1): return a + b\ndef f(a): return g(a)")
    assert reading.valid()
    names["g"].__defaults__ = (2,)
    assert not reading.valid()
    reading, names = reading_of("def g(a): return a\ndef f(a): return g(a)")
    names["g"].__code__ = (lambda a: -a).__code__
    assert not reading.valid()


def test_no_guards_below_numpy_and_math():
    reading, _ = reading_of("def f(x): return math.sqrt(x) + np.pi", math=math, np=np)
    alone, _ = reading_of("def f(x): return math, np", math=math, np=np)
    assert reading.n_guards == alone.n_guards


def test_hash_is_of_content():
    def hash_of(source: str, **names) -> bytes:
        return reading_of(source, **names)[0].hash

    plain = hash_of("def f(x): return x + N", N=1)
    assert plain == hash_of("\n\n\ndef f(x): return x + N", N=1)
    assert plain == hash_of("def f(x):\n    return   x  +  N", N=1)
    different = {
        plain,
        hash_of("def f(x): return x + N", N=2),
        hash_of("def f(x): return x + N", N=1.0),
        hash_of("def f(x): return x + N", N=True),
        hash_of("def f(x): return x - N", N=1),
        hash_of("def f(y): return y + N", N=1),
        hash_of("def f(x, z=0): return x + N", N=1),
        hash_of("def f(x): return x + N", N=0.0),
        hash_of("def f(x): return x + N", N=-0.0),
    }
    assert len(different) == 9


def test_questions():
    reading, _ = reading_of("def f(x): return x")
    assert reading.ask(CONFIG, "width") == ("640", 1)
    assert reading.ask(CONFIG, "plain") == ("Config.plain", 2)
    assert reading.ask(CONFIG, "area")[0].startswith("DYNAMIC_ATTRIBUTE")
    assert reading.ask(math, "pi") == ("3.141592653589793", 1)


# ---- References ----


def test_references_are_given_back():
    class Thing:
        size = 3

    thing = Thing()
    thing.values = (1.5, 2.5)
    reading, names = reading_of("def f(x): return x + thing.size + thing.values[0]", thing=thing)
    assert reading.valid()
    # The collector sees every reference: what a reading holds is among what it refers to.
    assert any(held is thing for held in gc.get_referents(reading))
    ref = weakref.ref(thing)
    names.clear()
    del thing
    assert ref() is not None
    del reading
    gc.collect()
    assert ref() is None


def test_no_growth():
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += math.sqrt(x[i]) * SCALE + CONFIG.width
        return s

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    for _ in range(300):
        fe_reader.read(f)
        fe_reader.Reading(f).valid()
    before = resident()
    for _ in range(3000):
        fe_reader.read(f)
        fe_reader.Reading(f).valid()
    assert resident() - before < 512  # pages


# ---- Hand-made code ----


def sample(x, n):
    s = 0
    for i in range(n):
        if x[i] > 3 and i:
            s += x[i]
    return s


def outcomes(code: types.CodeType) -> str:
    try:
        return "read" if fe_reader.read(types.FunctionType(code, globals())) else ""
    except RuntimeError as error:
        assert "compiler produced" not in str(error) and "internal" not in str(error).lower(), error
        return "error"


# CPython itself crashes on code whose caches end after it, or with opcodes that only it may write.
PADDING = bytes(64)
INTERNAL = ("INSTRUMENTED", "ENTER_EXECUTOR", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT", "TRACE")
OPCODES = sorted(
    number
    for name, number in opcode.opmap.items()
    if number < 256 and not name.startswith(INTERNAL)
)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(seed):
    """Never run, only read: any outcome but a crash or an internal error is right. fuzz_read.c does
    the same without CPython in between."""
    dice = random.Random(seed)
    code = sample.__code__
    seen = collections.Counter()
    for _ in range(1000):
        data = bytearray(code.co_code)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(data))
            data[at] = dice.randrange(256) if at % 2 else dice.choice(OPCODES)
        seen[outcomes(code.replace(co_code=bytes(data) + PADDING))] += 1
    assert seen["error"] > 0


def test_truncated():
    code = sample.__code__
    for size in range(2, len(code.co_code), 2):
        outcomes(code.replace(co_code=code.co_code[:size] + PADDING))


@pytest.mark.parametrize(
    "change",
    [
        {"co_stacksize": 0},
        {"co_consts": ()},
        {"co_names": ()},
        {"co_exceptiontable": b"\xff\xff"},
        {"co_linetable": b""},
        {"co_linetable": b"\xff" * 40},
        {"co_flags": 3 | 0x20},
        {"co_stacksize": 2**30},
    ],
)
def test_replaced_parts(change):
    outcomes(sample.__code__.replace(**change))


def test_standard_library_sample():
    for module in (textwrap, random, dataclasses, enum, collections, subprocess):
        for value in vars(module).values():
            if isinstance(value, types.FunctionType):
                assert (
                    outcomes(value.__code__) in {"read", "error"} if not value.__closure__ else True
                )
