"""Errors of the functions of math, in units in the last place, on 100,000 arguments each.

    math_ulp.py [--device cpu|cuda] [--n N] [--only sin,cos] --out cpu.json     measures
    math_ulp.py --device cuda --raw cuda.npz                                    only runs the kernels
    math_ulp.py --score cuda.npz --out cuda.json                                measures what they gave
    math_ulp.py --table cpu.json [cuda.json]                                    prints the table of docs/semantics.md

A third of the arguments is spread over the logarithm of the whole domain, a third over where the
function is mostly used, a third is both with the sign turned; all special values come in addition. The
exact values are those of python-flint's ball arithmetic, to at least 80 bits; a sample of each is compared with
mpmath. Errors are |result - exact| / ulp(exact). A result that should be NaN or infinite and is not, or the other
way round, is an infinite error. CUDA documents the distance from the correctly rounded result, which is half a
unit less at most, so a documented N is kept by errors up to N + 0.5.
"""

import argparse
import json
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

N = 100_000
# Explicit exponent bits and fraction bits.
FORMATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
INF, NAN = math.inf, math.nan

# Name: where the function is mostly used, CUDA's documented bounds for double and for single.
FUNCTIONS: dict[str, tuple[tuple[float, float], int, int]] = {
    "acos": ((-1, 1), 2, 3), "acosh": ((1, 100), 3, 4), "asin": ((-1, 1), 2, 4), "asinh": ((-10, 10), 3, 3),
    "atan": ((-10, 10), 2, 2), "atanh": ((-1, 1), 2, 3), "cbrt": ((-100, 100), 1, 1), "cos": ((-100, 100), 2, 2),
    "cosh": ((-10, 10), 1, 2), "erf": ((-4, 4), 2, 2), "erfc": ((-5, 10), 5, 4), "exp": ((-20, 20), 1, 2),
    "exp2": ((-20, 20), 1, 2), "expm1": ((-5, 5), 1, 1), "gamma": ((-20, 30), 10, 5), "lgamma": ((0, 100), 4, 6),
    "log": ((0, 100), 1, 1), "log10": ((0, 100), 1, 2), "log1p": ((-1, 10), 1, 1), "log2": ((0, 100), 1, 1),
    "sin": ((-100, 100), 2, 2), "sinh": ((-10, 10), 2, 3), "sqrt": ((0, 100), 0, 0), "tan": ((-100, 100), 2, 4),
    "tanh": ((-5, 5), 2, 2), "degrees": ((-10, 10), 1, 1), "radians": ((-400, 400), 1, 1),
    "atan2": ((-10, 10), 2, 3), "fmod": ((-100, 100), 0, 0), "hypot": ((-100, 100), 2, 3), "pow": ((0, 10), 2, 4),
    "remainder": ((-100, 100), 0, 0),
}  # fmt: skip
TWO = ("atan2", "fmod", "hypot", "pow", "remainder")
# Not of CUDA's table: the product with a rounded constant.
OWN_BOUNDS = ("degrees", "radians")
SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 0.25, 10.0, 100.0, 1e-5, 88.72, 89.5, 103.97, 709.78, 710.5, 745.1, 171.6,
           35.04, 0.9999999, 1.0000001, math.pi, math.pi / 2, math.pi / 4, 2 * math.pi, 1e10, INF, NAN]  # fmt: skip


# ---- Formats, as doubles ----


def largest(kind: str) -> float:
    exponent, fraction = FORMATS[kind]
    return math.ldexp(2 - 2.0**-fraction, (1 << exponent - 1) - 1)


def smallest_exponent(kind: str) -> int:
    return 2 - (1 << FORMATS[kind][0] - 1)


def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """Doubles rounded to the format."""
    if kind == "float64":
        return x
    with np.errstate(all="ignore"):
        if kind != "bfloat16":
            return x.astype(kind).astype("float64")
        mantissa, exponent = np.frexp(x)
        digits = np.minimum(8, exponent - smallest_exponent(kind) + 7)
        step = np.ldexp(1.0, (exponent - digits).astype("int64"))
        y = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        return np.where(np.abs(y) > largest(kind), np.copysign(INF, x), y)


def ulp_of(exact: np.ndarray, kind: str) -> np.ndarray:
    """The distance of neighbours where `exact` lies."""
    _, fraction = FORMATS[kind]
    _, exponent = np.frexp(np.minimum(np.abs(exact), largest(kind)))
    exponent = np.where(exact == 0, -(10**6), exponent - 1)
    return np.ldexp(1.0, np.maximum(exponent, smallest_exponent(kind)) - fraction)


