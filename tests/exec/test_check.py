"""check=True: each check passes just inside its border and raises just outside it.

What must be raised comes from Python's own integers and floats, or from NumPy's assignment to an
element; where numbers.md decides otherwise the expected answers are written out.
"""

import math
import operator

import gpu
import kit
import numpy as np
import pytest

BIG, LOW = 2**63 - 1, -(2**63)
INTS = (0, 1, -1, 2, -2, 3, 7, -10, 62, 63, 64, 65, 2**31, -(2**31), 2**32 - 1, 3037000499, 3037000500,
        -3037000500, 2**62, -(2**62), BIG - 1, BIG, LOW, LOW + 1)  # fmt: skip
KINDS = {
    "INT_OVERFLOW": (gpu.KernelOverflowError, OverflowError),
    "LOSSY": (gpu.KernelOverflowError, OverflowError),
    "ZERO_DIVISION": (gpu.KernelZeroDivisionError, ZeroDivisionError),
    "NEGATIVE_SHIFT": (gpu.KernelValueError, ValueError),
    "NEGATIVE_POWER": (gpu.KernelValueError, ValueError),
    "NAN_TO_INT": (gpu.KernelValueError, ValueError),
    "UNBOUND": (gpu.KernelUnboundLocalError, UnboundLocalError),
    "OUT_OF_BOUNDS": (gpu.KernelIndexError, IndexError),
}


def checked(body: str, arguments: str, **names):
    return kit.kernel(f"def main({arguments}):\n    {body}\n", "main", names, check=True)


def outcome(main, *args):
    """None, or the code of the exception, whose classes and place are looked at."""
    try:
        kit.single(main, *args)
    except gpu.Error as e:
        assert isinstance(e, KINDS[e.code])
        assert (e.lineno, e.function, e.kernel) == (2, "main", "main")
        assert e.block == e.thread == (0, 0, 0)
        return e.code
    return None


BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "**": operator.pow,
    "/": operator.truediv,
}  # fmt: skip


def expected_int(op: str, a: int, b: int):
    if op in ("<<", "**") and abs(b) > 200:
        if b < 0:
            return "NEGATIVE_SHIFT" if op == "<<" else "NEGATIVE_POWER"
        return None if a == 0 or (op == "**" and a in (1, -1)) else "INT_OVERFLOW"
    if op == "**" and b < 0:
        return "NEGATIVE_POWER"
    try:
        result = BINARY[op](a, b)
    except ZeroDivisionError:
        return "ZERO_DIVISION"
    except ValueError:
        return "NEGATIVE_SHIFT"
    return None if isinstance(result, float) or LOW <= result <= BIG else "INT_OVERFLOW"


@pytest.mark.parametrize("op", BINARY)
def test_int_operators(op):
    kind = "float64" if op == "/" else "int64"
    main = checked(f"out[0] = a {op} b", "out, a, b")
    out = np.zeros(1, kind)
    for a in INTS:
        for b in INTS:
            expected = expected_int(op, a, b)
            assert outcome(main, out, a, b) == expected, (a, op, b)
            if expected is None and abs(b) < 200:
                assert out[0] == BINARY[op](a, b)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 6, 8, 13, 62, 63])
def test_constant_powers(exponent):
    main = checked(f"out[0] = a ** {exponent}", "out, a")
    out = np.zeros(1, "int64")
    for a in INTS:
        assert outcome(main, out, a) == expected_int("**", a, exponent), a


def test_powers_with_unsigned_exponents():
    main = checked("out[0] = a ** gpu.uint64(b)", "out, a, b")
    out = np.zeros(1, "int64")
    for a in INTS:
        for b in (0, 1, 2, 3, 19, 39, 40, 62, 63, 64):
            assert outcome(main, out, a, b) == expected_int("**", a, b), (a, b)


@pytest.mark.parametrize(
    "body", ["out[0] = -a", "out[0] = abs(a)", "out[0] = 0 - a", "out[0] -= a"]
)
def test_negation(body):
    main = checked(body, "out, a")
    for a in INTS:
        expected = "INT_OVERFLOW" if a == LOW else None
        assert outcome(main, np.zeros(1, "int64"), a) == expected


def test_constants_overflow_too():
    for body in ("n = 1 << 62\n    out[0] = n * 2", "n = 5\n    z = 0\n    out[0] = n // z",
                 "n = -1\n    out[0] = 4 >> n", "x = 1e300\n    out[0] = int(x)", "z = 0\n    out[0] = 1.5 / z"):  # fmt: skip
        main = kit.kernel(f"def main(out):\n    {body}\n", "main", check=True)
        with pytest.raises((OverflowError, ZeroDivisionError, ValueError)):
            kit.single(main, np.zeros(1, "int64"))


