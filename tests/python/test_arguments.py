"""What a launch takes beside numbers and arrays: tuples, NamedTuples, objects, defaults, *args."""

import enum
from collections import namedtuple
from typing import Any, NamedTuple

import gpu
import numpy as np
import pytest


class Point(NamedTuple):
    x: float
    y: float


POINT = Point(1, 2.5)


class Box(NamedTuple):
    low: Point
    high: Point
    data: Any


Pair = namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 3
    NAME = "red"


class Level(enum.IntEnum):
    HIGH = 40


def launch(kernel, *args, **kwargs):
    y = np.zeros(4)
    kernel[1, 4](y, *args, **kwargs)
    gpu.synchronize()
    return y.tolist()


# --- Tuples ---------------------------------------------------------------------------------------


@gpu.jit
def nested(y, t):
    i = gpu.grid(1)
    (a, b), x, (c,) = t
    x[i] = a + i
    y[i] = a * 100 + b + c + len(t) + t[0][1]


def test_nested_tuples_with_arrays():
    x = np.zeros(4, np.float32)
    assert launch(nested, ((2, 0.5), x, (7,))) == [200 + 0.5 + 7 + 3 + 0.5] * 4
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0]
    x = np.zeros(4, np.int8)
    assert launch(nested, ((2, 0.5), x, (np.float32(7),))) == [211.0] * 4
    assert x.tolist() == [2, 3, 4, 5]


def test_tuples_differ_by_their_types_only():
    @gpu.jit
    def kernel(y, t):
        y[gpu.grid(1)] = t[0] + t[1]

    assert launch(kernel, (1, 2)) == [3.0] * 4
    first = kernel.ptx()
    assert launch(kernel, (10, 20)) == [30.0] * 4
    assert kernel.ptx() == first
    assert launch(kernel, (1, 0.25)) == [1.25] * 4
    assert kernel.ptx() != first


def test_a_tuple_of_none_bools_functions_and_dtypes():
    @gpu.jit
    def kernel(y, t):
        i = gpu.grid(1)
        f, cast, nothing, flag = t
        if nothing is None:
            y[i] = cast(f(i)) + flag

    assert launch(kernel, (lambda v: v * 1.5, int, None, True)) == [1.0, 2.0, 4.0, 5.0]
    assert launch(kernel, (lambda v: v * 1.5, np.float64, None, False)) == [0.0, 1.5, 3.0, 4.5]


def test_a_tuple_that_goes_on_to_functions():
    def total(t):
        return t[0] + t[1][0] * t[1][1]

    @gpu.jit
    def kernel(y, t):
        y[gpu.grid(1)] = total(t) + total((t[0], t[1]))

    assert launch(kernel, (1, (2, 3.5))) == [16.0] * 4


def test_the_empty_tuple():
    @gpu.jit
    def kernel(y, t):
        y[gpu.grid(1)] = len(t) + (1 if t else 2)

    assert launch(kernel, ()) == [2.0] * 4


def test_tuples_too_deep_and_too_long():
    @gpu.jit
    def kernel(y, t):
        y[gpu.grid(1)] = 1

    deep = 1
    for _ in range(40):
        deep = (deep,)
    with pytest.raises(gpu.ArgumentTypeError, match=r"'t' of kernel: tuples nested too deeply"):
        launch(kernel, deep)
    with pytest.raises(gpu.ArgumentTypeError, match=r"'t' of kernel: .*1024 elements"):
        launch(kernel, tuple(range(2000)))
    with pytest.raises(gpu.ArgumentTypeError, match=r"'t' of kernel: 'list'"):
        launch(kernel, (1, [2, 3]))


# --- NamedTuples ----------------------------------------------------------------------------------


def length2(p):
    return p.x * p.x + p.y * p.y


def moved(p, by):
    return Point(p.x + by, y=p.y + by)


