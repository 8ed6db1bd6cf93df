"""Which products contract with which sums: the compiler and the python device decide alike.

Each body is of a kernel with three float32 a, b and c; over random numbers about a third of the
elements differ where one side contracts and the other does not.
"""

import operator

import kit
import numpy as np
import pytest

BODIES = [
    "o[i] = a * b + c",
    "o[i] = c - a * b",
    "o[i] = a * b + c * a - b * c",
    "o[i] = operator.add(a * b, c)",
    "o[i] = operator.mul(a, b) + c",
    "p = operator.mul(a, b); o[i] = operator.sub(c, p)",
    "p = a * b; p += c; o[i] = p",
    "p = a; p *= b; o[i] = c - p",
    "p = a * b\nif c > 0:\n    o[i] = p + c\nelse:\n    o[i] = c - p",
    "p = a * b\nif c > 0:\n    p = p + 0\no[i] = p + c",
    "p = a * b\nfor k in range(3):\n    o[i] = p + c\n    c = p - c",
    "p = a\nfor k in range(3):\n    p = p * b + c\no[i] = p",
    "p = c\nfor k in range(3):\n    p = p * b\no[i] = p + c",
    "p = c\nwhile p < 1:\n    p = abs(p * b) + 1\no[i] = p + c",
    "o[i] = (a * b if c > 0 else c * b) + c",
    "o[i] = (a > 0 and a * b or c * a) + c",
    "p, q = a * b, c; o[i] = p + q",
    "t = (a * b, c); o[i] = t[0] + t[1]",
    "p = q = a * b; o[i] = p + c + q",
    "o[i] = -(a * b) + c",
    "o[i] = +(a * b) + c",
    "o[i] = (q := a * b) + c + q",
    "o[i] = abs(a * b) + c",
    "o[i] = float(a * b) + float(c)",
    "o[i] = a ** 2 + c",
    "o[i] = half(a) * b + c",
    "o[i] = half(a * b) + c",
    "o[i] = twice(a, b) + c",
    "o[i] = 0.1 * 0.3 + float(c)",
    "k = 0.1; o[i] = K * k * 0.7 + float(c) + k * 3",
    "k = 0.1\nfor j in range(4):\n    k = k * 0.3 + 0.7\no[i] = k",
    "o[i] = K * 0.1 + float(c)",
    "o[i] = float(a) * 0.1 + float(c) * 0.3 - 0.7",
    "o[i] = c + a * S",
    "o[i] = S * S + c",
    "o[i] = float(a) * b + c",
    "o[i] = gpu.float64(a) * b + c",
    "a *= b; a += c; a -= b * b; o[i] = a",
    "assert a == a\np = a * b\no[i] = p + c",
]


def half(x):
    return x * 0.5


def twice(x, y):
    return x * y * 2 + y


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("body", BODIES)
def test_sums_and_products(body, fma):
    lines = ["i = gpu.grid(1)", "a = x[i]", "b = y[i]", "c = z[i]", *body.split("\n")]
    source = "def kernel(x, y, z, o):\n" + "".join(f"    {line}\n" for line in lines)
    names = {"operator": operator, "half": half, "twice": twice, "K": 0.3, "S": np.float32(0.7)}
    rng = np.random.default_rng(1)
    x, y, z = (rng.standard_normal(64).astype(np.float32) for _ in range(3))
    kit.agree(source, (x, y, z, np.zeros(64)), block=64, names=names, fma=fma)
