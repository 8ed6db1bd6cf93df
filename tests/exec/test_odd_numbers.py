"""Odd numbers: extremes, typed integers, halves; by NumPy where its rules are ours, else as stated."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007, SIM300

import math
import re

import gpu
import kit
import numpy as np
import pytest
from odd import OPTIONS, Cases, floats, ints, out

UNCHECKED = tuple(o for o in OPTIONS if "check" not in o)  # what narrows loses bits

CASES = Cases()
case = CASES.add

LOW, HIGH = -(2**63), 2**63 - 1
EDGES = (LOW, LOW + 1, -(2**32), -7, -2, -1, 0, 1, 2, 7, 2**31, 2**53 + 1, HIGH - 1, HIGH)


def wrap(n, bits=64, signed=True):
    n %= 1 << bits
    return n - (1 << bits) if signed and n >> (bits - 1) else n


def test_int_extremes_in_pairs():
    def kernel(x, o):
        for i, a in enumerate(x):
            for j, b in enumerate(x):
                p = o[i, j]
                p[0], p[1], p[2] = a + b, a - b, a * b
                p[3], p[4] = a // b, a % b
                p[5], p[6] = divmod(a, b)
                p[7], p[8] = min(a, b), max(b, a)
                p[9] = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (-a > b) + 16 * (abs(a) < abs(b))
                p[10] = a ^ b & a | ~b
                p[11] = a << (b & 127)
                p[12] = a >> (b & 127)
                p[13] = pow(a, b & 15)
                p[14] = math.gcd(a, b)

    n = len(EDGES)
    got = kit.agree(kernel, (ints(*EDGES), out(n, n, 15)))[1]
    for i, a in enumerate(EDGES):
        for j, b in enumerate(EDGES):
            neg, mag = wrap(-a), (wrap(abs(a)), wrap(abs(b)))
            q, r = (a // b, a % b) if b else (0, 0)
            flags = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (neg > b) + 16 * (mag[0] < mag[1])
            expected = [a + b, a - b, a * b, q, r, q, r, min(a, b), max(b, a), flags,
                        a ^ b & a | ~b, a << (b & 127), a >> (b & 127), a ** (b & 15),
                        math.gcd(a, b)]  # fmt: skip
            assert got[i, j].tolist() == [wrap(e) for e in expected], (a, b)


UNSIGNED = (0, 1, 2, 255, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1025, 2**64 - 1)


def test_less_a_truth():
    """x - True and x - False are additions of -1 and of -0, for -0.0 and in products too."""

    def kernel(x, o):
        for i, a in enumerate(x):
            for j, b in enumerate(x):
                p = o[i, j]
                p[0], p[1], p[2] = a - (b <= 0), -gpu.float32(a < b), a * b - (b > 0)
                p[3] = gpu.float32(-1) if a < b else gpu.float32(-0.0)

    x = np.array([0, -0.0, 1, -1, 2.5, np.inf, np.nan], np.float32)
    n = len(x)
    o = kit.agree(kernel, (x, np.zeros((n, n, 4), np.float32)))[1]
    a, b = x[:, None], x[None, :]
    with np.errstate(invalid="ignore"):
        expected = (a - (b <= 0), -(a < b).astype("f4"), a * b - (b > 0), np.where(a < b, -1, -0.0))
    for i, e in enumerate(expected):
        e = np.broadcast_to(np.asarray(e, "f4"), (n, n))
        assert np.array_equal(o[..., i], e, equal_nan=True)
        known = ~np.isnan(e)
        assert np.array_equal(np.signbit(o[..., i])[known], np.signbit(e)[known]), i


def test_uint64_elements_with_floats_and_ints():
    def kernel(x, o, f, c):
        for i, a in enumerate(x):
            o[i, 0], o[i, 1], o[i, 2] = a + 1, a * 3, a - 5
            o[i, 3], o[i, 4] = a // 3, a % 7
            o[i, 5], o[i, 6] = -a, ~a
            o[i, 7], o[i, 8] = a >> 63, a << 1
            f[i, 0], f[i, 1], f[i, 2] = a, a + 0.5, a / 2
            f[i, 3], f[i, 4] = math.sqrt(a), float(a) * -1
            f[i, 5] = a // 1.0
            c[i, 0], c[i, 1], c[i, 2] = a > -1, a == -1, a < 2**63
            c[i, 3], c[i, 4] = a > 9.2e18, a != a - 0.0
            c[i, 5] = 0 < a <= 255

    x = np.array(UNSIGNED, np.uint64)
    n = len(x)
    args = (x, out(n, 9, dtype=np.uint64), out(n, 6, dtype=np.float64), out(n, 6, dtype=bool))
    _, o, f, c = kit.agree(kernel, args, fma=False)
    for i, a in enumerate(UNSIGNED):
        whole = [a + 1, a * 3, a - 5, a // 3, a % 7, -a, ~a, a >> 63, a << 1]
        assert o[i].tolist() == [wrap(e, 64, False) for e in whole]
        g = float(a)
        assert f[i].tolist() == [g, g + 0.5, g / 2, math.sqrt(g), -g, g // 1.0]
        assert c[i].tolist() == [True, False, a < 2**63, g > 9.2e18, False, 0 < a <= 255]


TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BINARY = ("a + b", "a - b", "a * b", "a // b", "a % b", "a & b", "a | b", "a ^ b", "max(a, b)",
          "min(a, b)", "divmod(a, b)[1]", "a if a < b else b")  # fmt: skip


@pytest.mark.parametrize("left", TYPES)
def test_typed_integers_in_pairs(left):
    """NumPy's own values for the same scalars; by zero both give 0."""
    others = [
        t for t in TYPES if not ("uint64" in (left, t) and np.dtype(left).kind != np.dtype(t).kind)
    ]
    lines = [
        "def kernel(x, o):",
        "    for i in range(x.shape[0]):",
        "        for j in range(x.shape[0]):",
    ]
    tests = [(t, e) for t in others for e in BINARY]
    for k, (t, e) in enumerate(tests):
        lines.append(f"            a, b = np.{left}(x[i]), np.{t}(x[j])")
        lines.append(f"            o[{k}, i, j] = np.int64({e})")
    f = kit.function("\n".join(lines) + "\n")
    x = ints(0, 1, -1, 3, 127, 128, 200, -32768, 65535, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63))
    n = len(x)
    got = kit.agree(f, (x, out(len(tests), n, n)))[1]
    with np.errstate(all="ignore"):
        for k, (t, e) in enumerate(tests):
            for i in range(n):
                for j in range(n):
                    a, b = x[i].astype(left), x[j].astype(t)
                    value = eval(e, {"a": a, "b": b})
                    common = (
                        np.result_type(a, b) if e.startswith("m") or " if " in e else value.dtype
                    )
                    expected = np.asarray(value).astype(common).astype(np.int64)
                    assert got[k, i, j] == expected, (left, t, e, a, b)


