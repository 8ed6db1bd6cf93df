"""Programs whose blocks work together: shared memory and barriers, against NumPy.

Small launches are compared with the python device too (kit.run).
"""

import gpu
import kit
import numpy as np
import pytest

TILE = 16
BLOCK = 128


# --- Sums and scans -------------------------------------------------------------------------------


def block_sum(x):
    """Of all threads' x, for all of them."""
    part = gpu.shared.array(1024, gpu.float64)
    t = gpu.threadIdx.x
    gpu.syncthreads()
    part[t] = x
    n = gpu.blockDim.x
    while n > 1:
        gpu.syncthreads()
        half = (n + 1) // 2
        if t + half < n:
            part[t] += part[t + half]
        n = half
    gpu.syncthreads()
    return part[0]


@gpu.jit
def mean_and_variance(x, out):
    row = gpu.blockIdx.x
    total = 0.0
    for i in range(gpu.threadIdx.x, x.shape[1], gpu.blockDim.x):
        total += x[row, i]
    mean = block_sum(total) / x.shape[1]
    total = 0.0
    for i in range(gpu.threadIdx.x, x.shape[1], gpu.blockDim.x):
        total += (x[row, i] - mean) ** 2
    variance = block_sum(total) / x.shape[1]
    if gpu.threadIdx.x == 0:
        out[row, 0] = mean
        out[row, 1] = variance


@pytest.mark.parametrize(
    ("rows", "columns", "block"),
    [(3, 64, 32), (4, 256, 77), pytest.param(60, 1024, 256, marks=kit.large)],
)
def test_a_sum_in_a_device_function(rows, columns, block):
    x = kit.numbers(rows, columns).astype(np.float32)
    out = np.zeros((rows, 2))
    kit.run(mean_and_variance, rows, block, (x, out))
    assert np.array_equal(out[:, 0], x.mean(axis=1, dtype=np.float64))
    assert np.allclose(out[:, 1], x.var(axis=1, dtype=np.float64), rtol=1e-12)


@gpu.jit
def hillis_steele(x, out):
    """Inclusive, in two buffers."""
    a = gpu.shared.array((2, BLOCK), gpu.int32)
    t = gpu.threadIdx.x
    n = gpu.blockDim.x
    which = 0
    a[0, t] = x[gpu.blockIdx.x, t]
    gpu.syncthreads()
    step = 1
    while step < n:
        a[1 - which, t] = a[which, t] + (a[which, t - step] if t >= step else 0)
        which = 1 - which
        step *= 2
        gpu.syncthreads()
    out[gpu.blockIdx.x, t] = a[which, t]


@pytest.mark.parametrize(
    ("rows", "n"), [(2, 1), (3, 33), (2, 128), pytest.param(200, 100, marks=kit.large)]
)
def test_a_scan_by_hillis_and_steele(rows, n):
    x = kit.numbers(rows, n)
    out = np.zeros_like(x)
    kit.run(hillis_steele, rows, n, (x, out))
    assert np.array_equal(out, x.cumsum(axis=1))


@gpu.jit
def blelloch(x, sums):
    """Exclusive, in place, up and down a tree in what the launch adds; two elements a thread."""
    a = gpu.shared.dynamic(2 * gpu.blockDim.x, gpu.int64)
    t = gpu.threadIdx.x
    n = 2 * gpu.blockDim.x
    row = x[gpu.blockIdx.x]
    a[t] = row[t]
    a[t + gpu.blockDim.x] = row[t + gpu.blockDim.x]
    step = 1
    while step < n:
        gpu.syncthreads()
        i = 2 * step * (t + 1) - 1
        if i < n:
            a[i] += a[i - step]
        step *= 2
    if t == 0:
        sums[gpu.blockIdx.x] = a[n - 1]
        a[n - 1] = 0
    while step > 1:
        step //= 2
        gpu.syncthreads()
        i = 2 * step * (t + 1) - 1
        if i < n:
            a[i - step], a[i] = a[i], a[i - step] + a[i]
    gpu.syncthreads()
    row[t] = a[t]
    row[t + gpu.blockDim.x] = a[t + gpu.blockDim.x]


