"""Writes lower_tables.inc: what arithmetic in kernels gives, by Python ints and NumPy floats.

Usage: write_lower_tables.py [--rows OP A B]

For each operator and pair of types one row: the result's type by the shared rules (typed out here a
second time, on purpose), and a hash of all results over the types' edge values. `--rows` prints the
results behind one row instead, for finding a difference; test_lower_arith prints its own.
"""

from __future__ import annotations

import math
import operator
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

TYPES = ["bool", "int", "int8", "uint8", "uint32", "int64", "uint64", "float", "float32", "float64"]
BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
BITS |= {"bool": 8, "int": 64, "float": 64, "float32": 32, "float64": 64}
NAN, INF = math.nan, math.inf

WIDE = [0, 1, -1, 2, -2, 3, 7, -7, 8, 10, 31, 63, 64, 65, -64, 127, -128, 255, 256]
WIDE += [2**31, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 0x0123456789ABCDEF]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 7.0, -7.25, 0.1, 255.0, 256.0]
FLOATS += [-128.5, 2.0**31, -(2.0**31), 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 2.0**64]
FLOATS += [1e20, 1e-30, 1e30, INF, -INF, NAN]
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": WIDE,
    "int64": WIDE,
    "int8": [0, 1, -1, 2, -2, 3, 7, -7, 8, 9, 64, 100, 127, -127, -128],
    "uint8": [0, 1, 2, 3, 7, 8, 9, 64, 127, 128, 200, 255],
    "uint32": [0, 1, 2, 3, 7, 31, 32, 33, 255, 2**31 - 1, 2**31, 2**32 - 1],
    "uint64": [0, 1, 2, 3, 7, 63, 64, 255, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
    "float": [*FLOATS, 1e300, -1e300, 5e-324, 2.2250738585072014e-308],
    "float64": [*FLOATS, 1e300, -1e300, 5e-324, 2.2250738585072014e-308],
    "float32": [float(np.float32(v)) for v in [*FLOATS, 3.4028235e38, 1e-45, 1.1754944e-38]],
}


def is_float(t: str) -> bool:
    return t.startswith("float")


def is_typed_int(t: str) -> bool:
    return t[-1].isdigit() and not is_float(t)


def is_unsigned(t: str) -> bool:
    return t[0] == "u"


def wrap(value: int, t: str) -> int:
    value &= (1 << BITS[t]) - 1
    return value if is_unsigned(t) or value >> (BITS[t] - 1) == 0 else value - (1 << BITS[t])


def to_float(value: float, t: str) -> Any:
    """One rounding, from the exact value."""
    if t != "float32":
        return np.float64(value)
    if isinstance(value, int):  # through a double would round twice
        return np.array([value], dtype=np.uint64 if value >= 2**63 else np.int64).astype(
            np.float32
        )[0]
    return np.float32(value)


def convert(value: Any, t: str) -> Any:
    if t == "bool":
        return bool(value != 0)
    if is_float(t):
        return to_float(float(value) if isinstance(value, (float, np.floating)) else int(value), t)
    if isinstance(value, (float, np.floating)):
        low = 0 if is_unsigned(t) else -(2 ** (BITS[t] - 1))
        high = 2 ** BITS[t] - 1 if is_unsigned(t) else 2 ** (BITS[t] - 1) - 1
        if math.isnan(value):
            return 0
        return low if value <= low else high if value >= high else int(value)
    return wrap(int(value), t)


def common_float(a: str, b: str) -> str:
    return max(
        (t for t in (a, b) if is_float(t) and t != "float"), default="float", key=BITS.__getitem__
    )


def common_int(a: str, b: str) -> str | None:
    if is_typed_int(a) and is_typed_int(b):
        promoted = np.promote_types(a, b).name
        return None if promoted.startswith("float") else promoted
    return a if is_typed_int(a) else b if is_typed_int(b) else "int"


def result_type(op: str, a: str, b: str) -> str | None:
    """None: an error."""
    if is_float(a) or is_float(b):
        return None if op in ("<<", ">>", "&", "|", "^") else common_float(a, b)
    if op == "/":
        return "float"
    if op in ("<<", ">>", "**"):
        return "int" if a == "bool" else a
    if op in ("&", "|", "^") and a == b == "bool":
        return "bool"
    return common_int(a, b)


INT_OPS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def int_op(op: str, a: int, b: int, t: str) -> int:
    """Exact; the caller wraps."""
    bits = BITS[t]
    if op in ("//", "%"):
        return (0 if b == 0 else a // b) if op == "//" else (0 if b == 0 else a % b)
    if op == "<<":
        return 0 if b < 0 or b >= bits else a << b
    if op == ">>":
        return 0 if b < 0 else a >> min(b, bits)
    if op == "**":
        return 0 if b < 0 else pow(a, b, 1 << bits)
    return INT_OPS[op](a, b)


FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": np.floor_divide,
    "%": np.remainder,
}
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
OPS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", *COMPARISONS]


