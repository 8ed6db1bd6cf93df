"""Which loops wait for memory, by what decides that they end: flags of control, counts of what was
seen, counters of inner loops. Each that waits is also run: threads of one block, one of which others
wait for. What only looks like it stays as fast as any loop."""

import gpu
import numpy as np
import pytest

SIGNATURE = "int32[::1], int32[::1]"
N = 64  # threads

# --- Thread 0 waits for the others, each of which writes x[i] = i ---------------------------------


def all_by_flag(x, y):
    if gpu.threadIdx.x == 0:
        while True:
            ready = True
            for j in range(1, N):
                if x[j] == 0:
                    ready = False
            if ready:
                break
        y[0] = x[N - 1]
    else:
        x[gpu.threadIdx.x] = gpu.threadIdx.x


def all_by_sum(x, y):
    if gpu.threadIdx.x == 0:
        while sum(x) != N * (N - 1) // 2:
            pass
        y[0] = x[N - 1]
    else:
        x[gpu.threadIdx.x] = gpu.threadIdx.x


def all_by_count(x, y):
    if gpu.threadIdx.x == 0:
        while True:
            n = 0
            for j in range(1, 5):
                n += x[j * 12]
            if n == 120:
                break
        y[0] = x[48] + 15
    else:
        x[gpu.threadIdx.x] = gpu.threadIdx.x


def all_by_else(x, y):
    if gpu.threadIdx.x == 0:
        while True:
            for j in range(1, N):
                if x[j] == 0:
                    break
            else:
                break
        y[0] = x[N - 1]
    else:
        x[gpu.threadIdx.x] = gpu.threadIdx.x


def any_by_flag(x, y):
    if gpu.threadIdx.x == 0:
        found = False
        while not found:
            for j, value in enumerate(x):
                if value == N - 1:
                    found = True
                    y[0] = x[j]
    elif gpu.threadIdx.x == N - 1:
        x[5] = N - 1


def changes(x, y):
    """Counts what it sees change; the other side waits for its answer."""
    if gpu.threadIdx.x == 0:
        last = n = 0
        while n < 5:
            now = x[0]
            if now != last:
                n += 1
                last = now
                x[1] = now
                gpu.threadfence()
        y[0] = N - 6 + n
    elif gpu.threadIdx.x == N - 1:
        for k in range(1, 6):
            x[0] = k
            gpu.threadfence()  # or the compiler may keep the last of the stores alone
            while x[1] != k:
                pass


def ring_buffer(x, y):
    """x[0] were written, x[1] were read, of four places behind them."""
    if gpu.threadIdx.x == 0:
        n = total = 0
        while n < 20:
            if x[0] > n:
                gpu.threadfence()
                total += x[4 + n % 4]
                n += 1
                x[1] = n
                gpu.threadfence()
        y[0] = total - 127
    elif gpu.threadIdx.x == N - 1:
        n = 0
        while n < 20:
            if n - x[1] < 4:
                x[4 + n % 4] = n
                n += 1
                gpu.threadfence()
                x[0] = n
                gpu.threadfence()


WAITING = [all_by_flag, all_by_sum, all_by_count, all_by_else, any_by_flag, changes, ring_buffer]


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("kernel", WAITING)
def test_waits(kernel, level):
    x, y = np.zeros(N, np.int32), np.zeros(1, np.int32)
    jitted = gpu.jit(opt_level=level)(kernel)
    assert "volatile" in jitted.ptx(SIGNATURE, arch="sm_80")
    jitted[1, N](x, y)
    gpu.synchronize()
    assert y[0] == N - 1


def test_what_is_stored_before_a_wait_is_there_meanwhile():
    def kernel(x, y):
        y[0] = 1
        while x[0] == 0:
            pass
        y[0] = 2

    ptx = gpu.jit(kernel).ptx(SIGNATURE, arch="sm_80")
    assert ptx.index("st.global.b32") < ptx.index("ld.volatile") < ptx.rindex("st.global.b32")


# --- Loops that go on by themselves ---------------------------------------------------------------


def sort(x, y):
    swapped = True
    while swapped:
        swapped = False
        for j in range(x.size - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True


def relax(x, y):
    rest = 1
    while rest > 0:
        rest = 0
        for j in range(x.size):
            x[j] //= 2
            rest += x[j]


def search(x, y):
    for a in range(x.size):
        for b in range(y.size):
            if x[a] == y[b]:
                y[0] = a
                return


def probe(x, y):
    at, done = y[0] % x.size, False
    while not done:
        if x[at] == y[0] or x[at] == 0:
            done = True
        else:
            at = (at + 1) % x.size
    y[0] = at


def iterate(x, y):
    z = 0.0
    n = 0
    while z * z < 4.0 and n < 100:
        z = z * z + x[0]
        n += 1
    y[0] = n


def march(x, y):
    at = 0.0
    for _ in range(100):
        step = x[0] - at
        if step < 0.01:
            break
        at += step / 2
    y[0] = int(at)


def reject(x, y):
    state, n = y[0], 0
    while n < 5:
        state = (state * 75 + 74) % 65537
        if state < x[0]:
            n += 1
    y[0] = state


def merge(x, y):
    a = b = k = 0
    while a < 8 and b < 8:
        if x[a] <= x[8 + b]:
            y[k] = x[a]
            a += 1
        else:
            y[k] = x[8 + b]
            b += 1
        k += 1


FREE = [sort, relax, search, probe, iterate, march, reject, merge]


@pytest.mark.parametrize("kernel", FREE)
@pytest.mark.filterwarnings("ignore")
def test_goes_on_by_itself(kernel):
    jitted = gpu.jit(kernel)
    assert "volatile" not in jitted.ptx(SIGNATURE, arch="sm_80")
    assert ".resume" not in jitted.llvm(SIGNATURE, arch="host")
