"""What operators compute, and the types of their results.

The rules are those of docs/semantics.md, sections "Types", "Integers", "Floats" and "fma".
"""

from __future__ import annotations

import math
import operator
import sys
from functools import cache

from gpu._python import formats
from gpu._python.context import context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from gpu._python.analysis import Operand
    from gpu._python.scalars import Scalar

COMPARES = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


CODES = {"KernelIndexError": "OUT_OF_BOUNDS", "UnsupportedError": "NYI_CONSTRUCT"}


def error(name: str, message: str, code: str = "") -> Any:
    """One of the package's exceptions."""
    from gpu import _gpujit

    made = getattr(_gpujit, name)(message)
    made.code = code or CODES.get(name)
    return made


def check_count(function: str, args: tuple, count: int) -> None:
    if len(args) != count:
        plural = "" if count == 1 else "s"
        message = f"{function} takes {count} argument{plural}, {len(args)} given"
        raise error("TypingError", message)


TYPES: dict[str, Any] = {}  # name -> class; `scalars` fills it, and has SingleFloat as "single"


def weak_float() -> Any:
    return TYPES["single" if context.single else "float"]


# --- Types of results -----------------------------------------------------------------------------


def promote(a: Any, b: Any) -> Any:
    """NumPy's type for two typed integers."""
    if a.signed == b.signed:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.signed else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    if unsigned.bits == 64:
        raise error("TypingError", f"{a.name} and {b.name} have no common integer type\n  Hint: "
                    "cast one of them")  # fmt: skip
    return TYPES[f"int{2 * unsigned.bits}"]


def common_int(a: Any, b: Any) -> Any:
    """Of bool and integers: the typed one, int if there is none."""
    if a.typed and b.typed:
        return promote(a, b)
    return a if a.typed else b if b.typed else TYPES["int"]


def common_float(*types: Any) -> Any:
    """The widest typed float among them, or float. float16 with bfloat16 is float32."""
    names = {t.name for t in types if t.kind == 2 and t.typed}
    for wide in ("float64", "float32"):
        if wide in names:
            return TYPES[wide]
    if len(names) == 2:
        return TYPES["float32"]
    return TYPES[names.pop()] if names else weak_float()


def steps_type(cls: Any) -> Any:
    """The float type in which the steps of a function of `cls` are computed."""
    return TYPES["float32"] if cls.name in ("float16", "bfloat16") else cls


def join(*types: Any) -> Any:
    """Where values of these types meet; their order does not matter."""
    kind = max(t.kind for t in types)
    if kind == 2:
        return common_float(*types)
    result = TYPES["int" if kind else "bool"]
    for t in types:
        result = common_int(result, t) if t.typed else result
    return result


def result_type(symbol: str, a: Any, b: Any) -> Any:
    """The type of `a symbol b`."""
    return _result_type(symbol, a, b, context.single)


@cache
def _result_type(symbol: str, a: Any, b: Any, single: bool) -> Any:
    floats = a.kind == 2 or b.kind == 2
    if floats and symbol in ("<<", ">>", "&", "|", "^"):
        message = f"'{symbol}' is not defined for {a.name} and {b.name}"
        raise error("TypingError", message)
    if floats or symbol == "/":
        return common_float(a, b)
    if symbol in ("<<", ">>", "**"):
        return a if a.kind else TYPES["int"]
    if symbol in ("&", "|", "^") and a.kind == b.kind == 0:
        return TYPES["bool"]
    return common_int(a, b)


# --- Integers -------------------------------------------------------------------------------------


def int_operation(symbol: str, a: int, b: int, bits: int) -> int:
    """In Python's integers; the caller wraps."""
    if symbol == "+":
        return a + b
    if symbol == "-":
        return a - b
    if symbol == "*":
        return a * b
    if symbol == "//":
        return a // b if b else 0
    if symbol == "%":
        return a % b if b else 0
    if symbol == "**":
        return pow(a, b, 1 << 64) if b >= 0 else 0
    if symbol == "<<":
        return a << b if 0 <= b < bits else 0
    if symbol == ">>":
        return a >> min(b, bits) if b >= 0 else 0
    if symbol == "&":
        return a & b
    if symbol == "|":
        return a | b
    return a ^ b