@gpu.jit
def boxes(y, box, weights):
    i = gpu.grid(1)
    low = moved(box.low, 1)
    x, _ = box.high
    box.data[i] = weights.second[i] * 2
    y[i] = length2(low) + x + box[1].y + box.high[0] + len(box) + weights.first


def test_named_tuples():
    data, w = np.zeros(4), np.arange(4.0)
    box = Box(Point(1.0, 2.0), Point(3.0, 4.0), data)
    assert launch(boxes, box, Pair(0.25, w)) == [13 + 3 + 4 + 3 + 3 + 0.25] * 4
    assert data.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_named_tuples_with_one_shape_and_other_names():
    @gpu.jit
    def kernel(y, p):
        y[gpu.grid(1)] = p.x * 10 + p.y

    turned = namedtuple("turned", "y x")
    assert launch(kernel, Point(1, 2)) == [12.0] * 4
    assert launch(kernel, turned(1, 2)) == [21.0] * 4
    with pytest.raises(gpu.TypingError, match="Pair"):
        launch(kernel, Pair(1, 2))


def test_named_tuples_from_outside_and_joined():
    here = Point(0.5, 4)

    @gpu.jit
    def kernel(y, p):
        i = gpu.grid(1)
        q = here if i % 2 else p
        y[i] = q.x + length2(here) + Point(*p).y

    assert launch(kernel, Point(1.0, 2.0)) == [1 + 16.25 + 2, 0.5 + 16.25 + 2] * 2


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("Point(1)", gpu.TypingError, "Point takes 2 arguments, 1 given"),
        ("Point(1, 2, 3)", gpu.TypingError, "2 arguments"),
        ("Point(1, z=2)", gpu.TypingError, "'z'"),
        ("p._replace(x=1)", gpu.Error, "_replace"),
        ("p.z", gpu.TypingError, "'z'"),
    ],
)
def test_wrong_use_of_named_tuples(text, error, match):
    scope = {"gpu": gpu, "Point": Point}
    exec(f"def kernel(y, p):\n    q = {text}\n    y[0] = q[0] if len((q,)) else 0\n", scope)
    with pytest.raises(error, match=match):
        launch(gpu.jit(scope["kernel"]), Point(1, 2))


# --- Objects --------------------------------------------------------------------------------------


@gpu.jit
def with_objects(y, f, name, cast):
    i = gpu.grid(1)
    if name == "double":
        y[i] = cast(f(i) * 2)
    elif name is Color.NAME:  # which equals no text, as in Python
        y[i] = -1
    else:
        y[i] = cast(f(i))


def test_texts_functions_and_dtypes():
    assert launch(with_objects, lambda v: v + 0.5, "double", np.dtype("f4")) == [1, 3, 5, 7]
    assert launch(with_objects, lambda v: v + 0.5, "single", gpu.int32) == [0, 1, 2, 3]
    assert launch(with_objects, abs, "x" * 3, float) == [0, 1, 2, 3]
    assert launch(with_objects, abs, Color.NAME, float) == [-1] * 4


def test_members_of_enums():
    @gpu.jit
    def kernel(y, a, b, t):
        y[gpu.grid(1)] = a * 100 + b + t[0]

    assert launch(kernel, Color.RED, Level.HIGH, (Color.RED,)) == [343.0] * 4


def test_a_function_made_anew_for_each_launch_is_compiled_once(monkeypatch, capfd):
    @gpu.jit
    def kernel(y, f):
        y[gpu.grid(1)] = f(2)

    def add(k, by=0.5):
        return lambda v, w=by: v + k + w

    monkeypatch.setenv("GPUJIT_DUMP", "emit")
    for _ in range(5):
        assert launch(kernel, add(3)) == [5.5] * 4
    assert capfd.readouterr().err.count("; emit") == 1
    assert launch(kernel, add(4)) == [6.5] * 4
    assert launch(kernel, add(3, 1.5)) == [6.5] * 4
    assert launch(kernel, add(3.0)) == [5.5] * 4
    assert capfd.readouterr().err.count("; emit") == 3
    for k in (3, 4, 3.0):
        launch(kernel, add(k))
    assert capfd.readouterr().err.count("; emit") == 0


