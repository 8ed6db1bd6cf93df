"""Programs whose grids meet: gpu.cg.this_grid().sync(), against NumPy.

Small launches are compared with the python device too (kit.run).
"""

import gpu
import kit
import numpy as np
import pytest


@gpu.jit
def rotations_of_the_grid(x, arrived, rounds):
    grid = gpu.cg.this_grid()
    i = gpu.grid(1)
    for _ in range(rounds):
        v = x[(i + 1) % x.size]
        grid.sync()
        x[i] = v * 3 + 1
        grid.sync()
    if i == 0:
        arrived[0] = rounds


@pytest.mark.parametrize(("grid", "block"), kit.GRIDS)
def test_barriers_of_the_grid(grid, block):
    x = kit.numbers(grid * block)
    expected = x.copy()
    for _ in range(4):
        expected = np.roll(expected, -1) * 3 + 1
    kit.run(rotations_of_the_grid, grid, block, (x, np.zeros(2, np.int64), 4))
    assert np.array_equal(x, expected)


@gpu.jit
def jacobi(a, b, rounds):
    """A plate with fixed edges; the grid meets between rounds."""
    i, j = gpu.grid(2)
    inside = 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1
    grid = gpu.cg.this_grid()
    for r in range(rounds):
        old, new = (a, b) if r % 2 == 0 else (b, a)
        if inside:
            new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        grid.sync()


def test_a_plate():
    a = kit.numbers(12, 20).astype(np.float64)
    b, expected = a.copy(), a.copy()
    for _ in range(6):
        old = expected.copy()
        expected[1:-1, 1:-1] = 0.25 * (
            old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
        )
    kit.run(jacobi, (3, 5), (4, 4), (a, b, 6))
    assert np.array_equal(a, expected)


@gpu.jit
def stack(heads, links, values, popped):
    """A list that all push to by compare and swap, then take apart."""
    i = gpu.grid(1)
    values[i] = i * i
    while True:
        head = gpu.atomic.add(heads, 0, 0)
        links[i] = head
        gpu.threadfence()
        if gpu.atomic.cas(heads, 0, head, i + 1) == head:
            break
    gpu.cg.this_grid().sync()
    if i % 2 == 0:
        while True:
            head = gpu.atomic.add(heads, 0, 0)
            gpu.threadfence()
            if gpu.atomic.cas(heads, 0, head, links[head - 1]) == head:
                break
        popped[head - 1] += values[head - 1]


@pytest.mark.parametrize(("grid", "block"), [(1, 8), (3, 20)])
def test_a_list_without_locks(grid, block):
    n = grid * block
    heads, links = np.zeros(1, np.int32), np.zeros(n, np.int32)
    values, popped = np.zeros(n, np.int64), np.zeros(n, np.int64)
    kit.run(stack, grid, block, (heads, links, values, popped), reference=False)
    taken = np.flatnonzero(popped)
    rest, node = [], heads[0]
    while node:
        rest.append(node - 1)
        node = links[node - 1]
    everyone = sorted([*taken.tolist(), *map(int, rest)])
    assert everyone in (list(range(n)), list(range(1, n)))  # 0 * 0 is not seen when it is popped
    assert all(popped[k] == k * k for k in taken)
    assert len(rest) == n - (n + 1) // 2