def check_int(symbol: str, a: int, b: int, cls: Any, exact: int) -> None:
    """check=True: what Python would raise, or what it would not wrap."""
    what = f"{a} {symbol} {b}"
    if symbol in ("//", "%") and b == 0:
        raise error("KernelZeroDivisionError", f"division by zero: {what}", "ZERO_DIVISION")
    if symbol in ("<<", ">>") and b < 0:
        raise error("KernelValueError", f"negative shift count: {what}", "NEGATIVE_SHIFT")
    if symbol == "**" and b < 0:
        message = f"negative exponent of an integer: {what}"
        raise error("KernelValueError", message, "NEGATIVE_POWER")
    if symbol == "**":
        exact = a**b if abs(a) < 2 or b <= 64 else 1 << 64
    if symbol == "<<":
        exact = a << min(b, 64)
    if cls.name == "int":
        check_fits(exact, what)


def check_fits(exact: int, what: str) -> None:
    """check=True: int has 64 bits."""
    if not -(1 << 63) <= exact < 1 << 63:
        raise error("KernelOverflowError", f"{what} does not fit 64 bits", "INT_OVERFLOW")


def check_divisor(symbol: str, x: float, y: float, cls: Any) -> None:
    """check=True: weak numbers do not divide by zero; x and y are in the float type."""
    zero = y == 0 if symbol in ("/", "//", "%") else symbol == "**" and x == 0 and y < 0
    if zero and not cls.typed:
        message = f"division by zero: {x} {symbol} {y}"
        raise error("KernelZeroDivisionError", message, "ZERO_DIVISION")


def check_constant(cls: Any, a: Scalar, b: Scalar, sites: Operand | None) -> None:
    """A constant that no bit pattern of the typed integer it meets can hold."""
    if sites is None or not cls.typed:
        return
    for x, constant in ((a, sites.left_constant), (b, sites.right_constant)):
        if constant and not x.typed and not -(1 << cls.bits - 1) <= x.value < 1 << cls.bits:
            message = f"the constant {x.value} does not fit {cls.name}"
            raise error("TypingError", message)


# --- Floats ---------------------------------------------------------------------------------------


def float_operation(symbol: str, a: float, b: float, name: str) -> float:
    """Of two floats of the format, rounded once."""
    if symbol == "+":
        return formats.round_float(a + b, name)
    if symbol == "-":
        return formats.round_float(a - b, name)
    if symbol == "*":
        return formats.round_float(a * b, name)
    if symbol == "/":
        return formats.divide(a, b, name)
    if symbol == "//":
        return formats.divmod_floor(a, b, name)[0]
    if symbol == "%":
        return formats.divmod_floor(a, b, name)[1]
    return formats.round_float(formats.power(a, b), name)


def fused(symbol: str, a: Scalar, b: Scalar, cls: Any, operand: Operand) -> float | None:
    """The sum with a product of exactly the result's type, rounded once; the left product first."""
    sign = -1.0 if symbol == "-" else 1.0
    if operand.left_product and a.product and type(a) is cls:
        return formats.fma(*a.product, sign * cls.of(b).value, cls.format)
    if operand.right_product and b.product and type(b) is cls:
        p, q = b.product
        return formats.fma(sign * p, q, cls.of(a).value, cls.format)
    return None


def fixed_power(x: float, k: int, name: str) -> float:
    """x ** k for a whole k from -8 to 8: products by the binary digits of abs(k), one division."""
    if k == 0:
        return 1.0
    result = x
    for digit in bin(abs(k))[3:]:
        result = formats.multiply(result, result, name)
        if digit == "1":
            result = formats.multiply(result, x, name)
    return result if k > 0 else formats.divide(1.0, result, name)


def power(a: Scalar, b: Scalar, operand: Operand | None) -> Scalar:
    """`a ** b`; only an exponent of the program text makes products, or a float of integers."""
    literal = operand.exponent if operand else None
    cls = result_type("**", type(a), type(b))
    if cls.kind != 2 and b.kind != 2 and literal is not None and literal < 0:
        cls = weak_float()
    if cls.kind != 2:
        return int_result("**", cls.of(a).value, int(b.value), cls)
    x, y = cls.of(a).value, cls.of(b).value
    if context.check:
        check_divisor("**", x, y, cls)
    if literal is not None and -8 <= literal <= 8 and literal == int(literal):
        return cls(fixed_power(x, int(literal), cls.format))
    return cls(float_operation("**", x, y, cls.format))


# --- Conversions ----------------------------------------------------------------------------------