@pytest.mark.parametrize(
    ("rows", "block"), [(2, 1), (3, 64), (1, 512), pytest.param(40, 512, marks=kit.large)]
)
def test_a_scan_by_blelloch(rows, block):
    x = kit.numbers(rows, 2 * block)
    before, sums = x.copy(), np.zeros(rows, np.int64)
    kit.run(blelloch, rows, block, (x, sums), shared=16 * block)
    assert np.array_equal(x, before.cumsum(axis=1) - before)
    assert np.array_equal(sums, before.sum(axis=1))


# --- Sorting --------------------------------------------------------------------------------------


@gpu.jit
def bitonic(x):
    a = gpu.shared.array(1024, gpu.float32)
    t = gpu.threadIdx.x
    a[t] = x[gpu.blockIdx.x, t]
    gpu.syncthreads()
    size = 2
    while size <= gpu.blockDim.x:
        step = size >> 1
        while step:
            other = t ^ step
            if other > t and (a[t] > a[other]) == (t & size == 0):
                a[t], a[other] = a[other], a[t]
            gpu.syncthreads()
            step >>= 1
        size <<= 1
    x[gpu.blockIdx.x, t] = a[t]


@pytest.mark.parametrize(("rows", "n"), [(2, 2), (1, 128), pytest.param(30, 1024, marks=kit.large)])
def test_a_bitonic_sort(rows, n):
    x = np.random.default_rng(n).normal(size=(rows, n)).astype(np.float32)
    expected = np.sort(x, axis=1)
    kit.run(bitonic, rows, n, (x,))
    assert np.array_equal(x, expected)


@gpu.jit
def radix_pass(x, out, bit):
    """Stable by one bit: the zeros first, then the ones; a scan by a count of predicates."""
    place = gpu.shared.array(BLOCK, gpu.int32)
    t = gpu.threadIdx.x
    key = gpu.uint32(x[t])
    one = (key >> bit) & 1
    place[t] = one
    zeros = gpu.blockDim.x - gpu.syncthreads_count(one)
    step = 1
    while step < gpu.blockDim.x:
        before = place[t - step] if t >= step else 0
        gpu.syncthreads()
        place[t] += before
        gpu.syncthreads()
        step *= 2
    ones_before = place[t] - one
    out[zeros + ones_before if one else t - ones_before] = key


@pytest.mark.parametrize("n", [1, 50, 128])
def test_a_radix_sort(n):
    x = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    out, expected = np.zeros_like(x), np.sort(x)
    for bit in range(32):
        kit.run(radix_pass, 1, n, (x, out, bit), reference=bit < 2)
        x, out = out, x
    assert np.array_equal(x, expected)


@gpu.jit
def odd_even(x, rounds):
    """Neighbours that are in disorder change places; ends when a round has changed nothing."""
    t = gpu.threadIdx.x
    while True:
        changed = False
        for odd in range(2):
            i = 2 * t + odd
            if i + 1 < x.size and x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                changed = True
            gpu.syncthreads()
        if t == 0:
            rounds[0] += 1
        if not gpu.syncthreads_or(changed):
            break