def test_shifts_and_powers_of_typed_integers():
    """The left type counts; counts beyond the width give 0 or the sign, negative ones 0."""
    lines = [
        "def kernel(x, s, o):",
        "    for i in range(len(x)):",
        "        for j in range(len(s)):",
    ]
    for k, t in enumerate(TYPES):
        lines.append(f"            a = gpu.{t}(x[i])")
        lines.append(f"            o[{k}, i, j, 0] = gpu.int64(a << s[j])")
        lines.append(f"            o[{k}, i, j, 1] = gpu.int64(a >> s[j])")
        lines.append(f"            o[{k}, i, j, 2] = gpu.int64(a ** s[j])")
        lines.append(f"            o[{k}, i, j, 3] = gpu.int64(a >> gpu.uint8(s[j]))")
        lines.append(f"            a <<= gpu.int16(s[j]); o[{k}, i, j, 4] = gpu.int64(a)")
    x = (0, 1, -1, 5, 127, -128, 255, 40000, 2**31, -(2**31), 2**63 - 1, -(2**63))
    s = (0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 200, -1, -70)
    f = kit.function("\n".join(lines) + "\n")
    got = kit.agree(f, (ints(*x), ints(*s), out(len(TYPES), len(x), len(s), 5)))[2]
    for k, t in enumerate(TYPES):
        bits, signed = np.dtype(t).itemsize * 8, t[0] == "i"
        for i, v in enumerate(x):
            a = wrap(v, bits, signed)
            for j, n in enumerate(s):
                m = n % 256
                left = wrap(a << n, bits, signed) if 0 <= n else 0
                right = a >> n if 0 <= n else 0
                power = wrap(a**n, bits, signed) if n >= 0 else 0
                expected = [left, right, power, a >> m, left]
                assert got[k, i, j].tolist() == [wrap(e) for e in expected], (t, a, n)


