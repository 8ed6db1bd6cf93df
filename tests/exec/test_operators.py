"""Every operator on every pair of types, over edge values, bit for bit against the oracle.

One kernel per pair of types. Each result goes to an array that holds it exactly, and a second time
after meeting a narrow partner, which shows the result's type: an int becomes int8 next to an int8,
a weak float becomes float32 next to a float32.
"""

import math
from itertools import product

import gpu
import kit
import numpy as np
import pytest
from oracle import (
    TYPED_INTS,
    TYPES,
    NoResult,
    Num,
    binary,
    convert,
    is_float,
    is_signed,
    limits,
    min_max,
    result_type,
    rounded,
    unary,
)

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^",
             "<", "<=", ">", ">=", "==", "!=", "min", "max")  # fmt: skip
SMALL = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 2.5, -7.25, 0.1, math.inf, -math.inf, math.nan)
VALUES = {
    "bool": (False, True),
    "float": (*SMALL, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**63, -(2.0**53)),
    "float64": (*SMALL, 1e300, 2.0**53 + 2, 2.0**64, -5e-324),
    "float32": (*SMALL, 2.0**-149, 2.0**-126, 3.4028234663852886e38, -(2.0**24), 2.0**63),
}


def values(kind: str) -> tuple:
    """Edge values of a type."""
    if kind in VALUES:
        return VALUES[kind]
    low, high = limits(kind)
    signed = (-1, -2, -7, low, low + 1) if is_signed(kind) else (high // 3,)
    return (0, 1, 2, 3, 7, 8, high // 2 + 1, high - 1, high, *signed)


def expression(op: str, a: str, b: str) -> str:
    return f"{op}({a}, {b})" if op in ("min", "max") else f"{a} {op} {b}"


def probe(x: Num) -> Num:
    """What shows the type of a result: its product with a narrow partner."""
    if x.kind == "bool":
        return unary("~", x)
    if x.kind == "uint64":
        return binary("//", x, Num("int", 3))
    if is_float(x.kind):
        return binary("*", x, Num("float32", 3))
    return binary("*", x, Num("int8", 3))


PROBE = {"bool": "~r", "uint64": "r // 3"} | dict.fromkeys(
    ("float", "float32", "float64"), "r * gpu.float32(3)"
)


def store(kind: str, row: int, text: str) -> list[str]:
    """Lines that store an expression of the kind and its probe in two rows of the right array."""
    array = "f" if is_float(kind) else "u" if kind == "uint64" else "s"
    return [f"    r = {text}", f"    {array}[{row}, i] = r",
            f"    {array}[{row + 1}, i] = {PROBE.get(kind, 'r * gpu.int8(3)')}"]  # fmt: skip


def fetch(kind: str, s: np.ndarray, u: np.ndarray, f: np.ndarray) -> np.ndarray:
    return f if is_float(kind) else u if kind == "uint64" else s


def run(lines: list[str], rows: int, *columns: tuple[str, tuple]) -> tuple:
    """Runs the lines for each element i of the columns, which the kernel reads as a, b, ..."""
    names = "abc"[: len(columns)]
    head = [f"def kernel({', '.join('x' + n for n in names)}, s, u, f):",
            "    i = gpu.grid(1)", "    if i >= xa.size:", "        return"]  # fmt: skip
    head += [f"    {n} = {kit.read(kind, f'x{n}[i]')}" for n, (kind, _) in zip(names, columns)]
    arrays = [np.array(v, kit.source_dtype(kind)) for kind, v in columns]
    n = len(columns[0][1])
    out = [np.zeros((rows, n), t) for t in ("int64", "uint64", "float64")]
    kernel = kit.kernel("\n".join(head + lines) + "\n")
    kit.launch(kernel, n, *arrays, *out)
    return out


def check(what: str, got, expected: Num, inputs: tuple, ulps: float = 0) -> None:
    if ulps and is_float(expected.kind):
        ok = kit.close_float(float(got), expected.value, expected.kind, ulps)
    else:
        ok = kit.same(got, expected)
    assert ok, f"{what} of {inputs}: {got!r}, expected {expected}"


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize("b", TYPES)
def test_binary(a, b):
    pairs = [(Num(a, x), Num(b, y)) for x, y in product(values(a), values(b))]
    lines, rows, done = [], 0, []
    for op in OPERATORS:
        try:
            kind = result_type(op, a, b)
        except NoResult:
            continue
        lines += store(kind, rows, expression(op, "a", "b"))
        done.append((op, kind, rows))
        rows += 2
    out = run(
        lines, rows, (a, tuple(x.value for x, _ in pairs)), (b, tuple(y.value for _, y in pairs))
    )
    for op, kind, row in done:
        array = fetch(kind, *out)
        ulps = 16 if op == "**" else 0
        for i, (x, y) in enumerate(pairs):
            expected = binary(op, x, y)
            if op in ("min", "max") and expected.value == 0 and x.value != y.value:
                continue  # one of them is no zero in its own type: which zero comes out is open
            check(f"a {op} b", array[row, i], expected, (x, y), ulps)
            probed = probe(expected) if not ulps or not is_float(kind) else None
            if probed is not None:
                check(f"type of a {op} b", array[row + 1, i], probed, (x, y))


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize("b", TYPES)
def test_pairs_without_a_result_are_errors(a, b):
    for op in OPERATORS:
        try:
            result_type(op, a, b)
        except NoResult:
            with pytest.raises(gpu.TypingError):
                run([f"    r = {expression(op, 'a', 'b')}", "    s[0, i] = r == r"], 1,
                    (a, values(a)[:2]), (b, values(b)[:2]))  # fmt: skip


@pytest.mark.parametrize("a", TYPES)
def test_unary(a):
    numbers = [Num(a, x) for x in values(a)]
    lines, rows, done = [], 0, []
    for op, text in (("-", "-a"), ("+", "+a"), ("~", "~a"), ("not", "not a"), ("abs", "abs(a)")):
        try:
            kind = unary(op, numbers[0]).kind
        except NoResult:
            continue
        lines += store(kind, rows, text)
        done.append((op, kind, rows))
        rows += 2
    out = run(lines, rows, (a, tuple(x.value for x in numbers)))
    for op, kind, row in done:
        for i, x in enumerate(numbers):
            expected = unary(op, x)
            check(op, fetch(kind, *out)[row, i], expected, (x,))
            check(f"type of {op}", fetch(kind, *out)[row + 1, i], probe(expected), (x,))


@pytest.mark.parametrize("a", TYPES)
def test_casts(a):
    numbers = [Num(a, x) for x in values(a)]
    lines, done = [], []
    for row, kind in enumerate(TYPES):
        name = kind if kind in ("bool", "int", "float") else f"gpu.{kind}"
        lines += store(kind, 2 * row, f"{name}(a)")
        done.append((kind, 2 * row))
    out = run(lines, 2 * len(TYPES), (a, tuple(x.value for x in numbers)))
    for kind, row in done:
        for i, x in enumerate(numbers):
            expected = convert(x, kind)
            check(kind, fetch(kind, *out)[row, i], expected, (x,))
            check(f"type of {kind}", fetch(kind, *out)[row + 1, i], probe(expected), (x,))


@pytest.mark.parametrize("a", TYPES)
def test_rounding(a):
    numbers = [Num(a, x) for x in values(a)]
    texts = {
        "floor": "math.floor(a)",
        "ceil": "math.ceil(a)",
        "trunc": "math.trunc(a)",
        "round": "round(a)",
    }
    lines = [
        line for row, text in enumerate(texts.values()) for line in store("int", 2 * row, text)
    ]
    s, _, _ = run(lines, 8, (a, tuple(x.value for x in numbers)))
    for row, how in enumerate(texts):
        for i, x in enumerate(numbers):
            check(how, s[2 * row, i], rounded(x, how), (x,))


@pytest.mark.parametrize("a", TYPES)
def test_stores(a):
    """An element takes the value as a cast would, for every dtype of arrays."""
    dtypes = ("bool", *TYPED_INTS, "float32", "float64")
    names = ", ".join(f"o{k}" for k in range(len(dtypes)))
    source = f"def kernel(x, {names}):\n    i = gpu.grid(1)\n    if i < x.size:\n        a = {kit.read(a, 'x[i]')}\n"
    source += "".join(f"        o{k}[i] = a\n" for k in range(len(dtypes)))
    x = np.array(values(a), kit.source_dtype(a))
    out = [np.zeros(x.size, t) for t in dtypes]
    kit.launch(kit.kernel(source), x.size, x, *out)
    for dtype, array in zip(dtypes, out):
        for i, value in enumerate(values(a)):
            check(f"store in {dtype}", array[i], convert(Num(a, value), dtype), (a, value))


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize(
    "b", ["bool", "int", "uint8", "int16", "uint64", "float", "float32", "float64"]
)
def test_conditional_expressions_join(a, b):
    pairs = [(Num(a, x), Num(b, y)) for x, y in product(values(a), values(b)[:6])]
    try:
        kind = min_max("min", *pairs[0]).kind
    except NoResult:
        pytest.skip("no common type")
    lines = [
        *store(kind, 0, "a if i % 2 == 0 else b"),
        *store(kind, 2, "a or b"),
        *store(kind, 4, "a and b"),
    ]
    out = run(
        lines, 6, (a, tuple(x.value for x, _ in pairs)), (b, tuple(y.value for _, y in pairs))
    )
    array = fetch(kind, *out)
    for i, (x, y) in enumerate(pairs):
        chosen = (y if i % 2 else x, x if x.value else y, y if x.value else x)
        for row, value in enumerate(chosen):
            expected = convert(value, kind)
            check(("if", "or", "and")[row], array[2 * row, i], expected, (x, y))
            check("type", array[2 * row + 1, i], probe(expected), (x, y))


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize("k", [*range(-8, 9), 9, -9])
def test_powers_with_literal_exponents(a, k):
    if not is_float(a) and k < 0:
        numbers = [Num("float", convert(Num(a, x), "float").value) for x in values(a)]
    else:
        numbers = [Num(a, x) for x in values(a)]
    kind = numbers[0].kind if numbers[0].kind != "bool" else "int"
    out = run(store(kind, 0, f"a ** {k}" if k >= 0 else f"a ** ({k})"), 2, (a, values(a)))
    for i, x in enumerate(numbers):
        expected = binary("**", x, Num("int", k))
        if (
            is_float(kind)
            and k < 0
            and abs(expected.value) < 2.0 ** (-126 if kind == "float32" else -1022)
        ):
            continue  # the product that is divided by overflows first
        check(f"a ** {k}", fetch(kind, *out)[0, i], expected, (x,), 16 if is_float(kind) else 0)


def test_fma_is_contracted_by_one_rule():
    """The left product first; fma=False rounds every operation."""
    from oracle import fma

    source = (
        "def kernel(x, y, z, w, o):\n"
        "    i = gpu.grid(1)\n"
        "    if i < x.size:\n"
        "        o[0, i] = x[i] * y[i] + z[i]\n"
        "        o[1, i] = z[i] - x[i] * y[i]\n"
        "        o[2, i] = x[i] * y[i] + z[i] * w[i]\n"
        "        o[3, i] = x[i] * y[i] - z[i]\n"
    )
    rng = np.random.default_rng(5)
    for dtype in ("float32", "float64"):
        x, y, z, w = (rng.standard_normal(200).astype(dtype) for _ in range(4))
        out = np.zeros((4, 200), dtype)
        kit.launch(kit.kernel(source), 200, x, y, z, w, out)
        for i in range(200):
            a, b, c, d = (float(v[i]) for v in (x, y, z, w))
            product_2 = float(z[i] * w[i])
            expected = (fma(a, b, c, dtype), fma(-a, b, c, dtype), fma(a, b, product_2, dtype),
                        fma(a, b, -c, dtype))  # fmt: skip
            assert tuple(map(float, out[:, i])) == expected
        kit.launch(kit.kernel(source, fma=False), 200, x, y, z, w, out)
        assert np.array_equal(out[0], x * y + z)
        assert np.array_equal(out[1], z - x * y)
        assert np.array_equal(out[2], x * y + z * w)
        assert np.array_equal(out[3], x * y - z)
