"""The oracle against values computed by hand: it must be right before kernels are compared with it."""

import math

import pytest
from oracle import (
    TYPED_INTS,
    TYPES,
    NoResult,
    Num,
    binary,
    compare,
    convert,
    fma,
    join,
    min_max,
    result_type,
    rounded,
    unary,
)

INF, NAN = math.inf, math.nan


def check(x: Num, kind: str, value) -> None:
    assert x.kind == kind
    assert x.value == value or (x.value != x.value and value != value)
    if value == 0 and isinstance(value, float):
        assert math.copysign(1, x.value) == math.copysign(1, value)


@pytest.mark.parametrize("op, a, b, kind", [
    ("+", "bool", "bool", "int"), ("+", "int", "bool", "int"), ("+", "int", "int8", "int8"),
    ("+", "int8", "uint8", "int16"), ("+", "int32", "uint32", "int64"), ("*", "int", "uint64", "uint64"),
    ("+", "int64", "float32", "float32"), ("+", "float", "float32", "float32"),
    ("+", "float32", "float64", "float64"), ("+", "uint64", "float", "float"),
    ("/", "int", "int", "float"), ("/", "int8", "uint64", "float"), ("/", "int", "float32", "float32"),
    ("&", "bool", "bool", "bool"), ("&", "bool", "int", "int"), ("|", "uint8", "int", "uint8"),
    ("<<", "bool", "bool", "int"), ("<<", "int", "uint8", "int"), (">>", "uint8", "int64", "uint8"),
    ("**", "uint64", "int8", "uint64"), ("**", "int", "float32", "float32"), ("<", "uint64", "int8", "bool"),
    ("min", "bool", "bool", "bool"), ("min", "int", "int8", "int8"), ("max", "int", "float32", "float32"),
])  # fmt: skip
def test_result_types(op, a, b, kind):
    assert result_type(op, a, b) == kind


@pytest.mark.parametrize("op, a, b", [
    ("+", "uint64", "int8"), ("%", "int64", "uint64"), ("&", "uint64", "int32"), ("min", "int8", "uint64"),
    ("<<", "float", "int"), ("&", "bool", "float32"), ("^", "float64", "float64"),
])  # fmt: skip
def test_pairs_without_a_result(op, a, b):
    with pytest.raises(NoResult):
        binary(op, Num(a, 1), Num(b, 1))


def test_integers():
    check(binary("+", Num("int", 2**63 - 1), Num("int", 1)), "int", -(2**63))
    check(binary("*", Num("uint8", 77), Num("int", 5)), "uint8", 385 - 256)
    check(binary("//", Num("int", -7), Num("int", 2)), "int", -4)
    check(binary("%", Num("int", -7), Num("int", 2)), "int", 1)
    check(binary("%", Num("int", 7), Num("int", -2)), "int", -1)
    check(binary("//", Num("int", 5), Num("int", 0)), "int", 0)
    check(binary("%", Num("int", 5), Num("int", 0)), "int", 0)
    check(binary("//", Num("int8", -128), Num("int", -1)), "int8", -128)
    check(binary("%", Num("int8", -128), Num("int", -1)), "int8", 0)
    check(binary("<<", Num("uint8", 255), Num("int", 4)), "uint8", 240)
    check(binary("<<", Num("int", 1), Num("int", 64)), "int", 0)
    check(binary("<<", Num("int", 1), Num("int", -1)), "int", 0)
    check(binary(">>", Num("int", -5), Num("int", 100)), "int", -1)
    check(binary(">>", Num("int", -5), Num("int", -1)), "int", 0)
    check(binary(">>", Num("uint8", 200), Num("uint64", 2**63)), "uint8", 0)
    check(binary("**", Num("int", -3), Num("int", 3)), "int", -27)
    check(binary("**", Num("uint8", 3), Num("int", 6)), "uint8", 729 - 512)
    check(binary("**", Num("int", 2), Num("int", -1)), "int", 0)
    check(binary("**", Num("int", 0), Num("int", 0)), "int", 1)
    check(unary("-", Num("uint8", 1)), "uint8", 255)
    check(unary("abs", Num("int8", -128)), "int8", -128)
    check(unary("-", Num("bool", True)), "int", -1)
    check(unary("~", Num("bool", True)), "bool", False)
    check(unary("~", Num("uint16", 1)), "uint16", 65534)
    check(binary("^", Num("bool", True), Num("bool", True)), "bool", False)


