"""The number classes of the python device against values written by hand from docs/semantics.md.

Nothing here is computed by the code under test: each row has the operands, the type of the result and
its value as text that Python reads.
"""

import math

import gpu
import pytest
from gpu._python import formats, mathematics
from gpu._python.context import context
from gpu._python.functions import FUNCTIONS, round_digits
from gpu._python.scalars import TYPES, lift

BIG, LOW = 2**63 - 1, -(2**63)
NAN, INF = math.nan, math.inf
F32_MAX = 3.4028234663852886e38


def num(kind: str, value):
    return TYPES[kind](value)


def check(result, kind: str, value) -> None:
    result = lift(result)
    assert (result.name, type(result.value)) == (kind, type(value)), result
    if isinstance(value, float):
        assert math.isnan(value) == math.isnan(result.value), result
        if value == value:
            assert result.value == value
            assert math.copysign(1, result.value) == math.copysign(1, value)
    else:
        assert result.value == value


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": lambda a, b: a**b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip

BINARY = [
    # int wraps at 64 bits
    (("int", BIG), "+", ("int", 1), "int", LOW),
    (("int", LOW), "-", ("int", 1), "int", BIG),
    (("int", 2**32), "*", ("int", 2**32), "int", 0),
    (("int", 3037000500), "*", ("int", 3037000500), "int", -9223372036709301616),
    (("bool", True), "+", ("bool", True), "int", 2),
    (("bool", True), "*", ("int", -7), "int", -7),
    (("bool", False), "-", ("bool", True), "int", -1),
    # division: floors, by zero 0, the smallest by -1 wraps
    (("int", 7), "//", ("int", -2), "int", -4),
    (("int", 7), "%", ("int", -2), "int", -1),
    (("int", -7), "//", ("int", 2), "int", -4),
    (("int", -7), "%", ("int", 2), "int", 1),
    (("int", 5), "//", ("int", 0), "int", 0),
    (("int", 5), "%", ("int", 0), "int", 0),
    (("int", LOW), "//", ("int", -1), "int", LOW),
    (("int", LOW), "%", ("int", -1), "int", 0),
    (("int8", -128), "//", ("int8", -1), "int8", -128),
    (("uint8", 200), "//", ("uint8", 7), "uint8", 28),
    (("int", 7), "/", ("int", 2), "float", 3.5),
    (("int", 1), "/", ("int", 0), "float", INF),
    (("int", -1), "/", ("int", 0), "float", -INF),
    (("int", 0), "/", ("int", 0), "float", NAN),
    (("uint8", 1), "/", ("uint8", 2), "float", 0.5),
    (("uint64", 2**64 - 1), "/", ("int", 1), "float", 1.8446744073709552e19),
    # shifts: the left operand's type; too large counts 0 or the sign, negative ones 0
    (("int", 1), "<<", ("int", 63), "int", LOW),
    (("int", 1), "<<", ("int", 64), "int", 0),
    (("int", 1), "<<", ("int", -1), "int", 0),
    (("int", -5), ">>", ("int", 1), "int", -3),
    (("int", -5), ">>", ("int", 64), "int", -1),
    (("int", -5), ">>", ("int", 1000), "int", -1),
    (("int", 5), ">>", ("int", 64), "int", 0),
    (("int", -5), ">>", ("int", -1), "int", 0),
    (("int8", 1), "<<", ("int", 7), "int8", -128),
    (("int8", 1), "<<", ("int", 8), "int8", 0),
    (("uint8", 255), "<<", ("int64", 4), "uint8", 240),
    (("uint8", 255), ">>", ("int", 8), "uint8", 0),
    (("int16", -1), ">>", ("uint64", 2**64 - 1), "int16", -1),
    (("bool", True), "<<", ("int8", 3), "int", 8),
    # powers: the left operand's type; a negative exponent at run time 0
    (("int", 3), "**", ("int", 4), "int", 81),
    (("int", 2), "**", ("int", 64), "int", 0),
    (("int", 0), "**", ("int", 0), "int", 1),
    (("int", 2), "**", ("int", -1), "int", 0),
    (("int", 1), "**", ("int", -1), "int", 0),
    (("uint8", 3), "**", ("int", 6), "uint8", 217),
    (("bool", True), "**", ("int", 5), "int", 1),
    (("float", -8.0), "**", ("float", 0.5), "float", NAN),
    (("float", 0.0), "**", ("float", -1.0), "float", INF),
    (("float", -0.0), "**", ("float", -3.0), "float", -INF),
    (("float32", 2.0), "**", ("int", 10), "float32", 1024.0),
    (("int", 4), "**", ("float", 0.5), "float", 2.0),
    # bits
    (("bool", True), "&", ("bool", False), "bool", False),
    (("bool", True), "^", ("bool", True), "bool", False),
    (("bool", True), "|", ("int", 6), "int", 7),
    (("int", -1), "&", ("uint8", 15), "uint8", 15),
    (("int8", -1), "^", ("uint8", 1), "int16", -2),
    # typed integers wrap; NumPy's type for two of them
    (("int8", 127), "+", ("int8", 1), "int8", -128),
    (("uint8", 0), "-", ("int", 1), "uint8", 255),
    (("uint32", 2**32 - 1), "*", ("uint32", 2**32 - 1), "uint32", 1),
    (("int8", 1), "+", ("int16", 1), "int16", 2),
    (("uint8", 200), "+", ("int8", 100), "int16", 300),
    (("uint16", 65535), "+", ("int16", 1), "int32", 65536),
    (("uint32", 2**32 - 1), "+", ("int32", 1), "int64", 2**32),
    (("uint32", 1), "+", ("int64", -2), "int64", -1),
    (("uint64", 2**64 - 1), "+", ("int", 1), "uint64", 0),
    (("uint64", 1), "+", ("uint8", 1), "uint64", 2),
    (("uint64", 5), "-", ("int", -1), "uint64", 6),
    # an integer never widens a float
    (("float32", 0.5), "+", ("int", 2**24 + 1), "float32", 16777216.0),
    (("float32", 1.0), "*", ("uint64", 2**64 - 1), "float32", 18446744073709551616.0),
    (("float16", 1.0), "+", ("int", 65519), "float16", 65504.0),
    (("float16", 0.0), "+", ("int", 65520), "float16", INF),
    (("int", 2**53 + 1), "+", ("float", 0.0), "float", 9007199254740992.0),
    # weak takes the typed one's type, then the wider
    (("float32", 1.0), "/", ("float", 3.0), "float32", 0.3333333432674408),
    (("float", 0.1), "+", ("float32", 0.0), "float32", 0.10000000149011612),
    (("float32", 0.5), "+", ("float64", 0.1), "float64", 0.6),
    (("float16", 1.0), "+", ("bfloat16", 1.0), "float32", 2.0),
    (("float16", 1.0), "/", ("int", 3), "float16", 0.333251953125),
    (("bfloat16", 1.0), "/", ("int", 3), "bfloat16", 0.333984375),
    (("bfloat16", 256.0), "+", ("int", 1), "bfloat16", 256.0),
    (("float16", 2048.0), "+", ("float16", 1.0), "float16", 2048.0),
    (("float16", 2048.0), "+", ("float16", 3.0), "float16", 2052.0),
    (("float16", 60000.0), "+", ("float16", 60000.0), "float16", INF),
    (("float32", F32_MAX), "*", ("float32", 2.0), "float32", INF),
    (("float32", 2.0**-149), "/", ("float32", 2.0), "float32", 0.0),
    (("float32", 3 * 2.0**-149), "/", ("float32", 2.0), "float32", 2 * 2.0**-149),
    # floor division and remainder of floats are NumPy's
    (("float", 7.5), "//", ("float", 2.0), "float", 3.0),
    (("float", -7.5), "//", ("float", 2.0), "float", -4.0),
    (("float", -7.5), "%", ("float", 2.0), "float", 0.5),
    (("float", 7.5), "%", ("float", -2.0), "float", -0.5),
    (("float", 1.0), "//", ("float", 0.1), "float", 9.0),
    (("float", 1.0), "//", ("float", 0.0), "float", INF),
    (("float", 0.0), "//", ("float", 0.0), "float", NAN),
    (("float", 1.0), "%", ("float", 0.0), "float", NAN),
    (("float", -4.0), "%", ("float", 2.0), "float", 0.0),
    (("float", 4.0), "%", ("float", -2.0), "float", -0.0),
    (("float", 1.0), "%", ("float", INF), "float", 1.0),
    (("float", -1.0), "%", ("float", INF), "float", INF),
    (("float", -1.0), "//", ("float", INF), "float", -1.0),
    # IEEE
    (("float", 0.0), "-", ("float", 0.0), "float", 0.0),
    (("float", -0.0), "+", ("float", -0.0), "float", -0.0),
    (("float", INF), "-", ("float", INF), "float", NAN),
    (("float", 1.0), "/", ("float", -0.0), "float", -INF),
    (("float", 0.0), "*", ("int", -1), "float", -0.0),
    # comparisons: exact between integers, by the float type with a float
    (("uint64", 2**64 - 1), ">", ("int", -1), "bool", True),
    (("uint64", 2**63), "==", ("int", LOW), "bool", False),
    (("int8", -1), "<", ("uint64", 0), "bool", True),
    (("uint8", 255), "==", ("int", -1), "bool", False),
    (("int", 2**53 + 1), "==", ("float", 2.0**53), "bool", True),
    (("float32", 0.10000000149011612), "==", ("float", 0.1), "bool", True),
    (("float64", 0.1), "==", ("float32", 0.10000000149011612), "bool", False),
    (("float", NAN), "==", ("float", NAN), "bool", False),
    (("float", NAN), "!=", ("float", NAN), "bool", True),
    (("float", 0.0), "==", ("float", -0.0), "bool", True),
    (("bool", True), "==", ("int", 1), "bool", True),
]


