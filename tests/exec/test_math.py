"""Every function of math, in double and in single, against Python's and within ulps.

The bounds are what docs/semantics.md promises for all devices: ULPS below, in units in the last place
of the type. Domain errors give IEEE's result instead of an exception.
"""

import math

import gpu
import kit
import numpy as np
import pytest

INF, NAN = math.inf, math.nan
GRID = [0.0, -0.0, 1e-300, 1e-30, 1e-8, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99999, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 20.0, 50.0,
        88.0, 100.0, 700.0, 1e4, 1e10, 1e300, INF, NAN]  # fmt: skip
VALUES = [*GRID, *(-v for v in GRID[2:-1])]

# Name: bound for double, bound for single.
ULPS = {
    "acos": (2, 2), "acosh": (3, 4), "asin": (2, 2), "asinh": (3, 3), "atan": (2, 2), "atanh": (3, 3), "cbrt": (1, 1),
    "cos": (2, 2), "cosh": (2, 2), "erf": (2, 2), "erfc": (5, 4), "exp": (1, 2), "exp2": (2, 2), "expm1": (2, 2),
    "gamma": (10, 6), "lgamma": (4, 6), "log": (2, 2), "log10": (2, 2), "log1p": (2, 2), "log2": (2, 2),
    "sin": (2, 2), "sinh": (2, 3), "tan": (2, 4), "tanh": (2, 2), "sqrt": (0, 0), "fabs": (0, 0), "degrees": (1, 1),
    "radians": (1, 1), "ulp": (0, 0),
    "atan2": (2, 3), "fmod": (0, 0), "pow": (2, 4), "remainder": (0, 0), "copysign": (0, 0), "nextafter": (0, 0),
    "hypot": (2, 3),
}  # fmt: skip
ONE = [
    n
    for n in ULPS
    if n not in ("atan2", "fmod", "pow", "remainder", "copysign", "nextafter", "hypot")
]
TWO = ["atan2", "fmod", "pow", "remainder", "copysign", "hypot"]


def reference(name: str, *args: float) -> float:
    """Python's result; where it raises, IEEE's."""
    if name == "exp2" and not hasattr(math, "exp2"):
        return reference("pow", 2.0, args[0])
    if name == "cbrt" and not hasattr(math, "cbrt"):
        return float(np.cbrt(args[0]))
    try:
        return getattr(math, name)(*args)
    except (ValueError, OverflowError):
        return SPECIAL[name](*args) if name in SPECIAL else NAN


def is_odd(y: float) -> bool:
    return math.isfinite(y) and y == int(y) and int(y) % 2 == 1


def pow_special(x: float, y: float) -> float:
    if x == 0:
        return math.copysign(INF, x) if is_odd(y) else INF
    if x < 0 and y != int(y):
        return NAN
    return -INF if x < 0 and is_odd(y) else INF


# What IEEE gives where Python raises.
SPECIAL = {
    "exp": lambda x: INF, "exp2": lambda x: INF, "expm1": lambda x: INF, "cosh": lambda x: INF,
    "sinh": lambda x: math.copysign(INF, x), "pow": pow_special,
    "atanh": lambda x: math.copysign(INF, x) if abs(x) == 1 else NAN,
    "log": lambda x: -INF if x == 0 else NAN, "log10": lambda x: -INF if x == 0 else NAN,
    "log2": lambda x: -INF if x == 0 else NAN, "log1p": lambda x: -INF if x == -1 else NAN,
    "gamma": lambda x: math.copysign(INF, x) if x == 0 else NAN if x < 0 else INF, "lgamma": lambda x: INF,
    "hypot": lambda x, y: INF,
}  # fmt: skip


def compute(name: str, dtype: str, *columns: list) -> tuple[list, list]:
    """The inputs as the type has them, and the kernel's results."""
    names = "xyz"[: len(columns)]
    source = (f"def kernel({', '.join(names)}, out):\n    i = gpu.grid(1)\n    if i < out.size:\n"
              f"        out[i] = math.{name}({', '.join(f'{n}[i]' for n in names)})\n")  # fmt: skip
    with np.errstate(over="ignore"):
        arrays = [np.array(c).astype(dtype) for c in columns]
    out = np.zeros(len(columns[0]), "float64")
    ulps = ULPS.get(name, (0, 0))[dtype == "float32"]
    reference = name not in ("lgamma", "gamma")  # near the zeros of lgamma there is no bound
    kit.launch(kit.kernel(source), out.size, *arrays, out, ulps=ulps, of=dtype, reference=reference)
    return list(zip(*(a.astype("float64").tolist() for a in arrays), strict=True)), out.tolist()


def check(name: str, dtype: str, args: tuple, got: float, exact: float, ulps: float) -> None:
    with np.errstate(over="ignore"):
        expected = float(np.array(exact).astype(dtype))
    what = f"{name}{args} in {dtype}: {got!r}, expected {expected!r}"
    assert got == float(np.array(got).astype(dtype)) or got != got, f"not a {dtype}: {what}"
    assert kit.close_float(got, expected, dtype, ulps), what


