"""Local arrays: memory that each thread has for itself."""

import math

import gpu
import kit
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
    kit.run(sorted_rows, 5, 64, (x, out))
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
    kit.run(kernel, 1, 1, (out,))
    assert np.array_equal(out, (np.arange(12).reshape(3, 4)[1:] + 10) * 2)


def test_names_in_errors() -> None:
    @gpu.jit(check=True)
    def kernel(out, i):
        mine = gpu.local.array(3, gpu.int32)
        mine[i] = 1
        out[0] = mine[i]

    out = np.zeros(1, "float32")
    with pytest.raises(IndexError, match=r"index -4 .* axis 0 of array 'mine' with shape \(3,\)"):
        kit.run(kernel, 1, 1, (out, -4))


# --- Local arrays of functions --------------------------------------------------------------------


def made(n):
    """An array that outlives the function; too much code to be inlined for its size."""
    a = gpu.local.array(8, np.float32)
    total = 0.0
    for j in range(8):
        a[j] = n + j
    for j in range(8):
        if a[j] > 6:
            total += a[(j * 7) % 8] * a[j]
        elif a[j] > 4:
            total += a[(j * 5) % 8] - a[j]
        elif a[j] > 2:
            total += a[(j * 3) % 8] / a[j]
        elif a[j] > 1:
            total += a[(j + 1) % 8] * 3 - a[j]
    a[0] = total
    return a


@pytest.mark.parametrize("opt_level", [0, 3])
def test_arrays_that_functions_make(opt_level: int) -> None:
    def part(n):
        return made(n)[2:], n

    @gpu.jit(opt_level=opt_level)
    def kernel(n, out):
        p = made(n)
        q = made(n + 1)
        r, m = part(n + 2)
        for j in range(6):
            out[j] = p[j] + 10 * q[j] + 100 * r[j] + m

    kit.run(kernel, 1, 1, (2, np.zeros(6)))


@pytest.mark.parametrize("opt_level", [0, 3])
def test_arrays_in_variables_that_functions_share(opt_level: int) -> None:
    @gpu.jit(opt_level=opt_level)
    def kernel(n, out):
        kept = gpu.local.array(8, np.float32)

        def renew(k):
            nonlocal kept
            kept = made(k)

        kept[3] = 9
        out[0] = kept[3]
        renew(n)
        out[1] = kept[3]
        renew(n + 5)
        out[2] = kept[3] + kept[0]

    out = np.zeros(3)
    kit.run(kernel, 1, 1, (2, out))
    assert out[0] == 9 and out[1] == 5


def test_a_recursive_function_cannot_hand_its_array_on() -> None:
    def deeper(n):
        a = gpu.local.array(2, np.int32)
        a[0] = n
        if n > 0:
            a = deeper(n - 1)
        return a

    @gpu.jit
    def kernel(n, out):
        out[0] = deeper(n)[0]

    with pytest.raises(gpu.UnsupportedError, match="'.*deeper' hands on a local array") as caught:
        kernel[1, 1](3, np.zeros(1))
    assert caught.value.code == "NYI_LOCAL_RESULT"
    assert "pass it to the function" in str(caught.value)


def test_recursion_with_an_array_per_call() -> None:
    def depth(n, outer):
        mine = gpu.local.array(2, np.int64)
        mine[0] = n
        mine[1] = outer[0] + outer[1]
        if n == 0:
            return mine[1]
        return depth(n - 1, mine) + mine[0]

    @gpu.jit
    def kernel(n, out):
        first = gpu.local.array(2, np.int64)
        first[0] = first[1] = 1
        out[0] = depth(n, first)

    out = np.zeros(1, "int64")
    kit.run(kernel, 1, 1, (9, out))

    def expected(n, outer):
        mine = (n, sum(outer))
        return mine[1] if n == 0 else expected(n - 1, mine) + n

    assert out[0] == expected(9, (1, 1))


def test_large_arrays_in_recursion_use_the_stack_up_without_a_crash() -> None:
    if gpu.device().kind == "cuda":
        pytest.skip("a GPU's thread has no stack for five calls of 480 KB")

    def deeper(n):
        a = gpu.local.array(60_000, np.float64)
        for i in range(n % 60_000 + 1):
            a[i] = i
        return a[0] if n <= 0 else deeper(n - 1) + a[n % 60_000]

    @gpu.jit
    def kernel(n, out):
        out[0] = deeper(n)

    out = np.zeros(1)
    kit.run(kernel, 1, 1, (4, out))
    assert out[0] == 10
    if gpu.device().kind == "cpu":
        with pytest.raises(RecursionError, match="calls itself so often"):
            kernel[1, 1](1000, out)
            gpu.synchronize()


SOURCE = """
def deeper(n):
    a = gpu.local.array({size}, np.int8)
    a[n % {size}] = n
    return a[0] if n <= 0 else deeper(n - 1) + a[n % {size}]

def kernel(n, out):
    out[0] = deeper(n)
"""