@pytest.mark.parametrize("n", [2, 31, 200])
def test_a_sort_that_ends_when_all_threads_agree(n):
    x, rounds = kit.numbers(n, seed=n), np.zeros(1, np.int32)
    expected = np.sort(x)
    kit.run(odd_even, 1, (n + 1) // 2, (x, rounds))
    assert np.array_equal(x, expected)
    assert 1 <= rounds[0] <= n // 2 + 2


# --- Tiles ----------------------------------------------------------------------------------------


@gpu.jit
def transpose(x, out):
    """Through a tile with a column more than is used, as for banks."""
    tile = gpu.shared.array((TILE, TILE + 1), gpu.int16)
    column, row = gpu.blockIdx.x * TILE, gpu.blockIdx.y * TILE
    i, j = gpu.threadIdx.y, gpu.threadIdx.x
    while i < TILE:
        if row + i < x.shape[0] and column + j < x.shape[1]:
            tile[i, j] = x[row + i, column + j]
        i += gpu.blockDim.y
    gpu.syncthreads()
    i = gpu.threadIdx.y
    while i < TILE:
        if column + i < x.shape[1] and row + j < x.shape[0]:
            out[column + i, row + j] = tile[j, i]
        i += gpu.blockDim.y


@pytest.mark.parametrize(
    "shape", [(1, 1), (16, 16), (17, 31), (45, 20), pytest.param((333, 257), marks=kit.large)]
)
def test_a_transpose(shape):
    x = kit.numbers(*shape).astype(np.int16)
    out = np.zeros(shape[::-1], np.int16)
    grid = -(-shape[1] // TILE), -(-shape[0] // TILE)
    kit.run(transpose, grid, (TILE, 4), (x, out))
    assert np.array_equal(out, x.T)


@gpu.jit
def matmul(a, b, c):
    ta = gpu.shared.array((TILE, TILE), gpu.float32)
    tb = gpu.shared.array((TILE, TILE), gpu.float32)
    y, x = gpu.threadIdx.y, gpu.threadIdx.x
    row, column = gpu.blockIdx.y * TILE + y, gpu.blockIdx.x * TILE + x
    total = gpu.float32(0)
    for k in range(0, a.shape[1], TILE):
        ta[y, x] = a[row, k + x] if row < a.shape[0] and k + x < a.shape[1] else 0
        tb[y, x] = b[k + y, column] if k + y < b.shape[0] and column < b.shape[1] else 0
        gpu.syncthreads()
        for i in range(TILE):
            total += ta[y, i] * tb[i, x]
        gpu.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@pytest.mark.parametrize(
    ("m", "k", "n"), [(16, 16, 16), (5, 40, 21), pytest.param(150, 77, 130, marks=kit.large)]
)
def test_a_product_of_matrices(m, k, n):
    a, b = kit.numbers(m, k).astype(np.float32), kit.numbers(k, n, seed=1).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    kit.run(matmul, (-(-n // TILE), -(-m // TILE)), (TILE, TILE), (a, b, c))
    assert np.array_equal(c, a @ b)


@gpu.jit
def life(x, rounds):
    """A torus of one block in shared memory; each round is read whole before it is written."""
    a = gpu.shared.array((2, 16, 24), gpu.bool_)
    i, j = gpu.threadIdx.y, gpu.threadIdx.x
    a[0, i, j] = x[i, j]
    for r in range(rounds):
        gpu.syncthreads()
        now = a[r & 1]
        count = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di or dj:
                    count += now[(i + di) % 16, (j + dj) % 24]
        a[1 - (r & 1), i, j] = count == 3 or (now[i, j] and count == 2)
    gpu.syncthreads()
    x[i, j] = a[rounds & 1, i, j]


def test_a_game_of_life():
    x = kit.numbers(16, 24) > 10
    expected = x.copy()
    for _ in range(5):
        counts = sum(np.roll(expected, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1)
                     for j in (-1, 0, 1) if i or j)  # fmt: skip
        expected = (counts == 3) | (expected & (counts == 2))
    kit.run(life, 1, (24, 16), (x, 5))
    assert np.array_equal(x, expected)


@gpu.jit
def smooth(x, out):
    """Five points, with edges that other blocks own; the tile is moved along the row."""
    tile = gpu.shared.array(BLOCK + 4, gpu.float64)
    t = gpu.threadIdx.x
    n = gpu.blockDim.x
    start = 0
    while start < x.size:
        for k in range(t, n + 4, n):
            i = start + k - 2
            tile[k] = x[i] if 0 <= i < x.size else 0.0
        gpu.syncthreads()
        if start + t < x.size:
            total = 0.0
            for v in tile[t : t + 5]:
                total += v
            out[start + t] = total
        gpu.syncthreads()
        start += n


@pytest.mark.parametrize(("n", "block"), [(10, 4), (300, 64), (1000, 128)])
def test_a_stencil(n, block):
    x, out = kit.numbers(n).astype(np.float64), np.zeros(n)
    kit.run(smooth, 1, block, (x, out))
    assert np.array_equal(out, np.convolve(x, np.ones(5), "same"))


# --- Counting -------------------------------------------------------------------------------------


@gpu.jit
def histogram(x, bins):
    """A histogram per block, then into all of them."""
    own = gpu.shared.array(256, gpu.uint32)
    t = gpu.threadIdx.x
    for i in range(t, 256, gpu.blockDim.x):
        own[i] = 0
    gpu.syncthreads()
    for i in range(gpu.grid(1), x.size, gpu.gridsize(1)):
        gpu.atomic.add(own, x[i], 1)
    gpu.syncthreads()
    for i in range(t, 256, gpu.blockDim.x):
        if own[i]:
            gpu.atomic.add(bins, i, own[i])


@pytest.mark.parametrize(
    ("n", "grid", "block"),
    [(100, 1, 32), (3000, 3, 96), pytest.param(200_000, 16, 256, marks=kit.large)],
)
def test_a_histogram(n, grid, block):
    x = np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8)
    bins = np.zeros(256, np.int64)
    kit.run(histogram, grid, block, (x, bins))
    assert np.array_equal(bins, np.bincount(x, minlength=256))


@gpu.jit
def extremes(x, low, high, where):
    """Least and greatest of all, and the first place of the greatest, by atomics."""
    best = gpu.shared.array(2, gpu.float32)
    first = gpu.shared.array(1, gpu.int64)
    t = gpu.threadIdx.x
    if t == 0:
        best[0], best[1], first[0] = x[0], x[0], x.size
    gpu.syncthreads()
    i = gpu.grid(1)
    if i < x.size:
        gpu.atomic.min(best, 0, x[i])
        gpu.atomic.max(best, 1, x[i])
    gpu.syncthreads()
    if i < x.size and x[i] == best[1]:
        gpu.atomic.min(first, 0, i)
    gpu.syncthreads()
    if t == 0:
        gpu.atomic.min(low, 0, best[0])
        gpu.atomic.max(high, 0, best[1])
        gpu.atomic.max(where, gpu.blockIdx.x, first[0])


@pytest.mark.parametrize(
    ("n", "block"), [(50, 64), (700, 128), pytest.param(20_000, 512, marks=kit.large)]
)
def test_extremes(n, block):
    x = kit.numbers(n, seed=n).astype(np.float32)
    low, high = np.full(1, 1e30, np.float32), np.full(1, -1e30, np.float32)
    blocks = -(-n // block)
    where = np.full(blocks, -1)
    kit.run(extremes, blocks, block, (x, low, high, where))
    assert (low[0], high[0]) == (x.min(), x.max())
    parts = [x[i : i + block] for i in range(0, n, block)]
    assert where.tolist() == [i * block + int(part.argmax()) for i, part in enumerate(parts)]


# --- Pipelines of threads -------------------------------------------------------------------------


@gpu.jit
def collatz(x, out):
    """Threads take their next number from the block's counter until none is left."""
    counter = gpu.shared.array(1, gpu.int32)
    if gpu.threadIdx.x == 0:
        counter[0] = 0
    gpu.syncthreads()
    i = gpu.atomic.add(counter, 0, 1)
    while i < x.shape[1]:
        n, steps = x[gpu.blockIdx.x, i], 0
        while n != 1:
            n = 3 * n + 1 if n & 1 else n // 2
            steps += 1
        out[gpu.blockIdx.x, i] = steps
        i = gpu.atomic.add(counter, 0, 1)


def steps_of(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = 3 * n + 1 if n & 1 else n // 2, steps + 1
    return steps


def test_a_queue_of_work():
    x = np.abs(kit.numbers(3, 40)) + 1
    out = np.zeros_like(x)
    kit.run(collatz, 3, 32, (x, out))
    assert out.tolist() == [[steps_of(int(n)) for n in row] for row in x]


@gpu.jit
def recurrence(x, out):
    """Barriers in a device function, in loops of other lengths per block, with early returns."""

    def step(a, t, i):
        before = a[(t + i) % a.size]
        gpu.syncthreads()
        a[t] = a[t] * 3 - before
        gpu.syncthreads()

    a = gpu.shared.array(40, gpu.int64)
    t = gpu.threadIdx.x
    if t >= 40:
        return
    a[t] = x[t]
    gpu.syncthreads()
    for i in range(gpu.blockIdx.x + 1):
        if i % 2 == 0:
            step(a, t, i)
        else:
            step(a, t, 7)
    out[gpu.blockIdx.x, t] = a[t]


def test_barriers_in_functions_and_loops():
    x, out = kit.numbers(40), np.zeros((6, 40), np.int64)
    kit.run(recurrence, 6, 64, (x, out))
    a = x.copy()
    for i in range(6):
        a = a * 3 - np.roll(a, -(i if i % 2 == 0 else 7))
        assert np.array_equal(out[i], a)
