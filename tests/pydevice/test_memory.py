"""Arrays that kernels of the python device declare."""

import re

import gpu
import numpy as np
import pytest
from gpu._python import run

TABLE = np.array([3, 1, 4, 1, 5], np.int16)


def ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


def test_a_shared_array_is_one_per_block_and_declaration():
    def kernel(out):
        a = gpu.shared.array(4, gpu.int32)
        b = gpu.shared.array(shape=4, dtype=np.float32)
        t = gpu.threadIdx.x
        a[t] = 10 * gpu.blockIdx.x + t
        b[t] = 0.5 * t
        gpu.syncthreads()
        out[gpu.grid(1)] = a[3 - t] + b[(t + 1) % 4]

    out = np.zeros(8, np.float32)
    run(kernel, 2, 4, (out,))
    assert out.tolist() == [3.5, 3.0, 2.5, 0.0, 13.5, 13.0, 12.5, 10.0]


def test_a_declaration_in_a_function_and_in_a_loop_is_one_array():
    def tile():
        return gpu.shared.array((2, 2), gpu.int64)

    def kernel(out):
        for i in range(3):
            a = gpu.shared.array(1, gpu.int64)
            a[0] += i + 1
        one = tile()
        two = tile()
        one[0, 1] = 5
        two[1, 0] = 7
        one[:, 1] += a[0]
        for i in range(2):
            for j in range(2):
                out[i, j] = two[i, j]

    out = ints(2, 2)
    run(kernel, 1, 1, (out,))
    assert out.tolist() == [[0, 11], [7, 6]]


@pytest.mark.parametrize("dtype", ["bool_", "int8", "uint16", "int32", "uint64", "float16",
                                   "bfloat16", "float32", "float64"])  # fmt: skip
def test_elements_of_shared_and_local_arrays_are_of_the_type(dtype):
    def kernel(out, dtype):
        a = gpu.shared.array((2, 3), dtype)
        b = gpu.local.array(3, dtype)
        b[1] = 300.7
        a[1] = b
        a[0, 0] = -1
        out[0], out[1] = a[1, 1], a[0, 0]
        out[2] = a.itemsize
        out[3] = a.size + 10 * a.ndim

    out = np.zeros(4)
    run(kernel, 1, 1, (out, getattr(gpu, dtype)))
    size = {
        "bool_": 1,
        "int8": 1,
        "uint16": 2,
        "float16": 2,
        "bfloat16": 2,
        "int32": 4,
        "float32": 4,
    }
    stored = {"bool_": (1, 1), "int8": (127, -1), "uint16": (300, 65535), "int32": (300, -1),
              "uint64": (300, 2.0**64), "float16": (300.75, -1), "bfloat16": (300, -1),
              "float32": (np.float32(300.7), -1), "float64": (300.7, -1)}  # fmt: skip
    assert out.tolist() == [*stored[dtype], size.get(dtype, 8), 26]


def test_local_arrays_are_each_threads_own():
    def kernel(out):
        a = gpu.local.array(4, gpu.int32)
        t = gpu.threadIdx.x
        for i in range(4):
            a[i] = t * i
        gpu.syncthreads()
        for i in range(4):
            out[t, i] = a[i]

    out = ints(3, 4)
    run(kernel, 1, 3, (out,))
    assert out.tolist() == [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 4, 6]]


def test_dynamic_memory_is_one_for_all_arrays_of_shape_0():
    def kernel(out):
        a = gpu.shared.array(0, gpu.int32)
        b = gpu.shared.array(0, gpu.uint8)
        a[1] = 0x01020304
        for i in range(4):
            out[i] = b[4 + i]
        out[4] = a.size
        out[5] = b.size

    out = ints(6)
    run(kernel, 1, 1, (out,), shared=40)
    assert out.tolist() == [4, 3, 2, 1, 10, 40]


def test_dynamic_arrays_are_disjoint():
    def kernel(out, n):
        a = gpu.shared.dynamic(n, gpu.uint8)
        b = gpu.shared.dynamic((n, 2), gpu.float64)
        t = gpu.threadIdx.x
        if t < n:
            a[t] = 255
            b[t, 0] = b[t, 1] = t
        gpu.syncthreads()
        out[t] = a[t % n] + b[t % n, 1]

    out = ints(6)
    run(kernel, 1, 6, (out, 3), shared=64)
    assert out.tolist() == [255, 256, 257] * 2
    message = "array 'b' needs 48 bytes .*; it adds 63, of which 16 are taken"
    with pytest.raises(ValueError, match=message):
        run(kernel, 1, 6, (out, 3), shared=63)
    with pytest.raises(ValueError, match="axis 0 of array 'a' cannot have -1 elements"):
        run(kernel, 1, 6, (out, -1), shared=63)


def test_each_call_gets_more_dynamic_memory():
    def kernel(out):
        for i in range(3):
            a = gpu.shared.dynamic(5, gpu.int8)
            a[4] = i + 1
        all_of_it = gpu.shared.array(0, gpu.int8)
        for i in range(40):
            out[i] = all_of_it[i]

    out = ints(40)
    run(kernel, 1, 1, (out,), shared=40)
    assert {i: v for i, v in enumerate(out.tolist()) if v} == {4: 1, 20: 2, 36: 3}


def test_a_local_array_of_a_loop_is_one_of_a_call_is_its_own():
    def own(n):
        a = gpu.local.array(1, gpu.int32)
        a[0] += n
        return a[0] if n == 0 else a[0] + own(n - 1)

    def kernel(out):
        for i in range(3):
            a = gpu.local.array(2, gpu.int32)
            a[0] += i + 1
        out[0] = a[0]
        out[1] = own(4)

    out = ints(2)
    run(kernel, 1, 1, (out,))
    assert out.tolist() == [6, 10]


def test_constant_arrays():
    def kernel(out):
        table = gpu.const.array_like(TABLE)
        i = gpu.grid(1)
        out[i] = table[i] * 10 + TABLE[4 - i]

    def writes():
        gpu.const.array_like(TABLE)[0] = 1

    out = ints(5)
    run(kernel, 1, 5, (out,))
    assert out.tolist() == [35, 11, 44, 11, 53]
    with pytest.raises(gpu.TypingError, match="'TABLE' is read-only"):
        run(writes, 1, 1, ())
    assert TABLE[0] == 3


def test_errors_name_the_variable():
    def kernel(n):
        tile = gpu.shared.array(n, gpu.int32)
        tile[5] = 1

    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 of array 'tile'"):
        run(kernel, 1, 1, (5,))
    for shape, text in ((-5, "-5"), ((2, 0), "(2, 0)"), ((3, -1), "(3, -1)")):
        with pytest.raises(gpu.TypingError, match=re.escape(f"cannot have the shape {text}")):
            run(kernel, 1, 1, (shape,))
    with pytest.raises(gpu.TypingError, match="an extent must be an integer, not float"):
        run(kernel, 1, 1, (2.0,))


def test_errors_of_alignments_and_of_what_is_no_constant():
    def aligned(n):
        gpu.local.array(3, gpu.int32, n)

    def constant(x):
        gpu.const.array_like(x)

    run(aligned, 1, 1, (64,))
    for n in (0, 3, 8192):
        with pytest.raises(gpu.TypingError, match=f"'alignment' of gpu.local.array cannot be {n}"):
            run(aligned, 1, 1, (n,))
    with pytest.raises(gpu.TypingError, match="'ary' of gpu.const.array_like cannot be"):
        run(constant, 1, 1, (TABLE,))
