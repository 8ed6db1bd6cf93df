"""The functions of `operator` are the operators: same types, same values, wherever they come from."""

import operator

import gpu
import kit
import numpy as np
import pytest

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">",
    "ge": ">=", "iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%", "ipow": "**",
    "ilshift": "<<", "irshift": ">>", "iand": "&", "ior": "|", "ixor": "^",
}  # fmt: skip
UNARY = {"neg": "-", "pos": "+", "invert": "~", "inv": "~", "not_": "not ", "truth": "bool"}
KINDS = ["bool", "int", "int8", "uint32", "uint64", "float", "float32"]
SAMPLES = {"bool": [True, False, True, True], "int": [-7, 3, 2**40, 5], "int8": [-7, 3, 100, 5],
           "uint32": [7, 3, 2**31, 5], "uint64": [7, 3, 2**63, 5], "float": [-7.5, 3.0, 1e30, 0.25],
           "float32": [-7.5, 3.0, 1e30, 0.25]}  # fmt: skip
BITS = ("<<", ">>", "&", "|", "^", "~")


def has_no_result(symbol, kinds):
    mixed = "uint64" in kinds and any(k in ("int8",) for k in kinds)
    shift = symbol in ("<<", ">>", "**", "<", "<=", "==", "!=", ">", ">=")
    return (mixed and not shift) or (symbol in BITS and any(k.startswith("float") for k in kinds))


def both(expression, called, kinds):
    """The values of an expression with an operator and of one with its function, as float64 bits and types."""
    names = "ab"[: len(kinds)]
    reads = "".join(
        f"        {n} = {kit.read(k, f'x{n}[i]')}\n" for n, k in zip(names, kinds, strict=True)
    )
    source = (
        f"def kernel({', '.join('x' + n for n in names)}, out):\n    i = gpu.grid(1)\n"
        f"    if i < out.shape[1]:\n{reads}        out[0, i] = {expression}\n        out[1, i] = {called}\n"
        f"        out[2, i] = ({expression}) / gpu.float32(3)\n        out[3, i] = ({called}) / gpu.float32(3)\n"
    )
    arrays = [np.array(SAMPLES[k][:: 1 - 2 * j], kit.source_dtype(k)) for j, k in enumerate(kinds)]
    out = np.zeros((4, 4))
    kit.launch(kit.kernel(source, names={"operator": operator}), 4, *arrays, out)
    return out


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    for a in KINDS:
        for b in KINDS:
            if has_no_result(BINARY[name], (a, b)):
                continue
            out = both(f"a {BINARY[name]} b", f"operator.{name}(a, b)", (a, b))
            np.testing.assert_array_equal(out[0], out[1], f"{name} of {a} and {b}")
            np.testing.assert_array_equal(out[2], out[3], f"the type of {name} of {a} and {b}")


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    for kind in KINDS:
        if has_no_result(UNARY[name], (kind,)):
            continue
        symbol = UNARY[name]
        text = "bool(a)" if symbol == "bool" else f"({symbol}a)"
        out = both(text, f"operator.{name}(a)", (kind,))
        np.testing.assert_array_equal(out[0], out[1], f"{name} of {kind}")
        np.testing.assert_array_equal(out[2], out[3], f"the type of {name} of {kind}")


def test_against_python():
    source = (
        "def kernel(x, out):\n    a = x[0]\n    b = x[1]\n"
        "    out[0] = operator.add(a, b)\n    out[1] = operator.floordiv(a, b)\n    out[2] = operator.mod(a, b)\n"
        "    out[3] = operator.abs(a)\n    out[4] = operator.index(gpu.uint8(a))\n    out[5] = operator.not_(a)\n"
        "    out[6] = operator.is_(None, None)\n    out[7] = operator.is_not(None, None)\n"
        "    out[8] = operator.getitem((5, 6, 7), b - 2)\n    out[9] = operator.ge(b, 3)\n"
        "    operator.setitem(out, 10, operator.getitem(x, 1))\n    out[11] = operator.pow(2.0, -2)\n"
        "    out[12] = operator.truth(a)\n"
    )
    out = np.zeros(13)
    kit.single(kit.kernel(source, names={"operator": operator}), np.array([-7, 3]), out)
    assert out.tolist() == [-4, -3, 2, 7, 249, 0, 1, 0, 6, 1, 3, 0.25, 1]


def test_imported_names_and_values():
    """From operator import ..., functions as arguments and in tuples, chosen at compile time."""
    from operator import add as plus
    from operator import mul

    source = (
        "def fold(f, x, first):\n    r = first\n    for i in range(x.size):\n        r = f(r, x[i])\n    return r\n"
        "def kernel(x, out):\n    out[0] = fold(plus, x, 0)\n    out[1] = fold(mul, x, 1)\n"
        "    f = plus\n    out[2] = f(3, 4)\n    out[3] = (plus, mul)[1](5, 6)\n"
    )
    out = np.zeros(4, "int64")
    names = {"plus": plus, "mul": mul}
    x = np.arange(1, 6)
    kit.single(kit.kernel(source, names=names), x, out)
    assert out.tolist() == [15, 120, 7, 30]


def test_products_contract_as_operators_do():
    source = (
        "def kernel(x, out):\n    out[0] = x[0] * x[1] + x[2]\n"
        "    out[1] = operator.add(operator.mul(x[0], x[1]), x[2])\n    out[2] = operator.mul(x[0], x[1]) + x[2]\n"
    )
    x = np.array([1 + 2.0**-30, 1 - 2.0**-30, -1.0])
    out = np.zeros(3)
    kit.single(kit.kernel(source, names={"operator": operator}), x, out)
    assert out.tolist() == [-(2.0**-60)] * 3
    kit.single(kit.kernel(source, names={"operator": operator}, fma=False), x, out)
    assert out.tolist() == [0.0] * 3


def test_a_shadowed_function_is_the_programs_own():
    def add(a, b):
        return a * 100 + b

    out = np.zeros(1)
    kernel = kit.kernel("def kernel(out):\n    out[0] = add(1, 2)\n", names={"add": add})
    kit.single(kernel, out)
    assert out[0] == 102


ERRORS = [
    ("operator.add(x[0])", "ARGUMENT_COUNT", "operator.add"),
    ("operator.and_(x[0], 1)", "BAD_OPERANDS", "&"),
    ("operator.itemgetter(1)", "NYI_CONSTRUCT", "itemgetter"),
    ("operator.matmul(1, 2)", "BAD_OPERANDS", "@"),
    ("operator.index(x[0])", "ARGUMENT_TYPE", "operator.index"),
    ("operator.ad(1, 2)", "UNKNOWN_ATTRIBUTE", "did you mean operator.add?"),
    ("operator.add(a=1, b=2)", "ARGUMENT_NAME", "'a'"),
]


@pytest.mark.parametrize(("expression", "code", "text"), ERRORS)
def test_errors(expression, code, text):
    source = f"def kernel(x):\n    x[0] = {expression}\n"
    with pytest.raises(gpu.Error) as caught:
        kit.kernel(source, names={"operator": operator}).ptx("float64[:]")
    assert caught.value.code == code
    assert caught.value.lineno == 2
    assert text in str(caught.value)