def test_a_function_whose_variable_changes():
    @gpu.jit
    def kernel(y, f):
        y[gpu.grid(1)] = f(1)

    k = 10

    def add(v):
        return v + k

    assert launch(kernel, add) == [11.0] * 4
    k = 20
    assert launch(kernel, add) == [21.0] * 4


def test_a_kernel_as_an_argument():
    @gpu.jit
    def put(y, i, v):
        y[i] = v

    @gpu.jit
    def kernel(y, g):
        i = gpu.grid(1)
        g(y, i, i * 3)

    assert launch(kernel, put) == [0.0, 3.0, 6.0, 9.0]


# --- Binding --------------------------------------------------------------------------------------


@gpu.jit
def defaults(y, a, b=None, *, p=POINT, t=(1, (2, 3)), f=None, name="x"):
    i = gpu.grid(1)
    s = a + p.y + t[1][0]
    if b is not None:
        s += b[i]
    if f is not None:
        s += f(i)
    if name == "y":
        s += 1000
    y[i] = s


def test_defaults_and_keywords():
    assert launch(defaults, 1) == [5.5] * 4
    assert launch(defaults, 1, np.arange(4)) == [5.5, 6.5, 7.5, 8.5]
    assert launch(defaults, a=1, t=(0, (5, 6)), p=Point(0, 0)) == [6.0] * 4
    assert launch(defaults, b=np.arange(4), a=2, f=lambda i: i, name="y") == [
        1006.5 + 2 * i for i in range(4)
    ]


def test_wrong_bindings_name_the_parameter():
    for args, kwargs, match in [
        ((), {}, "'?a'?|2 to 3"),
        ((1,), {"a": 2}, "argument 2 'a' of defaults: is given twice"),
        ((1,), {"q": 2}, "argument 'q' of defaults: there is no such"),
        ((1, None, 3), {}, "takes 2 to 3 arguments, 4 given"),
        ((), {"p": Point(1, 2)}, "argument 2 'a' of defaults: is missing; add a="),
    ]:
        with pytest.raises(gpu.ArgumentTypeError, match=match):
            launch(defaults, *args, **kwargs)


@gpu.jit
def with_star(y, a, *rest, scale=1):
    i = gpu.grid(1)
    s = a
    if len(rest) > 0:
        s += rest[0]
    if len(rest) > 1:
        s += rest[1][i]
    y[i] = s * scale + len(rest) * 100


def test_star_parameters():
    assert launch(with_star, 1) == [1.0] * 4
    assert launch(with_star, 1, 2) == [103.0] * 4
    assert launch(with_star, 1, 0.5, np.arange(4), scale=2) == [203.0 + 2 * i for i in range(4)]
    x = np.arange(4)
    assert launch(with_star, *(1, 0.5, x), scale=2) == [203.0 + 2 * i for i in range(4)]
    with pytest.raises(gpu.ArgumentTypeError, match="2 or more arguments, 0 given"):
        with_star[1, 1]()
    with pytest.raises(gpu.ArgumentTypeError, match="'rest' of with_star: 'list'"):
        launch(with_star, 1, [2])
    assert ".entry with_star" in with_star.ptx("float64[:], int, int, int, float32[:]")


def test_many_arguments():
    names = [f"a{i}" for i in range(60)]
    total = " + ".join(names)
    scope = {"gpu": gpu}
    exec(f"def kernel(y, {', '.join(names)}):\n    y[gpu.grid(1)] = {total}\n", scope)
    kernel = gpu.jit(scope["kernel"])
    assert launch(kernel, *range(60)) == [float(sum(range(60)))] * 4
    assert launch(kernel, **dict.fromkeys(names, 1)) == [60.0] * 4
    assert launch(kernel, *range(30), **dict.fromkeys(names[30:], 2)) == [435.0 + 60] * 4


