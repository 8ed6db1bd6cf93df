"""Methods and attributes of the program's objects, partial calls, NamedTuples with methods, *t of builtins."""

import dataclasses
import enum
import functools
import types
from collections import namedtuple
from typing import Any, NamedTuple

import gpu
import kit
import numpy as np
import pytest


def agree(body: str, *args: Any, head: str = "kernel(out)", **names: Any) -> list:
    """What the body leaves in `out`, the same on the python device."""
    text = f"def {head}:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return kit.agree(text, args or (np.zeros(4),), names=names)[0].tolist()


# --- *t of builtins, casts and exceptions ---------------------------------------------------------


def test_starred_builtins():
    body = (
        "t = (3, 1.5, 2)\nout[0] = max(*t)\nout[1] = min(*t[1:], 1)\n"
        "out[2] = math.hypot(*(out[0], 4.0))\n"
        "for i in range(*(1, 10, 3)):\n    out[3] += i"
    )
    assert agree(body) == [3, 1, 5, 12]


def test_starred_builtins_with_other_arguments():
    body = (
        "out[0] = max(*((3, 1.5, 2),), default=7)\nout[1] = round(*(2.567, 1))\n"
        "out[2] = pow(*(2, 5), 7)\na, b = divmod(*(7, 2))\nout[3] = gpu.float32(*(a,)) * 10 + b"
    )
    assert agree(body) == [3, 2.6, 4, 31]


def test_starred_ufunc():
    out = np.zeros(2)
    text = "def kernel(out):\n    p = (1.5, 2)\n    out[0] = np.maximum(*p)\n    out[1] = np.where(*(out[1] > 0, 3, 4))\n"
    kit.single(kit.kernel(text), out)
    assert out.tolist() == [2, 4]


def test_starred_builtin_of_star_arguments_per_call():
    text = (
        "def spread(*a):\n    return max(*a) - min(*a)\n"
        "def kernel(out):\n    for i in range(4):\n        out[i] = spread(i, 2 * i, 3) + spread(i, 1.5)\n"
    )
    expected = [max(i, 2 * i, 3) - min(i, 2 * i, 3) + abs(i - 1.5) for i in range(4)]
    assert kit.agree(text, (np.zeros(4),))[0].tolist() == expected


def test_starred_builtin_in_a_loop_that_is_written_out():
    body = "for t in ((1, 2), (3, 0.5, 7), (4, 4)):\n    out[0] += max(*t)\n    out[1] += len(t)"
    assert agree(body) == [2 + 7 + 4, 7, 0, 0]


def test_starred_exception():
    text = "def kernel(out):\n    t = (1, 2.5)\n    if out[0] == 0:\n        raise ValueError(*t)\n"
    assert kit.agree_raises(text, (np.zeros(1),), ValueError).args == (1, 2.5)


# --- Methods of constant objects ------------------------------------------------------------------


class Model:
    scale = 2.0

    def __init__(self, k: float) -> None:
        self.k = k

    def apply(self, x):
        return x * self.k + self.scale

    @classmethod
    def make(cls, x):
        return x * cls.scale

    @staticmethod
    def more(x):
        return x + 1

    def chain(self, x):
        return self.apply(self.apply(x)) + self.make(x) + self.more(x)

    def __call__(self, x, y=1):
        return self.k * x + y


CHAIN = (
    "def kernel(out):\n    out[0] = m.apply(2)\n    out[1] = m.make(3) + Model.make(4)\n"
    "    out[2] = m.more(1) + Model.more(5) + m(3) + m(1, y=2)\n    out[3] = m.chain(1.5)\n"
)


def test_methods():
    names = {"m": Model(3), "Model": Model}
    expected = [0.0] * 4
    kit.function(CHAIN, **names)(expected)
    assert kit.agree(CHAIN, (np.zeros(4),), names=names)[0].tolist() == expected


def test_what_a_method_relies_on_is_watched():
    class Own(Model):
        pass

    m, out, expected = Own(3), np.zeros(4), [0.0] * 4
    kernel = kit.kernel(CHAIN, names={"m": m, "Model": Own})
    plain = kit.function(CHAIN, m=m, Model=Own)

    def check():
        kit.single(kernel, out)
        plain(expected)
        assert out.tolist() == expected

    check()
    m.k = 5
    check()
    Own.scale = 7.0
    check()
    Own.apply = lambda self, x: x - self.k
    check()
    m.more = lambda x: x * 100
    check()
    Own.__call__ = lambda self, x, y=3: x * y
    check()


def test_bound_methods_are_values():
    text = (
        "def twice(f, x):\n    return f(f(x))\n"
        "def kernel(out, f):\n    g = m.apply\n    out[0] = g(2)\n    out[1] = twice(m.apply, 1)\n    out[2] = f(3)\n"
    )
    m = Model(3)
    for f in (m.apply, Model(5).apply, Model.make, Model.more, m):
        out = kit.agree(text, (np.zeros(4), f), names={"m": m})[0]
        assert out.tolist() == [8, m.apply(m.apply(1)), f(3), 0]


