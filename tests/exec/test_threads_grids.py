"""Programs whose blocks wait for each other: locks, grid barriers, look-back, flags, queues.

Small launches are compared with the python device too (kit.run).
"""

import gpu
import kit
import numpy as np
import pytest

# --- Locks ----------------------------------------------------------------------------------------


@gpu.jit
def spin_lock(lock, count, last):
    """Plain memory behind a lock; one thread of each block takes it."""
    if gpu.threadIdx.x == 0:
        for _ in range(5):
            while gpu.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            gpu.threadfence()
            count[0] = count[0] + 1
            count[1] += count[0] % 3
            gpu.threadfence()
            gpu.atomic.exch(lock, 0, 0)
    gpu.syncthreads()
    if gpu.threadIdx.x == gpu.blockDim.x - 1:
        gpu.atomic.max(last, 0, count[0])


@pytest.mark.parametrize(("grid", "block"), kit.GRIDS)
def test_a_spin_lock(grid, block):
    lock, count, last = np.zeros(1, np.int32), np.zeros(2, np.int64), np.zeros(1, np.int64)
    kit.run(spin_lock, grid, block, (lock, count, last))
    n = 5 * grid
    assert count.tolist() == [n, sum(i % 3 for i in range(1, n + 1))]
    assert last[0] == n and lock[0] == 0


@gpu.jit
def ticket_lock(tickets, order):
    """In the order of tickets, which nobody can pass."""
    if gpu.threadIdx.x == 0:
        mine = gpu.atomic.add(tickets, 0, 1)
        while gpu.atomic.add(tickets, 1, 0) != mine:
            gpu.nanosleep(50)
        gpu.threadfence()
        order[mine] = order[mine - 1] * 3 + 1 if mine else 1
        gpu.threadfence()
        gpu.atomic.add(tickets, 1, 1)


@pytest.mark.parametrize(
    ("grid", "block"), [(6, 1), (20, 32), pytest.param(300, 64, marks=kit.large)]
)
def test_a_ticket_lock(grid, block):
    tickets, order = np.zeros(2, np.int32), np.zeros(grid, np.uint64)
    kit.run(ticket_lock, grid, block, (tickets, order))
    value, expected = 1, []
    for _ in range(grid):
        expected.append(value)
        value = (value * 3 + 1) % 2**64
    assert order.tolist() == expected
    assert tickets.tolist() == [grid, grid]


@gpu.jit
def dining(forks, meals):
    """Each thread takes two locks, the lower number first, so that nobody waits in a ring."""
    i = gpu.blockIdx.x
    n = gpu.gridDim.x
    low, high = min(i, (i + 1) % n), max(i, (i + 1) % n)
    for _ in range(3):
        while gpu.atomic.exch(forks, low, 1):
            pass
        while gpu.atomic.exch(forks, high, 1):
            pass
        gpu.threadfence()
        meals[low] += 1
        meals[high] += 1
        gpu.threadfence()
        gpu.atomic.exch(forks, high, 0)
        gpu.atomic.exch(forks, low, 0)


@pytest.mark.parametrize("n", [2, 7, 40])
def test_two_locks_at_a_time(n):
    forks, meals = np.zeros(n, np.int32), np.zeros(n, np.int64)
    kit.run(dining, n, 1, (forks, meals))
    assert meals.tolist() == [6] * n and not forks.any()


# --- Barriers of the whole grid -------------------------------------------------------------------


def grid_barrier(arrived, turn):
    """By hand: the last block to come opens the next turn."""
    gpu.syncthreads()
    if gpu.threadIdx.x == 0:
        gpu.threadfence()
        if gpu.atomic.add(arrived, 0, 1) == (turn + 1) * gpu.gridDim.x - 1:
            gpu.atomic.exch(arrived, 1, turn + 1)
        while gpu.atomic.add(arrived, 1, 0) <= turn:
            pass
        gpu.threadfence()
    gpu.syncthreads()


@gpu.jit
def rotations(x, arrived, rounds):
    i = gpu.grid(1)
    for r in range(rounds):
        v = x[(i + 1) % x.size]
        grid_barrier(arrived, 2 * r)
        x[i] = v * 3 + 1
        grid_barrier(arrived, 2 * r + 1)


@pytest.mark.parametrize(("grid", "block"), kit.GRIDS)
def test_barriers_of_the_grid(grid, block):
    x = kit.numbers(grid * block)
    expected = x.copy()
    for _ in range(4):
        expected = np.roll(expected, -1) * 3 + 1
    kit.run(rotations, grid, block, (x, np.zeros(2, np.int64), 4))
    assert np.array_equal(x, expected)


# --- Blocks that wait for those before them -------------------------------------------------------