@pytest.mark.parametrize(("a", "op", "b", "kind", "value"), BINARY, ids=str)
def test_binary(a, op, b, kind, value):
    check(OPERATORS[op](num(*a), num(*b)), kind, value)


@pytest.mark.parametrize(("a", "op", "b", "kind", "value"), BINARY, ids=str)
def test_a_python_number_on_one_side_is_weak(a, op, b, kind, value):
    for x in (a, b):
        if x[0] not in ("bool", "int", "float") or abs(x[1]) == 2**63:
            continue
        left = x[1] if x is a else num(*a)
        right = num(*b) if x is a else x[1]
        check(OPERATORS[op](left, right), kind, value)


UNARY = [
    ("-", ("int", LOW), "int", LOW), ("-", ("int8", -128), "int8", -128),
    ("-", ("uint8", 1), "uint8", 255), ("-", ("bool", True), "int", -1),
    ("-", ("float", 0.0), "float", -0.0), ("+", ("bool", True), "int", 1),
    ("+", ("float32", -0.0), "float32", -0.0), ("~", ("bool", True), "bool", False),
    ("~", ("bool", False), "bool", True), ("~", ("int", 5), "int", -6),
    ("~", ("uint8", 5), "uint8", 250), ("abs", ("int", LOW), "int", LOW),
    ("abs", ("int8", -128), "int8", -128), ("abs", ("float", -0.0), "float", 0.0),
    ("abs", ("bool", True), "int", 1),
]  # fmt: skip