# ---- Arguments ----


def arguments(name: str, kind: str, n: int) -> list[np.ndarray]:
    """Columns of arguments, as doubles that the format has."""
    generator = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))
    (low, high), *_ = FUNCTIONS[name]
    columns = []
    exponents, fraction = smallest_exponent(kind), FORMATS[kind][1]
    with np.errstate(all="ignore"):
        near = np.array([np.nextafter(s, d) for s in SPECIAL for d in (-INF, INF)])
        special = np.array([*SPECIAL, *(-s for s in SPECIAL), *near, largest(kind), -largest(kind),
                            2.0**exponents, 2.0 ** (exponents - fraction)])  # fmt: skip
    for _ in range(2 if name in TWO else 1):
        third = n // 3
        top = -exponents + 1
        wide = np.exp2(generator.uniform(max(exponents - fraction, -1074), top, n - 2 * third))
        used = generator.uniform(low, high, 2 * third)
        if name in ("sinh", "cosh", "exp", "expm1", "exp2", "gamma", "lgamma", "erfc", "pow"):
            used[third:] *= generator.choice([-1.0, 1.0], third) * generator.uniform(
                0, top * 0.7 / high, third
            )
        wide *= generator.choice([-1.0, 1.0], wide.size)
        columns.append(rounded(np.concatenate([wide, used]), kind))
    if name in TWO:
        generator.shuffle(columns[1][: n // 2])
        grid = np.meshgrid(special, special)
        return [
            np.concatenate([c, rounded(g.ravel(), kind)])
            for c, g in zip(columns, grid, strict=True)
        ]
    return [np.concatenate([columns[0], rounded(special, kind)])]


# ---- Exact values ----


def ball_functions() -> dict[str, Callable[..., Any]]:
    from flint import arb

    def root(x: Any) -> Any:
        return x.root(3) if x > 0 else -(-x).root(3)

    return {
        **{n: getattr(arb, n) for n in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc",
                                        "exp", "expm1", "gamma", "log", "log1p", "sin", "sinh", "sqrt", "tan", "tanh")},
        "cbrt": root, "exp2": lambda x: arb(2) ** x, "lgamma": lambda x: abs(x.gamma()).log() if x < 0 else x.lgamma(),
        "log10": lambda x: x.log() / arb.const_log10(), "log2": lambda x: x.log() / arb.const_log2(),
        "degrees": lambda x: x * 180 / arb.pi(), "radians": lambda x: x * arb.pi() / 180,
        "atan2": lambda y, x: arb.atan2(y, x), "hypot": lambda x, y: (x * x + y * y).sqrt(), "pow": lambda x, y: x**y,
    }  # fmt: skip


def ieee(name: str, args: tuple) -> float | None:
    """The results that are no finite numbers, or exact; None: compute."""
    x, y = args[0], args[-1]
    if name in ("fmod", "remainder"):
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
            return NAN
        return getattr(math, name)(x, y)
    if name == "hypot":
        return (
            INF
            if math.isinf(x) or math.isinf(y)
            else NAN
            if x != x or y != y
            else None
            if x or y
            else 0.0
        )
    if name == "atan2":
        plain = math.isfinite(x) and math.isfinite(y) and x != 0 and y != 0
        return None if plain else math.atan2(x, y)
    if name == "pow":
        return ieee_pow(x, y)
    if math.isnan(x):
        return NAN
    poles = {"log": 0, "log2": 0, "log10": 0, "log1p": -1}
    below = {**poles, "sqrt": 0, "acosh": 1}
    if name in poles and x == poles[name]:
        return -INF
    if name in below and x < below[name]:
        return NAN
    if name in ("acos", "asin", "atanh") and abs(x) >= 1:
        return (
            math.copysign(INF, x)
            if name == "atanh" and abs(x) == 1
            else NAN
            if abs(x) > 1 or name == "atanh"
            else None
        )
    if name in ("gamma", "lgamma") and -INF < x <= 0 and x == math.floor(x):
        return INF if name == "lgamma" else math.copysign(INF, x) if x == 0 else NAN
    if math.isinf(x):
        at = {"sin": NAN, "cos": NAN, "tan": NAN, "atan": math.copysign(math.pi / 2, x), "tanh": math.copysign(1, x),
              "erf": math.copysign(1, x), "erfc": 0.0 if x > 0 else 2.0, "cosh": INF, "lgamma": INF,
              "exp": max(x, 0.0), "exp2": max(x, 0.0), "expm1": max(x, -1.0), "gamma": INF if x > 0 else NAN}  # fmt: skip
        return at.get(name, x)
    huge = {"exp": 1000, "exp2": 1100, "expm1": 1000, "sinh": 1000, "cosh": 1000, "gamma": 400}
    if name in huge and abs(x) > huge[name]:
        if name == "sinh":
            return math.copysign(INF, x)
        if name == "expm1" and x < 0:
            return -1.0
        if name == "gamma" and x < 0:
            return -0.0 if math.floor(x) % 2 else 0.0
        return INF if x > 0 or name == "cosh" else 0.0
    if name == "erfc" and x > 40:
        return 0.0
    if x == 0 and name not in ("acos", "cos", "cosh", "exp", "exp2", "erfc", "acosh"):
        return x
    return None


def ieee_pow(x: float, y: float) -> float | None:
    if y == 0 or x == 1:
        return 1.0
    if x != x or y != y:
        return NAN
    try:
        special = x == 0 or math.isinf(x) or math.isinf(y)
        if special:
            return math.pow(x, y)
    except ValueError:
        odd = y == math.floor(y) and abs(y) < 2.0**53 and int(y) % 2
        return math.copysign(INF, x) if odd else INF
    if x < 0 and y != math.floor(y):
        return NAN
    size = y * math.log2(abs(x))
    if abs(size) < 1200:
        return None
    odd = abs(y) < 2.0**53 and int(y) % 2
    return (-1.0 if x < 0 and odd else 1.0) * (INF if size > 0 else 0.0)


def exact_values(name: str, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The exact values as sums of two doubles."""
    from flint import arb, ctx

    function = ball_functions().get(name)
    high, low = np.empty(columns[0].size), np.zeros(columns[0].size)
    for i, args in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        known = ieee(name, args)
        if known is not None:
            high[i] = known
            continue
        for precision in (140, 600, 3000):
            ctx.prec = precision
            value = function(*map(arb, args))
            if value.rel_accuracy_bits() > 80 or value.is_exact():
                break
        else:
            raise ArithmeticError(f"{name}{args}: {value}")
        value = value.mid()
        high[i] = float(value) or math.copysign(0.0, -1 if value < 0 else 1)
        if math.isfinite(high[i]):
            low[i] = float(value - arb(high[i]))
    return high, low


def check_sample(name: str, columns: list[np.ndarray], high: np.ndarray, low: np.ndarray) -> None:
    """mpmath agrees on some of them."""
    import mpmath

    names = {
        "pow": "power",
        "lgamma": "loggamma",
        "log2": lambda x: mpmath.log(x, 2),
        "exp2": lambda x: mpmath.power(2, x),
    }
    function = names.get(name, name)
    function = getattr(mpmath, function, None) if isinstance(function, str) else function
    if name in ("fmod", "remainder") or function is None:
        return
    for i in range(0, high.size, max(1, high.size // 100)):
        args = [float(c[i]) for c in columns]
        if ieee(name, tuple(args)) is not None or (name == "cbrt" and args[0] < 0):
            continue
        with mpmath.workdps(60 + (350 if name in ("sin", "cos", "tan") else 0)):
            value = mpmath.re(function(*map(mpmath.mpf, args)))
            sum_of_both = mpmath.mpf(high[i]) + mpmath.mpf(low[i])
            error = abs(value - sum_of_both) if math.isfinite(high[i]) else 0
            assert error <= abs(value) * mpmath.mpf(2) ** -80 + mpmath.mpf(2) ** -1074, (
                name,
                args,
                value,
                high[i],
            )


# ---- Kernels ----


def results(name: str, kind: str, columns: list[np.ndarray]) -> np.ndarray:
    """What the device computes, as doubles."""
    import gpu

    names = "xy"[: len(columns)]
    scope = {"gpu": gpu, "math": math}
    exec(
        f"def kernel({', '.join(names)}, out):\n    i = gpu.grid(1)\n    if i < out.size:\n"
        f"        out[i] = math.{name}({', '.join(f'gpu.{kind}({n}[i])' for n in names)})\n",
        scope,
    )
    out = np.empty(columns[0].size)
    gpu.jit(scope["kernel"])[(out.size + 127) // 128, 128](*columns, out)
    gpu.synchronize()
    return out


# ---- Errors ----


def measure(job: tuple[str, str, list[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """The largest error and its argument; lgamma between its negative zeros counts apart."""
    name, kind, columns, got = job
    high, low = exact_values(name, columns)
    check_sample(name, columns, high, low)
    with np.errstate(all="ignore"):
        edge = largest(kind) + ulp_of(np.array(largest(kind)), kind) / 2
        wants_infinity = np.abs(high) >= edge
        scale = np.where(np.abs(high) > 1e300, 0.5, 1.0)  # so that no difference overflows
        # An infinity for a finite result is the next number after the largest.
        beyond = largest(kind) * scale + ulp_of(np.array(largest(kind)), kind) * scale
        overflows = np.isinf(got) & np.isfinite(high) & ~wants_infinity
        value = np.where(overflows, np.copysign(beyond, got), got * scale)
        error = np.abs((value - high * scale) - low * scale) / (ulp_of(high, kind) * scale)
        error = np.where(wants_infinity, np.where(got == np.copysign(INF, high), 0, INF), error)
        error = np.where(np.isnan(high), np.where(np.isnan(got), 0, INF), error)
        error = np.where(np.isnan(error), INF, error)
        # A zero has the sign that it should have.
        error = np.where(
            (high == 0) & (low == 0) & (got == 0) & (np.signbit(got) != np.signbit(high)),
            INF,
            error,
        )
    row: dict[str, Any] = {"name": name, "type": kind, "n": int(high.size)}
    inside = np.zeros(error.size, bool)
    if name == "lgamma":
        inside = (columns[0] > -12) & (columns[0] < 0)
        row["inside"] = float(error[inside].max())
    outside = np.where(inside, 0, error)
    worst = int(outside.argmax())
    row |= {"error": float(outside[worst]), "at": [float(c[worst]) for c in columns], "got": float(got[worst]),
            "exact": float(high[worst])}  # fmt: skip
    return row


def bound_of(name: str, kind: str) -> int:
    """CUDA's documented distance from the correctly rounded result; halves are computed in float32."""
    _, double, single = FUNCTIONS[name]
    return double if kind == "float64" else single if kind == "float32" else min(single, 1)


def jobs(names: list[str], kinds: list[str], n: int) -> Iterator[tuple[str, str, list[np.ndarray]]]:
    for name in names:
        for kind in kinds:
            yield name, kind, arguments(name, kind, n)


def table(files: list[str]) -> str:
    """A row per function, a column per type and device beside what CUDA documents."""
    data = [json.loads(Path(f).read_text()) for f in files]
    devices = [d["device"] for d in data]
    rows = [{(r["name"], r["type"]): r for r in d["rows"]} for d in data]
    kinds = [k for k in FORMATS if any(key[1] == k for r in rows for key in r)]
    head = ["function"]
    for kind in kinds:
        head += [f"{kind}, {d}" for d in devices]
        head += [f"{kind}, CUDA documents"] * (kind in ("float32", "float64"))
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in FUNCTIONS:
        cells = [name]
        for kind in kinds:
            for device in rows:
                row = device.get((name, kind))
                text = "" if row is None else f"{row['error']:.2f}"
                cells.append(text)
            if kind in ("float32", "float64"):
                cells.append("" if name in OWN_BOUNDS else str(bound_of(name, kind)))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--only", default="")
    parser.add_argument("--types", default=",".join(FORMATS))
    parser.add_argument("--raw")
    parser.add_argument("--score")
    parser.add_argument("--out")
    parser.add_argument("--table", nargs="+")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return 0
    if options.device:
        os.environ["GPUJIT_DEVICE"] = options.device
    names = options.only.split(",") if options.only else list(FUNCTIONS)
    stored = np.load(options.score) if options.score else None
    device = str(stored["device"]) if stored is not None else os.environ.get("GPUJIT_DEVICE", "cpu")
    n = int(stored["n"]) if stored is not None else options.n
    raw: dict[str, Any] = {"device": device, "n": n}
    todo = []
    for name, kind, columns in jobs(names, options.types.split(","), n):
        key = f"{name} {kind}"
        got = stored[key].astype("float64") if stored is not None else results(name, kind, columns)
        raw[key] = got.astype("float64" if kind == "float64" else "float32")
        todo.append((name, kind, columns, got))
    if options.raw:
        np.savez(options.raw, **raw)
        return 0
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(measure, todo))
    bad = [r for r in rows if not r["error"] <= bound_of(r["name"], r["type"]) + 0.5]
    for row in rows:
        print(
            f"{row['name']:10} {row['type']:9} {row['error']:10.3f} at {row['at']}: {row['got']!r}, exact {row['exact']!r}"
        )
    for row in bad:
        print(f"beyond {bound_of(row['name'], row['type'])}: {row}")
    if options.out:
        Path(options.out).write_text(json.dumps({"device": device, "rows": rows}, indent=1))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