def test_methods_made_anew_compile_once():
    kernel = kit.kernel("def kernel(out, f):\n    out[0] = f(2)\n")
    out, m = np.zeros(1), Model(3)
    for _ in range(3):
        kit.single(kernel, out, m.apply)
        kit.single(kernel, out, functools.partial(max, 3))
    assert len(kernel.signatures) == 2


def test_attributes_through_modules_and_objects():
    module = types.ModuleType("module")
    module.outer = types.SimpleNamespace(inner=Model(4), table=(1.5, 2.5), f=lambda v: v + 1)
    body = (
        "out[0] = module.outer.inner.apply(2)\nh = module.outer\nout[1] = h.inner.more(3)\n"
        "out[2] = h.table[1]\nout[3] = h.f(1)"
    )
    assert agree(body, module=module) == [10, 4, 2.5, 2]


def test_methods_that_call_themselves_and_their_bases():
    class Deep(Model):
        def fib(self, n):
            return n if n < 2 else self.fib(n - 1) + self.fib(n - 2)

        def apply(self, x):
            return Model.apply(self, x) + 1

    body = "out[0] = m.fib(10)\nout[1] = m.apply(2)"
    assert agree(body, m=Deep(3)) == [55, 9, 0, 0]


def test_methods_with_run_time_objects_from_many_threads():
    text = "def kernel(x, out):\n    i = gpu.grid(1)\n    if i < out.size:\n        out[i] = m.apply(x[i])\n"
    x = np.arange(100) / 4
    out = kit.agree(text, (x, np.zeros(100)), names={"m": Model(3)}, grid=4, block=32)[1]
    assert out.tolist() == (x * 3 + 2).tolist()


# --- functools.partial ----------------------------------------------------------------------------


def plain(a, b, c=10, *, k=1):
    return a * 1000 + b * 100 + c * 10 + k


def test_partial_calls():
    first = functools.partial(plain, 1, k=2)
    second = functools.partial(first, c=5)
    body = (
        "out[0] = first(2)\nout[1] = first(2, 3, k=4) + second(7)\n"
        "out[2] = p(2) + three(5) + three(1)\nout[3] = second(*(1,)) + cast(0.5)"
    )
    names = {"first": first, "second": second, "three": functools.partial(max, 3)}
    cast = functools.partial(gpu.float32)
    got = agree(
        body, np.zeros(4), functools.partial(plain, 9), head="kernel(out, p)", cast=cast, **names
    )
    assert got == [
        plain(1, 2, k=2),
        plain(1, 2, 3, k=4) + plain(1, 7, 5, k=2),
        plain(9, 2) + 5 + 3,
        plain(1, 1, 5, k=2) + 0.5,
    ]


def test_a_changed_keyword_of_a_partial_counts():
    p, out = functools.partial(plain, 1, c=1), np.zeros(1)
    kernel = kit.kernel("def kernel(out):\n    out[0] = p(2)\n", names={"p": p})
    for c in (1, 2, 3):
        p.keywords["c"] = c
        kit.single(kernel, out)
        assert out[0] == p(2)


def test_keywords_that_a_partial_gets_or_loses_count():
    def plain(a, b=0, *, c=1):
        return a * 100 + b * 10 + c

    out = np.zeros(1)
    for first in ({}, {"c": 5}):
        p = functools.partial(plain, 1, **first)
        kernel = kit.kernel("def kernel(out):\n    out[0] = p(2)\n", names={"p": p})
        for change in ({}, {"c": 7}, {"c": 7}, {}, {"c": 8}):
            kit.single(kernel, out)
            assert out[0] == p(2)
            p.keywords.clear()
            p.keywords.update(change)
            kit.single(kernel, out)
            assert out[0] == p(2)
        p.keywords["d"] = 1
        with pytest.raises(gpu.Error):
            kit.single(kernel, out)


def test_a_changed_default_of_a_keyword_counts():
    def plain(a, *, c=1, d=2):
        return a * 100 + c * 10 + d

    out = np.zeros(1)
    kernel = kit.kernel("def kernel(out):\n    out[0] = f(2)\n", names={"f": plain})
    for name, value in (("c", 1), ("c", 3), ("d", 4), ("c", 5)):
        plain.__kwdefaults__[name] = value
        kit.single(kernel, out)
        assert out[0] == plain(2)

    def own(out, *, k=1):
        out[0] = k

    kernel = gpu.jit(own)
    for k in (1, 2, 3):
        own.__kwdefaults__["k"] = k
        kit.single(kernel, out)
        assert out[0] == k


# --- NamedTuples ----------------------------------------------------------------------------------


class Point(NamedTuple):
    x: float
    y: float = 2.0
    z: int = 7

    def norm(self, k=1):
        return self.x * self.x + self.y * k

    def plus(self, other):
        return Point(self.x + other.x, self.y + other.y, self.z)

    @classmethod
    def unit(cls):
        return cls(1.0)

    @staticmethod
    def doubled(v):
        return v * 2


Triple = namedtuple("Triple", "a b c", defaults=(5, 6))


class Summed(Triple):
    __slots__ = ()

    def total(self):
        return self.a + self.b + self.c