def test_floats_become_integers():
    lines = ["def kernel(x, o):", "    for i in range(len(x)):"]
    for k, t in enumerate(TYPES):
        lines.append(f"        o[{k}, i, 0] = np.int64(gpu.{t}(x[i]))")
        lines.append(f"        o[{k}, i, 1] = np.int64(gpu.{t}(gpu.float32(x[i])))")
        lines.append(f"        o[{k}, i, 2] = np.int64(x[i].astype(np.{t}))")
    lines += [
        "        o[8, i, 0], o[8, i, 1], o[8, i, 2] = int(x[i]), round(x[i]), math.floor(x[i])"
    ]
    f = kit.function("\n".join(lines) + "\n")
    x = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 127.9, 128.0, -129.5, 255.5, 256.0, 65536.0, 2.0**31,
         -(2.0**31), 2.0**32, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300,
         math.inf, -math.inf, math.nan]  # fmt: skip
    got = kit.agree(f, (floats(*x), out(9, len(x), 3)))[1]

    def fit(v, whole, bits, signed):
        if v != v:
            return 0
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if math.isinf(v):
            return high if v > 0 else low
        return min(max(whole(v), low), high)

    for i, v in enumerate(x):
        with np.errstate(all="ignore"):
            single = float(np.float32(v))
        for k, t in enumerate(TYPES):
            bits, signed = np.dtype(t).itemsize * 8, t[0] == "i"
            expected = [fit(a, math.trunc, bits, signed) for a in (v, single, v)]
            assert got[k, i].tolist() == [wrap(e) for e in expected], (t, v)
        expected = [fit(v, w, 64, True) for w in (math.trunc, round, math.floor)]
        assert got[8, i].tolist() == expected, v


FLOATS = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, 0.1, 7.75, -7.75, 65504.0, 1e-7, 6e-8, 1e-40, 3e38,
          math.inf, -math.inf, math.nan)  # fmt: skip