@pytest.mark.parametrize(("op", "x", "kind", "value"), UNARY, ids=str)
def test_unary(op, x, kind, value):
    x = num(*x)
    check({"-": lambda: -x, "+": lambda: +x, "~": lambda: ~x, "abs": lambda: abs(x)}[op](),
          kind, value)  # fmt: skip


CASTS = [
    (("int", 300), "uint8", 44), (("int", -1), "uint8", 255), (("int", 200), "int8", -56),
    (("int", 2**40 + 5), "int32", 5), (("uint64", 2**64 - 1), "int", -1),
    (("int", -1), "uint64", 2**64 - 1), (("float", 300.7), "uint8", 255),
    (("float", -3.9), "uint8", 0), (("float", -3.9), "int8", -3), (("float", 1e300), "int", BIG),
    (("float", -INF), "int", LOW), (("float", NAN), "int32", 0), (("float32", 2.0**31), "int32", 2**31 - 1),
    (("float", 1.8446744073709552e19), "uint64", 2**64 - 1), (("float", NAN), "bool", True),
    (("float", -0.0), "bool", False), (("int", 256), "bool", True), (("float", 0.1), "float32", 0.10000000149011612),
    (("float", 1e39), "float32", INF), (("float", -1e300), "bfloat16", -INF), (("float", 3.4e38), "bfloat16", INF),
    (("float", 3.39e38), "bfloat16", 3.3895313892515355e38), (("float", 2.0**-134), "bfloat16", 0.0), (("float", -65520.0), "float16", -INF),
    (("float", 65519.99), "float16", 65504.0), (("float", 2.0**-25), "float16", 0.0),
    (("float", 2.0**-25 * 1.0000001), "float16", 2.0**-24), (("float", 1.0 + 2.0**-8), "bfloat16", 1.0),
    (("float", 1.0 + 3 * 2.0**-8), "bfloat16", 1.015625), (("int", 257), "bfloat16", 256.0),
    (("int", 2**24 + 1), "float32", 16777216.0), (("int", 2**24 + 3), "float32", 16777220.0),
    (("int", 2**63 - 1), "float", 9223372036854775808.0),
    # rounded once: 2**60 + 2**36 is a tie in float32, one more is not
    (("int", 2**60 + 2**36), "float32", 2.0**60), (("int", 2**60 + 2**36 + 1), "float32", 2.0**60 + 2.0**37),
    # a double just above a tie of float16 that float32 would round down to it
    (("float", 1.0 + 2.0**-11 + 2.0**-40), "float16", 1.0009765625),
]  # fmt: skip