@pytest.mark.parametrize("op", ["/", "//", "%"])
def test_floats_divide_as_python_or_as_numpy(op):
    weak = checked(f"out[0] = a {op} b", "out, a, b")
    assert outcome(weak, np.zeros(1), 1.5, 0.0) == "ZERO_DIVISION"
    assert outcome(weak, np.zeros(1), 1.5, -0.0) == "ZERO_DIVISION"
    assert outcome(weak, np.zeros(1), math.nan, 0.0) == "ZERO_DIVISION"
    assert outcome(weak, np.zeros(1), 1.5, 5e-324) is None
    assert outcome(weak, np.zeros(1), 1.5, math.nan) is None
    for kind in ("float32", "float64"):
        typed = checked(f"out[0] = x[0] {op} b", "out, x, b")
        out = np.zeros(1, kind)
        assert outcome(typed, out, np.ones(1, kind), 0) is None
        with np.errstate(all="ignore"):
            wanted = BINARY[op](np.ones(1, kind), np.zeros(1, kind))[0]
        assert kit.same_float(float(out[0]), float(wanted))


def test_float_powers():
    main = checked("out[0] = a ** b", "out, a, b")
    assert outcome(main, np.zeros(1), 0.0, -0.5) == "ZERO_DIVISION"
    assert outcome(main, np.zeros(1), -0.0, -1.0) == "ZERO_DIVISION"
    assert outcome(main, np.zeros(1), 0.0, 0.0) is None
    assert outcome(main, np.zeros(1), 5e-324, -1.0) is None
    reciprocal = checked("out[0] = a ** -1", "out, a")
    assert outcome(reciprocal, np.zeros(1), 0) == "ZERO_DIVISION"
    assert outcome(reciprocal, np.zeros(1), 4) is None


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "int64", "uint64"]
)
def test_stores_that_lose(kind):
    info = np.iinfo(kind)
    store, add = checked("out[0] = v", "out, v"), checked("out[0] += v", "out, v")
    for value in {info.min, info.max, 0, 1, info.min - 1, info.max + 1, -1, 2**31, BIG, LOW}:
        if not LOW <= value <= BIG:
            continue
        out = np.zeros(1, kind)
        fits = info.min <= value <= info.max
        assert outcome(store, out, value) == (None if fits else "LOSSY"), value
        if fits:
            assert int(out[0]) == value
        else:
            with pytest.raises(OverflowError):
                out[0] = value  # NumPy's answer
    if kind not in ("int64", "uint64"):
        out = np.array([info.max], kind)
        assert outcome(add, out, 0) is None and outcome(add, out, 1) == "LOSSY"
        assert out[0] == info.max


def test_bools_and_floats_are_stored_silently():
    main = checked("b[0] = v\n    f[0] = v\n    d[0] = v", "b, f, d, v")
    b, f, d = np.zeros(1, "bool"), np.zeros(1, "float32"), np.zeros(1, "float16")
    assert outcome(main, b, f, d, 2**62 + 1) is None
    assert (b[0], f[0], d[0]) == (True, 2.0**62, math.inf)


