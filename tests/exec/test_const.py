"""Constant data: NumPy arrays of the program in kernels."""

import warnings

import gpu
import kit
import numpy as np
import pytest


def frozen(values: object, dtype: str = "float32", order: str = "C") -> np.ndarray:
    array = np.array(values, dtype, order=order)
    array.flags.writeable = False
    return array


MATRIX = frozen([[1.5, 2.5, -1.0], [3.5, 4.5, 8.0]])
COLUMNS = frozen(np.arange(6).reshape(2, 3), "int16", order="F")
FLAGS = frozen([True, False, True], "bool")
PAIR = (MATRIX, FLAGS)
SCALAR = frozen(7, "uint64")
EMPTY = frozen(np.zeros((0, 3)), "float64")


def second(table, i):
    return table[i, 1]


@gpu.jit
def everything(n, out):
    out[0] = MATRIX[n, 1] + MATRIX[-1, n]
    out[1] = COLUMNS[1, n] + COLUMNS.shape[1]
    out[2] = second(MATRIX, n)
    rest = MATRIX[1:, ::-1]
    out[3] = rest[0, n]
    for i in range(len(FLAGS)):
        if FLAGS[i]:
            out[4] += 1
    out[5] = gpu.const.array_like(MATRIX)[n, n]
    either = COLUMNS if n > 3 else COLUMNS.T.T
    out[6] = either[n, 2]
    out[7] = PAIR[0][n, 0]
    mine = gpu.local.array(MATRIX.shape, MATRIX.dtype)
    mine[1, 2] = 5
    out[8] = mine[1, 2]
    for row in MATRIX:
        out[9] += row[1]
    out[10] = SCALAR[()] + EMPTY.size + len(EMPTY)
    out[11] = max(COLUMNS[n])


def test_as_in_python() -> None:
    expected = np.zeros(12)
    out = np.zeros(12)
    for n in (0, 1):
        expected[:] = [
            MATRIX[n, 1] + MATRIX[-1, n], COLUMNS[1, n] + 3, MATRIX[n, 1], MATRIX[1:, ::-1][0, n], 2,
            MATRIX[n, n], COLUMNS[n, 2], MATRIX[n, 0], 5, MATRIX[:, 1].sum(), 7, COLUMNS[n].max(),
        ]  # fmt: skip
        out[:] = 0
        kit.run(everything, 1, 1, (n, out))
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                                   "uint32", "uint64", "float16", "float32", "float64"])  # fmt: skip
def test_every_type(dtype: str) -> None:
    values = np.random.default_rng(3).integers(0, 256, 16, "uint8")
    table = values.view("bool") & True if dtype == "bool" else values.view(dtype)
    table = table.copy()
    table.flags.writeable = False

    @gpu.jit
    def kernel(out):
        for i in range(len(table)):
            out[i] = table[i]

    out = np.zeros(len(table), dtype)
    kit.run(kernel, 1, 1, (out,))
    assert out.tobytes() == table.tobytes()


@pytest.mark.parametrize(
    "view", ["[::2, ::-3]", "[1]", ".T", ".reshape(3, 2, 4)[:, 1]", "[:, None]"]
)
def test_any_strides(view: str) -> None:
    table = eval("a" + view, {"a": np.arange(24, dtype="int32").reshape(4, 6)})
    table.flags.writeable = False
    shape = table.shape

    @gpu.jit
    def kernel(out):
        for i in range(table.shape[0]):
            out[i] = table[i]

    out = np.zeros(shape, "int32")
    kit.run(kernel, 1, 1, (out,))
    assert np.array_equal(out, table)


def test_another_array_is_another_kernel() -> None:
    """The array is guarded like any name; its values are those of the moment when it was read."""
    table = frozen([1.0])

    @gpu.jit
    def kernel(out):
        out[0] = table[0]

    out = np.zeros(1)
    for value in (1.0, 2.0, 2.5):
        table = frozen([value])
        kit.run(kernel, 1, 1, (out,))
        assert out[0] == value


def test_later_writes_are_not_seen_and_warned_of_once() -> None:
    table = np.array([1, 2, 3])

    @gpu.jit
    def kernel(out):
        out[0] = table[0] + table[1]
        out[1] = table[2]

    @gpu.jit
    def meant(out):
        rest = gpu.const.array_like(table[1:])
        out[0] = gpu.const.array_like(table)[0] + gpu.local.array(table.shape, table.dtype).size
        out[1] = rest[len(table) - 2]

    out = np.zeros(2)
    # FROZEN_ARRAY
    with pytest.warns(gpu.NumericWarning, match="'table' has now are compiled into") as caught:
        kit.run(kernel, 1, 1, (out,))
    assert [w.category for w in caught].count(gpu.NumericWarning) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", gpu.NumericWarning)
        table[:] = 50
        kit.run(kernel, 1, 1, (out,), reference=False)
        assert list(out) == [3, 3]
        kit.run(meant, 1, 1, (out,))
        assert list(out) == [53, 50]


def test_more_than_the_constant_cache_holds() -> None:
    large = frozen(np.arange(20_000), "int64")
    small = frozen([5], "int8")

    @gpu.jit
    def kernel(out):
        i = gpu.grid(1)
        if i < out.size:
            out[i] = large[i] + small[0]

    out = np.zeros(20_000, "int64")
    kit.run(kernel, 200, 128, (out,))
    assert np.array_equal(out, large + 5)
    ptx = kernel.ptx("int64[::1]", arch="sm_80")
    assert "ld.global.nc" in ptx and "ld.const" not in ptx


def test_too_large() -> None:
    huge = frozen(np.zeros((1 << 20) + 1), "int8")

    @gpu.jit
    def kernel(out):
        out[0] = huge[0]

    with pytest.raises(
        gpu.TypingError, match="pass the array to the kernel as an argument"
    ) as caught:
        kit.run(kernel, 1, 1, (np.zeros(1),))
    assert caught.value.code == "HOST_OBJECT"


def test_names_in_errors() -> None:
    @gpu.jit(check=True)
    def kernel(out, i):
        out[0] = MATRIX[0, i]

    with pytest.raises(
        IndexError, match=r"index 3 .* axis 1 of array 'MATRIX' with shape \(2, 3\)"
    ):
        kit.run(kernel, 1, 1, (np.zeros(1), 3))


@gpu.jit
def parts(out, n):
    some = gpu.const.array_like(MATRIX[1, ::2])
    column = gpu.const.array_like(ary=COLUMNS[:, n])
    either = gpu.const.array_like(MATRIX if n > 5 else MATRIX[::-1])
    out[0] = some.size
    out[1] = some[1]
    out[2] = column[1]
    out[3] = either[0, 0]


def test_views_that_are_meant() -> None:
    out = np.zeros(4)
    kit.run(parts, 1, 1, (out, 2))
    assert out.tolist() == [2, 8.0, 5, 3.5]
