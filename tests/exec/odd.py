"""Kernels for one thread that CPython itself runs too: cases, and what compares them.

A case is a function of arrays and numbers. It is run by CPython with NumPy's arrays, on the python
device, and on the suite's device with each of OPTIONS; the arrays must be the same after each. A case
that CPython computes by other numbers (typed integers, joins with floats) says python=False and states
what it must leave in its last array.
"""

import warnings
from typing import Any

import gpu
import kit
import numpy as np

OPTIONS = ({}, {"check": True}, {"fma": False}, {"opt_level": 0})


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def out(*shape: int, dtype: Any = np.int64) -> np.ndarray:
    return np.zeros(shape, dtype)


class Cases(dict):
    """Functions by name, each with its arguments and what the comparison needs to know."""

    def add(self, *args: Any, **how: Any) -> Any:
        def keep(function: Any) -> Any:
            assert function.__name__ not in self, function.__name__
            self[function.__name__] = (function, args, how)
            return function

        return keep

    def test(self, name: str) -> None:
        function, args, how = self[name]
        agree(function, *args, **how)


def agree(
    function: Any,
    *args: Any,
    python: bool = True,
    expect: Any = None,
    ulps: float = 0,
    options: tuple = OPTIONS,
) -> None:
    """python: CPython computes the same; expect: the elements of the last array, in C order."""
    assert python or expect is not None, "nothing but our own devices would say what is right"
    for some in options:
        results = kit.agree(function, args, ulps=ulps, **some)
        if python and (some.get("fma") is False or not any(a.dtype.kind == "f" for a in results)):
            _same(results, _in_python(function, args), ulps, "CPython")
        if expect is not None:
            last = np.array(expect, results[-1].dtype).reshape(results[-1].shape)
            _same(results[-1:], [last], ulps, "the case")


def _in_python(function: Any, args: tuple) -> list[np.ndarray]:
    args = kit.copied(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        function(*args)
    return kit.arrays_of(args)


def _same(got: list[np.ndarray], expected: list[np.ndarray], ulps: float, who: str) -> None:
    for k, (a, b) in enumerate(zip(got, expected, strict=True)):
        places = kit.differences(a, b, ulps)
        assert not places, f"array {k} at {places[0]}: {a.tolist()}, {who} has {b.tolist()}"


def signature(args: tuple) -> str:
    """The types of the arguments as a kernel's signature."""
    return ", ".join(map(_type, args))


def _type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        axes = ", ".join(":" * value.ndim)
        return f"{value.dtype.name}[{axes}]" if value.ndim else f"{value.dtype.name}[()]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_type, value))}{',' * (len(value) == 1)})"
    return type(value).__name__


__all__ = ["OPTIONS", "Cases", "agree", "floats", "gpu", "ints", "out", "signature"]
