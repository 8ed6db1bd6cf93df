"""NumPy's functions, types and constants on numbers in kernels, against NumPy itself.

A kernel calls the function for every element, NumPy for the whole array. Integers of any kind give a
`float` in functions of floats, where NumPy's float type depends on the integer's width; all else is
NumPy's own result, bit for bit but for the functions in ULPS.
"""

import math

import gpu
import kit
import numpy as np
import pytest

INF, NAN = math.inf, math.nan
FLOATS = [0.0, -0.0, 0.25, -0.5, 0.5, 1.0, -1.0, 1.5, -2.5, 3.0, 1e-30, -7.75, 100.0, 2.0**-149, 1e30, -3e38, INF,
          -INF, NAN]  # fmt: skip
INTS = [0, 1, -1, 2, -3, 7, -8, 100, -100, 127, -128]
COUNTS = [0, 1, 2, 3, 7, 8, 100, 200, 255]
VALUES = {"float64": FLOATS, "float32": FLOATS, "float16": FLOATS, "int": INTS, "int8": INTS, "uint8": COUNTS, "uint64": COUNTS,
          "bool": [True, False]}  # fmt: skip

FLOAT_ONE = ["sin", "cos", "tan", "arcsin", "asin", "arccos", "acos", "arctan", "atan", "sinh", "cosh", "tanh",
             "arcsinh", "asinh", "arccosh", "acosh", "arctanh", "atanh", "exp", "exp2", "expm1", "log", "log2", "log10",
             "log1p", "sqrt", "cbrt", "fabs", "degrees", "rad2deg", "radians", "deg2rad", "rint", "spacing", "sinc",
             "angle"]  # fmt: skip
FLOAT_TWO = ["arctan2", "atan2", "hypot", "copysign", "nextafter", "heaviside", "logaddexp", "logaddexp2",
             "float_power"]  # fmt: skip
SAME_ONE = ["sign", "square", "reciprocal", "conjugate", "conj", "negative", "positive", "absolute", "abs", "floor",
            "ceil", "trunc", "fix", "real", "imag", "round", "around", "nan_to_num"]  # fmt: skip
SAME_TWO = ["add", "subtract", "multiply", "floor_divide", "remainder", "mod", "fmod", "maximum", "minimum", "fmax",
            "fmin", "clip_low"]  # fmt: skip
BOOL_ONE = ["isnan", "isinf", "isfinite", "signbit", "isposinf", "isneginf", "logical_not"]
BOOL_TWO = ["less", "less_equal", "equal", "not_equal", "greater", "greater_equal", "logical_and", "logical_or",
            "logical_xor", "isclose"]  # fmt: skip
INT_ONE = ["invert", "bitwise_not", "bitwise_invert", "bitwise_count"]
INT_TWO = ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"]
EXACT = {"sqrt", "fabs", "rint", "spacing", "copysign", "nextafter", "heaviside"}


def ulps_of(name):
    if name in FLOAT_ONE + FLOAT_TWO and name not in EXACT:
        return 6 if name in ("sinc", "logaddexp", "logaddexp2") else 4
    return 0


def elements(kind):
    return np.array(VALUES[kind]).astype("int64" if kind == "int" else kind)


def skip_zero_sign(name):
    """NumPy leaves open which of two equal zeros it gives."""
    return name in ("maximum", "minimum", "fmax", "fmin", "clip", "clip_low")


def run(expression, kinds, result, ulps=0):
    """The kernel's results for all combinations of values of the kinds, and the arrays of arguments."""
    with np.errstate(all="ignore"):
        grids = np.meshgrid(*(elements(k) for k in kinds), indexing="ij")
    arrays = [np.ascontiguousarray(g.ravel()) for g in grids]
    names = "xyz"[: len(kinds)]
    reads = "".join(
        f"        {n} = {kit.read(k, n + 's[i]')}\n" for n, k in zip(names, kinds, strict=True)
    )
    source = (
        f"def kernel({', '.join(n + 's' for n in names)}, out):\n    i = gpu.grid(1)\n"
        f"    if i < out.size:\n{reads}        out[i] = {expression}\n"
    )
    out = np.zeros(arrays[0].size, result)
    kit.launch(kit.kernel(source), out.size, *arrays, out, ulps=ulps)
    return out, arrays


