"""Functions that kernels call, and constants from outside."""

import dataclasses
import enum
import types
from collections import namedtuple

import gpu
import kit
import numpy as np
import pytest


def run(
    source: str,
    out_size: int = 4,
    dtype: str = "float64",
    names: dict | None = None,
    args: tuple = (),
) -> list:
    """What the text's `kernel(out, ...)` puts in its array."""
    out = np.zeros(out_size, dtype)
    kit.single(kit.kernel(source, names=names), out, *args)
    return out.tolist()


def test_plain_and_jitted_functions():
    source = (
        "def plain(a, b):\n    return a * b\n@gpu.jit\ndef jitted(a):\n    return plain(a, a) + 1\n"
        "def kernel(out):\n    out[0] = plain(3, 4)\n    out[1] = jitted(5)\n    out[2] = jitted(0.5)\n"
    )
    assert run(source) == [12, 26, 1.25, 0]


def test_several_returns_join():
    source = (
        "def pick(n):\n    if n < 0:\n        return 0\n    if n == 0:\n        return 0.5\n"
        "    for k in range(10):\n        if k * k > n:\n            return k\n    return -1.0\n"
        "def kernel(out, x):\n    for i in range(4):\n        out[i] = pick(x[i]) / 2\n"
    )
    assert run(source, args=(np.array([-3, 0, 10, 1000]),)) == [0, 0.25, 2, -0.5]


def test_no_return_and_bare_return():
    source = (
        "def fill(a, k):\n    if k < 0:\n        return\n    a[k] = k + 1\n"
        "def kernel(out):\n    for k in range(-2, 4):\n        fill(out, k)\n"
    )
    assert run(source) == [1, 2, 3, 4]


def test_defaults_and_keywords():
    source = (
        "def f(a, b=10, *, c=100, d=1000):\n    return a + 2 * b + 3 * c + 4 * d\n"
        "def g(a, /, b=2):\n    return a * b\n"
        "def kernel(out):\n    out[0] = f(1)\n    out[1] = f(1, 2)\n    out[2] = f(b=1, a=2, d=3)\n"
        "    out[3] = f(1, c=5) + g(3) + g(3, b=4)\n"
    )

    def f(a, b=10, *, c=100, d=1000):
        return a + 2 * b + 3 * c + 4 * d

    assert run(source) == [f(1), f(1, 2), f(b=1, a=2, d=3), f(1, c=5) + 6 + 12]


def test_kernel_defaults_and_keywords():
    kernel = kit.kernel("def kernel(out, a=3, b=4.5):\n    out[0] = a\n    out[1] = b\n")
    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [3, 4.5]
    kernel[1, 1](out, b=1)
    assert out.tolist() == [3, 1]
    kernel[1, 1](b=2.5, a=7, out=out)
    assert out.tolist() == [7, 2.5]


def test_tuples_returned_and_passed():
    source = (
        "def divmod_(a, b):\n    return a // b, a % b\n"
        "def add(p, q):\n    return (p[0] + q[0], p[1] + q[1])\n"
        "def kernel(out):\n    q, r = divmod_(17, 5)\n    out[0] = q\n    out[1] = r\n"
        "    s = add((1, 0.5), divmod_(7, 2))\n    out[2] = s[0]\n    out[3] = s[-1]\n"
    )
    assert run(source) == [3, 2, 4, 1.5]


def test_functions_as_arguments_and_values():
    source = (
        "def twice(f, x):\n    return f(f(x))\ndef square(x):\n    return x * x\ndef inc(x):\n    return x + 1\n"
        "def kernel(out):\n    out[0] = twice(square, 3)\n    out[1] = twice(inc, 0.5)\n    g = square\n"
        "    out[2] = g(5)\n    out[3] = twice(tenfold, 2)\n"
    )
    assert run(source, names={"tenfold": lambda v: v * 10}) == [81, 2.5, 25, 20 * 10]


def test_one_function_at_several_types():
    source = (
        "def half(x):\n    return x / 2\n"
        "def kernel(out, a):\n    out[0] = half(3)\n    out[1] = half(a[0])\n    out[2] = half(gpu.uint8(7))\n    out[3] = half(True)\n"
    )
    a = np.array([0.1], "float32")
    assert run(source, args=(a,)) == [1.5, float(a[0] / np.float32(2)), 3.5, 0.5]