@pytest.mark.skipif(gpu.device().kind != "cpu", reason="the stack of the CPU device's threads")
def test_frames_of_every_size_end_above_the_end_of_the_stack() -> None:
    """Where the deepest frame ends depends on its size; below the stack is other memory."""
    for size in (*range(440_000, 524_000, 7_000), 524_288, 100_000, 4_096, 64):
        kernel = kit.kernel(SOURCE.format(size=size))
        with pytest.raises(RecursionError, match="calls itself so often"):
            kernel[1, 1](100_000, np.zeros(1))
            gpu.synchronize()


def test_more_than_a_thread_has() -> None:
    @gpu.jit
    def kernel(n, out):
        a = gpu.local.array(40_000, np.float64)
        b = gpu.local.array(40_000, np.float64)
        for i in range(n):
            a[i] = b[i] = i
        out[0] = a[n - 1] + b[n // 2]

    with pytest.raises(
        gpu.TypingError, match="together has 640000 bytes; at most 524288"
    ) as caught:
        kernel[1, 1](10, np.zeros(1))
    assert caught.value.code == "ARRAY_SIZE"


# --- What any array can ---------------------------------------------------------------------------

N = 6


@gpu.jit
def repertoire(x, out):
    a = gpu.local.array((N, N // 2), "float64")
    b = gpu.local.array(dtype=float, shape=(3, N))
    flags = gpu.local.array((), bool)
    a[...] = 0
    for i in range(N):
        a[i] = x[i]
        a[i, 1] += i
    b[:] = a.T
    flags[()] = a[0, 0] == b[0, 0]
    out[0] = sum(b[1]) + max(a[2]) + min(b[2, ::-1])
    out[1] = a[::-2, 1:][1, 0] + len(a[1:4]) + b.size + a.shape[1] * a.ndim
    for row in b:
        out[2] += row[-1]
    for v in reversed(a[5]):
        out[3] = out[3] * 2 + v
    both = (a, b)
    out[4] = both[0][4, 2] + both[1][2, 4]
    if flags[()]:
        out[5] = a.nbytes + a.itemsize + flags.size
    a *= 2
    out[6] = a[3, 0] + a.strides[0]
    first, second, third = b[0, 0], b[1, 1], b[2, 2]
    out[7] = first + second + third


def test_views_slices_iteration() -> None:
    x = np.arange(18.0).reshape(6, 3) ** 2
    out = np.zeros(8)
    kit.run(repertoire, 1, 1, (x, out))
    a = x.copy()
    a[:, 1] += np.arange(6)
    b = a.T
    fold = 0.0
    for v in reversed(a[5]):
        fold = fold * 2 + v
    expected = [
        sum(b[1]) + max(a[2]) + min(b[2]), a[::-2, 1:][1, 0] + 3 + 18 + 6, b[:, -1].sum(), fold,
        a[4, 2] + b[2, 4], 144 + 8 + 1, 2 * a[3, 0] + 24, b[0, 0] + b[1, 1] + b[2, 2],
    ]  # fmt: skip
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                                   "uint32", "uint64", "float16", "float32", "float64"])  # fmt: skip
def test_every_type(dtype: str) -> None:
    space = np if dtype == "bool" else gpu
    types = [dtype, np.dtype(dtype), getattr(np, dtype), getattr(space, dtype)]
    x = np.array([1, 0, 100, 1]).astype(dtype)
    for form in types:

        @gpu.jit
        def kernel(x, out, form=form):
            mine = gpu.local.array(4, form)
            tile = gpu.shared.array(4, form)
            for i in range(4):
                mine[i] = x[i]
                tile[3 - i] = mine[i]
            for i in range(4):
                out[i] = tile[i]

        out = np.zeros(4, dtype)
        kit.run(kernel, 1, 1, (x, out))
        assert np.array_equal(out, x[::-1]), form


def test_shapes_from_any_constant_expression() -> None:
    class Size:
        rows = 3

    def square(n):
        return gpu.local.array((n, n), np.int32)

    @gpu.jit
    def kernel(out):
        a = gpu.local.array(SIZES, np.int32)
        b = gpu.local.array((len(SIZES), *SIZES), np.int8)
        c = gpu.local.array(a.shape + (2,), np.int8)
        d = gpu.local.array(b.size // 2 + Size.rows, np.int8)
        e = square(len(a))
        f = gpu.local.array((np.int64(2), gpu.int32(5)), np.int8)
        g = gpu.local.array(max(a.shape) * 2 if len(a) == 3 else 1, np.int8)
        h = gpu.local.array((math.ceil(N / 4), min(N, 5)), np.int8)
        n = h.size
        for size in gpu.unroll((1, 2, 4)):
            n += gpu.local.array(size, np.int8).size
        out[0] = a.size
        out[1] = b.size
        out[2] = c.size
        out[3] = d.size
        out[4] = e.size
        out[5] = f.size
        out[6] = g.size
        out[7] = n

    out = np.zeros(8, "int64")
    kit.run(kernel, 1, 1, (out,))
    assert list(out) == [12, 24, 24, 15, 9, 10, 8, 17]
