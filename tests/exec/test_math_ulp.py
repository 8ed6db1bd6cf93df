"""A short run of math_ulp.py, where python-flint and mpmath are installed; always the tool's own parts."""

import importlib.util

import math_ulp
import numpy as np
import pytest

HAS_BALLS = all(importlib.util.find_spec(name) for name in ("flint", "mpmath"))


def test_rounding_and_ulps_against_numpy():
    x = np.concatenate([c for n in ("sin", "exp") for c in math_ulp.arguments(n, "float64", 3000)])
    with np.errstate(all="ignore"):
        for kind in ("float16", "float32"):
            assert np.array_equal(
                math_ulp.rounded(x, kind), x.astype(kind).astype("float64"), equal_nan=True
            )
            finite = x[np.isfinite(x.astype(kind))]
            near = np.abs(finite.astype(kind)) < math_ulp.largest(kind)
            spacing = np.spacing(np.abs(finite[near].astype(kind))).astype("float64")
            assert np.array_equal(
                math_ulp.ulp_of(finite[near].astype(kind).astype("float64"), kind), spacing
            )
    bits = np.arange(0, 0x7F80, dtype="uint32") << 16  # all positive bfloat16 numbers
    values = bits.view("float32").astype("float64")
    assert np.array_equal(math_ulp.rounded(values, "bfloat16"), values)
    middle = (values[:-1] + values[1:]) / 2
    even = np.where(np.arange(middle.size) % 2 == 0, values[:-1], values[1:])
    assert np.array_equal(math_ulp.rounded(middle, "bfloat16"), even)


def test_a_wrong_result_is_seen():
    pytest.importorskip("flint")
    pytest.importorskip("mpmath")
    columns = math_ulp.arguments("exp", "float64", 300)
    with np.errstate(all="ignore"):
        good = np.exp(columns[0])
    assert math_ulp.measure(("exp", "float64", columns, good))["error"] < 1
    bad = good.copy()
    bad[150] = np.nextafter(np.nextafter(np.nextafter(bad[150], 9e9), 9e9), 9e9)
    assert 2.4 < math_ulp.measure(("exp", "float64", columns, bad))["error"] < 3.6
    bad[150] = np.nan
    assert math_ulp.measure(("exp", "float64", columns, bad))["error"] == np.inf


@pytest.mark.skipif(not HAS_BALLS, reason="python-flint and mpmath are not installed")
@pytest.mark.parametrize("name", math_ulp.FUNCTIONS)
def test_errors_are_what_cuda_documents(name):
    for kind in math_ulp.FORMATS:
        columns = math_ulp.arguments(name, kind, 300)
        row = math_ulp.measure((name, kind, columns, math_ulp.results(name, kind, columns)))
        assert row["error"] <= math_ulp.bound_of(name, kind) + 0.5, row
