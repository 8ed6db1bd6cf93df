"""Local arrays: memory that each thread has for itself."""

import gpu
import numpy as np
import pytest

SIZES = (3, 4)


@gpu.jit
def sorted_rows(x, out):
    i = gpu.grid(1)
    if i < len(x):
        row = gpu.local.array(8, np.float32)
        for j in range(8):
            row[j] = x[i, j]
        for j in range(1, 8):
            k = j
            while k > 0 and row[k - 1] > row[k]:
                row[k - 1], row[k] = row[k], row[k - 1]
                k -= 1
        for j in range(8):
            out[i, j] = row[j]


def test_each_thread_has_its_own() -> None:
    x = np.random.default_rng(1).random((300, 8), "float32")
    out = np.zeros_like(x)
    sorted_rows[5, 64](x, out)
    assert np.array_equal(out, np.sort(x, axis=1))


def test_passed_to_and_returned_from_functions() -> None:
    def fill(a, first):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = first + i * a.shape[1] + j
        return a[1:]

    @gpu.jit
    def kernel(out):
        a = gpu.local.array(SIZES, gpu.int64)
        rest = fill(a, 10)
        for i in range(2):
            for j in range(4):
                out[i, j] = rest[i, j] * 2

    out = np.zeros((2, 4), "int64")
    kernel[1, 1](out)
    assert np.array_equal(out, (np.arange(12).reshape(3, 4)[1:] + 10) * 2)


def test_names_in_errors() -> None:
    @gpu.jit(check=True)
    def kernel(out, i):
        mine = gpu.local.array(3, gpu.int32)
        mine[i] = 1
        out[0] = mine[i]

    out = np.zeros(1, "float32")
    with pytest.raises(IndexError, match=r"index -4 .* axis 0 of array 'mine' with shape \(3,\)"):
        kernel[1, 1](out, -4)
        gpu.synchronize()