def test_a_chain_of_functions():
    lines = ["def f0(x):\n    return x + 1\n"]
    lines += [f"def f{k}(x):\n    return f{k - 1}(x) + f{k - 1}(x * 0)\n" for k in range(1, 8)]
    source = "".join(lines) + "def kernel(out):\n    out[0] = f7(1)\n"
    scope: dict = {}
    exec(source, scope)
    expected = [0.0]
    scope["kernel"](expected)
    assert run(source, 1) == expected


def test_nested_functions_and_closures():
    def make(factor, power=2):
        def scale(x):
            return x * factor**power

        def kernel(out):
            for i in range(out.size):
                out[i] = scale(i)

        return gpu.jit(kernel)

    for factor in (3, 5, 0.5):
        out = np.zeros(4)
        kit.single(make(factor), out)
        assert out.tolist() == [i * factor**2 for i in range(4)]


def test_a_changed_closure_value_changes_the_next_launch():
    factor = 2

    @gpu.jit
    def kernel(out):
        out[0] = factor * 10

    def change(value):
        nonlocal factor
        factor = value

    out = np.zeros(1)
    for value in (2, 3, 0.25, 3):
        change(value)
        kit.single(kernel, out)
        assert out[0] == value * 10


def test_a_changed_global_changes_the_next_launch():
    scope = {"gpu": gpu, "SCALE": 2}
    exec("def helper(x):\n    return x * SCALE\ndef kernel(out):\n    out[0] = helper(10)\n", scope)
    kernel = gpu.jit(scope["kernel"])
    out = np.zeros(1)
    for value in (2, 3, 1.5, True, 2**40):
        scope["SCALE"] = value
        kit.single(kernel, out)
        assert out[0] == value * 10
    exec("def helper(x):\n    return x + SCALE\n", scope)
    kit.single(kernel, out)
    assert out[0] == 10 + 2**40


def test_a_later_global_shadows_a_builtin():
    scope: dict = {"gpu": gpu}
    exec("def kernel(out):\n    out[0] = abs(-5)\n", scope)
    kernel = gpu.jit(scope["kernel"])
    out = np.zeros(1)
    kit.single(kernel, out)
    assert out[0] == 5
    exec("def abs(x):\n    return x * 100\n", scope)
    kit.single(kernel, out)
    assert out[0] == -500


class Color(enum.IntEnum):
    RED = 3


class Mode(enum.Enum):
    FAST = 7


class Settings:
    LIMIT = 11

    class Inner:
        DEPTH = 5


@dataclasses.dataclass
class Point:
    x: int
    y: float


Pair = namedtuple("Pair", "left right")


def test_constants_of_objects():
    module = types.ModuleType("constants")
    module.VALUE = 21
    module.sub = types.SimpleNamespace(PI=3.25)
    names = {
        "module": module, "Settings": Settings, "Color": Color, "Mode": Mode, "point": Point(4, 0.5), "pair": Pair(8, 9),
        "numbers": (1, 2, 3), "scalar": np.float32(0.1), "small": np.int8(-5), "flag": True, "nothing": None,
    }  # fmt: skip
    source = (
        "def kernel(out):\n    out[0] = module.VALUE\n    out[1] = module.sub.PI\n    out[2] = Settings.LIMIT\n"
        "    out[3] = Settings.Inner.DEPTH\n    out[4] = Color.RED\n    out[5] = Mode.FAST.value\n"
        "    out[6] = point.x + point.y\n    out[7] = pair.left * pair[1]\n    a, b, c = numbers\n"
        "    out[8] = a + b * c + len(numbers)\n    out[9] = scalar\n    out[10] = small\n"
        "    out[11] = 1 if flag else 2\n    out[12] = 3 if nothing is None else 4\n"
        "    out[13] = math.pi + np.pi + math.tau\n"
    )
    expected = [
        21,
        3.25,
        11,
        5,
        3,
        7,
        4.5,
        72,
        10,
        float(np.float32(0.1)),
        -5,
        1,
        3,
        2 * np.pi + 2 * np.pi,
    ]
    assert run(source, 14, names=names) == expected


def test_builtins_and_casts():
    source = (
        "def kernel(out, x):\n    out[0] = abs(x[0])\n    out[1] = min(x[0], x[1], 2)\n    out[2] = max(x[0], x[1])\n"
        "    out[3] = int(x[1])\n    out[4] = float(3)\n    out[5] = bool(x[0]) + bool(0.0)\n    out[6] = round(x[1])\n"
        "    out[7] = pow(x[1], 2)\n    out[8] = len((1, 2, 3))\n    out[9] = min((3, 1, 2))\n"
        "    out[10] = np.uint8(300 + int(x[1]) * 0)\n    out[11] = gpu.float32(x[1])\n    out[12] = np.float64(7)\n"
        "    out[13] = round(x[1], 1)\n"
    )
    x = np.array([-1.5, 2.75])
    assert run(source, 14, args=(x,)) == [
        1.5,
        -1.5,
        2.75,
        2,
        3,
        1,
        3,
        2.75**2,
        3,
        1,
        44,
        2.75,
        7,
        round(2.75, 1),
    ]


