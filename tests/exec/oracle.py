"""The number rules of kernels, in Python: an independent model that kernels are compared with.

A Num is a value of one of the scalar types: "bool", "int", "int8" to "uint64", "float" (weak),
"float32", "float64". Operators, comparisons, conversions and joins follow the rules of
docs/semantics.md and share nothing with the compiler. A pair of types without a result raises
NoResult. Floats are held as Python floats that are exact in their type.
"""

import math
from fractions import Fraction

import numpy as np

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
TYPED_INTS = SIGNED + UNSIGNED
FLOATS = ("float", "float32", "float64")
TYPES = ("bool", "int", *TYPED_INTS, *FLOATS)

# Highest kind wins where types meet.
KINDS = {"bool": 0, "int": 1} | dict.fromkeys(TYPED_INTS, 1) | dict.fromkeys(FLOATS, 2)


class NoResult(TypeError):
    """The operation is not defined for these types."""


def width(kind: str) -> int:
    """Bits of an integer type."""
    return 64 if kind == "int" else int(kind.lstrip("uint"))


def is_signed(kind: str) -> bool:
    return kind == "int" or kind in SIGNED


def is_float(kind: str) -> bool:
    return kind in FLOATS


def limits(kind: str) -> tuple[int, int]:
    bits = width(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(kind) else (0, (1 << bits) - 1)


def wrap(value: int, kind: str) -> int:
    """The low bits of value, read as the integer type."""
    low, high = limits(kind)
    return (value - low) % (high - low + 1) + low


def round_float(value: float, kind: str) -> float:
    """value rounded once to the float type."""
    if kind != "float32":
        return float(value)
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def int_to_float(value: int, kind: str) -> float:
    """The nearest float of the type, rounded once."""
    if kind != "float32":
        return float(value)
    source = np.uint64 if value > 2**63 - 1 else np.int64
    return float(np.array(value, source).astype(np.float32))


class Num:
    """A typed number. Immutable. `product` has the factors where it is the value of `p * q`."""

    __slots__ = ("kind", "product", "value")

    def __init__(self, kind: str, value):
        self.kind = kind
        self.product: tuple[float, float] | None = None
        if is_float(kind):
            self.value = round_float(value, kind)
        elif kind == "bool":
            self.value = bool(value)
        else:
            self.value = wrap(int(value), kind)

    def __repr__(self) -> str:
        return f"{self.kind}({self.value!r})"


# --- Types of results ------------------------------------------------------------------------------


def promote(a: str, b: str) -> str:
    """NumPy's promotion of two typed integers."""
    if a in SIGNED and b in SIGNED or a in UNSIGNED and b in UNSIGNED:
        return max(a, b, key=width)
    unsigned, signed = (a, b) if a in UNSIGNED else (b, a)
    if width(unsigned) < width(signed):
        return signed
    if unsigned == "uint64":
        raise NoResult(f"{a} and {b} have no common integer type")
    return f"int{2 * width(unsigned)}"


def common_int(a: str, b: str) -> str:
    """Of two integer types, in arithmetic: bool counts as int, a typed one wins over int."""
    if a in TYPED_INTS and b in TYPED_INTS:
        return promote(a, b)
    return a if a in TYPED_INTS else b if b in TYPED_INTS else "int"


def common_float(*kinds: str) -> str:
    """The widest typed float, or the weak one."""
    return "float64" if "float64" in kinds else "float32" if "float32" in kinds else "float"


def join(*kinds: str) -> str:
    """Where variables of these types meet; order does not matter."""
    highest = max(KINDS[k] for k in kinds)
    if highest == 2:
        return common_float(*kinds)
    typed = sorted({k for k in kinds if k in TYPED_INTS})
    if not typed:
        return "int" if highest == 1 else "bool"
    result = typed[0]
    for kind in typed[1:]:
        result = promote(result, kind)
    return result


def result_type(op: str, a: str, b: str) -> str:
    """The type of `a op b`."""
    floats = is_float(a) or is_float(b)
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return "bool"
    if op in ("min", "max"):
        return join(a, b)
    if op == "/":
        return common_float(a, b)
    if op in ("<<", ">>"):
        if floats:
            raise NoResult(op)
        return "int" if a == "bool" else a
    if op in ("&", "|", "^"):
        if floats:
            raise NoResult(op)
        return "bool" if a == b == "bool" else common_int(a, b)
    if floats:
        return common_float(a, b)
    if op == "**":
        return "int" if a == "bool" else a
    return common_int(a, b)


# --- Conversions -----------------------------------------------------------------------------------


def convert(x: Num, kind: str) -> Num:
    """A cast, a store, a join: the value of x as the type."""
    if kind == "bool":
        return Num("bool", x.value != 0)
    if is_float(kind):
        if is_float(x.kind):
            return Num(kind, x.value)
        return Num(kind, int_to_float(int(x.value), kind))
    if not is_float(x.kind):
        return Num(kind, int(x.value))
    return Num(kind, saturate(x.value, kind))


def saturate(value: float, kind: str) -> int:
    """A float toward zero, kept inside the integer type; NaN is 0."""
    low, high = limits(kind)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return low if value < 0 else high
    return max(low, min(high, int(value)))


def rounded(x: Num, how: str) -> Num:
    """floor, ceil, trunc and round: an int."""
    if not is_float(x.kind):
        return convert(x, "int")
    if not math.isfinite(x.value):
        return Num("int", saturate(x.value, "int"))
    exact = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}[how]
    low, high = limits("int")
    return Num("int", max(low, min(high, exact(x.value))))