def skipped(name: str, dtype: str, args: tuple) -> bool:
    """Where the reference itself is not good enough: the argument's reduction or its own rounding."""
    x = args[0]
    if name == "lgamma" and 0.5 < x <= 2.5 and x not in (1, 2):
        return True
    if name in ("lgamma", "gamma") and (x < 0 or abs(x) < 1e-300):
        return not (math.isinf(x) or x == 0)
    if name in ("degrees", "radians"):
        return dtype == "float32" and (abs(x) > 1e30 or 0 < abs(x) < 1e-36)
    return False


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ONE)
def test_one_argument(name, dtype):
    bound = ULPS[name][dtype == "float32"]
    for args, got in zip(*compute(name, dtype, VALUES), strict=True):
        if name == "ulp":
            x = abs(args[0])
            exact = float(np.spacing(np.array(x, dtype))) if math.isfinite(x) else x
        else:
            exact = reference(name, *args)
        if not skipped(name, dtype, args):
            check(name, dtype, args, got, exact, bound)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", TWO)
def test_two_arguments(name, dtype):
    few = [
        0.0,
        -0.0,
        1e-30,
        0.5,
        -0.75,
        1.0,
        -1.0,
        2.0,
        -2.5,
        3.0,
        7.0,
        -10.0,
        100.25,
        1e10,
        INF,
        -INF,
        NAN,
    ]
    pairs = [(x, y) for x in few for y in few]
    columns = [[p[0] for p in pairs], [p[1] for p in pairs]]
    bound = ULPS[name][dtype == "float32"]
    for args, got in zip(*compute(name, dtype, *columns), strict=True):
        check(name, dtype, args, got, reference(name, *args), bound)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nextafter(dtype):
    few = [0.0, -0.0, 1.0, -1.0, 0.1, 3e38, INF, -INF, NAN]
    pairs = [(x, y) for x in few for y in few]
    columns = [[p[0] for p in pairs], [p[1] for p in pairs]]
    for args, got in zip(*compute("nextafter", dtype, *columns), strict=True):
        with np.errstate(all="ignore"):
            exact = float(np.nextafter(*(np.array(a, dtype) for a in args)))
        check("nextafter", dtype, args, got, exact, 0)


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tests(name, dtype):
    for (x,), got in zip(*compute(name, dtype, VALUES), strict=True):
        assert bool(got) == getattr(math, name)(x)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounding(name, dtype):
    for (x,), got in zip(*compute(name, dtype, VALUES), strict=True):
        limit = 2.0**63
        if math.isnan(x):
            assert got == 0
        elif abs(x) < limit:
            assert got == getattr(math, name)(x)
        else:
            assert got == math.copysign(limit, x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pairs(dtype):
    source = (
        "def kernel(x, out):\n    i = gpu.grid(1)\n    if i < x.size:\n        m, e = math.frexp(x[i])\n"
        "        out[0, i] = m\n        out[1, i] = e\n        f, w = math.modf(x[i])\n        out[2, i] = f\n"
        "        out[3, i] = w\n        out[4, i] = math.ldexp(m, e)\n"
    )
    with np.errstate(over="ignore"):
        x = np.array([*VALUES, 5e-324, 1e-310, 2.0**-149, 2.0**-140]).astype(dtype)
    out = np.zeros((5, x.size))
    kit.launch(kit.kernel(source), x.size, x, out)
    for i, value in enumerate(x.astype("float64").tolist()):
        if math.isfinite(value):
            assert (out[0, i], out[1, i]) == math.frexp(value), value
        assert kit.same_float(out[2, i], math.modf(value)[0]), value
        assert kit.same_float(out[3, i], math.modf(value)[1]), value
        assert kit.same_float(out[4, i], value), value


def test_ldexp_extremes():
    source = "def kernel(x, e, out):\n    i = gpu.grid(1)\n    if i < e.size:\n        out[i] = math.ldexp(x[i], e[i])\n"
    cases = [(1.0, 1023, 2.0**1023), (1.0, 1024, INF), (1.0, -1074, 5e-324), (1.0, -1075, 0.0), (3.0, 2**62, INF),
             (3.0, -(2**62), 0.0), (0.0, 2**62, 0.0), (1.5, -1074, 1e-323), (-1.0, 5000, -INF)]  # fmt: skip
    x, e = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    out = np.zeros(len(cases))
    kit.launch(kit.kernel(source), len(cases), x, e, out)
    assert out.tolist() == [c[2] for c in cases]


def test_integers_give_a_weak_float():
    source = (
        "def kernel(x, out):\n    out[0] = math.sqrt(x[0])\n    out[1] = math.sqrt(gpu.uint8(x[0])) * gpu.float32(1)\n"
        "    out[2] = math.log(True)\n    out[3] = math.atan2(x[0], 2)\n"
    )
    out = np.zeros(4)
    kit.single(kit.kernel(source), np.array([2]), out)
    assert out.tolist() == [math.sqrt(2), float(np.float32(math.sqrt(2))), 0, math.atan2(2, 2)]


def test_integer_functions():
    source = (
        "def kernel(a, b, out):\n    i = gpu.grid(1)\n    if i < a.size:\n        out[0, i] = math.gcd(a[i], b[i])\n"
        "        out[1, i] = math.isqrt(abs(a[i]))\n        out[2, i] = math.gcd(a[i], b[i], 6)\n"
        "        out[3, i] = math.gcd()\n        out[4, i] = math.isqrt(-5)\n"
    )
    a = np.array([0, 0, 12, -12, 17, 2**62, 2**53 + 1, 2**63 - 1, 99, 10**18])
    b = np.array([0, 5, 18, 18, 5, 2**40, 3, 7, -9, 10**9])
    out = np.zeros((5, a.size), "int64")
    kit.launch(kit.kernel(source), a.size, a, b, out)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert out[0].tolist() == [math.gcd(x, y) for x, y in pairs]
    assert out[1].tolist() == [math.isqrt(abs(x)) for x, _ in pairs]
    assert out[2].tolist() == [math.gcd(x, y, 6) for x, y in pairs]
    assert not out[3:].any()


def test_more_forms():
    source = (
        "def kernel(x, out):\n    a = x[0]\n    b = x[1]\n    out[0] = math.log(a, b)\n    out[1] = math.hypot(a, b, 3.0)\n"
        "    out[2] = math.fma(a, b, 1.0)\n    out[3] = math.isclose(a, a + 1e-12)\n    out[4] = math.isclose(a, b, rel_tol=0.5)\n"
        "    out[5] = math.isclose(a, b, abs_tol=10.0)\n    out[6] = math.isclose(a, b)\n    out[7] = math.hypot(a)\n"
        "    out[8] = math.hypot(math.inf, math.nan)\n    out[9] = math.e + math.pi + math.tau\n    out[10] = math.inf\n"
        "    out[11] = math.nan\n    out[12] = math.isclose(math.inf, math.inf)\n"
    )
    a, b = 4.5, 3.0
    out = np.zeros(13)
    kit.single(kit.kernel(source), np.array([a, b]), out)
    assert kit.close_float(out[0], math.log(a, b), "float64", 2)
    assert kit.close_float(out[1], math.hypot(a, b, 3.0), "float64", 2)
    assert out[2:8].tolist() == [a * b + 1, 1, math.isclose(a, b, rel_tol=0.5), 1, 0, a]
    assert out[8] == INF
    assert kit.close_float(out[9], math.e + math.pi + math.tau, "float64", 1)
    assert (out[10], out[12]) == (INF, 1)
    assert math.isnan(out[11])


def test_lcm():
    source = (
        "def kernel(a, b, out):\n    i = gpu.grid(1)\n    if i < a.size:\n        out[0, i] = math.lcm(a[i], b[i])\n"
        "        out[1, i] = math.lcm(a[i], b[i], 6)\n        out[2, i] = math.lcm()\n        out[3, i] = math.lcm(a[i])\n"
    )
    a = np.array([0, 0, 12, -12, 17, 2**31, 2**20 + 1, 99])
    b = np.array([0, 5, 18, 18, 5, 2**10, 3, -9])
    out = np.zeros((4, a.size), "int64")
    kit.launch(kit.kernel(source), a.size, a, b, out)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert out[0].tolist() == [math.lcm(x, y) for x, y in pairs]
    assert out[1].tolist() == [math.lcm(x, y, 6) for x, y in pairs]
    assert out[2].tolist() == [1] * a.size
    assert out[3].tolist() == np.abs(a).tolist()


def test_fma_rounds_once():
    x = np.array([1 + 2.0**-30, 1 - 2.0**-30, -1.0])
    out = np.zeros(1)
    kit.single(kit.kernel("def kernel(x, out):\n    out[0] = math.fma(x[0], x[1], x[2])\n"), x, out)
    assert out[0] == -(2.0**-60)
    out[0] = 0
    kit.single(kit.kernel("def kernel(x, out):\n    out[0] = gpu.fma(x[0], x[1], x[2])\n"), x, out)
    assert out[0] == -(2.0**-60)


def test_every_function_of_the_table_is_tested():
    """The list above and the kernel namespace agree."""
    known = {*ULPS, "isfinite", "isinf", "isnan", "floor", "ceil", "trunc", "frexp", "modf", "ldexp", "gcd", "lcm", "isqrt",
             "isclose", "fma"}  # fmt: skip
    if hasattr(gpu, "intrinsics"):
        assert {n.removeprefix("math.") for n in gpu.intrinsics() if n.startswith("math.")} == known
    for name in known:
        assert callable(getattr(math, name, abs))