# --- Signatures -----------------------------------------------------------------------------------


def test_signatures_with_tuples():
    kernel = gpu.jit("void(float64[:], ((int32, float32), float64[:]))")(pairs)
    x = np.arange(4.0)
    assert launch(kernel, ((1, 2), x)) == [3.0 + i for i in range(4)]
    assert launch(kernel, ((1, 2.5), x)) == [3.5 + i for i in range(4)]
    with pytest.raises(gpu.ArgumentTypeError, match=r"\(\(int, float\), float32"):
        launch(kernel, ((1, 2.5), x.astype(np.float32)))
    with pytest.raises(gpu.ArgumentTypeError):
        launch(kernel, (1, 2.5, x))


def pairs(y, t):
    i = gpu.grid(1)
    y[i] = t[0][0] + t[0][1] + t[1][i]


@pytest.mark.parametrize(
    "text",
    [
        "float64[:], ((int, float32), float32[:])",
        "(float64[:], ((int, float32), float32[:]))",
        "void(float64[:], ((int, float32), float32[:],),)",
    ],
)
def test_spellings_of_signatures_with_tuples(text):
    reference = gpu.jit(pairs).ptx("float64[:], ((int, float32), float32[:])", arch="sm_80")
    assert gpu.jit(pairs).ptx(text, arch="sm_80") == reference
    with pytest.raises(gpu.Error, match="at character"):
        gpu.jit(pairs).ptx(text.replace("float32[:]", "float32[:"), arch="sm_80")


# --- Numba's spellings of jit ---------------------------------------------------------------------


def test_device_functions():
    @gpu.jit("float32(float32, float32)", device=True, inline="always")
    def add(a, b):
        return a + b

    @gpu.jit(link=[], fastmath=True, cache=False)
    def kernel(y):
        i = gpu.grid(1)
        y[i] = add(i, 0.5)

    assert launch(kernel) == [0.5, 1.5, 2.5, 3.5]
    with pytest.raises(gpu.LaunchError, match="add is a device function.*call it from a kernel"):
        add[1, 1](1, 2)
    with pytest.raises(gpu.LaunchError, match="device function"):
        add.forall(4)
    with pytest.raises(gpu.ArgumentError, match="option 'link'"):
        gpu.jit(link=["code.ptx"])


@pytest.mark.parametrize(
    "options",
    [
        {"signature": (gpu.float64[:], gpu.int32)},
        {"signature": [(gpu.float64[:], gpu.int32)]},
        {"func_or_sig": "float64[:], int32"},
        {"argtypes": (gpu.float64[:], np.int32)},
        {"signature": ["void(f8[:], i4)", "void(f8[:], f4)"]},
    ],
)
def test_spellings_of_declared_types(options):
    def kernel(y, n):
        y[gpu.grid(1)] = n

    made = gpu.jit(**options)(kernel)
    assert launch(made, 3) == [3.0] * 4
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature"):
        launch(made, (1, 2))


def test_keyword_with_an_equality_of_its_own():
    @gpu.jit
    def kernel(out, *rest, k=1):
        out[0] = 10 * len(rest) + k

    class Text(str):
        def __eq__(self, other):
            kernel[1, 1](np.zeros(1), 1, 2, 3)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    out = np.zeros(1)
    for _ in range(3):
        kernel[1, 1](out, 5, **{Text("k"): 7})
        assert out[0] == 17


def test_members_that_are_none():
    @gpu.jit
    def first(out, t):
        out[0] = t[0]

    class Endless:
        _member_map_ = {}

        @property
        def _value_(self):
            return Endless()

    with pytest.raises(gpu.Error):
        first[1, 1](np.zeros(1), (Endless(), 1))