# --- Operators -------------------------------------------------------------------------------------


def int_op(op: str, a: int, b: int, kind: str) -> int:
    """An operation of integers in Python's own integers; the caller wraps."""
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op == "//":
        return a // b if b else 0
    if op == "%":
        return a % b if b else 0
    if op == "**":
        return pow(a, b, 1 << 64) if b >= 0 else 0
    if op == "<<":
        return a << b if 0 <= b < width(kind) else 0
    if op == ">>":
        return a >> min(b, 64) if b >= 0 else 0
    if op == "&":
        return a & b
    if op == "|":
        return a | b
    return a ^ b


def power(x: float, y: float) -> float:
    """As pow in C: a negative base with a fractional exponent gives NaN."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


def float_op(op: str, a: float, b: float, kind: str) -> float:
    """An operation of floats of one type, rounded once; // and % are NumPy's."""
    dtype = np.float32 if kind == "float32" else np.float64
    x, y = dtype(a), dtype(b)
    with np.errstate(all="ignore"):
        if op == "+":
            return float(x + y)
        if op == "-":
            return float(x - y)
        if op == "*":
            return float(x * y)
        if op == "/":
            return float(x / y)
        if op == "//":
            return float(np.floor_divide(x, y))
        if op == "%":
            return float(np.remainder(x, y))
        return power(float(x), float(y))


def compare(op: str, a: Num, b: Num) -> Num:
    """Exact between integers; with a float both sides convert as for arithmetic."""
    if is_float(a.kind) or is_float(b.kind):
        kind = common_float(a.kind, b.kind)
        a, b = convert(a, kind), convert(b, kind)
    x, y = a.value, b.value
    return Num(
        "bool",
        {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op],
    )


def min_max(op: str, *args: Num) -> Num:
    """Python's order over the exact values; the chosen one converts to the type of the join."""
    kind = join(*(x.kind for x in args))
    best = args[0]
    for x in args[1:]:
        if x.value < best.value if op == "min" else x.value > best.value:
            best = x
    return convert(best, kind)


def contracted(op: str, a: Num, b: Num, kind: str) -> Num | None:
    """a + b or a - b with a product of exactly the result's type: one rounding, the left one first."""
    sign = -1.0 if op == "-" else 1.0
    if a.product and a.kind == kind:
        return Num(kind, fma(*a.product, sign * convert(b, kind).value, kind))
    if b.product and b.kind == kind:
        p, q = b.product
        return Num(kind, fma(sign * p, q, convert(a, kind).value, kind))
    return None


def binary(op: str, a: Num, b: Num, contract: bool = False) -> Num:
    """`a op b`; `contract` with fma."""
    kind = result_type(op, a.kind, b.kind)
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return compare(op, a, b)
    if op in ("min", "max"):
        return min_max(op, a, b)
    if is_float(kind):
        fused = contracted(op, a, b, kind) if contract and op in ("+", "-") else None
        if fused:
            return fused
        a, b = convert(a, kind), convert(b, kind)
        result = Num(kind, float_op(op, a.value, b.value, kind))
        result.product = (a.value, b.value) if op == "*" else None
        return result
    if op in ("<<", ">>", "**"):
        return Num(kind, int_op(op, int(a.value), int(b.value), kind))
    if kind == "bool":
        return Num(kind, int_op(op, int(a.value), int(b.value), kind))
    a, b = convert(a, kind), convert(b, kind)
    return Num(kind, int_op(op, a.value, b.value, kind))


def unary(op: str, a: Num) -> Num:
    """-a, +a, ~a, `not a`, abs(a)."""
    if op == "not":
        return Num("bool", not a.value)
    if op == "~" and is_float(a.kind):
        raise NoResult(op)
    if op == "~" and a.kind == "bool":
        return Num("bool", not a.value)
    kind = "int" if a.kind == "bool" else a.kind
    value = a.value if is_float(kind) else int(a.value)
    return Num(kind, {"-": lambda: -value, "+": lambda: value, "abs": lambda: abs(value),
                      "~": lambda: ~value}[op]())  # fmt: skip


def fma(a: float, b: float, c: float, kind: str = "float") -> float:
    """a * b + c of floats of one type, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return float_op("+", float_op("*", a, b, kind), c, kind)
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return float_op("+", math.copysign(0.0, a) * math.copysign(0.0, b) if a * b == 0 else a * b,
                        c, kind)  # fmt: skip
    if kind != "float32":
        try:
            return exact.numerator / exact.denominator
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
    # Round to odd in double, then once to single.
    near = exact.numerator / exact.denominator
    if Fraction(near) != exact:
        mantissa = np.float64(near).view(np.int64)
        if mantissa & 1 == 0:
            away = (Fraction(near) < exact) == (near > 0)
            mantissa += 1 if away else -1
            near = float(np.int64(mantissa).view(np.float64))
    return round_float(near, kind)