def test_floats():
    check(binary("/", Num("int", 1), Num("int", 0)), "float", INF)
    check(binary("/", Num("float32", 1), Num("int", 3)), "float32", 0.3333333432674408)
    check(binary("+", Num("float", 0.1), Num("float32", 0)), "float32", 0.10000000149011612)
    check(binary("//", Num("float", -0.5), Num("float", 1.0)), "float", -1.0)
    check(binary("%", Num("float", -0.5), Num("float", 1.0)), "float", 0.5)
    check(binary("%", Num("float", -1.0), Num("float", 1.0)), "float", 0.0)
    check(binary("%", Num("float", 1.0), Num("float", -1.0)), "float", -0.0)
    check(binary("//", Num("float", 1.0), Num("float", 0.0)), "float", INF)
    check(binary("%", Num("float", 1.0), Num("float", 0.0)), "float", NAN)
    check(binary("*", Num("float32", 1e38), Num("int", 10)), "float32", INF)
    check(binary("**", Num("float", -2.0), Num("float", 0.5)), "float", NAN)
    check(unary("-", Num("float", 0.0)), "float", -0.0)


def test_conversions():
    check(convert(Num("int", 300), "uint8"), "uint8", 44)
    check(convert(Num("int", -1), "uint64"), "uint64", 2**64 - 1)
    check(convert(Num("float", 300.7), "uint8"), "uint8", 255)
    check(convert(Num("float", -3.9), "int"), "int", -3)
    check(convert(Num("float", -3.9), "uint8"), "uint8", 0)
    check(convert(Num("float", NAN), "int64"), "int64", 0)
    check(convert(Num("float", INF), "int"), "int", 2**63 - 1)
    check(convert(Num("float", 1e39), "float32"), "float32", INF)
    check(convert(Num("int", 2**24 + 1), "float32"), "float32", 2.0**24)
    # One rounding: through double it would be 2 ** 60.
    check(convert(Num("int", 2**60 + 2**36 + 1), "float32"), "float32", 2.0**60 + 2.0**37)
    check(convert(Num("float", 0.5), "bool"), "bool", True)
    check(convert(Num("float", NAN), "bool"), "bool", True)
    check(rounded(Num("float", 2.5), "round"), "int", 2)
    check(rounded(Num("float", -2.5), "floor"), "int", -3)
    check(rounded(Num("float", 1e30), "ceil"), "int", 2**63 - 1)


def test_comparisons():
    check(compare("<", Num("int", -1), Num("uint64", 0)), "bool", True)
    check(compare("==", Num("uint64", 2**64 - 1), Num("int", -1)), "bool", False)
    check(compare("==", Num("float", 0.1), Num("float32", 0.1)), "bool", True)
    check(compare("==", Num("float", 0.1), Num("float64", 0.1)), "bool", True)
    check(compare("==", Num("int", 2**24 + 1), Num("float32", 2.0**24)), "bool", True)
    check(compare("!=", Num("float", NAN), Num("float", NAN)), "bool", True)


def test_min_max():
    check(min_max("min", Num("float", NAN), Num("int", 1)), "float", NAN)
    check(min_max("min", Num("int", 1), Num("float", NAN)), "float", 1.0)
    check(min_max("max", Num("int", 2**24 + 1), Num("float32", 2.0**24)), "float32", 2.0**24)
    check(min_max("min", Num("int", -1), Num("uint8", 3)), "uint8", 255)
    check(min_max("max", Num("float", -0.0), Num("float", 0.0)), "float", -0.0)


def test_joins():
    assert join("bool", "bool") == "bool"
    assert join("bool", "int8") == "int8"
    assert join("int", "float32", "float") == "float32"
    assert join("int8", "uint8", "int") == "int16"
    assert join("uint64", "int8", "float") == "float"
    with pytest.raises(NoResult):
        join("uint64", "int8")
    for a in TYPES:
        for b in TYPES:
            if {a, b} & {"uint64"} and {a, b} & {"int8", "int16", "int32", "int64"}:
                continue
            assert join(a, b) == join(b, a)
            for c in TYPED_INTS[4:7]:
                if not {a, b} & {"uint64"}:
                    assert join(a, b, c) == join(c, b, a)


def test_fma():
    assert fma(1 + 2**-30, 1 - 2**-30, -1.0) == -(2.0**-60)
    x = 1 + 2.0**-12
    assert fma(x, x, -1.0, "float32") == 2.0**-11 + 2.0**-24
    assert fma(2.0, 3.0, 4.0) == 10.0
