"""Every operator on every pair of classes, over special values: equal to the python device.

One kernel per pair of classes, one thread per pair of values. Each result goes to an array that
holds it exactly, and a second time after meeting a narrow partner, which shows its class: an int
becomes int8 next to an int8, a weak float becomes float16 next to a float16.
"""

import math
import sys
from itertools import product
from pathlib import Path
from typing import Any

import gpu
import kit
import numpy as np
import pytest
from gpu import _python

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float", "float16", "bfloat16", "float32", "float64")
CLASSES = ("bool", "int", *SIGNED, *UNSIGNED, *FLOATS)
# Significant bits, exponent of the largest binade and of the smallest number.
FORMATS = {"float16": (11, 15, -24), "bfloat16": (8, 127, -133), "float32": (24, 127, -149),
           "float64": (53, 1023, -1074), "float": (53, 1023, -1074)}  # fmt: skip
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def width(kind: str) -> int:
    return 64 if kind == "int" else int(kind.lstrip("uint"))


def special(kind: str) -> list:
    """0, 1, -1, the smallest, the largest and what lies beside them; of floats also the others."""
    if kind == "bool":
        return [False, True]
    if kind in FORMATS:
        bits, largest, smallest = FORMATS[kind]
        top = math.ldexp(2 - 2.0 ** (1 - bits), largest)
        return [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, 0.1 if bits == 53 else 1 + 2.0 ** (1 - bits),
                top, -top, math.ldexp(1, smallest), -math.ldexp(3, smallest),
                math.ldexp(1, smallest + bits - 1), math.inf, -math.inf, math.nan]  # fmt: skip
    if kind in UNSIGNED:
        top = (1 << width(kind)) - 1
        return [0, 1, 2, 7, top // 2 + 1, top - 1, top]
    top = (1 << width(kind) - 1) - 1
    return [0, 1, -1, 3, -7, 8, top - 1, top, -top, -top - 1]


def common_float(a: str, b: str) -> str:
    typed = {k for k in (a, b) if k in FLOATS} - {"float"}
    for wide in ("float64", "float32"):
        if wide in typed:
            return wide
    return "float32" if len(typed) == 2 else typed.pop() if typed else "float"


def common_int(a: str, b: str) -> str | None:
    """NumPy's type for two typed integers, or None; bool and int give way."""
    typed = [k for k in (a, b) if k in SIGNED + UNSIGNED]
    if len(typed) < 2:
        return typed[0] if typed else "int"
    result = np.promote_types(*typed).name
    return None if result == "float64" else result


def result(op: str, a: str, b: str) -> str | None:
    """The class of `a op b`; None: an error."""
    floats = a in FLOATS or b in FLOATS
    if op in COMPARISONS:
        return "bool"
    if op in ("<<", ">>", "&", "|", "^") and floats:
        return None
    if floats or op == "/":
        return common_float(a, b)
    if op in ("<<", ">>", "**"):
        return "int" if a == "bool" else a
    if op in ("&", "|", "^", "join") and a == b == "bool":
        return "bool"
    return common_int(a, b)


def test_the_page_of_types():
    """docs/semantics.md is made from ir/arith.def; here it is compared with the model above."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
    from classes import Classes
    from generate import rows_of

    page = Classes(rows_of)
    names = {"+": "ADD", "-": "SUB", "*": "MUL", "/": "TRUEDIV", "//": "FLOORDIV", "%": "MOD",
             "**": "POW", "<<": "LSHIFT", ">>": "RSHIFT", "&": "AND", "|": "OR", "^": "XOR"}  # fmt: skip
    assert set(page.kinds) == set(CLASSES)
    for a, b in product(CLASSES, repeat=2):
        for op, name in names.items():
            assert page.result("IR_ARITH", name, a, b) == (result(op, a, b) or ""), (a, op, b)
        assert page.result("IR_JOIN", "", a, b) == (result("join", a, b) or "")


def store(kind: str, row: int, text: str) -> list[str]:
    """Lines that store an expression of the class and its probe in two rows of the right array."""
    array = "f" if kind in FLOATS else "u" if kind == "uint64" else "s"
    probe = {"bool": "~r", "uint64": "r // 3"}.get(kind, "r * gpu.int8(3)")
    if kind in FLOATS:
        probe = "r * gpu.float16(3)"
    return [f"    r = {text}", f"    {array}[{row}, i] = r", f"    {array}[{row + 1}, i] = {probe}"]


def kernel_of(
    lines: list[str], rows: int, *columns: tuple[str, list], floats: Any = "float64"
) -> tuple[str, list]:
    """Text that runs the lines for each element i of the columns, read as a, b, ..., and arrays."""
    names = "abc"[: len(columns)]
    head = [f"def kernel({', '.join('x' + n for n in names)}, s, u, f):", "    i = gpu.grid(1)"]
    head += ["    if i >= xa.size:", "        return"]
    head += [f"    {n} = {kit.read(kind, f'x{n}[i]')}" for n, (kind, _) in zip(names, columns)]
    arrays = [np.array(v, kit.source_dtype(kind)) for kind, v in columns]
    n = len(columns[0][1])
    out = [np.zeros((rows, n), t) for t in ("int64", "uint64", floats)]
    return "\n".join(head + lines) + "\n", [*arrays, *out]


def agree(lines: list[str], rows: int, *columns, floats: Any = "float64", **options) -> None:
    text, arrays = kernel_of(lines, rows, *columns, floats=floats)
    kit.agree(text, tuple(arrays), grid=len(columns[0][1]), **options)


def run(before: str, lines: list[str], rows: int, *columns, on_python: bool = False) -> list:
    """The three arrays of results, of the suite's device or of the python device."""
    text, arrays = kernel_of(lines, rows, *columns)
    function, n = kit.function(before + text), len(columns[0][1])
    if on_python:
        _python.run(function, n, 1, tuple(arrays))
    else:
        kit.launch(gpu.jit(function), n, *arrays)
    return arrays[-3:]


def pairs(a: str, b: str) -> tuple[tuple[str, list], tuple[str, list]]:
    values = list(product(special(a), special(b)))
    return (a, [x for x, _ in values]), (b, [y for _, y in values])


@pytest.mark.parametrize("a", CLASSES)
@pytest.mark.parametrize("b", CLASSES)
def test_operators(a, b):
    texts = [(op, f"a {op} b") for op in ARITHMETIC + COMPARISONS]
    if result("+", a, b) not in FLOATS:
        texts.append(("**", "a ** b"))
    texts += [("join", "min(a, b)"), ("join", "max(a, b)")]
    lines: list[str] = []
    for op, text in texts:
        kind = result(op, a, b)
        if kind:
            lines += store(kind, 2 * len(lines) // 3, text)
    agree(lines, 2 * len(lines) // 3, *pairs(a, b))


JOINS = ("{a} if i % 2 else {b}", "{a} or {b}", "{a} and {b}", "({a}, {b})[i % 2]",
         "one({a}, {b}, i)")  # fmt: skip
HELPER = """
def one(a, b, i):
    if i % 3:
        return a
    return b

"""


@pytest.mark.parametrize("a", CLASSES)
@pytest.mark.parametrize("b", CLASSES)
def test_joins(a, b):
    """The python device, which joins nothing, gets both sides cast to the class they have together."""
    kind = result("join", a, b)
    if kind is None:
        pytest.skip("no class holds both")
    to = kind if kind in ("bool", "int", "float") else f"gpu.{kind}"
    lines: list[str] = []
    casts: list[str] = []
    for text in JOINS:
        row = 2 * len(lines) // 3
        # `or` and `and` look at the value before it converts.
        cast = text.replace("{a} or {b}", "{t}({a}) if {a} else {t}({b})")
        cast = cast.replace("{a} and {b}", "{t}({b}) if {a} else {t}({a})")
        if cast == text:
            cast = text.replace("{a}", "{t}({a})").replace("{b}", "{t}({b})")
        lines += store(kind, row, text.format(a="a", b="b"))
        casts += store(kind, row, cast.format(a="a", b="b", t=to))
    columns = pairs(a, b)
    got = run(HELPER, lines, 2 * len(JOINS), *columns)
    expected = run(HELPER, casts, 2 * len(JOINS), *columns, on_python=True)
    for array, wanted in zip(got, expected):
        places = kit.differences(array, wanted, 0)
        assert not places, f"{places[0]}: {array[places[0]]!r}, expected {wanted[places[0]]!r}"


@pytest.mark.parametrize("a", CLASSES)
@pytest.mark.parametrize("b", CLASSES)
def test_pairs_without_a_result_are_errors(a, b):
    for op in ARITHMETIC:
        if result(op, a, b) is None:
            source = f"def kernel(xa, xb, o):\n    a = {kit.read(a, 'xa[0]')}\n"
            source += f"    b = {kit.read(b, 'xb[0]')}\n    o[0] = a {op} b\n"
            args = (np.zeros(1, kit.source_dtype(a)), np.zeros(1, kit.source_dtype(b)), np.zeros(1))
            kit.agree_raises(source, args, gpu.TypingError)


def dtype_of(kind: str) -> Any:
    """The dtype of arrays of the class, so that a last place is its own."""
    if kind == "bfloat16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return "float64" if kind == "float" else kind


@pytest.mark.parametrize("kind", FLOATS)
def test_powers_of_floats(kind):
    """Against a weak, an integer and a typed exponent; within the last places."""
    lines = store(kind, 0, "a ** b")
    for other in (kind, "int", "float"):
        exponents = [x for x in special(other) if abs(x) < 100 or x != x] + [0.5, 3][
            : 1 + (other == "int")
        ]
        exponents = [int(x) if other == "int" and x == x else x for x in exponents]
        values = list(product(special(kind), exponents))
        columns = ((kind, [x for x, _ in values]), (other, [y for _, y in values]))
        agree(lines, 2, *columns, floats=dtype_of(kind), ulps=2 if "16" in kind else 16)


@pytest.mark.parametrize("kind", CLASSES)
def test_one_operand(kind):
    texts = {"-a": "-", "+a": "+", "abs(a)": "abs", "bool(not a)": "bool", "bool(a)": "bool",
             "int(a)": "int", "float(a)": "float", "round(a)": "int", "math.floor(a)": "int",
             "math.ceil(a)": "int", "math.trunc(a)": "int"}  # fmt: skip
    if kind in FLOATS:
        texts |= {"round(a, 1)": kind, "round(a, -1)": kind, "round(a, 0)": kind}
    else:
        texts["~a"] = "bool" if kind == "bool" else kind
    lines: list[str] = []
    for text, to in texts.items():
        to = to if to in CLASSES else "int" if kind == "bool" else kind
        lines += store(to, 2 * len(lines) // 3, text)
    agree(lines, 2 * len(lines) // 3, (kind, special(kind)))


def beside(kind: str) -> list:
    """Values of the class at the borders of all others, where conversions round and saturate."""
    found = set()
    for bits in (7, 8, 15, 16, 31, 32, 53, 62, 63, 64):
        found |= {s * ((1 << bits) + d) for s in (1, -1) for d in (-2, -1, 0, 1, 2)}
    for bits in (11, 8, 24):  # ties between neighbours of a float, and what is next to a tie
        for scale in (0, 3, 20, 38, 63 - bits - 1):
            tie = (1 << bits | 1) << scale
            found |= {s * (tie + d) for s in (1, -1) for d in (-1, 0, 1)}
            found |= {s * (tie + (2 << scale) + d) for s in (1, -1) for d in (-1, 0, 1)}
    if kind == "bool":
        return [False, True]
    if kind not in FLOATS:
        low = 0 if kind in UNSIGNED else -(1 << width(kind) - 1)
        return sorted(x for x in found if low <= x < low + (1 << width(kind)))
    bits, largest, smallest = FORMATS[kind]
    values = [float(x) for x in found]
    for half, (digits, top, least) in FORMATS.items():
        if half == "float64":
            continue
        units = [math.ldexp(1, max(least, -1074)), math.ldexp(1, least + digits - 1), 1.0, 1024.0]
        for unit in units:
            tie = unit * (1 + 2.0**-digits)
            values += [unit, tie, math.nextafter(tie, 0), math.nextafter(tie, 9e99), unit / 2,
                       unit * 1.5, math.nextafter(unit / 2, 1), math.nextafter(unit / 2, 0)]  # fmt: skip
        edge = math.ldexp(2 - 2.0**-digits, min(top, 1022))
        values += [edge, math.nextafter(edge, 0), math.nextafter(edge, math.inf)]
    values += [-x for x in values]
    dtype = {"float16": np.float16, "float64": np.float64, "float": np.float64}.get(
        kind, np.float32
    )
    with np.errstate(all="ignore"):
        array = np.array(values).astype(dtype)
    if kind == "bfloat16":
        array = (array.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return sorted(set(array.tolist())) + [-0.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("kind", CLASSES)
def test_casts(kind):
    """To every class, by cast and by a store in an array."""
    lines: list[str] = []
    for to in CLASSES:
        name = to if to in ("bool", "int", "float") else f"gpu.{to}"
        lines += store(to, 2 * len(lines) // 3, f"{name}(a)")
    agree(lines, 2 * len(lines) // 3, (kind, beside(kind)))


STORED = ("bool", *SIGNED, *UNSIGNED, "float16", "float32", "float64")


@pytest.mark.parametrize("kind", CLASSES)
def test_stores(kind):
    names = ", ".join(f"o{k}" for k in range(len(STORED)))
    source = f"def kernel(x, {names}):\n    i = gpu.grid(1)\n    a = {kit.read(kind, 'x[i]')}\n"
    source += "".join(f"    o{k}[i] = a\n" for k in range(len(STORED)))
    x = np.array(beside(kind), kit.source_dtype(kind))
    kit.agree(source, (x, *(np.zeros(x.size, t) for t in STORED)), grid=x.size)


def triples(kind: str, n: int) -> list[list[float]]:
    """Factors and addends whose exact results lie on, above and below the middle of neighbours."""
    bits, largest, smallest = FORMATS[kind]
    rng = np.random.default_rng(bits)
    a, b, c = [], [], []
    for _ in range(n):
        x = math.ldexp(int(rng.integers(1 << bits - 1, 1 << bits)), int(rng.integers(-bits, 1)))
        y = math.ldexp(int(rng.integers(1 << bits - 1, 1 << bits)), int(rng.integers(-bits, 1)))
        tiny = math.ldexp(int(rng.integers(-3, 4)), int(rng.integers(max(smallest, -60), 1)))
        a.append(x * int(rng.choice([-1, 1])))
        b.append(y)
        c.append(tiny if abs(tiny) < 2.0 ** min(15, largest) else 0.0)
    # A product that is a middle itself, and an addend that only the last bit can tell.
    k = (1 << bits - 1) | 1
    for tiny in (0.0, math.ldexp(1, smallest), -math.ldexp(1, smallest)):
        for x, y in (
            ((1 << bits) - 1, 3),
            (k, 3),
            (k, k),
            ((1 << bits // 2) + 1, (1 << bits // 2) + 1),
        ):
            a.append(float(x))
            b.append(float(y) / (1 << bits))
            c.append(tiny)
    for x, y, z in product([x for x in special(kind) if abs(x) not in (2.5, 7.25)], repeat=3):
        a.append(x), b.append(y), c.append(z)
    return [a, b, c]


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("kind", FLOATS)
def test_fused(kind, fma):
    lines = [*store(kind, 0, "a * b + c"), *store(kind, 2, "c - a * b"), *store(kind, 4, "a * b - c * c"),
             *store(kind, 6, "math.fma(a, b, c)")]  # fmt: skip
    agree(lines, 8, *((kind, column) for column in triples(kind, 400)), fma=fma)


FUNCTIONS = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp",
             "expm1", "fabs", "gamma", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt",
             "tan", "tanh", "degrees", "radians", "ulp")  # fmt: skip
FUNCTIONS_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "log", "nextafter", "pow", "remainder")
EXACT = ("fabs", "sqrt", "degrees", "radians", "ulp", "copysign", "fmod", "nextafter", "remainder")


def some(kind: str, n: int) -> list[float]:
    """Special values and random ones of the class, most of them near 1."""
    digits, top, least = FORMATS[kind]
    rng = np.random.default_rng(digits)
    exponents = np.concatenate([rng.integers(-4, 4, n // 2), rng.integers(least, top, n // 2)])
    numbers = [math.ldexp(int(rng.integers(1 << digits - 1, 1 << digits)), int(e) - digits + 1)
               for e in exponents if e > least + digits]  # fmt: skip
    return special(kind) + [x * s for x, s in zip(numbers, rng.choice([-1, 1, 1], n))]


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("exact", [True, False])
def test_functions_of_halves(kind, exact):
    """Computed in float32 and rounded once: at most the last place of the half can differ."""
    a = some(kind, 60)
    texts = [f"math.{f}(a)" for f in FUNCTIONS if (f in EXACT) == exact]
    texts += [f"math.{f}(a, b)" for f in FUNCTIONS_OF_TWO if (f in EXACT) == exact]
    lines: list[str] = []
    for text in texts:
        lines += [f"    f[{len(lines)}, i] = {text}"]
    if exact:
        lines += [f"    m, e = math.frexp(a)\n    f[{len(lines)}, i] = m\n    s[0, i] = e",
                  f"    m, w = math.modf(a)\n    f[{len(lines) + 1}, i] = m\n    f[{len(lines) + 2}, i] = w",
                  f"    f[{len(lines) + 3}, i] = math.ldexp(a, int(b))",
                  "    s[1, i] = math.isnan(a)", "    s[2, i] = math.isinf(a)",
                  "    s[3, i] = math.isfinite(a)", "    s[4, i] = math.isclose(a, b)",
                  "    s[5, i] = math.isclose(a, a + a * 0.01, rel_tol=0.011)"]  # fmt: skip
    values = list(product(a, a[:20]))
    columns = ((kind, [x for x, _ in values]), (kind, [y for _, y in values]))
    dtype = "float64" if exact else dtype_of(kind)
    agree(lines, len(lines) + 4, *columns, floats=dtype, ulps=0 if exact else 1)


def test_float16_of_bfloat16():
    """Their values meet in float32: a bfloat16 beyond float16's range is no infinity on the way."""
    source = """def kernel(z, x, y, w):
    i = gpu.grid(1)
    z[0, i] *= y[i]
    z[1, i] = x[i] * x[i] * y[i]
    z[2, i] = y[i] / x[i]
    w[0, i] = z[3, i] - y[i]
    w[1, i] = y[i]
    z[4, i] = y[i] + x[i] if x[i] < y[i] else y[i] - 65536
    z[5, i] = max(y[i], z[5, i])
"""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    y = np.array([65536, 1e38, -1e-30, 7e4, 0.5, np.inf, -70000], ml_dtypes.bfloat16)
    x = np.array([1e-4, 1e-30, 1e20, -65536, 3, 0, 1], ml_dtypes.bfloat16)
    z = np.full((6, 7), 0.125, "float16")
    kit.agree(source, (z, x, y, np.zeros((2, 7), "float16")), block=7)


def test_integers_of_few_digits_beyond_float16():
    """They are infinite, also where the compiler knows their digits and goes on in float32."""
    source = """def kernel(y, o):
    i = gpu.grid(1)
    y[i] -= i << 31
    o[0, i] = gpu.float16(i << 20) - gpu.float16(np.inf)
    o[1, i] = gpu.float32(gpu.float16((i & 3) * 65536 - 65536))
"""
    kit.agree(source, (np.full(8, np.inf, "float16"), np.zeros((2, 8))), block=8)


def test_absolute_values_that_are_converted():
    """The smallest int32 is widened first: ptxas must not take it to be negative."""
    source = """def kernel(x, o):
    i = gpu.grid(1)
    o[0, i] = gpu.float32(abs(x[i]))
    o[1, i] = abs(x[i]) / 3
    o[2, i] = gpu.float32(gpu.uint32(abs(gpu.int32(x[i]))))
    o[3, i] = gpu.float64(gpu.uint32(abs(gpu.int32(x[i]))))
"""
    x = np.array([-(2**31), -5, 5, 2**31 - 1], "int32")
    (_, got) = kit.agree(source, (x, np.zeros((4, 4))), block=4)
    assert got[0].tolist() == got[2].tolist() == [2.0**31, 5.0, 5.0, 2.0**31]
