"""Programs as they are written for other GPU languages, against NumPy."""

import math
import os
from collections import namedtuple

import gpu as cuda
import numpy as np
import pytest
from gpu import float32, float64, int32, int64, uint32

PY = os.environ.get("GPUJIT_DEVICE") == "python"
rng = np.random.default_rng(7)


def test_radix_sort():
    N = 128

    @cuda.jit
    def sort(x):
        key = cuda.shared.array(N, dtype=uint32)
        out = cuda.shared.array(N, dtype=uint32)
        cnt = cuda.shared.array(4, dtype=int32)
        t = cuda.threadIdx.x
        key[t] = x[t]
        cuda.syncthreads()
        w = t // 32
        for bit in range(32):
            k = uint32(key[t])
            b = (k >> bit) & 1
            m = cuda.ballot_sync(0xFFFFFFFF, b == 0)
            if t % 32 == 0:
                cnt[w] = cuda.popc(m)
            cuda.syncthreads()
            total = 0
            before = 0
            for q in range(4):
                if q < w:
                    before += cnt[q]
                total += cnt[q]
            zeros_before = before + cuda.popc(m & cuda.lanemask_lt())
            pos = zeros_before if b == 0 else total + t - zeros_before
            out[pos] = k
            cuda.syncthreads()
            key[t] = out[t]
            cuda.syncthreads()
        x[t] = key[t]

    x = rng.integers(0, 2**32, N, dtype=np.uint32)
    y = x.copy()
    sort[1, N](y)
    assert np.array_equal(y, np.sort(x))


