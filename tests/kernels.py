"""Twelve everyday kernels, written as a user would: no hand narrowing, no hints.

`make(cuda, f4, i4)` returns them by name. `cuda` is this package or numba.cuda: both know every
name used here; f4 and i4 are its float32 and int32. The same jobs in C++: tests/bench/everyday.cu.
"""

import math
from typing import Any


def make(cuda: Any, f4: Any, i4: Any) -> dict[str, Any]:
    """Every kernel by name, each jitted by `cuda.jit`."""

    @cuda.jit
    def saxpy(n, a, x, y):
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def transpose(a, b):
        tile = cuda.shared.array((32, 33), f4)
        tx = cuda.threadIdx.x
        ty = cuda.threadIdx.y
        x = cuda.blockIdx.x * 32 + tx
        y = cuda.blockIdx.y * 32 + ty
        for j in range(0, 32, 8):
            if x < a.shape[1] and y + j < a.shape[0]:
                tile[ty + j, tx] = a[y + j, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * 32 + tx
        y = cuda.blockIdx.x * 32 + ty
        for j in range(0, 32, 8):
            if x < b.shape[1] and y + j < b.shape[0]:
                b[y + j, x] = tile[tx, ty + j]

    @cuda.jit
    def matmul(a, b, c):
        sa = cuda.shared.array((32, 32), f4)
        sb = cuda.shared.array((32, 32), f4)
        tx = cuda.threadIdx.x
        ty = cuda.threadIdx.y
        col = cuda.blockIdx.x * 32 + tx
        row = cuda.blockIdx.y * 32 + ty
        acc = f4(0.0)
        for k in range(a.shape[1] // 32):
            sa[ty, tx] = a[row, k * 32 + tx]
            sb[ty, tx] = b[k * 32 + ty, col]
            cuda.syncthreads()
            for j in range(32):
                acc += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        c[row, col] = acc

    @cuda.jit
    def reduce_sum(x, out):
        s = cuda.shared.array(256, f4)
        tid = cuda.threadIdx.x
        acc = f4(0.0)
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            acc += x[i]
        s[tid] = acc
        cuda.syncthreads()
        w = 128
        while w > 0:
            if tid < w:
                s[tid] += s[tid + w]
            cuda.syncthreads()
            w //= 2
        if tid == 0:
            cuda.atomic.add(out, 0, s[0])

    @cuda.jit
    def nbody(px, py, pz, m, ax, ay, az):
        sx = cuda.shared.array(256, f4)
        sy = cuda.shared.array(256, f4)
        sz = cuda.shared.array(256, f4)
        sm = cuda.shared.array(256, f4)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        x = px[i]
        y = py[i]
        z = pz[i]
        fx = f4(0.0)
        fy = f4(0.0)
        fz = f4(0.0)
        for b in range(px.size // 256):
            sx[t] = px[b * 256 + t]
            sy[t] = py[b * 256 + t]
            sz[t] = pz[b * 256 + t]
            sm[t] = m[b * 256 + t]
            cuda.syncthreads()
            for j in range(256):
                dx = sx[j] - x
                dy = sy[j] - y
                dz = sz[j] - z
                r2 = dx * dx + dy * dy + dz * dz + f4(1e-6)
                inv = f4(1.0) / math.sqrt(r2)
                s = sm[j] * inv * inv * inv
                fx += dx * s
                fy += dy * s
                fz += dz * s
            cuda.syncthreads()
        ax[i] = fx
        ay[i] = fy
        az[i] = fz

    @cuda.jit
    def mandel(out, x0, y0, dx, dy, maxit):
        i, j = cuda.grid(2)
        if i < out.shape[1] and j < out.shape[0]:
            cr = x0 + i * dx
            ci = y0 + j * dy
            zr = f4(0.0)
            zi = f4(0.0)
            n = 0
            while n < maxit and zr * zr + zi * zi < f4(4.0):
                t = zr * zr - zi * zi + cr
                zi = f4(2.0) * zr * zi + ci
                zr = t
                n += 1
            out[j, i] = n

    @cuda.jit
    def heat2d(a, b, k):
        x, y = cuda.grid(2)
        if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
            around = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
            b[y, x] = a[y, x] + k * (around - f4(4.0) * a[y, x])

    @cuda.jit
    def stencil3d(a, b):
        x, y, z = cuda.grid(3)
        if 0 < x < a.shape[2] - 1 and 0 < y < a.shape[1] - 1 and 0 < z < a.shape[0] - 1:
            planes = a[z, y, x] + a[z - 1, y, x] + a[z + 1, y, x]
            rows = planes + a[z, y - 1, x] + a[z, y + 1, x]
            b[z, y, x] = (rows + a[z, y, x - 1] + a[z, y, x + 1]) * f4(0.142857)

    @cuda.jit
    def blackscholes(s, k, t, r, v, call, put):
        i = cuda.grid(1)
        if i < s.size:
            sq = math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (r + f4(0.5) * v * v) * t[i]) / (v * sq)
            d2 = d1 - v * sq
            n1 = f4(0.5) * math.erfc(-d1 * f4(0.70710678))
            n2 = f4(0.5) * math.erfc(-d2 * f4(0.70710678))
            e = math.exp(-r * t[i])
            call[i] = s[i] * n1 - k[i] * e * n2
            put[i] = k[i] * e * (f4(1.0) - n2) - s[i] * (f4(1.0) - n1)

    @cuda.jit
    def histogram(x, bins):
        s = cuda.shared.array(256, i4)
        t = cuda.threadIdx.x
        s[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(s, x[i], 1)
        cuda.syncthreads()
        cuda.atomic.add(bins, t, s[t])

    @cuda.jit
    def softmax(x, out):
        row = cuda.blockIdx.x
        lane = cuda.threadIdx.x
        n = x.shape[1]
        m = f4(-1e30)
        for j in range(lane, n, 32):
            m = max(m, x[row, j])
        o = 16
        while o > 0:
            m = max(m, cuda.shfl_xor_sync(0xFFFFFFFF, m, o))
            o //= 2
        s = f4(0.0)
        for j in range(lane, n, 32):
            s += math.exp(x[row, j] - m)
        o = 16
        while o > 0:
            s += cuda.shfl_xor_sync(0xFFFFFFFF, s, o)
            o //= 2
        for j in range(lane, n, 32):
            out[row, j] = math.exp(x[row, j] - m) / s

    @cuda.jit
    def spmv(indptr, indices, data, x, y):
        row = cuda.grid(1)
        if row < y.size:
            acc = f4(0.0)
            for k in range(indptr[row], indptr[row + 1]):
                acc += data[k] * x[indices[k]]
            y[row] = acc

    kernels = locals()
    return {name: kernels[name] for name in NAMES}


NAMES = [
    "saxpy", "transpose", "matmul", "reduce_sum", "nbody", "mandel",
    "heat2d", "stencil3d", "blackscholes", "histogram", "softmax", "spmv",
]  # fmt: skip
