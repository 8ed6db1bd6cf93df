"""Odd views: each kernel run by CPython with NumPy, the python device and the suite's device."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007

import gpu
import kit
import numpy as np
import pytest
from odd import Cases, floats, ints, out

CASES = Cases()
case = CASES.add


def cube(dtype=np.int64):
    return np.arange(60, dtype=dtype).reshape(3, 4, 5)


def block(n=36):
    return np.arange(n).reshape(6, -1)


@case(block(), out(8))
def views_of_views(m, o):
    a = m[1:5, ::-1]
    b = a[::-2, 1:]
    c = b.T[::2]
    d = c[-1]
    o[0], o[1], o[2], o[3] = a[0, 0], b[0, 0], c[1, 1], d[-1]
    o[4], o[5], o[6] = c.shape[0], c.shape[1], len(d)
    d[0] = -1
    o[7] = m[5 - 1, 0]


@case(ints(*range(20)), ints(3, -2, 17, -1, -100, 100, 0), out(7, 7, 2))
def every_pair_of_bounds(x, b, o):
    for i in range(7):
        for j in range(7):
            v = x[b[i] : b[j]]
            w = x[b[i] : b[j] : -3]
            o[i, j, 0] = len(v) * 1000 + (v[-1] if len(v) else 0)
            o[i, j, 1] = len(w) * 1000 + (w[-1] + w[0] if w.size else 0)


@case(block(), out(6))
def ellipsis_and_new_axes(m, o):
    a = m[..., 2]
    b = m[None, :, None, 3]
    c = m[np.newaxis, ..., np.newaxis]
    d = m[..., None, 1:3][2]
    o[0] = a[3]
    o[1] = b.ndim * 100 + b[0, 4, 0]
    o[2] = c.shape[0] + c.shape[-1] * 10 + c[0, 1, 2, 0] * 100
    o[3] = d.shape[0] * 10 + d.shape[1] + d[0, 1] * 100
    m[..., -1] = -5
    m[None, 0][0] = 7
    o[4] = m[3, 5]
    o[5] = m[0, 5]


@case(cube(), out(3, 4))
def slice_stores_between_views(m, o):
    m[0, ::2] = m[2, 1::2]
    m[1, :, ::-1] = m[0, 0]
    m[2, 1:3, 1:4] = m[0, :2, 2:]
    o[:] = m[..., 0]
    o[::2, 1:3] = m[1:, 0, 3:]
    o[:, 3] = ints_sum(m[:, 3])


def ints_sum(m):
    n = 0
    for row in m:
        for v in row:
            n += v
    return n


def pick(m, k):
    if k % 2:
        return m[k]
    return m[:, k]


def corners(m):
    return m[:2, :2], m[-2:, -2:], (m[0], m[:, 0])


@case(block(), out(12))
def views_that_functions_return(m, o):
    for k in range(6):
        v = pick(m, k)
        o[k] = v[-1] - v[1]
        v[2] += 100
    a, b, (r, c) = corners(m)
    b[0, 0], r[5] = -1, -2
    o[6] = a[1, 1] + b[1, 1] * 1000
    o[7] = r[-1] + c[-1]
    o[8] = corners(m)[2][1][3]
    o[9], o[10] = a.shape
    o[11] = corners(corners(m)[0])[1][0, 0]


@case(block(), out(6))
def views_in_tuples_by_a_run_time_index(m, o):
    t = (m[0], m[1, ::-1], m[:, 2], m[::-1, 3])
    for k in range(4):
        v = t[k]
        o[k] = v[0] + v[-2] * 100
        t[3 - k][1] -= 7
    a, b = t[0], t[1]
    for _ in range(3):
        a, b = b, a
        a[0] += 1
        b[0] *= 2
    o[4], o[5] = a[0], b[0]


@case(np.arange(12).reshape(3, 4), out(4))
def loops_over_the_transposed(m, o):
    for i, column in enumerate(m.T):
        for v in column:
            o[i] = o[i] * 10 + v
        column[0] = -i
    for row, column in zip(m, m.T[1:]):
        o[0] += row[1] * column[2]


@case(np.arange(24).reshape(2, 3, 4), out(24))
def iterations_of_every_axis(m, o):
    k = 0
    for a in reversed(m):
        for b in a[::-1].T:
            for v in reversed(b):
                o[k] = v
                k += 1
    for a, b in zip(m, reversed(m)):
        a[0, 0], b[0, 1] = b[0, 1], a[0, 0]


@case(np.array(5), np.array(2.5), out(4))
def without_axes(a, b, o):
    o[0] = a[()]
    a[()] = 7
    v = a[...]
    v[()] += 1
    o[1] = a[()] + v.ndim * 100
    o[2] = len(v.shape) + v.size * 10
    b[...] = b[()] * 2
    w = a[None]
    w[0] -= 10
    o[3] = w.shape[0] * 1000 + a[()]


@case(np.arange(256).reshape((2,) * 8), out(5))
def eight_axes(m, o):
    v = m[::-1, :, 1, ..., ::-1, 0]
    o[0] = v.ndim
    o[1] = v[0, 1, 0, 1, 0, 1]
    w = m.T[0, 1].T[1]
    o[2] = w[1, 0, 1, 0, 1]
    w[...] = 0
    for a in m[0]:
        for b in a:
            o[3] += b[1, 1, 1, 1, 1] - b[0, 0, 0, 0, 1]
    o[4] = m[(1, 0, 1, 0, 1, 0, 1, 1)]


@case(np.zeros((0, 4)), np.zeros((3, 0), np.int64), out(8))
def nothing_in_them(a, b, o):
    n = 0
    for row in a:
        n += 1
    for row in b:
        n += 10
        for v in row:
            n += 100
    for row in a.T:
        n += 1000
        for v in row:
            n += 10000
    o[0] = n
    a[:] = 5
    a[...] = a.T.T
    b[:, :] = 7
    v = a[2:1, ::-1]
    o[1], o[2] = v.shape
    o[3] = a.size + b.size + len(b[0])
    o[4] = sum(b[1]) + sum(())
    o[5] = max(b[2], default=-3)
    for i, (p, q) in enumerate(zip(b.T, o)):
        o[6] = 1
    o[7] = len(a) if len(a) else -1


@case(ints(*range(10)), out(10))
def overlaps(x, o):
    x[1:] = x[:-1]
    o[:] = x
    x[:-2] = x[2:]
    x[::-1] = x
    o[5:] = x[::2]
    x[2:5] = x[2:5][::-1]


@case(np.arange(16).reshape(4, 4), out(4))
def augmented_views(m, o):
    m[1:3, ::2] += 100
    m[0] *= m[3]
    v = m[:, 1]
    v -= m[1, 1]
    w = m.T[2]
    w //= 3
    w **= 2
    m[-1, :] |= 1
    m[2] <<= v[0] & 3
    o[:] = w
    o += o[::-1]


@case(floats(1.5, 2.5, -3.5), np.ones((2, 3)), out(2, 3, dtype=np.float64))
def broadcasts(x, m, o):
    o[:] = x
    o[1:, ::-1] = x[None]
    o[:, 1] = m[:, 0]
    m[...] = x[2:]
    m[0] = o[1]
    m[:, :2] += o[:1, 1:]


@case(ints(1, 2, 3, 4, 5, 6, 7, 8), out(4))
def reversal_in_place(x, o):
    left, right = x[:4], x[:3:-1]
    for i in range(4):
        left[i], right[i] = right[i], left[i]
    o[:] = right
    a, b = x[::2], x[1::2]
    a, b = b, a
    a[0] = 50
    o[0] = b[0] + x[1]


def halve(v, depth):
    if depth == 0:
        return v[0]
    n = len(v) // 2
    return halve(v[:n], depth - 1) * 3 + halve(v[n:], depth - 1)


@case(ints(5, 3, 8, 1, 9, 2, 7, 4), out(2))
def views_that_recur(x, o):
    o[0] = halve(x, 3)
    o[1] = halve(x[::-1], 2)


@case(np.arange(20).reshape(4, 5), out(5))
def views_kept_over_rounds(m, o):
    v = m[0]
    for row in m[1:]:
        for j in range(5):
            row[j] += v[j]
        v = row
    o[:] = v
    v = m[:, 0]
    for k in range(3):
        v = v[1:] if k % 2 else v[:-1]
        o[k] += len(v) * 1000 + v[0]


@case(
    np.asfortranarray(np.arange(12).reshape(3, 4)), np.arange(24).reshape(4, 6)[::-1, ::2], out(10)
)
def strange_layouts(f, g, o):
    o[0] = f[1, 2]
    o[1] = f.T[3, 0]
    o[2] = g[0, 2]
    o[3] = g[-1, -1]
    o[4], o[5] = f.strides
    o[6], o[7] = f[::-1, ::2].strides  # g's own are those of its copy on a GPU
    f[:] = g[:3, ::-1][:, :1]
    o[8] = f.T.T[2, 3]
    for a, b in zip(f.T, g):
        o[9] += a[0] * b[0]


@case(np.arange(12).reshape(3, 4), out(8))
def attributes_of_views(m, o):
    v = m[::2, 1:]
    o[0] = v.nbytes + v.itemsize * 1000
    o[1] = v.size * 100 + v.ndim
    o[2] = v.strides[0]
    o[3] = v.T.shape[0]
    o[4] = v.T.strides[1]
    o[5] = v.dtype == np.int64
    o[6] = v.dtype.itemsize
    h, w = v.shape
    o[7] = h * 10 + w


@case(ints(*range(30)), out(6))
def slices_as_values(x, o):
    s = slice(2, 20, 4)
    t = slice(None, None, -1)
    u = slice(x[5], -x[3])
    o[0] = x[s][1]
    o[1] = x[t][0]
    o[2] = len(x[u][t][s])
    for k, w in enumerate((s, u)):
        o[3 + k] = x[w][-1]
    x[s] = 0
    o[5] = x[6] + x[7]


def windows(x, n):
    def get(k):
        return x[k : k + n]

    return get


@case(ints(1, 5, 2, 8, 3, 9), out(4))
def a_closure_over_a_view(x, o):
    get = windows(x[::-1], 3)
    for k in range(4):
        w = get(k)
        o[k] = max(w) * 100 + min(w) * 10 + sum(w)
        w[0] = w[2]


@case(np.arange(9).reshape(3, 3), out(3, 3))
def transposed_in_place(m, o):
    for i in range(3):
        for j in range(i):
            m[i, j], m[j, i] = m[j, i], m[i, j]
    o[:] = m.T
    m[:] = m.T
    o[1:, 1:] += m[:2, :2].T


@case(ints(2, 7, 1), ints(8, 2, 8), out(3))
def swaps_of_rows(x, y, o):
    t = (x, y)
    for i in range(3):
        t = (t[1], t[0])
        p, q = t
        p[i] += q[i]
    for v, k in zip(t, range(2)):
        o[k] = v[0] + v[1] * v[2]


@case(np.arange(8, dtype=np.float32), np.arange(4, dtype=np.int64), out(4, dtype=np.float32))
def stores_that_convert(x, k, o):
    o[:] = k
    o[::2] += x[1::4]
    x[:4] = k[::-1]
    k[:] = x[4:]
    x[7] = k[-1]
    o[1] *= k[1]


@case(np.arange(40).reshape(2, 4, 5), ints(1, -1, 0, 3), out(6))
def indices_from_data(m, k, o):
    i = (k[0], k[1])
    o[0] = m[i][0]
    o[1] = m[k[0], :, k[3]][k[1]]
    o[2] = m[-1][-1][-1]
    o[3] = m[k[2] : k[3], k[2]].shape[0]
    o[4] = m[:, i[0], i[1]][k[0]]
    m[i][1:] = m[0, 0, k[2] : 4]
    o[5] = m[1, 3, 4]


@case(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2), out(2, 2, dtype=np.float64))
def matrix_product_by_views(a, b, o):
    for i, row in enumerate(a):
        for j, column in enumerate(b.T):
            s = 0.0
            for p, q in zip(row, column):
                s += p * q
            o[i, j] = s


@case(np.array([True, False, True]), np.array([[True], [False]]), np.zeros((2, 3), bool))
def views_of_bools(x, m, o):
    o[:] = x
    o[1] = m[0]
    v = o[:, ::2]
    v[0, 1] = not v[0, 0]
    x[0] = x[0] & x[1] | m[1, 0]
    o[1, ::-1] = x


def test_a_view_of_each_dtype():
    def kernel(x, o):
        v = x[::-2]
        v[1:] = v[:-1]
        o[:] = v.T
        o[0] = len(v)

    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                  "float16", "float32", "float64"):  # fmt: skip
        x = (np.arange(9) * 3 - 8).astype(dtype)
        o = np.zeros(5, dtype)
        got = kit.agree(kernel, (x, o))
        kernel(x, o)
        assert got[0].tolist() == x.tolist() and got[1].tolist() == o.tolist(), dtype


def test_many_threads_on_views_of_their_own():
    def tile(m, n, i):
        return m[i // 2 * n : (i // 2 + 1) * n, i % 2 * n : (i % 2 + 1) * n]

    def kernel(m, o):
        i = gpu.grid(1)
        if i >= len(o):
            return
        v = tile(m, 3, i)
        for k in range(3):
            v[k] *= v[k, k]
        o[i] = v.T[0]
        w = v[::-1, ::-1]
        w[0] = i

    m = np.arange(36).reshape(6, 6)
    got = kit.agree(kernel, (m, np.zeros((4, 3), np.int64)), grid=2, block=3)
    for i in range(4):
        v = tile(m, 3, i)
        v *= np.diagonal(v).copy()[:, None]
        assert got[1][i].tolist() == v[:, 0].tolist()
        v[2] = i
    assert got[0].tolist() == m.tolist()


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
