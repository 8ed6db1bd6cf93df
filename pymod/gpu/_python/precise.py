"""Functions that are further from the exact results in `math` than documented."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

HALF_LOG_2_PI = Decimal("0.91893853320467274178032973640561763986139747363778")
# B(2k) / (2k (2k - 1)): the coefficients of Stirling's series.
STIRLING = [Fraction(1, 12), Fraction(-1, 360), Fraction(1, 1260), Fraction(-1, 1680),
            Fraction(1, 1188), Fraction(-691, 360360), Fraction(1, 156), Fraction(-3617, 122400),
            Fraction(43867, 244188), Fraction(-174611, 125400)]  # fmt: skip
FROM = 60  # where ten terms of the series are exact to 30 digits
FAR = 500  # no cancellation is left this far from 0


def cbrt(x: float) -> float:
    """One step of Newton's in exact numbers."""
    root = math.cbrt(x)
    if root == 0 or not math.isfinite(root):
        return root
    near = Fraction(root)
    return float(near - (near**3 - Fraction(x)) / (3 * near * near))


def lgamma(x: float) -> float:
    """Stirling's series beyond FROM, and the logarithm of the factors on the way there."""
    if not -FAR < x < FAR or x == math.floor(x) <= 2:
        return math.lgamma(x)
    with localcontext() as context:
        context.prec = 50
        at, product = Decimal(x), Decimal(1)
        while at < FROM:
            product *= at
            at += 1
        series = HALF_LOG_2_PI + (at - Decimal("0.5")) * at.ln() - at
        for k, term in enumerate(STIRLING):
            series += Decimal(term.numerator) / Decimal(term.denominator) / at ** (2 * k + 1)
        return float(series - abs(product).ln())
