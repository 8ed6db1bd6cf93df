"""Writes lower_functions.inc: what intrinsics of core operations must give, by math and NumPy.

Rows hold a call, the types of its results and a hash of all results over the edge values of
write_lower_tables. `--rows CALL A B` prints the results behind a row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from write_lower_tables import (
    bits_of,
    common_float,
    common_int,
    compute,
    convert,
    fold,
    is_float,
    values_of,
    wrap,
)

FLOATS = ["float", "float32", "float64"]
INTS = ["bool", "int", "int8", "uint8", "uint32", "uint64"]


@dataclass
class Row:
    call: str  # "math.gcd A B", "builtins.round A 2": A and B stand for the arguments
    a: str
    b: str  # "" for functions of one argument
    types: list[str]
    f: Callable[..., Any]

    def results(self) -> list[int]:
        ins = product(*(values_of(t) for t in (self.a, self.b) if t))
        words = []
        for given in ins:
            out = self.f(*given)
            out = out if isinstance(out, tuple) else (out,)
            words += [bits_of(convert(v, t), t) for v, t in zip(out, self.types, strict=True)]
        return words


def float_of(a: str, b: str = "int") -> str:
    return common_float(a, b)


def neighbour(x: Any, to: float) -> Any:
    return np.nextafter(x, type(x)(to))


def ulp(x: Any) -> Any:
    x = abs(x)
    if math.isnan(x) or math.isinf(x):
        return x
    up = neighbour(x, math.inf)
    return x - neighbour(x, -math.inf) if math.isinf(up) else up - x


def ldexp(x: Any, n: int) -> Any:
    return np.ldexp(x, max(-4000, min(4000, int(n))))


def isclose(a: Any, b: Any, rel: float, absolute: float) -> bool:
    """math.isclose's definition in the arguments' own type."""
    rel, absolute = type(a)(rel), type(a)(absolute)
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    diff = abs(b - a)
    return bool(diff <= abs(rel * b) or diff <= abs(rel * a) or diff <= absolute)


def isclose_as(t: str, rel: float, absolute: float, a: Any, b: Any) -> bool:
    return isclose(convert(a, t), convert(b, t), rel, absolute)


def gcd_as(t: str, a: int, b: int) -> int:
    return math.gcd(convert(a, t), convert(b, t))


def copysign_as(t: str, a: Any, b: Any) -> Any:
    return np.copysign(convert(a, t), convert(b, t))


def round_int(value: int, digits: int, t: str) -> int:
    return wrap(round(value, digits), t)


def minmax(op: str, a: str, b: str, *given: Any) -> Any:
    """The first of equals, in Python's order."""
    types = [a, b, a]
    best = 0
    for k in range(1, len(given)):
        if compute(
            "<" if op == "min" else ">", given[k], given[best], types[k], types[best], "bool"
        ):
            best = k
    return given[best]


def one(call: str, a: str, types: list[str], f: Callable[..., Any]) -> Row:
    return Row(call + " A", a, "", types, f)


def float_rows() -> list[Row]:
    rows = []
    for a in [*FLOATS, "int", "uint64", "bool"]:
        t = float_of(a)

        def on(f: Callable[..., Any], t: str = t) -> Callable[..., Any]:
            return lambda x: f(convert(x, t))

        rows += [
            one("math.frexp", a, [t, "int"], on(lambda x: tuple(np.frexp(x)))),
            one("math.modf", a, [t, t], on(lambda x: tuple(np.modf(x)))),
            one("math.ulp", a, [t], on(ulp)),
            one("math.fabs", a, [t], on(abs)),
            one("math.degrees", a, [t], on(lambda x: x * type(x)(180 / math.pi))),
            one("math.radians", a, [t], on(lambda x: x * type(x)(math.pi / 180))),
            one("math.hypot", a, [t], on(abs)),
        ]
        rows += [
            one(f"math.{f}", a, ["bool"], getattr(math, f)) for f in ("isnan", "isinf", "isfinite")
        ]
        if a != "bool":
            rows += [
                Row("math.ldexp A B", a, b, [t], lambda x, n, t=t: ldexp(convert(x, t), n))
                for b in ("int", "uint64", "int8")
            ]
        for b in FLOATS:
            both = float_of(a, b)
            rows.append(Row("math.copysign A B", a, b, [both], partial(copysign_as, both)))
            for text, rel, absolute in (
                ("", 1e-9, 0.0),
                (" rel_tol=0.25", 0.25, 0.0),
                (" abs_tol=1.0 rel_tol=0.0", 0.0, 1.0),
            ):
                f = partial(isclose_as, both, rel, absolute)
                rows.append(Row("math.isclose A B" + text, a, b, ["bool"], f))
    return rows