NAMED = {"Point": Point, "Triple": Triple, "Summed": Summed}


def test_fields_have_defaults():
    body = (
        "p = Point(1)\nq = Point(3, z=1)\nr = Triple(out[1] + 1, c=9)\n"
        "out[0] = p.x + p.y * 10 + p.z * 100\nout[1] = q.x + q.y * 10 + q.z * 100\n"
        "out[2] = r.a + r.b * 10 + r.c * 100\nout[3] = Point(*(1, 2)).z + len(Point._fields)"
    )
    assert agree(body, **NAMED) == [721, 123, 951, 10]


def test_defaults_of_fields_are_watched():
    own = namedtuple("own", "a b", defaults=(5,))
    kernel = kit.kernel("def kernel(out):\n    out[0] = own(1).b\n", names={"own": own})
    out = np.zeros(1)
    for value in (5, 2.5):
        own.__new__.__defaults__ = (value,)
        kit.single(kernel, out)
        assert out[0] == value


def test_methods_of_named_tuples():
    body = (
        "q = Point(out[0] + 2.0, 4.0)\nout[0] = p.norm() + q.norm(k=3)\nout[1] = p.plus(q).x\n"
        "out[2] = p.unit().y + Point.doubled(4) + Point.unit().x + fixed.norm()\nout[3] = Summed(1, 2).total()"
    )
    got = agree(
        body, np.zeros(4), Point(1.5), head="kernel(out, p)", fixed=Point(0.5, 1.0), **NAMED
    )
    assert got == [4.25 + 16, 3.5, 11 + 1.25, 9]


def test_subclasses_of_named_tuples_as_arguments_and_joins():
    body = (
        "q = p if out[1] > 0 else Summed(7)\nout[0] = p.total()\nout[1] = q.c\nout[2] = q.total()"
    )
    got = agree(body, np.zeros(4), Summed(1, 2, 3), head="kernel(out, p)", **NAMED)
    assert got == [6, 6, 18, 0]


def test_classes_with_operators_of_their_own():
    class Odd(NamedTuple):
        x: float
        y: float

        def __eq__(self, other):
            return True

        def __len__(self):
            return 2

        def __bool__(self):
            return False

        def __sub__(self, other):
            return 1

    for text in (
        "p == p",
        "1 if p else 2",
        "p - p",
        "p[0]",
        "sum(p)",
        "max(*p)",
        "p < p",
        "len(p)",
    ):
        kernel = kit.kernel(f"def kernel(out, p):\n    out[0] = {text}\n")
        with pytest.raises(gpu.UnsupportedError, match="that the class 'Odd' defines"):
            kit.single(kernel, np.zeros(1), Odd(1.0, 2.0))
    kernel = kit.kernel("def kernel(out, p):\n    out[0] = p.x + p.y\n")
    out = np.zeros(1)
    kit.single(kernel, out, Odd(1.0, 2.0))
    assert out[0] == 3


# --- Constants of classes, enums, dataclasses -----------------------------------------------------


class Colour(enum.Enum):
    RED = 1
    GREEN = 2.5


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Mode(enum.StrEnum):
    X = "x"
    Y = "y"


class Config:
    N = 3
    CAST = np.float32


@dataclasses.dataclass(frozen=True)
class Shape:
    n: int = 4
    weights: tuple = (1.0, 2.0)

    def area(self, x):
        return self.n * x


CONSTANTS = {"Colour": Colour, "Kind": Kind, "Mode": Mode, "Config": Config, "shape": Shape()}


@pytest.mark.parametrize("colour", Colour)
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("mode", Mode)
def test_members_compare_and_match(colour, kind, mode):
    body = (
        "if c == Colour.RED:\n    out[0] = 1\nelif c == Colour.GREEN:\n    out[0] = 2\n"
        "out[1] = 3 * (k == Kind.B) + 10 * (m == Mode.Y)\n"
        "match k:\n    case Kind.A: out[2] = 5\n    case Kind.B: out[2] = 6\n"
        "match c:\n    case Colour.RED: out[3] = 1\n    case Colour.GREEN: out[3] = 2\n"
        "match int(out[2]):\n    case Config.N: out[3] += 100\n    case 6: out[3] += 10\n    case shape.n: out[3] += 100\n"
    )
    got = agree(body, np.zeros(4), colour, kind, mode, head="kernel(out, c, k, m)", **CONSTANTS)
    red, b = colour is Colour.RED, kind is Kind.B
    assert got == [
        1 if red else 2,
        3 * b + 10 * (mode is Mode.Y),
        6 if b else 5,
        (1 if red else 2) + 10 * b,
    ]


def test_constants_of_classes_and_dataclasses():
    body = (
        "out[0] = Colour.GREEN.value + Config.N + shape.n + shape.weights[1] + shape.area(2)\n"
        "out[1] = Config.CAST(0.1)\nout[2] = gpu.grid(1) + Kind.A + Kind.B\n"
    )
    assert agree(body, **CONSTANTS) == [
        2.5 + 3 + 4 + 2 + 8, float(np.float32(0.1)), 3, 0,
    ]  # fmt: skip