def test_compaction():
    @cuda.jit
    def compact(x, out, n):
        base = cuda.shared.array(1, int32)
        cnt = cuda.shared.array(1, int32)
        i = cuda.grid(1)
        if cuda.threadIdx.x == 0:
            cnt[0] = 0
        cuda.syncthreads()
        keep = i < x.size and x[i] > 0.5
        my = 0
        if keep:
            my = cuda.atomic.add(cnt, 0, 1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            base[0] = cuda.atomic.add(n, 0, cnt[0])
        cuda.syncthreads()
        if keep:
            out[base[0] + my] = x[i]

    @cuda.jit
    def compact2(x, out, n):
        i = cuda.grid(1)
        keep = i < x.size and x[i] > 0.5
        act = cuda.ballot_sync(0xFFFFFFFF, keep)
        lane = cuda.laneid
        base = 0
        if lane == 0:
            base = cuda.atomic.add(n, 0, cuda.popc(act))
        base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
        if keep:
            out[base + cuda.popc(act & cuda.lanemask_lt())] = x[i]

    @cuda.jit
    def compact3(x, out, n):
        i = cuda.grid(1)
        if i < x.size and x[i] > 0.5:
            m = cuda.activemask()
            leader = cuda.ffs(m) - 1
            base = 0
            if cuda.laneid == leader:
                base = cuda.atomic.add(n, 0, cuda.popc(m))
            base = cuda.shfl_sync(m, base, leader)
            out[base + cuda.popc(m & cuda.lanemask_lt())] = x[i]

    x = rng.random(500)
    for k in (compact, compact2, compact3):
        out = np.zeros(500)
        n = np.zeros(1, np.int32)
        k[8, 64](x, out, n)
        e = np.sort(x[x > 0.5])
        assert n[0] == e.size and np.array_equal(np.sort(out[: n[0]]), e)


@pytest.mark.parametrize("n", [5, 19])
def test_floyd(n):
    B = 8
    INF = 1 << 20

    @cuda.jit
    def phase1(d, k):
        t = cuda.shared.array((B, B), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        t[y, x] = d[k * B + y, k * B + x]
        cuda.syncthreads()
        for m in range(B):
            v = min(t[y, x], t[y, m] + t[m, x])
            cuda.syncthreads()
            t[y, x] = v
            cuda.syncthreads()
        d[k * B + y, k * B + x] = t[y, x]

    @cuda.jit
    def phase2(d, k):
        if cuda.blockIdx.x == k:
            return
        p = cuda.shared.array((B, B), int32)
        t = cuda.shared.array((B, B), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        p[y, x] = d[k * B + y, k * B + x]
        row = cuda.blockIdx.y == 0
        i, j = (k, cuda.blockIdx.x) if row else (cuda.blockIdx.x, k)
        t[y, x] = d[i * B + y, j * B + x]
        cuda.syncthreads()
        for m in range(B):
            v = min(t[y, x], p[y, m] + t[m, x]) if row else min(t[y, x], t[y, m] + p[m, x])
            cuda.syncthreads()
            t[y, x] = v
            cuda.syncthreads()
        d[i * B + y, j * B + x] = t[y, x]

    @cuda.jit
    def phase3(d, k):
        j, i = cuda.blockIdx.x, cuda.blockIdx.y
        if i == k or j == k:
            return
        a = cuda.shared.array((B, B), int32)
        b = cuda.shared.array((B, B), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        a[y, x] = d[i * B + y, k * B + x]
        b[y, x] = d[k * B + y, j * B + x]
        cuda.syncthreads()
        v = d[i * B + y, j * B + x]
        for m in range(B):
            v = min(v, a[y, m] + b[m, x])
        d[i * B + y, j * B + x] = v

    w = rng.integers(1, 50, (n, n))
    w[rng.random((n, n)) < 0.6] = INF
    np.fill_diagonal(w, 0)
    nb = -(-n // B)
    p = np.full((nb * B, nb * B), INF, np.int32)
    p[:n, :n] = w
    d = cuda.to_device(p)
    for k in range(nb):
        phase1[1, (B, B)](d, k)
        phase2[(nb, 2), (B, B)](d, k)
        phase3[(nb, nb), (B, B)](d, k)
    e = w.copy()
    for k in range(n):
        e = np.minimum(e, e[:, k : k + 1] + e[k : k + 1])
    assert np.array_equal(d.copy_to_host()[:n, :n], e)


def test_bfs_queue():
    @cuda.jit
    def bfs(row, col, dist, q, qn, level, src):
        # persistent with grid sync
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        if i == 0:
            dist[src] = 0
            q[0, 0] = src
            qn[0] = 1
        g.sync()
        d = 0
        cur = 0
        while True:
            n = qn[cur]
            if n == 0:
                break
            for k in range(i, n, cuda.gridsize(1)):
                v = q[cur, k]
                for e in range(row[v], row[v + 1]):
                    w = col[e]
                    if cuda.atomic.cas(dist, w, -1, d + 1) == -1:
                        p = cuda.atomic.add(qn, 1 - cur, 1)
                        q[1 - cur, p] = w
            g.sync()
            if i == 0:
                qn[cur] = 0
            cur = 1 - cur
            d += 1
            g.sync()
        if i == 0:
            level[0] = d

    n = 60
    A = rng.random((n, n)) < 0.05
    row = np.concatenate([[0], np.cumsum(A.sum(1))])
    col = np.concatenate([np.flatnonzero(r) for r in A])
    dist = np.full(n, -1, np.int32)
    q = np.zeros((2, n), np.int32)
    qn = np.zeros(2, np.int32)
    level = np.zeros(1, np.int64)
    bfs[2, 32](row, col, dist, q, qn, level, 3)
    e = np.full(n, -1)
    e[3] = 0
    fr, d = [3], 0
    while fr:
        nx = []
        for v in fr:
            for w in np.flatnonzero(A[v]):
                if e[w] < 0:
                    e[w] = d + 1
                    nx.append(w)
        fr = nx
        d += 1
    assert np.array_equal(dist, e) and level[0] == d


def test_lock_list():
    @cuda.jit(device=True)
    def lock(m, i):
        while cuda.atomic.cas(m, i, 0, 1) != 0:
            pass
        cuda.threadfence()

    @cuda.jit(device=True)
    def unlock(m, i):
        cuda.threadfence()
        cuda.atomic.exch(m, i, 0)

    @cuda.jit
    def insert(keys, head, nxt, mutex):
        i = cuda.grid(1)
        if i >= keys.size:
            return
        b = keys[i] % head.size
        done = False
        while not done:
            if cuda.atomic.cas(mutex, b, 0, 1) == 0:
                cuda.threadfence()
                # sorted insert
                p = -1
                c = head[b]
                while c != -1 and keys[c] < keys[i]:
                    p = c
                    c = nxt[c]
                nxt[i] = c
                if p == -1:
                    head[b] = i
                else:
                    nxt[p] = i
                unlock(mutex, b)
                done = True

    @cuda.jit
    def count(m, c):
        if cuda.threadIdx.x % 32 == 0:
            lock(m, 0)
            c[0] += 1
            unlock(m, 0)

    keys = rng.permutation(200)[:150]
    head = np.full(5, -1, np.int32)
    nxt = np.full(150, -1, np.int32)
    m = np.zeros(5, np.int32)
    insert[5, 32](keys, head, nxt, m)
    seen = []
    for b in range(5):
        chain = []
        c = head[b]
        while c != -1:
            chain.append(keys[c])
            c = nxt[c]
        assert chain == sorted(chain) and all(k % 5 == b for k in chain)
        seen += chain
    assert sorted(seen) == sorted(keys)
    c = np.zeros(1, np.int64)
    count[20, 64](m, c)
    assert c[0] == 40


def test_hash_table():
    CAP = 256
    EMPTY = 0xFFFFFFFF

    @cuda.jit(device=True)
    def hsh(k):
        k = uint32(k)
        k ^= k >> 16
        k *= uint32(0x85EBCA6B)
        k ^= k >> 13
        k *= uint32(0xC2B2AE35)
        k ^= k >> 16
        return k & (CAP - 1)

    @cuda.jit
    def ins(keys, tk, tv):
        for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
            s = hsh(keys[i])
            while True:
                old = cuda.atomic.cas(tk, s, EMPTY, keys[i])
                if old == EMPTY or old == keys[i]:
                    cuda.atomic.add(tv, s, 1)
                    break
                s = (s + 1) & (CAP - 1)

    @cuda.jit
    def find(keys, tk, tv, out):
        i = cuda.grid(1)
        if i < keys.size:
            s = hsh(keys[i])
            while tk[s] != EMPTY and tk[s] != keys[i]:
                s = (s + 1) % CAP
            out[i] = tv[s] if tk[s] == keys[i] else -1

    keys = rng.integers(0, 2**32 - 1, 100, dtype=np.uint32)
    keys = np.concatenate([keys, keys[:50], keys[:20]])
    tk = np.full(CAP, EMPTY, np.uint32)
    tv = np.zeros(CAP, np.int32)
    ins[3, 32](keys, tk, tv)
    q = np.concatenate([keys, np.array([5, 6], np.uint32)])
    out = np.zeros(q.size, np.int32)
    find[6, 32](q, tk, tv, out)
    u, c = np.unique(keys, return_counts=True)
    d = dict(zip(u, c))
    assert out.tolist() == [d.get(k, -1) for k in q]


def test_xorshift_local():
    @cuda.jit(device=True)
    def nxt32(s):
        t = uint32(s[3])
        a = uint32(s[0])
        s[3] = s[2]
        s[2] = s[1]
        s[1] = a
        t ^= t << 11
        t ^= t >> 8
        s[0] = t ^ a ^ (a >> 19)
        return uint32(s[0])

    @cuda.jit
    def mc(seeds, out, n):
        i = cuda.grid(1)
        s = cuda.local.array(4, dtype=uint32)
        for k in range(4):
            s[k] = seeds[i, k]
        inside = 0
        for _ in range(n):
            x = float64(nxt32(s)) / 4294967296.0
            y = float64(nxt32(s)) * (1.0 / 2**32)
            inside += x * x + y * y <= 1
        out[i] = inside
        for k in range(4):
            seeds[i, k] = s[k]

    seeds = rng.integers(1, 2**32, (16, 4), dtype=np.uint32)
    e = seeds.copy()
    out = np.zeros(16, np.int64)
    mc[1, 16](seeds, out, 30)
    exp = []
    M = 0xFFFFFFFF
    for r in range(16):
        s = [int(v) for v in e[r]]
        c = 0

        def f(s=s):
            t = s[3]
            a = s[0]
            s[3], s[2], s[1] = s[2], s[1], a
            t ^= (t << 11) & M
            t ^= t >> 8
            s[0] = (t ^ a ^ (a >> 19)) & M
            return s[0]

        for _ in range(30):
            x = f() / 2**32
            y = f() / 2**32
            c += x * x + y * y <= 1
        exp.append(c)
        assert s == seeds[r].tolist()
    assert out.tolist() == exp


@pytest.mark.parametrize("n", [1, 5, 12])
def test_lu_block(n):
    N = 12

    @cuda.jit
    def lu(A, piv, sign):
        s = cuda.shared.array((N, N), float64)
        p = cuda.shared.array(1, int32)
        n = A.shape[0]
        i = cuda.threadIdx.x
        if i < n:
            for j in range(n):
                s[i, j] = A[i, j]
        cuda.syncthreads()
        for k in range(n):
            if i == 0:
                b = k
                for r in range(k + 1, n):
                    if abs(s[r, k]) > abs(s[b, k]):
                        b = r
                p[0] = b
                piv[k] = b
                if b != k:
                    sign[0] = -sign[0]
            cuda.syncthreads()
            b = p[0]
            if b != k and i < n:
                s[k, i], s[b, i] = s[b, i], s[k, i]
            cuda.syncthreads()
            if k < i < n:
                s[i, k] /= s[k, k]
                for j in range(k + 1, n):
                    s[i, j] -= s[i, k] * s[k, j]
            cuda.syncthreads()
        if i < n:
            for j in range(n):
                A[i, j] = s[i, j]

    A = rng.random((n, n))
    L = A.copy()
    piv = np.zeros(n, np.int32)
    sg = np.ones(1)
    lu[1, 32](L, piv, sg)
    assert np.isclose(np.prod(np.diag(L)) * sg[0], np.linalg.det(A))


def test_cholesky():
    @cuda.jit
    def chol(A):
        s = cuda.shared.dynamic(A.shape, A.dtype)
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        n = A.shape[0]
        s[i, j] = A[i, j]
        cuda.syncthreads()
        for k in range(n):
            if i == k and j == k:
                s[k, k] = math.sqrt(s[k, k])
            cuda.syncthreads()
            if j == k and i > k:
                s[i, k] /= s[k, k]
            cuda.syncthreads()
            if k < j <= i:
                s[i, j] -= s[i, k] * s[j, k]
            cuda.syncthreads()
        A[i, j] = s[i, j] if j <= i else 0

    B = rng.random((9, 9))
    A = B @ B.T + np.eye(9)
    L = A.copy()
    chol[1, (9, 9), 0, A.nbytes](L)
    assert np.allclose(L, np.linalg.cholesky(A))


def test_fft_shared():
    N = 64

    @cuda.jit
    def fft(re, im):
        sr = cuda.shared.array(N, float64)
        si = cuda.shared.array(N, float64)
        t = cuda.threadIdx.x
        for h in range(2):
            k = t + h * (N // 2)
            r = cuda.brev(uint32(k)) >> (32 - 6)
            sr[r] = re[k]
            si[r] = im[k]
        cuda.syncthreads()
        half = 1
        while half < N:
            p = t % half
            i = (t // half) * 2 * half + p
            a = -math.pi * p / half
            c, s = math.cos(a), math.sin(a)
            xr = sr[i + half] * c - si[i + half] * s
            xi = sr[i + half] * s + si[i + half] * c
            sr[i + half], si[i + half] = sr[i] - xr, si[i] - xi
            sr[i] += xr
            si[i] += xi
            half *= 2
            cuda.syncthreads()
        for h in range(2):
            k = t + h * (N // 2)
            re[k], im[k] = sr[k], si[k]

    x = rng.random(N) + 1j * rng.random(N)
    re, im = x.real.copy(), x.imag.copy()
    fft[1, N // 2](re, im)
    assert np.allclose(re + 1j * im, np.fft.fft(x))


def test_nqueens():
    @cuda.jit
    def q(n, count):
        cols = cuda.local.array(12, int32)
        first = cuda.grid(1)
        if first >= n * n:
            return
        cols[0] = first // n
        cols[1] = first % n
        if abs(cols[0] - cols[1]) <= 1:
            return
        d = 2
        c = 0
        cols[2] = -1
        while d >= 2:
            cols[d] += 1
            if cols[d] >= n:
                d -= 1
                continue
            ok = True
            for k in range(d):
                if cols[k] == cols[d] or abs(cols[k] - cols[d]) == d - k:
                    ok = False
                    break
            if not ok:
                continue
            if d == n - 1:
                c += 1
            else:
                d += 1
                cols[d] = -1
        cuda.atomic.add(count, 0, c)

    c = np.zeros(1, np.int64)
    q[1, 49 if not PY else 36](7 if not PY else 6, c)
    assert c[0] == (40 if not PY else 4)


def test_life_grid():
    @cuda.jit
    def life(a, b, steps):
        g = cuda.cg.this_grid()
        x, y = cuda.grid(2)
        h, w = a.shape
        for _ in range(steps):
            if x < w and y < h:
                n = 0
                for dy in (-1, 0, 1):
                    for dx in (-1, 0, 1):
                        if dx or dy:
                            n += a[(y + dy) % h, (x + dx) % w]
                b[y, x] = n == 3 or (a[y, x] and n == 2)
            g.sync()
            a, b = b, a

    a = (rng.random((13, 17)) < 0.4).astype(np.int8)
    p = a.copy()
    b = np.zeros_like(a)
    life[(3, 2), (8, 8)](a, b, 4)
    for _ in range(4):
        n = sum(np.roll(p, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - p
        p = ((n == 3) | ((p == 1) & (n == 2))).astype(np.int8)
    assert np.array_equal(a, p)


def test_persistent():
    @cuda.jit
    def work(tasks, out, counter, log):
        job = cuda.shared.array(1, int32)
        while True:
            if cuda.threadIdx.x == 0:
                job[0] = cuda.atomic.add(counter, 0, 1)
            cuda.syncthreads()
            j = job[0]
            cuda.syncthreads()
            if j >= tasks.shape[0]:
                break
            v = tasks[j, cuda.threadIdx.x]
            s = cuda.syncthreads_count(v > 0)
            if cuda.threadIdx.x == 0:
                out[j] = s
                cuda.atomic.add(log, cuda.blockIdx.x, 1)

    t = rng.integers(-5, 6, (23, 48))
    out = np.zeros(23, np.int32)
    c = np.zeros(1, np.int32)
    log = np.zeros(4, np.int32)
    work[4, 48](t, out, c, log)
    assert np.array_equal(out, (t > 0).sum(1)) and log.sum() == 23 and c[0] == 27


def test_producer_consumer():
    @cuda.jit
    def pc(x, buf, flag, out):
        n = x.size
        if cuda.blockIdx.x == 0:
            if cuda.threadIdx.x == 0:
                for i in range(n):
                    while cuda.atomic.add(flag, i % 4, 0) != 0:
                        pass
                    buf[i % 4] = x[i] * 2
                    cuda.threadfence()
                    cuda.atomic.exch(flag, i % 4, 1)
        elif cuda.threadIdx.x == 0:
            for i in range(n):
                while cuda.atomic.cas(flag, i % 4, 1, 1) != 1:
                    pass
                cuda.threadfence()
                out[i] = buf[i % 4]
                cuda.threadfence()
                cuda.atomic.exch(flag, i % 4, 0)

    x = rng.random(30)
    out = np.zeros(30)
    pc[2, 32](x, np.zeros(4), np.zeros(4, np.int32), out)
    assert np.array_equal(out, x * 2)

    @cuda.jit
    def within(x, out):
        buf = cuda.shared.array(2, float64)
        full = cuda.shared.array(2, int32)
        if cuda.threadIdx.x < 2:
            full[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            for i in range(x.size):
                while cuda.atomic.cas(full, i & 1, 0, 0):
                    pass
                buf[i & 1] = x[i] + 1
                cuda.threadfence_block()
                cuda.atomic.exch(full, i & 1, 1)
        elif cuda.threadIdx.x == 32:
            for i in range(x.size):
                while full[i & 1] == 0:
                    pass
                out[i] = buf[i & 1]
                cuda.threadfence_block()
                full[i & 1] = 0

    within[1, 64](x, out)
    assert np.array_equal(out, x + 1)


Tiles = namedtuple("Tiles", "a b idx")


def test_tuples_of_shared():
    def make(n):
        return Tiles(
            cuda.shared.array(n, float32),
            cuda.shared.array(n, float64),
            cuda.shared.array((n, 2), int32),
        )

    def swap(t, i, j):
        for arr in (t.a, t.b):
            arr[i], arr[j] = arr[j], arr[i]

    @cuda.jit
    def k(x, y, z):
        t = make(32)
        i = cuda.threadIdx.x
        t.a[i] = x[i]
        t.b[i] = 2 * x[i]
        t.idx[i] = (i, -i)[0]
        t.idx[i, 1] = -i
        cuda.syncthreads()
        if i < 16:
            swap(t, i, 31 - i)
        cuda.syncthreads()
        bufs = (t.a, t.a[::-1])
        y[i] = bufs[0][i] + bufs[i & 1][i] + float32(t.b[i])
        z[i] = t.idx[i, 1] + t.idx[31 - i, 0]

    x = np.arange(32, dtype=np.float32)
    y = np.zeros(32, np.float32)
    z = np.zeros(32, int)
    k[1, 32](x, y, z)
    r = x[::-1]
    assert np.array_equal(y, r + np.where(np.arange(32) % 2, x, r) + 2 * r)
    assert np.array_equal(z, 31 - 2 * np.arange(32))


def test_closure_and_return():
    def tile_of(n, dtype=float32):
        return cuda.shared.array(n, dtype)

    @cuda.jit
    def k(x, out):
        s = tile_of(64)
        u = tile_of(64, int64)
        i = cuda.threadIdx.x

        def put(v):
            cuda.syncthreads()
            s[i] = v
            u[i] = int(v) * 10
            cuda.syncthreads()

        def get(j):
            cuda.syncthreads()
            return s[j] + u[j]

        put(x[i])
        out[i] = get(63 - i)
        put(x[63 - i])
        out[i] += get(63 - i)
        a = tile_of(64)  # the same array as s
        cuda.syncthreads()
        a[i] = 1
        cuda.syncthreads()
        out[i] += s[i] * 1000

    x = np.arange(64.0)
    out = np.zeros(64)
    k[1, 64](x, out)
    r = x[::-1]
    assert np.array_equal(out, 11 * r + 11 * x + 1000)


def test_shared_function_twice():
    @cuda.jit(device=True)
    def block_sum(v):
        s = cuda.shared.array(64, float64)
        t = cuda.threadIdx.x
        s[t] = v
        cuda.syncthreads()
        d = cuda.blockDim.x // 2
        while d:
            if t < d:
                s[t] += s[t + d]
            cuda.syncthreads()
            d //= 2
        r = s[0]
        cuda.syncthreads()
        return r

    @cuda.jit
    def k(x, out):
        i = cuda.threadIdx.x
        a = block_sum(x[i])
        b = block_sum(x[i] * x[i]) if x[0] >= 0 else block_sum(0.0)
        mean = a / 64
        var = b / 64 - mean * mean
        out[i] = (x[i] - mean) / math.sqrt(var) + block_sum(float(i > 3))

    x = rng.random(64)
    out = np.zeros(64)
    k[1, 64](x, out)
    assert np.allclose(out, (x - x.mean()) / x.std() + 60)


def test_3d():
    @cuda.jit
    def k(a, b):
        s = cuda.shared.array((4, 3, 5), int32)
        x, y, z = cuda.grid(3)
        tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        ok = z < a.shape[0] and y < a.shape[1] and x < a.shape[2]
        s[tz, ty, tx] = a[z, y, x] if ok else 0
        cuda.syncthreads()
        if ok:
            v = 0
            for p in s:
                for q in p:
                    for e in q:
                        v += e
            b[z, y, x] = v

    a = rng.integers(0, 9, (7, 5, 11)).astype(np.int16)
    b = np.zeros_like(a)
    k[(3, 2, 2), (5, 3, 4)](a, b)
    p = np.zeros((8, 6, 15), int)
    p[:7, :5, :11] = a
    s = p.reshape(2, 4, 2, 3, 3, 5).sum((1, 3, 5))
    e = s.repeat(4, 0).repeat(3, 1).repeat(5, 2)[:7, :5, :11]
    assert np.array_equal(b, e)


def test_warp_misc():
    @cuda.jit
    def k(x, out):
        t = cuda.threadIdx.x
        lane = cuda.laneid
        v = x[t]
        # butterfly arg max
        best, where = v, t
        m = 16
        while m:
            b, w = cuda.shfl_xor_sync(-1, (best, where), m)
            if b > best or (b == best and w < where):
                best, where = b, w
            m //= 2
        out[t, 0] = where
        # segmented by halves
        s = v
        for d in (8, 4, 2, 1):
            s += cuda.shfl_xor_sync(0xFFFFFFFF, s, d, 16)
        out[t, 1] = s
        if lane < 8:
            out[t, 2] = cuda.reduce_add_sync(0xFF, int32(v))
        else:
            out[t, 2] = cuda.reduce_max_sync(0xFFFFFF00, int32(v))
        out[t, 3] = cuda.ballot_sync(0xFFFFFFFF, v & 1)
        ok, p = cuda.match_all_sync(0xFFFFFFFF, int32(v))
        out[t, 4] = p
        out[t, 5] = cuda.all_sync(0xFFFFFFFF, v >= 0) + 2 * cuda.any_sync(0xFFFFFFFF, v > 7)
        out[t, 6] = cuda.shfl_sync(0xFFFFFFFF, v, (lane + 5) & 31)

    x = rng.integers(0, 9, 64).astype(np.int32)
    out = np.zeros((64, 7), np.int64)
    k[1, 64](x, out)
    for w in range(2):
        v = x[32 * w : 32 * w + 32]
        o = out[32 * w : 32 * w + 32]
        assert (o[:, 0] == 32 * w + v.argmax()).all()
        assert o[:, 1].tolist() == [v[:16].sum()] * 16 + [v[16:].sum()] * 16
        assert o[:, 2].tolist() == [v[:8].sum()] * 8 + [v[8:].max()] * 24
        assert (o[:, 3] == sum(int(b) << i for i, b in enumerate(v & 1))).all()
        assert (o[:, 5] == 1 + 2 * (v > 7).any()).all()
        assert np.array_equal(o[:, 6], np.roll(v, -5))


def test_spmv_warp():
    @cuda.jit
    def spmv(row, col, val, x, y):
        r = cuda.grid(1) // 32
        if r >= y.size:
            return
        lane = cuda.laneid
        s = float32(0)
        j = row[r] + lane
        while j < row[r + 1]:
            s += val[j] * x[col[j]]
            j += 32
        o = 16
        while o:
            s += cuda.shfl_down_sync(0xFFFFFFFF, s, o)
            o >>= 1
        if lane == 0:
            y[r] = s

    A = rng.random((9, 70)).astype(np.float32)
    A[rng.random(A.shape) < 0.5] = 0
    row = np.concatenate([[0], np.cumsum((A != 0).sum(1))]).astype(np.int32)
    col = np.concatenate([np.flatnonzero(r) for r in A]).astype(np.int32)
    val = np.concatenate([r[r != 0] for r in A])
    x = rng.random(70).astype(np.float32)
    y = np.zeros(9, np.float32)
    spmv[5, 64](row, col, val, x, y)
    assert np.allclose(y, A @ x, rtol=1e-5)


def test_softmax_rows():
    @cuda.jit
    def softmax(x, y):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        row = x[cuda.blockIdx.x]
        o = y[cuda.blockIdx.x]
        m = float32(-math.inf)
        for j in range(t, row.size, 32):
            m = max(m, row[j])
        s[t] = m
        cuda.syncwarp()
        for d in (16, 8, 4, 2, 1):
            if t < d:
                s[t] = max(s[t], s[t + d])
            cuda.syncwarp()
        m = s[0]
        cuda.syncwarp()
        e = float32(0)
        for j in range(t, row.size, 32):
            o[j] = math.exp(row[j] - m)
            e += o[j]
        e = cuda.reduce_add_sync(0xFFFFFFFF, e)
        for j in range(t, row.size, 32):
            o[j] /= e

    x = rng.normal(size=(4, 45)).astype(np.float32)
    y = np.zeros_like(x)
    softmax[4, 32](x, y)
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_edit_distance():
    @cuda.jit
    def edit(a, b, out):
        d = cuda.shared.array((3, 65), int32)
        t = cuda.threadIdx.x
        n, m = a.size, b.size
        for s in range(n + m + 1):
            lo = s - m if s > m else 0
            i = t
            j = s - i
            if lo <= i <= n and 0 <= j <= m:
                if i == 0:
                    v = j
                elif j == 0:
                    v = i
                else:
                    v = min(
                        d[(s - 1) % 3, i - 1] + 1,
                        d[(s - 1) % 3, i] + 1,
                        d[(s - 2) % 3, i - 1] + (a[i - 1] != b[j - 1]),
                    )
                d[s % 3, i] = v
            cuda.syncthreads()
        if t == 0:
            out[0] = d[(n + m) % 3, n]

    a = np.frombuffer(b"kitten sitting on the dock", np.uint8)
    b = np.frombuffer(b"sitting kitten in the duck!", np.uint8)
    out = np.zeros(1, np.int32)
    edit[1, 64](a, b, out)
    D = np.zeros((len(a) + 1, len(b) + 1), int)
    D[:, 0] = range(len(a) + 1)
    D[0] = range(len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            D[i + 1, j + 1] = min(D[i, j + 1] + 1, D[i + 1, j] + 1, D[i, j] + int(a[i] != b[j]))
    assert out[0] == D[-1, -1]


def test_recursion_over_local_and_shared_rows():
    if cuda.device().kind == "cuda":
        pytest.skip("a GPU's thread has a stack of 1 KiB for recursion")

    @cuda.jit(device=True)
    def qsort(a, lo, hi):
        if lo < hi:
            p = a[hi]
            i = lo
            for j in range(lo, hi):
                if a[j] < p:
                    a[i], a[j] = a[j], a[i]
                    i += 1
            a[i], a[hi] = a[hi], a[i]
            qsort(a, lo, i - 1)
            qsort(a, i + 1, hi)

    @cuda.jit
    def k(x):
        t = cuda.grid(1)
        own = cuda.local.array(20, float64)
        own[:] = x[t]
        qsort(own, 0, 19)
        x[t] = own
        s = cuda.shared.array((8, 20), float64)
        row = s[cuda.threadIdx.x]
        row[:] = x[t, ::-1]
        qsort(row, 0, 9)
        x[t, :10] = row[:10]

    x = rng.random((8, 20))
    e = np.sort(x, 1)
    k[1, 8](x)
    e2 = e.copy()
    e2[:, :10] = np.sort(e[:, ::-1][:, :10], 1)
    assert np.array_equal(x, e2)