def rounding_rows() -> list[Row]:
    rows = []
    rounds = {
        "math.floor": np.floor,
        "math.ceil": np.ceil,
        "math.trunc": np.trunc,
        "builtins.round": np.rint,
    }
    for a, (name, f) in product([*FLOATS, *INTS], rounds.items()):
        rows.append(one(name, a, ["int"], (lambda x, f=f: f(x)) if is_float(a) else (lambda x: x)))
    for a, digits in product(FLOATS, (-3, -1, 0, 1, 2, 5)):
        t = "float" if a == "float" else a
        rows.append(
            Row(f"builtins.round A {digits}", a, "", [t], lambda x, n=digits: np.round(x, n))
        )
    for a, digits in product([t for t in INTS if t != "bool"], (-20, -19, -18, -3, -2, -1, 0, 3)):
        rows.append(
            Row(
                f"builtins.round A {digits}",
                a,
                "",
                [a],
                lambda x, n=digits, t=a: round_int(x, n, t),
            )
        )
    return rows


def int_rows() -> list[Row]:
    rows = []
    for a in INTS:
        t = "int" if a == "bool" else a
        rows.append(one("math.isqrt", a, [t], lambda x: math.isqrt(int(x)) if x >= 0 else 0))
        for b in INTS:
            both = common_int(a, b)
            if both is None:
                continue
            both = "int" if both == "bool" else both
            rows.append(Row("math.gcd A B", a, b, [both], partial(gcd_as, both)))
    return rows


def join(a: str, b: str) -> str | None:
    if is_float(a) or is_float(b):
        return common_float(a, b)
    return "bool" if a == b == "bool" else common_int(a, b)


def minmax_rows() -> list[Row]:
    rows = []
    for op, a, b in product(("min", "max"), [*INTS, *FLOATS], [*INTS, *FLOATS]):
        t = join(a, b)
        if t is None:
            continue
        f = partial(minmax, op, a, b)
        rows.append(Row(f"builtins.{op} A B", a, b, [t], f))
        rows.append(Row(f"builtins.{op} A B A", a, b, [t], lambda x, y, f=f: f(x, y, x)))
    return rows


def main() -> None:
    np.seterr(all="ignore")
    rows = [*float_rows(), *rounding_rows(), *int_rows(), *minmax_rows()]
    if len(sys.argv) > 1:
        for row in rows:
            if [row.call, row.a, row.b or "-"] == sys.argv[2:5]:
                print(*(f"{word:x}" for word in row.results()), sep="\n")
        return
    lines = ["/* Made by write_lower_functions.py. */", ""]
    for row in rows:
        second = row.types[1] if len(row.types) > 1 else ""
        cells = ", ".join(f'"{text}"' for text in (row.call, row.a, row.b, row.types[0], second))
        lines.append(f"FUNCTION({cells}, 0x{fold(iter(row.results())):016x}u)")
    Path(__file__).with_name("lower_functions.inc").write_text(
        "\n".join([*lines, "", "#undef FUNCTION", ""])
    )


if __name__ == "__main__":
    main()