@pytest.mark.parametrize(("x", "kind", "value"), CASTS, ids=str)
def test_casts(x, kind, value):
    check(TYPES[kind].of(num(*x)), kind, value)


FMA = [
    (1.0 + 2.0**-12, 1.0 + 2.0**-12, -(1.0 + 2.0**-11), "float32", 2.0**-24),
    (0.1, 10.0, -1.0, "float64", 5.551115123125783e-17),
    (1e300, 1e300, -INF, "float64", -INF), (INF, 0.0, 1.0, "float64", NAN),
    (-0.0, 1.0, -0.0, "float64", -0.0), (0.0, -1.0, 0.0, "float64", 0.0),
    (1.0, 1.0, -1.0, "float64", 0.0), (256.0, 256.0, -16.0, "float16", INF),
    (256.0, 255.0, 16.0, "float16", 65280.0), (3.0, 5.0, 0.0625, "bfloat16", 15.0625),
    (2.0**-1074, 0.5, 0.0, "float64", 0.0), (2.0**-1074, 0.5, 2.0**-1074, "float64", 2 * 2.0**-1074),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "c", "kind", "value"), FMA)
def test_fma_rounds_once(a, b, c, kind, value):
    check(num(kind, formats.fma(a, b, c, kind)), kind, value)


ROUND = [
    (("float", 2.5), "int", 2), (("float", 3.5), "int", 4), (("float", -0.5), "int", 0),
    (("float", 1e30), "int", BIG), (("float", NAN), "int", 0), (("bool", True), "int", 1),
    (("uint8", 7), "int", 7),
]  # fmt: skip


@pytest.mark.parametrize(("x", "kind", "value"), ROUND, ids=str)
def test_round(x, kind, value):
    check(FUNCTIONS["round"](num(*x)), kind, value)


