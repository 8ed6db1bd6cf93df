"""NumPy's functions on numbers that are operators, or functions of math with another name."""

from __future__ import annotations

import operator
import sys

from gpu._python import mathematics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# By the names that ufuncs have themselves: np.abs is np.absolute, np.asin np.arcsin.
OPERATORS: dict[str, Any] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
    "invert": operator.invert,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
SAME = (
    "cbrt",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "frexp",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log10",
    "log1p",
    "log2",
    "modf",
    "nextafter",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
)
RENAMED = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "rad2deg": "degrees",
    "deg2rad": "radians",
}
FUNCTIONS = {
    **OPERATORS,
    **{
        old: mathematics.FUNCTIONS[new]
        for old, new in (RENAMED | dict(zip(SAME, SAME, strict=True))).items()
        if new in mathematics.FUNCTIONS
    },
}


def ufunc(x: Any) -> Any:
    """What kernels have in the place of a ufunc, or None."""
    np = sys.modules.get("numpy")
    if np is None or not isinstance(x, np.ufunc):
        return None
    return FUNCTIONS.get(x.__name__)
