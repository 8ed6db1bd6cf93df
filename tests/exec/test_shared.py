"""Shared arrays: numbers that the threads of a block have in common."""

import gpu
import kit
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
    kit.run(reverse, 3, 1, (x, out))
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
    kit.run(kernel, 1, 1, (out,), shared=nbytes)
    assert list(out) == [nbytes // 4, nbytes // 2, 0x2345 if nbytes >= 4 else 0]


def test_names_in_errors() -> None:
    @gpu.jit(check=True)
    def kernel(out, i):
        tile = gpu.shared.array((2, 3), gpu.float32)
        tile[1, i] = 1
        out[0] = tile[1, i]

    out = np.zeros(1, "float32")
    kit.run(kernel, 1, 1, (out, 2))
    assert out[0] == 1
    with pytest.raises(IndexError, match=r"index 3 .* axis 1 of array 'tile' with shape \(2, 3\)"):
        kit.run(kernel, 1, 1, (out, 3))


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
    kit.run(several, 1, 1, (n, out), shared=nbytes)
    assert list(out) == [sum(i + 3 * i + 2 for i in range(n)), 5.5, n, 3 * n]
    with pytest.raises(ValueError, match=f"'pairs' needs {16 * n} bytes .* it adds {nbytes - 1}"):
        kit.run(several, 1, 1, (n, out), shared=nbytes - 1)


def test_more_than_the_launch_adds() -> None:
    @gpu.jit(check=True)
    def kernel(n, m, out):
        a = gpu.shared.dynamic((n, m), gpu.float32)
        out[0] = a.size

    out = np.zeros(1)
    for n, m in [(0, 1 << 40), (16, 16), (1, 256)]:
        kit.run(kernel, 1, 1, (n, m, out), shared=1024)
        assert out[0] == n * m
    for n, m in [(1, 257), (1 << 62, 4), (1 << 40, 1 << 40)]:
        with pytest.raises(ValueError, match="of the shared memory that the launch adds") as caught:
            kit.run(kernel, 1, 1, (n, m, out), shared=1024)
        assert caught.value.code == "SHARED_EXCEEDED"
        assert "kernel[grid, block, stream, shared_bytes]" in str(caught.value)
    with pytest.raises(ValueError, match="axis 1 of array 'a' cannot have -1 elements") as caught:
        kit.run(kernel, 1, 1, (4, -1, out), shared=1024)
    assert caught.value.code == "NEGATIVE_EXTENT"


def test_in_a_loop_every_round_takes_more() -> None:
    @gpu.jit(check=True)
    def kernel(n, out):
        for i in range(n):
            a = gpu.shared.dynamic(4, gpu.int32)
            a[0] = i
            out[i] = a[0]

    out = np.zeros(8, "int64")
    kit.run(kernel, 1, 1, (8, out), shared=128)
    assert list(out) == list(range(8))
    with pytest.raises(
        ValueError, match="'a' needs 16 bytes .* it adds 112, of which 112 are taken"
    ):
        kit.run(kernel, 1, 1, (8, out), shared=112)


# --- Threads that share ---------------------------------------------------------------------------


@gpu.jit
def block_sums(x, out):
    part = gpu.shared.array(64, x.dtype)
    t = gpu.threadIdx.x
    i = gpu.grid(1)
    part[t] = x[i] if i < len(x) else 0
    gpu.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        gpu.syncthreads()
        step //= 2
    if t == 0:
        out[gpu.blockIdx.x] = part[0]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_reduction_by_block(dtype: str) -> None:
    x = np.arange(300).astype(dtype)
    out = np.zeros(5, dtype)
    kit.run(block_sums, 5, 64, (x, out))
    assert np.array_equal(
        out, np.append(x, np.zeros(20, dtype)).reshape(5, 64).sum(1).astype(dtype)
    )


@gpu.jit
def tiled(a, b, c):
    left = gpu.shared.array((8, 8), gpu.float32)
    right = gpu.shared.array((8, 8 + 1), gpu.float32)
    x, y = gpu.threadIdx.x, gpu.threadIdx.y
    col, row = gpu.grid(2)
    total = gpu.float32(0)
    for k in range(0, a.shape[1], 8):
        left[y, x] = a[row, k + x]
        right[y, x] = b[k + y, col]
        gpu.syncthreads()
        for j in range(8):
            total += left[y, j] * right[j, x]
        gpu.syncthreads()
    c[row, col] = total


def test_tiled_product() -> None:
    a = np.random.default_rng(5).integers(-8, 8, (16, 24)).astype("float32")
    b = np.random.default_rng(6).integers(-8, 8, (24, 16)).astype("float32")
    c = np.zeros((16, 16), "float32")
    kit.run(tiled, (2, 2), (8, 8), (a, b, c))
    assert np.array_equal(c, a @ b)


def test_every_function_has_its_own_array() -> None:
    def first(x):
        s = gpu.shared.array(32, gpu.int64)
        s[gpu.threadIdx.x] = x
        return s

    def second(x):
        s = gpu.shared.array(32, gpu.int64)
        s[gpu.threadIdx.x] = x
        return s

    @gpu.jit
    def kernel(out):
        t = gpu.threadIdx.x
        a = first(t)
        b = second(10 * t)
        gpu.syncthreads()
        out[t] = a[31 - t] + b[31 - t]
        gpu.syncthreads()
        again = first(7 * t)
        gpu.syncthreads()
        out[t] += a[t] + again[t]

    out = np.zeros(32, "int64")
    kit.run(kernel, 1, 32, (out,))
    t = np.arange(32)
    assert np.array_equal(out, 11 * (31 - t) + 14 * t)


def test_an_array_in_a_loop_is_one_array() -> None:
    @gpu.jit
    def kernel(out):
        t = gpu.threadIdx.x
        for k in range(3):
            s = gpu.shared.array(16, gpu.int32)
            s[t] = t * k
            gpu.syncthreads()
            out[k, t] = s[15 - t]
            gpu.syncthreads()

    out = np.zeros((3, 16), "int32")
    kit.run(kernel, 1, 16, (out,))
    assert np.array_equal(out, np.arange(3)[:, None] * np.arange(15, -1, -1))


def test_dynamic_arrays_between_threads() -> None:
    @gpu.jit
    def kernel(x, out):
        n = gpu.blockDim.x
        t = gpu.threadIdx.x
        values = gpu.shared.dynamic(n, x.dtype)
        flags = gpu.shared.dynamic(n, bool)
        values[t] = x[gpu.grid(1)]
        flags[t] = values[t] > 0.5
        gpu.syncthreads()
        count = 0
        for i in range(n):
            if flags[i] and values[i] > values[t]:
                count += 1
        out[gpu.grid(1)] = count

    x = np.random.default_rng(2).random(96, "float32")
    out = np.zeros(96, "int32")
    for block, nbytes in [(32, 160), (48, 240), (96, 480)]:
        kit.run(kernel, 96 // block, block, (x, out), shared=nbytes)
        expected = [
            sum(v > max(0.5, x[i]) for v in x[i // block * block : (i // block + 1) * block])
            for i in range(96)
        ]
        assert list(out) == expected


# --- More than 48 KiB -----------------------------------------------------------------------------


@gpu.jit
def large(out, n):
    a = gpu.shared.array((100, 100), gpu.float64)
    b = gpu.shared.array(5, gpu.int8)
    c = gpu.shared.array(1000, gpu.float32, alignment=256)
    rest = gpu.shared.array(0, gpu.int32)
    t = gpu.threadIdx.x
    for i in range(t, 100, gpu.blockDim.x):
        for j in range(100):
            a[i, j] = i * j
    for i in range(t, 1000, gpu.blockDim.x):
        c[i] = i
    if t < 5:
        b[t] = t
    for i in range(t, len(rest), gpu.blockDim.x):
        rest[i] = -i
    gpu.syncthreads()
    if t == 0:
        out[0] = a[n, n]
        for v in b:
            out[1] += v
        for v in c:
            out[2] += v
        out[3] = len(rest)
        for v in rest:
            out[4] += v


@pytest.mark.parametrize("nbytes", [0, 400])
def test_large_arrays(nbytes: int) -> None:
    out = np.zeros(5)
    kit.run(large, 1, 32, (out, 99), shared=nbytes)
    k = nbytes // 4
    assert list(out) == [99 * 99, 10, sum(range(1000)), k, -sum(range(k))]


def test_large_arrays_are_what_the_launch_adds() -> None:
    ptx = large.ptx("float64[::1], int", arch="sm_80")
    assert ".extern .shared .align 256 .b8 gpujit_shared[];" in ptx
    assert ptx.count(".shared .align") == 1


def test_more_than_a_block_can_have() -> None:
    @gpu.jit
    def kernel(out):
        a = gpu.shared.array((200, 300), gpu.float32)
        a[0, 0] = 1
        out[0] = a[0, 0]

    kernel.ptx("float64[::1]", arch="sm_90")
    with pytest.raises(gpu.LaunchError, match="240000 bytes of shared memory per block") as caught:
        kernel[1, 1](np.zeros(1))
    assert caught.value.code == "SHARED_LIMIT"
    half = gpu.device().shared_memory - 1000 if gpu.device().kind == "cuda" else 232448 - 1000

    @gpu.jit
    def small(out):
        a = gpu.shared.array(300, gpu.float32)
        a[0] = 1
        out[0] = a[0]

    with pytest.raises(gpu.LaunchError, match="of shared memory per block"):
        small[1, 1, 0, half](np.zeros(1))


TABLE = np.arange(3.0)
TABLE.flags.writeable = False


@gpu.jit
def on_one_path(out):
    t = gpu.threadIdx.x
    if t < 3:
        tile = gpu.shared.array(4, gpu.float64)
        tile[t] = t
        mine = (7, gpu.local.array((5, 2), gpu.float64))
        part = TABLE
    gpu.syncthreads()
    for _ in range(t):
        late = gpu.local.array(6, gpu.float32)
    out[t, 0] = len(tile)
    out[t, 1] = mine[1].shape[1]
    out[t, 2] = len(part)
    out[t, 3] = len(late)


def test_an_array_without_a_value_has_no_elements() -> None:
    if gpu.device().kind == "python":
        pytest.skip("a variable without a value is the int 0 there")
    out = np.full((4, 4), -1)
    on_one_path[1, 4](out)
    assert out.tolist() == [[4, 2, 3, 0], [4, 2, 3, 6], [4, 2, 3, 6], [0, 0, 0, 6]]


@pytest.mark.parametrize("space", ["shared", "local"])
def test_an_element_of_an_array_without_a_value(space: str) -> None:
    if gpu.device().kind != "cpu":
        pytest.skip("indices are checked on the CPU device always")
    array = getattr(gpu, space).array

    @gpu.jit
    def kernel(x):
        t = gpu.threadIdx.x
        if t < 3:
            tile = array(4, gpu.float64)
            tile[t] = t
        gpu.syncthreads()
        x[t] = tile[0] if t % 2 else tile[t // 4]

    x = np.zeros(6)
    with pytest.raises(IndexError, match=r"array 'tile' with shape \(0,\)"):
        kit.run(kernel, 1, 6, (x,), reference=False)
    assert x[3:].tolist() == [0, 0, 0]