def compare(name, kinds, expression=None, function=None):
    names = "xyz"[: len(kinds)]
    function = function or getattr(np, name)
    with np.errstate(all="ignore"):
        samples = [elements(k) for k in kinds]
        if name in FLOAT_ONE + FLOAT_TWO:  # integers as doubles, which are weak
            samples = [s if s.dtype.kind == "f" else s.astype("float64") for s in samples]
        grids = np.meshgrid(*samples, indexing="ij")
        expected = function(*(g.ravel() for g in grids))
    text = expression or f"np.{name}({', '.join(names)})"
    out, arrays = run(text, kinds, expected.dtype, ulps_of(name))
    kind = expected.dtype.name
    for got, want, *args in zip(out.tolist(), expected.tolist(), *arrays, strict=True):
        what = f"np.{name}({', '.join(map(repr, args))}) of {kinds}: {got!r}, NumPy {want!r}"
        if isinstance(want, float) and not (skip_zero_sign(name) and want == 0):
            assert kit.close_float(got, want, kind, ulps_of(name)), what
            assert want != 0 or ulps_of(name) or math.copysign(1, got) == math.copysign(1, want), (
                what
            )
        else:
            assert got == want, what


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int", "uint8", "bool"])
@pytest.mark.parametrize("name", FLOAT_ONE)
def test_float_functions(name, kind):
    if kind == "float16" and name == "sinc":  # NumPy rounds pi * x to float16
        compare(name, [kind], function=lambda x: np.sinc(x.astype("float32")).astype("float16"))
    elif kind == "float16" and name == "spacing":  # NumPy's has no sign there
        compare(
            name,
            [kind],
            function=lambda x: np.nextafter(x, np.where(x < 0, -INF, INF).astype("e")) - x,
        )
    else:
        compare(name, [kind])


@pytest.mark.parametrize("kinds", [("float64", "float64"), ("float32", "float32"), ("float16", "float16"), ("float32", "int"),
                                   ("int", "int"), ("uint8", "float32")])  # fmt: skip
@pytest.mark.parametrize("name", FLOAT_TWO)
def test_float_functions_of_two(name, kinds):
    if "float16" in kinds and name == "nextafter":  # NumPy keeps the sign of a zero
        compare(name, kinds, function=lambda x, y: np.where(x == y, y, np.nextafter(x, y)))
    elif "float32" in kinds and name != "float_power":
        # NumPy's int64 would make it float64; an integer never widens a float here.
        def function(*args):
            return getattr(np, name)(*(a.astype("float32") for a in args))

        compare(name, kinds, function=function)
    else:
        compare(name, kinds)


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "float16", "int", "int8", "uint8", "uint64"]
)
@pytest.mark.parametrize("name", SAME_ONE)
def test_functions_that_keep_the_type(name, kind):
    if name == "reciprocal" and not kind.startswith("float"):
        # NumPy leaves 1 / 0 of integers open.
        compare(
            name, [kind], function=lambda x: np.where(x == 0, 0, np.reciprocal(x)).astype(x.dtype)
        )
    else:
        compare(name, [kind])


@pytest.mark.parametrize("kinds", [("float64", "float64"), ("float32", "float32"), ("float16", "float16"), ("int", "int"), ("int8", "int8"),
                                   ("uint8", "uint8"), ("int8", "uint8"), ("uint64", "uint64"),
                                   ("float64", "float32")])  # fmt: skip
@pytest.mark.parametrize("name", SAME_TWO)
def test_functions_that_join_types(name, kinds):
    if name == "clip_low":
        compare(name, kinds, "np.clip(x, y, None)", lambda x, y: np.clip(x, y, None))
    else:
        compare(name, kinds)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int", "uint8", "bool"])
@pytest.mark.parametrize("name", BOOL_ONE + BOOL_TWO)
def test_functions_that_give_bool(name, kind):
    compare(name, [kind] * (2 if name in BOOL_TWO else 1))