@gpu.jit
def look_back(x, out, state, sums, totals, counter):
    """An inclusive scan in one pass: 1 a block's sum is known, 2 the sum up to and with it."""
    t = gpu.threadIdx.x
    number = gpu.shared.array(1, gpu.int32)
    before = gpu.shared.array(1, gpu.int64)
    a = gpu.shared.array(1024, gpu.int64)
    if t == 0:
        number[0] = gpu.atomic.add(counter, 0, 1)
    gpu.syncthreads()
    block = number[0]
    i = block * gpu.blockDim.x + t
    a[t] = x[i] if i < x.size else 0
    gpu.syncthreads()
    step = 1
    while step < gpu.blockDim.x:
        v = a[t - step] if t >= step else 0
        gpu.syncthreads()
        a[t] += v
        gpu.syncthreads()
        step *= 2
    if t == gpu.blockDim.x - 1:
        sums[block] = a[t]
        gpu.threadfence()
        gpu.atomic.exch(state, block, 1)
        total, k = 0, block - 1
        while k >= 0:
            s = gpu.atomic.add(state, k, 0)
            if s == 2:
                gpu.threadfence()
                total += totals[k]
                break
            if s == 1:
                gpu.threadfence()
                total += sums[k]
                k -= 1
        totals[block] = total + a[t]
        gpu.threadfence()
        gpu.atomic.exch(state, block, 2)
        before[0] = total
    gpu.syncthreads()
    if i < x.size:
        out[i] = a[t] + before[0]


