"""A case: a text, what it is launched with, and how."""

import random
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from .types import INTS, TYPED_FLOATS, Array, Type

ROWS = 6
COLUMNS = 3
DTYPES = ("bool", *INTS, *TYPED_FLOATS, *TYPED_FLOATS)
EDGES = (0, 1, 2, 3, 7, -1, -2, 100, 127, 128, 255, -128, 2**31 - 1, 2**31, -(2**31), 2**53 + 1,
         2**63, 2**64 - 2)  # fmt: skip
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 3.75, 1e4, -65504.0, 1e10, -1e20, 6e-8, 1e-40,
          float("inf"), float("-inf"), float("nan"))  # fmt: skip
LAYOUTS = ("plain", "plain", "plain", "fortran", "backwards", "spread")
# Grid, block, and the lines that find i; some have more threads than rows.
LAUNCHES = (
    (1, ROWS, ["i = gpu.grid(1)"]),
    (2, 4, ["i = gpu.grid(1)"]),
    (3, 2, ["i = gpu.blockIdx.x * gpu.blockDim.x + gpu.threadIdx.x"]),
    ((1, 3), (2, 1), ["e, d = gpu.grid(2)", "i = d * 2 + e"]),
    ((2, 1, 1), (1, 2, 2), ["i = gpu.grid(3)[0] * 4 + gpu.threadIdx.z * 2 + gpu.threadIdx.y"]),
)
# Of those whose threads are one for each row, numbered by x: threads of a block.
CROWDS = {(1, ROWS): ROWS, (3, 2): 2, ((1, 3), (2, 1)): 2}
# Arguments that are numbers: a name of the type that computes, and what is passed.
NUMBERS = {
    "int": (3, -7, 2**62, np.int8(-5), np.uint32(2**32 - 1)),
    "float": (0.1, -2.5, np.float64(1e10)),
    "float32": (np.float32(0.1), np.float32(-3)),
    "float16": (np.float16(2.5),),
    "uint64": (np.uint64(2**64 - 1), np.uint64(7)),
    "bool": (True, False, np.bool_(True)),
}


@dataclass
class Case:
    seed: int
    source: str
    params: dict[str, Type]
    data: dict[str, Any] = field(default_factory=dict)
    launch: tuple[Any, Any] = (1, ROWS)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def check(self) -> bool:
        return bool(self.options.get("check"))


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def elements(rng: random.Random, dtype: str, shape: tuple[int, ...], tame: bool) -> np.ndarray:
    """Values for an array; tame ones are small numbers."""
    n = int(np.prod(shape))
    if dtype == "bool":
        values: list = [rng.random() < 0.5 for _ in range(n)]
    elif dtype in TYPED_FLOATS:
        edge = 0.0 if tame else 0.4
        values = [
            rng.choice(FLOATS) if rng.random() < edge else rng.uniform(-9, 9) for _ in range(n)
        ]
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if tame:
            low, high = max(low, -9), min(high, 20)
        inside = [v for v in EDGES if low <= v <= high] + [low, high]
        values = [
            rng.choice(inside) if rng.random() < 0.6 else rng.randint(low, high) for _ in range(n)
        ]
    with np.errstate(all="ignore"):
        return np.array(values, dtype_of(dtype)).reshape(shape)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same elements with other strides."""
    if layout == "fortran" and array.ndim:
        return np.asfortranarray(array)
    if layout == "backwards" and array.ndim:
        turned = (slice(None, None, -1),) * array.ndim
        return array[turned].copy()[turned]
    if layout == "spread" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return array


def copied(value: Any) -> Any:
    """A value with its arrays copied, strides and all."""
    if not isinstance(value, np.ndarray):
        return value
    span = [abs(stride) * (n - 1) for stride, n in zip(value.strides, value.shape, strict=True)]
    first = sum(s for s, stride in zip(span, value.strides, strict=True) if stride < 0)
    memory = np.zeros(sum(span) + value.itemsize, np.uint8)
    copy = np.ndarray(value.shape, value.dtype, memory, first, value.strides)
    copy[...] = value
    return copy


def arguments(rng: random.Random, params: dict[str, Type], shapes: dict, tame: bool) -> dict:
    """A value for each parameter."""
    data: dict[str, Any] = {}
    for name, kind in params.items():
        if isinstance(kind, Array):
            array = elements(rng, kind.dtype, shapes[name], tame)
            data[name] = array if name in "nh" else laid_out(array, rng.choice(LAYOUTS))
        else:
            data[name] = scalar_argument(rng, kind)
    return data


def scalar_argument(rng: random.Random, kind: Type) -> Any:
    if isinstance(kind, tuple):
        return tuple(scalar_argument(rng, part) for part in kind)
    return rng.choice(NUMBERS[kind])