def test_recursion():
    source = (
        "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\n"
        "def even(n):\n    return True if n == 0 else odd(n - 1)\n"
        "def odd(n):\n    return False if n == 0 else even(n - 1)\n"
        "def kernel(out, n):\n    out[0] = fact(n)\n    out[1] = even(n)\n    out[2] = odd(n)\n"
    )
    assert run(source, 3, args=(10,)) == [3628800, 1, 0]
    assert run(source, 3, args=(13,)) == [6227020800, 0, 1]


def test_a_kernel_that_calls_itself():
    source = "@gpu.jit\ndef kernel(out, n):\n    out[n] = n + 1\n    if n > 0:\n        kernel(out, n - 1)\n"
    assert run(source, args=(3,)) == [1, 2, 3, 4]


def test_kernels_without_source(tmp_path):
    source = "import gpu\n@gpu.jit\ndef kernel(out):\n    out[gpu.grid(1)] = 3\n"
    file = tmp_path / "gone.py"
    file.write_text(source)
    scope: dict = {"__name__": "gone"}
    exec(compile(source, str(file), "exec"), scope)
    file.unlink()
    out = np.zeros(1)
    kit.single(scope["kernel"], out)
    assert out[0] == 3
    kit.single(gpu.jit(lambda o: o.__class__ if False else fill(o)), out)
    assert out[0] == 9


def fill(out):
    out[0] = 9


def test_arguments_of_all_kinds():
    source = (
        "def kernel(out, a, b, c, d, e, f, g):\n    out[0] = a\n    out[1] = b\n    out[2] = c\n    out[3] = d\n"
        "    out[4] = e\n    out[5] = f\n    out[6] = g\n"
    )
    args = (3, 2.5, True, np.int8(-4), np.uint64(2**63), np.float32(0.5), np.bool_(False))
    assert run(source, 7, args=args) == [3, 2.5, 1, -4, 2.0**63, 0.5, 0]


def test_the_type_of_arguments():
    """Whatever their width, integers from outside are int; floats keep their type."""
    source = (
        "def kernel(out, a, b, c, d):\n    out[0] = a * 1000\n    out[1] = b * gpu.float32(1 / 3)\n"
        "    out[2] = c / 3\n    out[3] = d * gpu.float32(0.1)\n"
    )
    f4 = np.float32
    expected = [127000, float(f4(0.1) * f4(1 / 3)), float(f4(1) / f4(3)), float(f4(3) * f4(0.1))]
    assert run(source, args=(np.int8(127), 0.1, f4(1), np.int64(3))) == expected


def test_an_int_beyond_64_bits_is_refused():
    with pytest.raises(OverflowError):
        run("def kernel(out, n):\n    out[0] = n\n", args=(2**63,))


def many_arguments(n: int) -> str:
    """A kernel with n numbers."""
    names = ", ".join(f"a{k}" for k in range(n))
    total = " + ".join(f"a{k} * {k + 1}" for k in range(n))
    return f"def kernel(out, {names}):\n    out[0] = {total}\n"


def test_many_arguments():
    n = 40
    assert run(many_arguments(n), 1, args=tuple(range(n))) == [sum(k * (k + 1) for k in range(n))]


def test_types_that_a_later_float_resolves():
    """uint64 meets int8 around the loop until the function is found to return a float, too."""
    source = """
def pick(p, q):
    for k in range(3):
        if p != p:
            return q
    if p > q:
        return 2.0 + p
    return gpu.int8(q) ** 0

def kernel(x, out):
    a = x[0]
    for k in range(4):
        a = pick(a, k)
    out[0] = a
    out[1] = a / 3
"""
    for value in (0, 5, 2**63 + 5):
        # The python device knows no join: a float of the value is the same here.
        want = kit.agree(source.replace("a = x[0]", "a = float(x[0])"),
                         (np.array([value], "uint64"), np.zeros(2)))[1]  # fmt: skip
        out = np.zeros(2)
        kit.single(kit.kernel(source), np.array([value], "uint64"), out)
        assert out.tolist() == want.tolist()