@pytest.mark.parametrize("kind", ["int", "int8", "uint8", "uint64"])
@pytest.mark.parametrize("name", INT_ONE + INT_TWO)
def test_functions_of_integers(name, kind):
    compare(name, [kind] * (2 if name in INT_TWO else 1))


@pytest.mark.parametrize(
    "name", ["left_shift", "bitwise_left_shift", "right_shift", "bitwise_right_shift"]
)
def test_shifts(name):
    out, (x, y) = run(f"np.{name}(x, np.minimum(y, 9))", ["int", "uint64"], "int64")
    assert out.tolist() == getattr(np, name)(x, np.minimum(y, 9).astype("int64")).tolist()


def test_divide_and_power():
    for kinds in (("float64", "float64"), ("float32", "float32"), ("int", "int")):
        for name in ("divide", "true_divide"):
            compare(name, kinds)
        for part in (0, 1):
            compare(
                "divmod", kinds, f"np.divmod(x, y)[{part}]", lambda x, y, k=part: np.divmod(x, y)[k]
            )
    out, (x, y) = run("np.power(x, np.maximum(y, 0))", ["int", "int"], "int64")
    assert out.tolist() == np.power(x, np.maximum(y, 0)).tolist()
    out, (x, y) = run("np.pow(np.abs(x), y)", ["float64", "float64"], "float64")
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, np.power(np.abs(x), y), rtol=1e-15)


@pytest.mark.parametrize("kind", ["float64", "float32", "int", "uint8"])
def test_clip_and_where(kind):
    kinds = [kind] * 3
    compare("clip", kinds)
    compare("where", kinds)
    compare("clip", kinds, "np.clip(x, a_max=z, a_min=y)", np.clip)
    compare("clip", kinds, "np.clip(x, max=z)", lambda x, y, z: np.clip(x, None, z))


def test_clip_compares_the_values_as_they_are():
    """-5 and 300 are no limits for a byte, though they would wrap to some."""
    out, (x,) = run("np.clip(x, -5, 300)", ["uint8"], "int64")
    assert out.tolist() == x.tolist()
    out, (x,) = run("np.maximum(x, -1)", ["uint8"], "int64")
    assert out.tolist() == x.tolist()


def test_rounding_to_decimals():
    for decimals in (1, 2, 3, -1, -2):
        compare(
            "round", ["float64"], f"np.round(x, {decimals})", lambda x, d=decimals: np.round(x, d)
        )
        compare(
            "round",
            ["float32"],
            f"np.round(x, decimals={decimals})",
            lambda x, d=decimals: np.round(x, d),
        )
        compare("round", ["int"], f"np.round(x, {decimals})", lambda x, d=decimals: np.round(x, d))


def test_pairs():
    out, (x,) = run("np.modf(x)[0] + 10 * np.modf(x)[1]", ["float64"], "float64")
    with np.errstate(all="ignore"):
        part, whole = np.modf(x)
        np.testing.assert_array_equal(out, part + 10 * whole)
        mantissa, exponent = np.frexp(x)
    finite = np.isfinite(x)
    out, _ = run("np.frexp(x)[1]", ["float64"], "int64")
    assert out[finite].tolist() == exponent[finite].tolist()
    out, _ = run(
        "np.ldexp(*np.frexp(x))" if False else "np.ldexp(np.frexp(x)[0], np.frexp(x)[1])",
        ["float64"],
        "float64",
    )
    np.testing.assert_array_equal(out, np.ldexp(mantissa, np.where(finite, exponent, 0)))


def test_options():
    cases = [
        ("np.nan_to_num(x, nan=5.0)", lambda x: np.nan_to_num(x, nan=5.0)),
        ("np.nan_to_num(x, nan=5.0, posinf=1.0, neginf=-1)", lambda x: np.nan_to_num(x, nan=5.0, posinf=1.0, neginf=-1)),
        ("np.nan_to_num(x, posinf=None)", lambda x: np.nan_to_num(x, posinf=None)),
        ("np.angle(x, deg=True)", lambda x: np.angle(x, deg=True)),
        ("np.isclose(x, 1.0, 0.5)", lambda x: np.isclose(x, 1.0, 0.5)),
        ("np.isclose(x, np.nan, equal_nan=True)", lambda x: np.isclose(x, np.nan, equal_nan=True)),
        ("np.isclose(x, 0.0, atol=0.3)", lambda x: np.isclose(x, 0.0, atol=0.3)),
    ]  # fmt: skip
    for text, function in cases:
        for kind in ("float64", "float32"):
            compare("options", [kind], text, function)