@pytest.mark.parametrize("source", ["float", "float32", "float64", "float16"])
@pytest.mark.parametrize("kind", ["int", "int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_floats_to_integers(source, kind):
    info = np.iinfo("int64" if kind == "int" else kind)
    dtype = np.dtype("float64" if source == "float" else source)
    cast = {"int": "int"}.get(kind, f"gpu.{kind}")
    read = "float(x[0])" if source == "float" else "x[0]"
    main = checked(f"out[0] = {cast}({read})", "out, x")
    top, bottom = dtype.type(float(info.max)), dtype.type(float(info.min))
    values = [0.0, -0.0, 0.99, -0.99, 1.5, math.nan, math.inf, -math.inf, 1e300, top, bottom]
    for v in (top, bottom):
        values += [np.nextafter(v, dtype.type(math.inf)), np.nextafter(v, dtype.type(-math.inf))]
        values += [v + dtype.type(1), v - dtype.type(1), v + dtype.type(0.5), v - dtype.type(0.5)]
    for value in values:
        with np.errstate(all="ignore"):
            x = np.array([value], dtype)
        exact = float(x[0])
        if math.isnan(exact):
            expected = "NAN_TO_INT"
        elif math.isinf(exact) or not info.min <= int(exact) <= info.max:
            expected = "LOSSY"
        else:
            expected = None
        out = np.zeros(1, "int64" if kind == "int" else kind)
        assert outcome(main, out, x) == expected, exact
        if expected is None:
            assert int(out[0]) == int(exact)


@pytest.mark.parametrize("function", ["round", "math.floor", "math.ceil", "math.trunc"])
def test_rounding_to_an_int(function):
    main = checked(f"out[0] = {function}(v)", "out, v")
    out = np.zeros(1, "int64")
    assert outcome(main, out, math.nan) == "NAN_TO_INT"
    assert outcome(main, out, math.inf) == "LOSSY"
    assert outcome(main, out, 2.0**63) == "LOSSY"
    assert outcome(main, out, -(2.0**63)) is None and out[0] == LOW


def test_float_stored_in_integers():
    main = checked("out[0] = v", "out, v")
    out = np.zeros(1, "uint8")
    for value, expected in (
        (255.9, None),
        (256.0, "LOSSY"),
        (-0.5, None),
        (-1.0, "LOSSY"),
        (math.nan, "NAN_TO_INT"),
    ):
        assert outcome(main, out, value) == expected


def test_joins_that_truncate():
    body = "z = gpu.int8(a)\n    if b:\n        z = a\n    out[0] = z"
    main = kit.kernel(f"def main(out, a, b):\n    {body}\n", "main", check=True)
    out = np.zeros(1, "int64")
    kit.single(main, out, 127, 1)
    assert out[0] == 127
    kit.single(main, out, 300, 0)  # the cast wraps, as casts do
    assert out[0] == 44
    with pytest.raises(OverflowError, match="128 does not fit int8"):
        kit.single(main, out, 128, 1)
    source = (
        "def pick(a, b):\n    if b:\n        return a\n    return gpu.uint8(a)\n\n"
        "def main(out, a, b):\n    out[0] = pick(a, b)\n"
    )
    main = kit.kernel(source, "main", check=True)
    kit.single(main, out, 255, 1)
    with pytest.raises(OverflowError, match="-1 does not fit uint8") as caught:
        kit.single(main, out, -1, 1)
    assert (caught.value.lineno, caught.value.function) == (3, "pick")


ANEW = """
def choice(out, x):
    v = x[0] if x[2] else x[1]
    if v < 0:
        v = gpu.uint32(9)
    out[0] = v

def either(out, x):
    v = x[0] or x[1]
    if v < 0:
        v = gpu.uint64(9)
    out[0] = v

def loop(out, x):
    v = 0
    for e in x:
        v = v + e
    if v < 0:
        v = gpu.uint8(9)
    out[0] = v

def pair(out, x):
    t = (x[0], True) if x[2] else (x[1], False)
    if t[0] < 0:
        t = (gpu.uint32(9), True)
    out[0] = t[0]

def result(out, x):
    def last(v):
        v = v if v > -9 else v - 1
        if v < 0:
            return gpu.uint16(9)
        return v
    out[0] = last(x[0])
"""


@pytest.mark.parametrize("name", ("choice", "either", "loop", "pair", "result"))
def test_an_int_that_is_assigned_anew_meets_nothing(name):
    main = kit.kernel(ANEW, name, check=True)
    for x, wanted in ((-1, 9), (2, 2)):
        out = np.zeros(1, "int64")
        kit.single(main, out, np.array([x, x, 0]))
        assert out[0] == (wanted if name != "loop" or x < 0 else 2 * x)


@pytest.mark.parametrize("name", ("choice", "either", "loop", "pair"))
def test_an_int_that_is_kept_meets_the_typed_one(name):
    kept = kit.kernel(ANEW.replace("< 0", "== 0"), name, check=True)
    with pytest.raises(OverflowError, match="does not fit uint"):
        kit.single(kept, np.zeros(1, "int64"), np.array([-1, -1, 0]))


def test_typed_integers_wrap_silently():
    main = checked("out[0] = gpu.uint32(a) * gpu.uint32(b) + b - 7 << 1", "out, a, b")
    out = np.zeros(1, "uint32")
    assert outcome(main, out, 2**32 - 5, 2**31 + 9) is None
    assert int(out[0]) == ((2**32 - 5) * (2**31 + 9) + 2**31 + 9 - 7 << 1) % 2**32
    for op in ("//", "%"):
        main = checked(f"out[0] = gpu.uint32(a) {op} gpu.uint32(b)", "out, a, b")
        assert outcome(main, out, 7, 0) == "ZERO_DIVISION" and outcome(main, out, 7, 2) is None
    main = checked("out[0] = gpu.int32(1) << b", "out, b")
    assert outcome(main, np.zeros(1, "int32"), -1) == "NEGATIVE_SHIFT"
    assert outcome(main, np.zeros(1, "int32"), 99) is None


UNBOUND = {
    "if": "    if a:\n        x = 1\n    out[0] = x\n",
    "loop": "    for k in range(a):\n        x = k + 1\n    out[0] = x\n",
    "loop variable": "    for x in range(1, a + 1):\n        pass\n    out[0] = x\n",
    "while": "    n = a\n    while n:\n        x = n\n        n -= 1\n    out[0] = x\n",
    "copied": "    if a:\n        x = 1\n    y = x\n    out[0] = y\n",
    "tuple": "    if a:\n        x = (1, 2.5)\n    out[0] = x[0]\n",
    "array": "    if a:\n        x = out\n        x[0] = 1\n    out[0] = x[0]\n",
    "nested": "    if a:\n        if b:\n            x = 1\n        else:\n            x = 1\n    if b:\n        out[0] = x\n    else:\n        out[0] = x + 0\n",
    "unused": "    if a:\n        x = 1\n    x\n    out[0] = 1\n",
    "one side": "    if a:\n        x = 1\n    out[0] = x if b else x\n",
    "both": "    if a:\n        x = 1\n    out[0] = 1 if b and x else 1\n",
    "constant": "    if a:\n        x = 1\n    out[x - 1] = 1\n",
    "function": "    out[0] = inner(a)\n",
    "deleted": "    x = 1\n    if not a:\n        del x\n    out[0] = x\n",
    "deleted twice": "    x = 1\n    if not a:\n        del x\n    del x\n    out[0] = 1\n",
    "deleted and set": "    x = 1\n    del x\n    if a:\n        x = 2\n    out[0] = x\n",
}  # fmt: skip
INNER = "def inner(a):\n    if a:\n        x = 1\n    return x\n\n"


@pytest.mark.parametrize("name", UNBOUND)
def test_variables_without_a_value(name):
    source = INNER + "def main(out, a, b):\n" + UNBOUND[name]
    main = kit.kernel(source, "main", check=True)
    plain = kit.function(source, "main")
    for a, b in ((1, 0), (1, 1), (0, 0), (0, 1)):
        wanted = None
        mine = np.zeros(2, "int64")
        try:
            plain(mine, a, b)
        except UnboundLocalError as e:
            wanted = e
        out = np.zeros(2, "int64")
        if wanted is None:
            kit.single(main, out, a, b)
            assert out.tolist() == mine.tolist()
            continue
        with pytest.raises(UnboundLocalError, match="'x'") as caught:
            kit.single(main, out, a, b)
        traceback = wanted.__traceback__
        while traceback.tb_next:
            traceback = traceback.tb_next
        assert caught.value.lineno == traceback.tb_lineno and caught.value.code == "UNBOUND"


def test_without_check_nothing_is_raised():
    main = kit.kernel(
        "def main(out, a, b):\n    if a == 0:\n        x = 1\n    out[0] = a * b + a // (b - b) + x\n",
        "main",
    )
    out = np.zeros(1, "int64")
    kit.single(main, out, BIG, 2)
    assert out[0] == -2


def test_bounds_by_name_index_and_shape():
    main = checked("grid[i, j] += 1", "grid, i, j")
    grid = np.zeros((2, 3), "float32")
    for i, j in ((1, 2), (-2, -3), (0, 0)):
        assert outcome(main, grid, i, j) is None
    for (i, j), text in {
        (2, 0): "index 2 is out of bounds for axis 0 of array 'grid' with shape (2, 3)",
        (0, -4): "index -4 is out of bounds for axis 1 of array 'grid' with shape (2, 3)",
    }.items():
        assert outcome(main, grid, i, j) == "OUT_OF_BOUNDS"
        with pytest.raises(IndexError) as caught:
            kit.single(main, grid, i, j)
        assert str(caught.value).splitlines()[0] == text


MESSAGES = [
    ("a + b", (BIG, 1), f"{BIG} + 1 does not fit 64 bits"),
    ("a * b", (LOW, -1), f"{LOW} * -1 does not fit 64 bits"),
    ("-a", (LOW, 0), f"-({LOW}) does not fit 64 bits"),
    ("a // b", (7, 0), "division by zero: 7 // 0"),
    ("a / 2.5 % b", (5, 0), "division by zero: 2.0 % 0.0"),
    ("gpu.uint64(a) // gpu.uint64(b)", (-1, 0), f"division by zero: {2**64 - 1} // 0"),
    ("a << b", (1, -2), "negative shift count: 1 << -2"),
    ("a ** b", (2, -1), "negative exponent of an integer: 2 ** -1"),
    ("int(a * 1e300)", (3, 0), "3e+300 does not fit int"),
    ("int(a * 1e300 * 1e300 * b)", (3, 0), "cannot convert float NaN to an integer"),
]


@pytest.mark.parametrize(("expression", "args", "text"), MESSAGES)
def test_messages(expression, args, text):
    main = kit.kernel(
        f"def main(out, a, b):\n    i = gpu.grid(1)\n    out[i, 0] = 1\n    if i == 70:\n        out[i, 1] = {expression}\n    out[i, 1] = 2\n",
        "main", check=True)  # fmt: skip
    out = gpu.to_device(np.zeros((128, 2)))
    for _ in range(2):
        with pytest.raises((ArithmeticError, ValueError)) as caught:
            main[4, 32](out, *args)
            gpu.synchronize()
        assert str(caught.value).splitlines()[0] == text
        assert (caught.value.lineno, caught.value.block, caught.value.thread) == (
            5,
            (2, 0, 0),
            (6, 0, 0),
        )
        host = out.copy_to_host()
        assert (host[:, 0] == 1).all() and (np.delete(host[:, 1], 70) == 2).all()
    main[4, 32](out, 0, 1)  # the device works on
    gpu.synchronize()


def test_debug_checks_too():
    main = kit.kernel("def main(out, a):\n    out[0] = a + a\n", "main", debug=True)
    with pytest.raises(OverflowError):
        kit.single(main, np.zeros(1, "int64"), BIG)


def test_checks_change_no_result():
    source = (
        "def main(out, x):\n    i = gpu.grid(1)\n    s = 0\n    t = 0.0\n    n = i\n"
        "    while n:\n        if n & 1:\n            s += n * x[n % len(x)] // (n + 1)\n            t = t * 0.5 + s ** 2 / (n << 3)\n"
        "        else:\n            s -= abs(-n) % 7\n            t -= 1\n        n -= 1\n    out[i] = t + s\n"
    )
    x = np.arange(-5, 12, dtype="int32")
    results = []
    for check in (False, True):
        out = np.zeros(64)
        kit.launch(kit.kernel(source, "main", check=check), 64, out, x)
        results.append(out.tobytes())
    assert results[0] == results[1]


AGREE = [
    ("i8[0] = a", 128, 0), ("i8[0] = a", -129, 0), ("u8[0] = a", -1, 0), ("i8[0] = a * 1.5", 100, 0),
    ("i8[0] = a / 1.0 * (a / 1e-308)", 100, 0), ("if b: x = 1\n    i8[0] = x", 1, 0),
    ("for x in range(b): pass\n    i8[0] = x", 1, 0),
    ("z = gpu.int8(a)\n    if b == 0: z = a\n    i8[0] = z", 1000, 0), ("i8[a] = 1", 5, 0),
    ("i8[0] = i8[-a]", 5, 0), ("i8[0] = math.floor(a * math.nan)", 1, 0),
    ("i8[0] = round(a * math.inf)", 1, 0), ("i8[0] = 0.0 ** -a", 1, 0),
    ("i8[0] = gpu.uint8(a) % gpu.uint8(b)", 1, 0), ("i8[0] = abs(a)", LOW, 0),
    ("i8[0:1] = a", 300, 0), ("i8[:] = a * 1.5", 200, 0),
    ("i8[0] = divmod(a, b)[0]", 7, 0), ("i8[0] = a << 1", 2**62, 0), ("i8[0] = a ** 3", 2**22, 0), ("i8[0] = a - b", LOW, 1),
    ("i8[0] = a // b", LOW, -1), ("i8[0] += a", 127, 0),
]  # fmt: skip


@pytest.mark.parametrize(("body", "a", "b"), AGREE)
def test_the_python_device_raises_the_same(body, a, b):
    i8, u8 = np.ones(1, "int8"), np.ones(1, "uint8")
    kit.agree_raises(f"def kernel(i8, u8, a, b):\n    {body}\n", (i8, u8, a, b), check=True)


@pytest.mark.parametrize(("expression", "args", "text"), MESSAGES)
def test_the_python_device_says_the_same(expression, args, text):
    source = f"def kernel(out, a, b):\n    out[0] = {expression}\n"
    kit.agree_raises(source, (np.zeros(1), *args), match=text, check=True)