def cast(x: Scalar, cls: Any) -> Scalar:
    """A cast that the kernel writes; integers keep their low bits, also with check=True."""
    if context.check and x.kind == 2 and cls.kind == 1:
        if math.isnan(x.value):
            raise error("KernelValueError", "cannot convert float NaN to an integer", "NAN_TO_INT")
        low, high = cls.limits()
        if math.isinf(x.value) or not low <= int(x.value) <= high:
            raise error("KernelOverflowError", f"{x.value} does not fit {cls.name}", "LOSSY")
    return cls.of(x)


def stored(x: Scalar, cls: Any) -> Scalar:
    """What an element of the type becomes."""
    result = cast(x, cls)
    if context.check and cls.kind == 1 and x.name == "int" and result.value != x.value:
        raise error("KernelOverflowError", f"{x.value} does not fit {cls.name}", "LOSSY")
    return result


# --- Operators ------------------------------------------------------------------------------------


def int_result(symbol: str, a: int, b: int, cls: Any) -> Scalar:
    exact = int_operation(symbol, a, b, cls.bits)
    if context.check:
        check_int(symbol, a, b, cls, exact)
    return cls(bool(exact) if cls.kind == 0 else cls.wrap(exact))


def operand_of(frame: FrameType) -> Operand | None:
    """What the analysis knows of the operation that the frame executes."""
    sites = context.sites.get(id(frame.f_code))
    return sites.get(frame.f_lasti) if sites else None


def binary(symbol: str, a: Scalar, b: Scalar, frame: FrameType) -> Any:
    """`a symbol b`, an operation of the frame's code."""
    if symbol == "**":
        return power(a, b, operand_of(frame))
    cls = result_type(symbol, type(a), type(b))
    if cls.kind == 2:
        if context.fma and symbol in ("+", "-") and (a.product or b.product):
            operand = operand_of(frame)
            value = fused(symbol, a, b, cls, operand) if operand else None
            if value is not None:
                return cls(value)
        x, y = cls.of(a).value, cls.of(b).value
        if context.check:
            check_divisor(symbol, x, y, cls)
        result = cls(float_operation(symbol, x, y, cls.format))
        if symbol == "*":
            result.product = x, y
        return result
    if symbol in ("<<", ">>"):
        return int_result(symbol, cls.of(a).value, int(b.value), cls)
    if cls.typed:
        check_constant(cls, a, b, operand_of(frame))
    return int_result(symbol, cls.of(a).value, cls.of(b).value, cls)


def of_operator(symbol: str) -> Callable[[Scalar, Scalar], Any]:
    """The operator as a function, whose operations are in no line of a kernel."""
    return lambda a, b: binary(symbol, a, b, sys._getframe())


def divmod_(a: Scalar, b: Scalar, frame: FrameType) -> tuple[Any, Any]:
    return binary("//", a, b, frame), binary("%", a, b, frame)


def compare(symbol: str, a: Scalar, b: Scalar) -> Scalar:
    """Exact between integers; with a float both sides convert as for arithmetic."""
    x, y = a.value, b.value
    if a.kind == 2 or b.kind == 2:
        cls = common_float(type(a), type(b))
        x, y = cls.of(a).value, cls.of(b).value
    return TYPES["bool"](COMPARES[symbol](x, y))


def positive(x: Scalar) -> Scalar:
    return x if x.kind else TYPES["int"].of(x)


def _wrapped(x: Scalar, exact: int, what: str) -> Scalar:
    cls = type(x)
    if context.check and cls.name == "int":
        check_fits(exact, what)
    return cls(cls.wrap(exact))


def negative(x: Scalar) -> Scalar:
    x = positive(x)
    return type(x)(-x.value) if x.kind == 2 else _wrapped(x, -x.value, f"-({x.value})")


def absolute(x: Scalar) -> Scalar:
    x = positive(x)
    if x.kind == 2:
        return type(x)(math.fabs(x.value))
    return _wrapped(x, abs(x.value), f"abs({x.value})")


def invert(x: Scalar) -> Scalar:
    if x.kind == 0:
        return type(x)(not x.value)
    return type(x)(type(x).wrap(~x.value))


def least(symbol: str, *args: Scalar) -> Scalar:
    """min ("<") or max (">"): the first of equals in Python's order, then of the common type.

    If that is a float, all convert before they are compared.
    """
    cls = join(*map(type, args))
    if cls.kind == 2:
        args = tuple(cls.of(x) for x in args)
    best = args[0]
    for x in args[1:]:
        if COMPARES[symbol](x.value, best.value):
            best = x
    return cls.of(best)