def test_names_however_they_arrive():
    """Imported names, other names of the module, functions as arguments, aliases of NumPy."""
    import numpy as xp
    from numpy import maximum as top
    from numpy import sqrt

    source = (
        "def fold(f, x):\n    r = x[0]\n    for i in range(1, x.size):\n        r = f(r, x[i])\n    return r\n"
        "def kernel(x, out):\n    out[0] = sqrt(x[1])\n    out[1] = xp.sqrt(x[1])\n    out[2] = fold(top, x)\n"
        "    out[3] = fold(xp.add, x)\n    out[4] = fold(xp.hypot, x)\n    f = xp.acos\n    out[5] = f(0.5)\n"
    )
    x = np.array([1.0, 4.0, 2.0])
    out = np.zeros(6)
    kit.single(kit.kernel(source, names={"sqrt": sqrt, "top": top, "xp": xp}), x, out)
    np.testing.assert_allclose(out, [2, 2, 4, 7, np.hypot(np.hypot(1, 4), 2), np.arccos(0.5)])


CASTS = ["bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
         "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint", "long", "ulong", "longlong", "ulonglong",
         "intp", "uintp", "single", "double"]  # fmt: skip


@pytest.mark.parametrize("name", CASTS)
def test_casts(name):
    x = np.array([0, 1, -1, 127, 128, 255, 256, -32769, 65537, 2**31, 2**40 + 5])
    dtype = np.dtype(getattr(np, name))
    out = np.zeros(x.size, dtype)
    source = f"def kernel(x, out):\n    for i in range(x.size):\n        out[i] = np.{name}(x[i])\n"
    kit.single(kit.kernel(source), x, out)
    assert out.tolist() == x.astype(dtype).tolist()
    wraps = np.zeros(1, "int64")
    source = f"def kernel(x, out):\n    y = np.{name}(x[0])\n    out[0] = int(y + y)\n"
    kit.single(kit.kernel(source), np.array([100]), wraps)
    with np.errstate(over="ignore"):
        y = np.array([100]).astype(dtype)
        assert wraps[0] == (2 if dtype.kind == "b" else int((y + y)[0]))


def test_constants():
    source = (
        "def kernel(out):\n    out[0] = np.pi\n    out[1] = np.e\n    out[2] = np.euler_gamma\n    out[3] = np.inf\n"
        "    out[4] = np.nan\n    out[5] = np.newaxis is None\n    out[6] = np.True_\n"
    )
    out = np.zeros(7)
    kit.single(kit.kernel(source), out)
    assert out[:4].tolist() == [np.pi, np.e, np.euler_gamma, INF]
    assert math.isnan(out[4])
    assert out[5:].tolist() == [1, 1]


