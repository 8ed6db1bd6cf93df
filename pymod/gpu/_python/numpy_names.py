"""NumPy's names: which of the python device's functions each of them is."""

from __future__ import annotations

import operator
import sys
from typing import Any

from gpu._python import functions, mathematics, operations, types
from gpu._python.elementwise import FUNCTIONS as ELEMENTWISE
from gpu._python.scalars import Scalar

OPERATORS: dict[str, Any] = {
    "abs": functions.absolute, "add": operator.add, "subtract": operator.sub,
    "multiply": operator.mul, "divide": operator.truediv, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "power": operator.pow, "matmul": operator.matmul,
    "negative": operator.neg, "positive": operator.pos, "invert": operator.invert,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "less": operator.lt,
    "less_equal": operator.le, "equal": operator.eq, "not_equal": operator.ne,
    "greater": operator.gt, "greater_equal": operator.ge, "divmod": functions.both,
}  # fmt: skip
OF_MATH = (
    "cbrt", "copysign", "cos", "cosh", "degrees", "exp", "exp2", "expm1", "fabs", "frexp",
    "isfinite", "isinf", "isnan", "ldexp", "log10", "log1p", "log2", "modf", "nextafter",
    "radians", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
RENAMED = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "rad2deg": "degrees", "deg2rad": "radians",
}  # fmt: skip


def of_math(name: str, n_args: int) -> Any:
    """A function of math that takes fewer arguments here."""

    def call(*args: Any) -> Scalar:
        operations.check_count(f"numpy.{name}", args, n_args)
        return mathematics.FUNCTIONS[name](*args)

    return call


def finfo(dtype: Any) -> Any:
    """np.finfo of the type, whose attributes are looked up as those of any object."""
    return types.limits_of(dtype, "finfo", 2)


def iinfo(type: Any) -> Any:
    return types.limits_of(type, "iinfo", 1)


# By one of the names that lead to the object: np.asin is np.arcsin.
FUNCTIONS = {
    **OPERATORS,
    **{name: mathematics.FUNCTIONS[name] for name in OF_MATH if name in mathematics.FUNCTIONS},
    **{old: mathematics.FUNCTIONS[new] for old, new in RENAMED.items()},
    **ELEMENTWISE,
    **types.ABSTRACT,
    "log": of_math("log", 1),
    "hypot": of_math("hypot", 2),
    "gcd": of_math("gcd", 2),
    "lcm": of_math("lcm", 2),
    "dtype": types.type_of,
    "finfo": finfo,
    "iinfo": iinfo,
}
found: dict[int, tuple[Any, Any]] = {}  # id of an object of NumPy -> (the object, ours)


def replaced(x: Any) -> Any:
    """What kernels have in the place of an object of NumPy, or None."""
    np = sys.modules.get("numpy")
    if np is None:
        return None
    if not found:
        found.update(
            {id(old): (old, new) for name, new in FUNCTIONS.items()
             if (old := getattr(np, name, None)) is not None}
        )  # fmt: skip
    return found.get(id(x), (None, None))[1]
