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


# --- gpu.shared.dynamic ---------------------------------------------------------------------------


def taken(n: int, value: float) -> object:
    """The next n pairs of what the launch adds."""
    pairs = gpu.shared.dynamic((n, 2), gpu.float64)
    pairs[n - 1, 1] = value
    return pairs


@gpu.jit(check=True)
def several(n, out):
    words = gpu.shared.dynamic(n, "float32")
    table = gpu.shared.dynamic(dtype=np.int8, shape=(n, 3))
    pairs = taken(n, 5.5)
    for i in range(n):
        words[i] = i
        for j in range(3):
            table[i, j] = 3 * i + j
    total = 0.0
    for i in range(n):
        total += words[i] + table[i, 2]
    out[0] = total
    out[1] = pairs[n - 1, 1]
    out[2] = len(pairs)
    out[3] = table.size


@pytest.mark.parametrize(("n", "nbytes"), [(1, 48), (5, 128), (8, 192), (20, 464)])
def test_arrays_of_any_shape_lie_side_by_side(n: int, nbytes: int) -> None:
    """Each begins at a multiple of 16: 4 n, 3 n and 16 n bytes."""
    assert nbytes == -(-4 * n // 16) * 16 + -(-3 * n // 16) * 16 + 16 * n
    out = np.zeros(4)
    several[1, 1, 0, nbytes](n, out)
    gpu.synchronize()
    assert list(out) == [sum(i + 3 * i + 2 for i in range(n)), 5.5, n, 3 * n]
    with pytest.raises(ValueError, match=f"'pairs' needs {16 * n} bytes .* it adds {nbytes - 1}"):
        several[1, 1, 0, nbytes - 1](n, out)
        gpu.synchronize()


def test_more_than_the_launch_adds() -> None:
    @gpu.jit(check=True)
    def kernel(n, m, out):
        a = gpu.shared.dynamic((n, m), gpu.float32)
        out[0] = a.size

    out = np.zeros(1)
    for n, m in [(0, 1 << 40), (16, 16), (1, 256)]:
        kernel[1, 1, 0, 1024](n, m, out)
        gpu.synchronize()
        assert out[0] == n * m
    for n, m in [(1, 257), (1 << 62, 4), (1 << 40, 1 << 40)]:
        with pytest.raises(ValueError, match="of the shared memory that the launch adds") as caught:
            kernel[1, 1, 0, 1024](n, m, out)
            gpu.synchronize()
        assert caught.value.code == "SHARED_EXCEEDED"
        assert "kernel[grid, block, stream, shared_bytes]" in str(caught.value)
    with pytest.raises(ValueError, match="axis 1 of array 'a' cannot have -1 elements") as caught:
        kernel[1, 1, 0, 1024](4, -1, out)
        gpu.synchronize()
    assert caught.value.code == "NEGATIVE_EXTENT"


def test_in_a_loop_every_round_takes_more() -> None:
    @gpu.jit(check=True)
    def kernel(n, out):
        for i in range(n):
            a = gpu.shared.dynamic(4, gpu.int32)
            a[0] = i
            out[i] = a[0]

    out = np.zeros(8, "int64")
    kernel[1, 1, 0, 128](8, out)
    gpu.synchronize()
    assert list(out) == list(range(8))
    with pytest.raises(
        ValueError, match="'a' needs 16 bytes .* it adds 112, of which 112 are taken"
    ):
        kernel[1, 1, 0, 112](8, out)
        gpu.synchronize()