ERRORS = [
    ("np.dot(x, x)", "NYI_CONSTRUCT", "write a loop over the elements"),
    ("np.zeros(3)", "NYI_CONSTRUCT", "make arrays on the host"),
    ("np.random.rand()", "NYI_CONSTRUCT", "make random numbers on the host"),
    ("np.max(x)", "NYI_CONSTRUCT", "write max(a, b)"),
    ("np.linalg.norm(x)", "NYI_CONSTRUCT", "functions of single numbers"),
    ("np.sqr(x[0])", "UNKNOWN_ATTRIBUTE", "did you mean numpy.sqrt?"),
    ("np.sin(x)", "ARGUMENT_TYPE", "give an element: x[i]"),
    ("np.maximum(x, 0)", "ARGUMENT_TYPE", "give an element: x[i]"),
    ("np.log(x[0], 2)", "ARGUMENT_COUNT", "numpy.log takes 1 argument"),
    ("np.sign(x[0], out=x)", "ARGUMENT_COUNT", "numpy.sign"),
    ("np.round(x[0], k=1)", "ARGUMENT_NAME", "'k'"),
    ("np.round(x[0], 1, decimals=1)", "ARGUMENT_COUNT", "numpy.round"),
    ("np.isclose(x[0], 1, 0.1, rtol=0.1)", "ARGUMENT_TWICE", "rtol"),
    ("np.round(x[0], int(x[1]))", "NEEDS_CONSTANT", "the number of decimals"),
    ("np.bitwise_count(x[0])", "ARGUMENT_TYPE", "bits are defined for integers"),
    ("np.gcd(x[0], 2)", "ARGUMENT_TYPE", "an integer is needed"),
    ("np.maximum(gpu.uint64(1), gpu.int8(1))", "MIXED_SIGNS", "cast one argument"),
    ("np.fmod(gpu.uint64(1), gpu.int8(1))", "MIXED_SIGNS", "cast one argument"),
    ("np.bitwise_and(x[0], 1)", "BAD_OPERANDS", "bits are defined for integers"),
    ("np.matmul(x, x)", "BAD_OPERANDS", "'@'"),
    ("np.where((1, 2), 1, (3,))", "ARGUMENT_TYPE", "numpy.where"),
    ("np.clip(x[0], 'a', 2)", "ARGUMENT_TYPE", "numpy.clip"),
]


@pytest.mark.parametrize(("expression", "code", "text"), ERRORS)
def test_errors(expression, code, text):
    source = f"def kernel(x):\n    x[0] = {expression}\n"
    with pytest.raises(gpu.Error) as caught:
        kit.kernel(source).ptx("float64[:]")
    assert (caught.value.code, caught.value.lineno) == (code, 2)
    assert text in str(caught.value)


def test_every_function_of_the_table_is_tested():
    """The lists above and NumPy's ufuncs: each is tested here, or known to be missing."""
    other = {"divmod", "isnat", "matvec", "vecdot", "vecmat", "matmul", "divide", "true_divide", "power", "pow", "frexp",
             "ldexp", "modf", "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"}  # fmt: skip
    tested = {
        *FLOAT_ONE,
        *FLOAT_TWO,
        *SAME_ONE,
        *SAME_TWO,
        *BOOL_ONE,
        *BOOL_TWO,
        *INT_ONE,
        *INT_TWO,
    }
    ufuncs = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}
    assert ufuncs - tested - other == set()


def test_the_python_device_agrees():
    source = (
        "def kernel(x, f, i, out):\n    out[0] = np.sin(x[0])\n    out[1] = np.add(i[0], 2)\n    out[2] = np.arctan2(f[0], x[1])\n"
        "    out[3] = np.abs(f[0]) * 0.1\n    out[4] = np.left_shift(i[1], 3)\n    out[5] = np.exp(f[1]) + np.sqrt(i[1])\n"
        "    out[6] = np.floor_divide(i[0], 2)\n    out[7] = np.isnan(x[1]) or np.greater(x[0], f[1])\n    out[8] = np.log(x[0])\n"
    )
    x, f, i = np.array([2.5, -1.0]), np.array([-0.3, 4.5], "float32"), np.array([-7, 5])
    kit.agree(source, (x, f, i, np.zeros(9, "float32")), ulps=2)


def test_clip_of_floats_compares_in_the_type_of_its_result():
    """-inf is below a limit that only float16 takes to be -inf."""
    source = "def kernel(x, low, high, out):\n    out[0] = np.clip(x[0], low[0], high[0])\n"
    out = np.zeros(1)
    low = -8920884123976520360
    kit.single(kit.kernel(source), np.array([-np.inf], np.float16), np.array([low]),
               np.array([-7.75], np.float32), out)  # fmt: skip
    assert out[0] == np.float32(low)


def test_clip_of_integers_that_meet_in_a_float():
    source = "def kernel(x, low, high, out):\n    out[0] = np.clip(x[0], low[0], high[0])\n"
    out = np.zeros(1)
    kit.single(kit.kernel(source), np.array([-3]), np.array([7], np.uint64),
               np.array([5.5], np.float32), out)  # fmt: skip
    assert out[0] == 5.5
