"""Shared arrays: numbers that the threads of a block have in common."""

import gpu
import numpy as np
import pytest

COLUMNS = 5


@gpu.jit
def reverse(x, out):
    tile = gpu.shared.array((4, COLUMNS), gpu.float32)
    for i in range(4):
        for j in range(COLUMNS):
            tile[i, j] = x[i, j]
    for i in range(4):
        for j in range(COLUMNS):
            out[i, j] = tile[3 - i, COLUMNS - 1 - j]


def test_two_axes() -> None:
    x = np.arange(20, dtype="float32").reshape(4, 5)
    out = np.zeros_like(x)
    reverse[3, 1](x, out)
    assert np.array_equal(out, x[::-1, ::-1])


@pytest.mark.parametrize("nbytes", [0, 4, 7, 64, 1 << 16])
def test_all_that_the_launch_adds(nbytes: int) -> None:
    @gpu.jit
    def kernel(out):
        words = gpu.shared.array(0, gpu.int32)
        halves = gpu.shared.array(shape=0, dtype=np.int16)
        out[0] = len(words)
        out[1] = halves.size
        if len(words) > 0:
            words[0] = 0x12345
            out[2] = halves[0]

    out = np.zeros(3, "int64")
    kernel[1, 1, 0, nbytes](out)
    gpu.synchronize()
    assert list(out) == [nbytes // 4, nbytes // 2, 0x2345 if nbytes >= 4 else 0]


def test_names_in_errors() -> None:
    @gpu.jit(check=True)
    def kernel(out, i):
        tile = gpu.shared.array((2, 3), gpu.float32)
        tile[1, i] = 1
        out[0] = tile[1, i]

    out = np.zeros(1, "float32")
    kernel[1, 1](out, 2)
    gpu.synchronize()
    assert out[0] == 1
    with pytest.raises(IndexError, match=r"index 3 .* axis 1 of array 'tile' with shape \(2, 3\)"):
        kernel[1, 1](out, 3)
        gpu.synchronize()