def test_round_to_digits():
    check(round_digits(num("float", 2.675), 2), "float", 2.68)  # as np.round, not as round()
    check(round_digits(num("float", -0.04), 1), "float", -0.0)
    check(round_digits(num("int", 25), -1), "int", 20)
    check(round_digits(num("int", 35), -1), "int", 40)
    check(round_digits(num("uint8", 255), -1), "uint8", 4)  # 260 wraps
    check(round_digits(num("int", 7), 3), "int", 7)


def test_min_and_max_take_the_first_of_equals():
    small, large = FUNCTIONS["min"], FUNCTIONS["max"]
    check(small(num("int", 3), num("float32", 2.5)), "float32", 2.5)
    check(small(num("int", 2**53 + 1), num("int", 2**53)), "int", 2**53)
    check(large(num("uint64", 2**64 - 1), num("uint8", 3)), "uint64", 2**64 - 1)
    check(small(num("float", NAN), num("float", 1.0)), "float", NAN)
    check(small(num("float", 1.0), num("float", NAN)), "float", 1.0)
    check(large(num("float", 0.0), num("float", -0.0)), "float", 0.0)
    check(large(num("float", -0.0), num("float", 0.0)), "float", -0.0)
    check(large(num("bool", False), num("bool", True)), "bool", True)
    check(small((num("int", 3), num("int", 1), num("int", 2))), "int", 1)


@pytest.mark.parametrize("symbol", ["<<", ">>", "&", "|", "^"])
def test_floats_have_no_bits(symbol):
    with pytest.raises(gpu.TypingError, match="is not defined for float and int"):
        OPERATORS[symbol](num("float", 1.0), num("int", 1))


@pytest.mark.parametrize("symbol", ["+", "-", "*", "//", "%", "&", "|", "^"])
def test_uint64_with_a_signed_type_asks_for_a_cast(symbol):
    with pytest.raises(gpu.TypingError, match="uint64 and int8 have no common integer type"):
        OPERATORS[symbol](num("uint64", 1), num("int8", 1))


CHECKED = [
    ("+", BIG, 1, OverflowError), ("-", LOW, 1, OverflowError), ("*", LOW, -1, OverflowError),
    ("//", LOW, -1, OverflowError), ("<<", 1, 63, OverflowError), ("**", 2, 63, OverflowError),
    ("//", 1, 0, ZeroDivisionError), ("%", 1, 0, ZeroDivisionError), ("/", 1, 0, ZeroDivisionError),
    ("<<", 1, -1, ValueError), (">>", 1, -1, ValueError), ("**", 2, -1, ValueError),
]  # fmt: skip


@pytest.mark.parametrize(("symbol", "a", "b", "exception"), CHECKED)
def test_check_raises_what_python_would(symbol, a, b, exception, monkeypatch):
    OPERATORS[symbol](num("int", a), num("int", b))
    monkeypatch.setattr(context, "check", True)
    with pytest.raises(exception):
        OPERATORS[symbol](num("int", a), num("int", b))
    check(num("int", BIG) - num("int", 1), "int", BIG - 1)
    check(num("int8", 127) + num("int8", 1), "int8", -128)
    check(num("float32", 1.0) / num("float32", 0.0), "float32", INF)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [  # exact values by mpmath, rounded; CPython's own functions are far off
        ("lgamma", 2.0000000000000004, 1.8775396131086244e-16),
        ("lgamma", 0.9999999999999999, 6.408381213480008e-17),
        ("lgamma", 1.0000001, -5.772155829918507e-08),
        ("lgamma", -3.141592653589793, 0.01557521855857812),
        ("lgamma", 1.4999999999999998, -0.12078223763524523),
        ("lgamma", 2.0, 0.0),
        ("lgamma", -2.0, INF),
        ("lgamma", 1e300, 6.897755278982137e302),
        ("cbrt", 7.0, 1.9129311827723892),
        ("cbrt", -7.0, -1.9129311827723892),
        ("cbrt", -0.0, -0.0),
        ("cbrt", 5e-324, 1.7031839360032603e-108),
        ("cbrt", -INF, -INF),
    ],
)
def test_results_as_exact_as_documented(name, x, expected):
    check(mathematics.FUNCTIONS[name](num("float", x)), "float", expected)