@pytest.mark.parametrize(
    ("n", "block"), [(10, 32), (500, 64), pytest.param(50_000, 256, marks=kit.large)]
)
def test_a_scan_that_looks_back(n, block):
    x = kit.numbers(n, seed=n)
    out, blocks = np.zeros_like(x), -(-n // block)
    state, sums, totals = (np.zeros(blocks, dtype) for dtype in ("int32", "int64", "int64"))
    kit.run(look_back, blocks, block, (x, out, state, sums, totals, np.zeros(1, np.int32)))
    assert np.array_equal(out, x.cumsum())
    assert (state == 2).all()


@gpu.jit
def wavefront(a, b, table, done):
    """Edit distances: a block does a row, column by column behind the block of the row above."""
    i = gpu.blockIdx.x
    for j in range(b.size):
        if i:
            while done[i - 1] <= j:
                pass
            gpu.threadfence()
        above = table[i - 1, j] if i else j + 1
        left = table[i, j - 1] if j else i + 1
        corner = table[i - 1, j - 1] if i and j else i + j
        table[i, j] = min(above + 1, left + 1, corner + (a[i] != b[j]))
        gpu.threadfence()
        done[i] = j + 1


def edit_distances(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    table[0], table[:, 0] = np.arange(len(b) + 1), np.arange(len(a) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1,
                                      table[i, j] + int(a[i] != b[j]))  # fmt: skip
    return table[1:, 1:]


@pytest.mark.parametrize(("m", "n"), [(1, 5), (12, 9), (30, 40)])
def test_rows_that_follow_each_other(m, n):
    rng = np.random.default_rng(m)
    a, b = rng.integers(0, 4, m, dtype=np.uint8), rng.integers(0, 4, n, dtype=np.uint8)
    table, done = np.zeros((m, n), np.int64), np.zeros(m, np.int32)
    kit.run(wavefront, m, 1, (a, b, table, done))
    assert np.array_equal(table, edit_distances(a, b))


# --- Producers and consumers ----------------------------------------------------------------------


@gpu.jit
def pipeline(x, out, box, full):
    """Odd blocks work on what the block before them puts into a box, one at a time."""
    b, t = gpu.blockIdx.x, gpu.threadIdx.x
    pair = b // 2
    for k in range(x.shape[1]):
        if b % 2 == 0:
            if t == 0:
                while gpu.atomic.add(full, pair, 0) != 0:
                    pass
                gpu.threadfence()
            gpu.syncthreads()
            box[pair, t] = x[pair, k] + t
            gpu.syncthreads()
            if t == 0:
                gpu.threadfence()
                gpu.atomic.exch(full, pair, 1)
        else:
            if t == 0:
                while gpu.atomic.add(full, pair, 0) != 1:
                    pass
                gpu.threadfence()
            gpu.syncthreads()
            out[pair, k, t] = box[pair, gpu.blockDim.x - 1 - t] * 2
            gpu.syncthreads()
            if t == 0:
                gpu.threadfence()
                gpu.atomic.exch(full, pair, 0)


@pytest.mark.parametrize(("pairs", "rounds", "block"), [(1, 3, 4), (3, 5, 32)])
def test_a_box_between_two_blocks(pairs, rounds, block):
    x = kit.numbers(pairs, rounds)
    out = np.zeros((pairs, rounds, block), np.int64)
    box, full = np.zeros((pairs, block), np.int64), np.zeros(pairs, np.int32)
    kit.run(pipeline, 2 * pairs, block, (x, out, box, full))
    assert np.array_equal(out, (x[:, :, None] + np.arange(block)[::-1]) * 2)


@gpu.jit
def flags_in_a_block(data, flags, out):
    """Warps hand a value around in shared memory; the last warp starts."""
    ring = gpu.shared.array(8, gpu.int32)
    ready = gpu.shared.array(8, gpu.int32)
    t = gpu.threadIdx.x
    if t < 8:
        ready[t] = 0
    gpu.syncthreads()
    warp, n = t // 32, gpu.blockDim.x // 32
    if t % 32 == 0:
        if warp == n - 1:
            ring[warp] = data[gpu.blockIdx.x]
        else:
            while gpu.atomic.add(ready, warp + 1, 0) == 0:
                pass
            gpu.threadfence_block()
            ring[warp] = ring[warp + 1] * 2 + warp
        gpu.threadfence_block()
        gpu.atomic.exch(ready, warp, 1)
    gpu.syncthreads()
    if t < n:
        out[gpu.blockIdx.x, t] = ring[t]
        flags[gpu.blockIdx.x] = ready[0]


def test_warps_that_hand_on_a_value():
    if kit.is_under_sanitizer():
        pytest.skip("racecheck knows barriers, not flags and fences")
    data, flags, out = kit.numbers(5), np.zeros(5, np.int32), np.zeros((5, 4), np.int64)
    kit.run(flags_in_a_block, 5, 128, (data, flags, out))
    for row, start in zip(out.tolist(), data.tolist()):
        value, expected = start, [start]
        for w in (2, 1, 0):
            value = value * 2 + w
            expected.insert(0, value)
        assert row == expected
    assert flags.tolist() == [1] * 5


@gpu.jit
def last_block(x, parts, count, out):
    """Sums of blocks; the one that comes last adds them up."""
    a = gpu.shared.array(256, gpu.float64)
    is_last = gpu.shared.array(1, gpu.bool_)
    t = gpu.threadIdx.x
    total = 0.0
    for i in range(gpu.grid(1), x.size, gpu.gridsize(1)):
        total += x[i]
    a[t] = total
    step = gpu.blockDim.x // 2
    while step:
        gpu.syncthreads()
        if t < step:
            a[t] += a[t + step]
        step //= 2
    if t == 0:
        parts[gpu.blockIdx.x] = a[0]
        gpu.threadfence()
        is_last[0] = gpu.atomic.inc(count, 0, gpu.gridDim.x - 1) == gpu.gridDim.x - 1
    gpu.syncthreads()
    if is_last[0] and t == 0:
        gpu.threadfence()
        total = 0.0
        for part in parts:
            total += part
        out[0] = total


@pytest.mark.parametrize(
    ("n", "grid", "block"),
    [(50, 3, 16), (900, 8, 64), pytest.param(10**5, 40, 256, marks=kit.large)],
)
def test_the_block_that_comes_last_adds_up(n, grid, block):
    x, parts = kit.numbers(n).astype(np.float64), np.zeros(grid)
    count, out = np.zeros(1, np.uint32), np.zeros(1)
    for _ in range(2):  # the counter is as it was
        kit.run(last_block, grid, block, (x, parts, count, out))
        assert out[0] == x.sum() and count[0] == 0
        x += 1


@gpu.jit
def work_queue(items, head, tail, results):
    """Threads take numbers from a queue and put what they split into behind it, until all is done."""
    done = 0
    while done < 1 << 20:
        i = gpu.atomic.add(head, 0, 1)
        if i >= items.size:
            break
        while True:
            item = gpu.atomic.add(items, i, 0)
            if item != 0:
                break
            gpu.nanosleep(20)
        if item > 1:
            at = gpu.atomic.add(tail, 0, 2)
            gpu.atomic.exch(items, at, item // 2)
            gpu.atomic.exch(items, at + 1, item - item // 2)
        else:
            gpu.atomic.add(results, 0, 1)
        done += 1


@pytest.mark.parametrize(("number", "grid", "block"), [(5, 1, 1), (40, 2, 8), (200, 5, 32)])
def test_a_queue_that_grows(number, grid, block):
    """A number falls apart into ones: number leaves, number - 1 splits."""
    items = np.zeros(2 * number - 1, np.int32)
    items[0] = number
    head, tail, results = np.zeros(1, np.int32), np.ones(1, np.int32), np.zeros(1, np.int64)
    kit.run(work_queue, grid, block, (items, head, tail, results), reference=False)
    assert results[0] == number
    assert tail[0] == items.size
    assert (items > 0).all() and (items == 1).sum() == number