FLOAT_OPS = ("a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "divmod(a, b)[0]", "a ** 2",
             "a * b + a", "-a", "abs(b)", "a if a < b else b", "a + 1", "3 * b", "a - 0.1", "a / 2",
             "a // 2", "a % 3", "a * 0.3 - b", "np.fmod(a, b)", "np.copysign(a, b)", "np.sqrt(a)",
             "np.maximum(a, b)", "np.fmin(a, b)", "np.rint(a)", "np.floor(b)", "np.trunc(a)",
             "np.sign(a)", "np.square(a)", "np.nextafter(a, b)", "np.spacing(a)")  # fmt: skip


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "bfloat16"])
def test_typed_floats_in_pairs(kind):
    import warnings

    scalar = (
        np.dtype(kind).type if kind != "bfloat16" else pytest.importorskip("ml_dtypes").bfloat16
    )
    store = "float32" if kind == "bfloat16" else kind
    weak = re.compile(r"\b[0-9]|np\.")  # ml_dtypes has other rules for Python's numbers
    ops = [
        e
        for e in FLOAT_OPS
        if kind != "float16" or "spacing" not in e
        if kind != "bfloat16" or not weak.search(e.replace("[0]", ""))
    ]
    lines = ["def kernel(x, o):", "    for i in range(x.shape[0]):", "        for j in range(x.shape[0]):",
             f"            a, b = gpu.{kind}(x[i]), gpu.{kind}(x[j])"]  # fmt: skip
    lines += [f"            o[{k}, i, j] = {e}" for k, e in enumerate(ops)]
    x = floats(*FLOATS)
    n = len(x)
    got = kit.agree(
        kit.function("\n".join(lines) + "\n"), (x, out(len(ops), n, n, dtype=store)), fma=False
    )[1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, e in enumerate(ops):
            if kind in ("bfloat16", "float16") and (
                "//" in e or "%" in e or "divmod" in e or "fmod" in e
            ):
                continue  # through float32, checked against the python device alone
            for i in range(n):
                for j in range(n):
                    a, b = scalar(x[i]), scalar(x[j])
                    value = np.asarray(eval(e, {"a": a, "b": b, "np": np})).astype(store)[()]
                    zeros = e.startswith("np.") and a == b == 0  # NumPy's choice varies
                    sign = zeros or np.signbit(value) == np.signbit(got[k, i, j])
                    ok = value == got[k, i, j] and sign
                    assert ok or value != value and got[k, i, j] != got[k, i, j], (
                        e,
                        a,
                        b,
                        got[k, i, j],
                        value,
                    )


@case(
    np.array([1, 2, 200], np.uint8),
    np.array([-1, 2, -300], np.int16),
    out(8),
    python=False,
    options=UNCHECKED,
    expect=[0, 457, 44, 65535, -300, 45, 1, 4],
)
def elements_of_narrow_arrays_are_ints(x, y, o):
    o[0] = x[0] + y[0]
    o[1] = x[2] + 257
    x[2] = 300
    o[2] = x[2]
    o[3] = gpu.uint16(y[0])
    y[2] -= 0
    o[4] = y[2]
    x[2] += 1
    o[5] = x[2]
    y[1] **= 0
    o[6] = y[1]
    o[7] = x[1] << y[1] << 0


@case(
    ints(1, 200, -5),
    out(10),
    python=False,
    expect=[56, 44, 400, 251, 255, 0, -56, 3, 4294967291, 4294967295],
)
def casts_and_mixes(x, o):
    a = gpu.uint8(x[1])
    o[0] = -a
    o[1] = a + 100
    o[2] = int(a) * 2
    o[3] = gpu.uint8(x[2])
    o[4] = ~gpu.uint8(0)
    o[5] = gpu.uint8(0) * x[1]
    o[6] = gpu.int8(a)
    o[7] = (a > -1) + (a == 200) + (gpu.int8(a) < 0)
    o[8] = gpu.uint32(x[2])
    o[9] = gpu.int64(gpu.uint32(0) - 1)


@case(ints(0, 1, 2, 3), out(5), python=False, expect=[4294967295, 1, 36028797018963968, 12, 0])
def an_xorshift_of_typed_integers(x, o):
    a = np.uint32(x[0] - 1)
    o[0] = a
    s = np.uint64(1)
    n = 0
    for i in range(64):
        s ^= s << 13
        s ^= s >> 7
        s ^= s << 17
        n += int(s & 1)
    o[1] = s == np.uint64(expected_xorshift)
    s = np.uint64(1) << 55
    o[2] = s
    b = np.uint16(3)
    b *= 4
    o[3] = b
    b <<= 15
    o[4] = b


def xorshift(n):
    s = 1
    for _ in range(n):
        s ^= s << 13 & 2**64 - 1
        s ^= s >> 7
        s ^= s << 17 & 2**64 - 1
    return s


expected_xorshift = np.uint64(xorshift(64))


@case(floats(2.5, -3.5, 0.5, 1e19, 7.125), out(5, 6, dtype=np.float64))
def rounding(x, o):
    for i in range(3):
        o[i, 0] = round(x[i])
        o[i, 1] = math.floor(x[i]) + math.ceil(x[i]) * 10 + math.trunc(x[i]) * 100
    for i in range(5):
        o[i, 2] = round(x[i], 1)
        o[i, 3] = np.round(x[i], 2)
        o[i, 4] = x[i] - np.floor(x[i])
        o[i, 5] = x[i] // 1 + x[i] % 1


@case(ints(125, -15, 25, 0), out(4, 3))
def rounding_of_integers(x, o):
    for i in range(4):
        o[i, 0] = round(int(x[i]), -1)
        o[i, 1] = round(int(x[i]), 2)
        o[i, 2] = round(int(x[i]), -2) + round(int(x[i]))


@case(ints(3, -4), floats(0.5, -1.25), out(8, dtype=np.float64))
def powers(x, f, o):
    o[0] = x[0] ** 3 + x[1] ** 2
    o[1] = f[1] ** 3 + f[0] ** -2
    o[2] = int(x[0]) ** -1
    o[3] = 2 ** x[0]
    o[4] = f[0] ** x[0]
    o[5] = pow(int(x[0]), 100, 7) + pow(int(x[1]), 3, -5)
    o[6] = (-1.0) ** x[0]
    o[7] = x[0] ** True + x[1] ** False


@case(out(10, dtype=np.float64))
def limits(o):
    o[0] = np.finfo(np.float32).eps
    o[1] = np.finfo(np.float64).max
    o[2] = np.iinfo(np.int16).min
    o[3] = np.iinfo("uint32").max
    o[4] = np.finfo(np.float16).tiny
    o[5] = np.iinfo(np.int64).max
    o[6] = np.pi + np.e + np.inf
    o[7] = np.finfo(float).bits + np.iinfo(np.uint8).bits
    o[8] = math.tau - math.inf
    o[9] = np.finfo(np.float32).smallest_subnormal


@case(ints(5), floats(2.5), out(12))
def isinstance_in_all_forms(x, f, o):
    o[0] = isinstance(1, int) + isinstance(True, int) * 2 + isinstance(1.0, int) * 4
    o[1] = isinstance(f[0], float)
    o[2] = isinstance(f[0], (int, float))
    o[3] = isinstance((1, 2), tuple)
    o[4] = isinstance(np.float32(1), np.floating) + isinstance(np.int8(1), np.integer) * 2
    o[5] = isinstance(np.uint8(3), np.unsignedinteger) + isinstance(np.int8(3), np.signedinteger)
    o[6] = isinstance(None, type(None)) if False else isinstance(1.5, float)
    o[7] = isinstance(np.int32(4), np.int32) + isinstance(np.int32(4), np.int64)
    o[8] = isinstance(True, bool) + isinstance(1, bool)
    o[9] = isinstance(np.float32(4), np.number) + isinstance(np.float32(4), np.generic)
    if isinstance(x[0], tuple):
        o[10] = x[0][3]
    else:
        o[10] = 1


@case(floats(0.0, -0.0, 1.0, -2.0, np.nan, np.inf), out(6, 5))
def truth_of_numbers(x, o):
    for i in range(6):
        v = x[i]
        o[i, 0] = 1 if v else 0
        o[i, 1] = not v
        o[i, 2] = bool(v)
        o[i, 3] = 1 if v != v else 2 if v < 0 else 3
        n = 0
        while v and n < 3:
            v /= 1e200
            n += 1
        o[i, 4] = n


@case(np.array([1.5, 0.1, 3e4, -2.25], np.float16), out(4, 5, dtype=np.float16))
def float16_in_everything(x, o):
    s = x[0] * 0
    for i, v in enumerate(x):
        s += v
        t = (v, s)
        a, b = t[::-1]
        o[i, 0] = a
        o[i, 1] = b * 2 if b > 1 else b / 3
        o[i, 2] = max(a, b) - min(a, b)
        o[i, 3] = (lambda p, q=v: p * q)(b)
        match i:
            case 0 | 2:
                o[i, 4] = v + i
            case _:
                o[i, 4] = -v


@case(np.array([1.5, 0.1, 3.5, -2.25], np.float32), out(3, dtype=np.float32))
def builtins_on_arrays_of_float32(x, o):
    o[0] = sum(x)
    o[1] = max(x) * min(x)
    o[2] = sum(x[::-1], x[0])


@case(np.array([3, 1, 2], np.int32), out(5), python=False, expect=[6, 3, 2, 1, 12])
def builtins_on_arrays_of_int32(x, o):
    o[0] = sum(x)
    o[1] = max(x)
    o[2] = sorted_middle(*x_tuple(x))
    o[3] = min(x)
    o[4] = sum(x, sum(x[:2], x[2]))


def x_tuple(x):
    return x[0], x[1], x[2]


def sorted_middle(a, b, c):
    return max(min(a, b), min(max(a, b), c))


@case(ints(7, -7, 2), floats(7.5, -7.5, 2.0), out(6, dtype=np.float64))
def divmod_in_odd_forms(x, f, o):
    a, b = divmod(x[0], x[2])
    o[0] = a * 10 + b
    q, r = divmod(f[1], f[2])
    o[1] = q * 10 + r
    o[2] = divmod(x[1], f[2])[0]
    o[3] = sum(divmod(x[1], 3))
    (c, d), e = divmod(x[0], 4), 5
    o[4] = c + d * e
    o[5] = max(divmod(f[0], -f[2]))


@case(ints(10, 20), out(4), python=False, expect=[-1, 0, 1, 5])
def minimum_and_maximum_exactly(x, o):
    u = gpu.uint64(2**64 - 1)
    o[0] = gpu.int64(max(u, gpu.uint64(5)))
    o[1] = u < x[0]
    o[2] = u > -1
    o[3] = min(5, gpu.uint64(x[0])) if True else 0


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