def compute(op: str, x: Any, y: Any, a: str, b: str, t: str) -> Any:
    if op in COMPARISONS:
        if is_float(a) or is_float(b):
            both = common_float(a, b)
            x, y = convert(x, both), convert(y, both)
        return bool(COMPARISONS[op](x, y))
    if is_float(t):
        return FLOAT_OPS[op](convert(x, t), convert(y, t))
    if t == "bool":
        return bool(int_op(op, int(x), int(y), "int"))
    if op in ("<<", ">>", "**"):
        return wrap(int_op(op, convert(x, t), int(y), t), t)
    return wrap(int_op(op, convert(x, t), convert(y, t), t), t)


def bits_of(value: Any, t: str) -> int:
    """As stored; every NaN is one NaN."""
    if is_float(t):
        if math.isnan(value):
            return 0x7FC00000 if t == "float32" else 0x7FF8000000000000
        return int.from_bytes(struct.pack("<f" if t == "float32" else "<d", value), "little")
    return int(value) & ((1 << BITS[t]) - 1)


def values_of(t: str) -> list[Any]:
    return [convert(v, t) for v in VALUES[t]]


def fold(words: Iterator[int]) -> int:
    """FNV-1a over 64-bit words."""
    h = 0xCBF29CE484222325
    for word in words:
        h = ((h ^ word) * 0x100000001B3) & (2**64 - 1)
    return h


def binary(op: str, a: str, b: str) -> tuple[str, list[int]] | None:
    t = "bool" if op in COMPARISONS else result_type(op, a, b)
    if t is None or (op == "**" and is_float(t)):
        return None
    return t, [
        bits_of(compute(op, x, y, a, b, t), t) for x, y in product(values_of(a), values_of(b))
    ]


def unary(op: str, a: str) -> tuple[str, list[int]] | None:
    if op == "~" and is_float(a):
        return None
    t = ("bool" if op == "~" else "int") if a == "bool" else a
    if op == "not":
        return "bool", [int(not v) for v in values_of(a)]
    if is_float(t):
        results = [-v if op == "-" else abs(v) if op == "abs" else v for v in values_of(a)]
    elif t == "bool":
        results = [not v for v in values_of(a)]
    else:
        f = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "abs": abs}[op]
        results = [wrap(f(int(v)), t) for v in values_of(a)]
    return t, [bits_of(v, t) for v in results]


def cast(a: str, t: str) -> tuple[str, list[int]]:
    return t, [bits_of(convert(v, t), t) for v in values_of(a)]


def power_of(x: Any, k: int) -> Any:
    """Square and multiply from the highest bit; negative: one division."""
    if k == 0:
        return type(x)(1)
    r = x
    for bit in bin(abs(k))[3:]:
        r = r * r
        if bit == "1":
            r = r * x
    return type(x)(1) / r if k < 0 else r


def constant_power(a: str, k: int) -> tuple[str, list[int]]:
    t = a if is_float(a) else "float" if k < 0 else "int" if a == "bool" else a
    if is_float(t):
        return t, [bits_of(power_of(convert(v, t), k), t) for v in values_of(a)]
    return t, [bits_of(wrap(int(v) ** k, t), t) for v in values_of(a)]


def write(path: Path) -> None:
    lines = ["/* Made by write_lower_tables.py. */", ""]
    for t in TYPES:
        words = ", ".join(f"0x{bits_of(v, t):x}u" for v in values_of(t))
        lines.append(f'VALUES("{t}", {len(VALUES[t])}, {words})')
    for op, a, b in product(OPS, TYPES, TYPES):
        if row := binary(op, a, b):
            lines.append(f'BINARY("{op}", "{a}", "{b}", "{row[0]}", 0x{fold(iter(row[1])):016x}u)')
    for op, a in product(["-", "+", "~", "not", "abs"], TYPES):
        if row := unary(op, a):
            lines.append(f'UNARY("{op}", "{a}", "{row[0]}", 0x{fold(iter(row[1])):016x}u)')
    for a, b in product(TYPES, [*TYPES, "int16", "uint16", "int32"]):
        lines.append(f'CAST("{a}", "{b}", 0x{fold(iter(cast(a, b)[1])):016x}u)')
    for a, k in product(TYPES, range(-8, 9)):
        t, words_of = constant_power(a, k)
        lines.append(f'POWER("{a}", {k}, "{t}", 0x{fold(iter(words_of)):016x}u)')
    ends = [f"#undef {name}" for name in ("VALUES", "BINARY", "UNARY", "CAST", "POWER")]
    path.write_text("\n".join([*lines, "", *ends, ""]))


def main() -> None:
    np.seterr(all="ignore")
    if len(sys.argv) > 1:
        op, a, b = sys.argv[2:5]
        row = cast(a, b) if op == "cast" else unary(op, a) if b == "-" else binary(op, a, b)
        if row is None:
            raise SystemExit("an error")
        two = b != "-" and op != "cast"
        inputs = product(values_of(a), values_of(b)) if two else product(values_of(a))
        for given, word in zip(inputs, row[1], strict=True):
            print(f"{word:x}", *given)
        return
    write(Path(__file__).with_name("lower_tables.inc"))


if __name__ == "__main__":
    main()
