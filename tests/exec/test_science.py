"""Programs of the sciences at their usual size, against the same work in NumPy or plain Python."""

import math

import gpu as cuda
import numpy as np
import pytest
from gpu import float32, float64
from kit import large, launch

# --- A particle-in-cell step: 26 arguments ---------------------------------------------------------


@cuda.jit(device=True)
def shape_of(x):
    """Cell and quadratic weights of a position in cells."""
    cell = int(math.floor(x + 0.5))
    d = x - cell
    return cell, (0.5 * (0.5 - d) ** 2, 0.75 - d * d, 0.5 * (0.5 + d) ** 2)


@cuda.jit(device=True)
def gather(field, ix, wx, iy, wy, nx, ny):
    total = 0.0
    for a in range(3):
        for b in range(3):
            total += wx[a] * wy[b] * field[(ix + a - 1) % nx, (iy + b - 1) % ny]
    return total


@cuda.jit(device=True)
def boris(ux, uy, uz, ex, ey, ez, bx, by, bz, q_dt):
    ux, uy, uz = ux + q_dt * ex, uy + q_dt * ey, uz + q_dt * ez
    inv = q_dt / math.sqrt(1.0 + ux * ux + uy * uy + uz * uz)
    tx, ty, tz = inv * bx, inv * by, inv * bz
    s = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
    vx, vy, vz = ux + uy * tz - uz * ty, uy + uz * tx - ux * tz, uz + ux * ty - uy * tx
    ux, uy, uz = (
        ux + s * (vy * tz - vz * ty),
        uy + s * (vz * tx - vx * tz),
        uz + s * (vx * ty - vy * tx),
    )
    return ux + q_dt * ex, uy + q_dt * ey, uz + q_dt * ez


@cuda.jit
def push_and_deposit(
    x, y, ux, uy, uz, w, alive, Ex, Ey, Ez, Bx, By, Bz, Jx, Jy, Jz, rho,
    q, m, dt, dx, dy, nx, ny, lost, energy,
):  # fmt: skip
    i = cuda.grid(1)
    if i >= x.shape[0] or not alive[i]:
        return
    ix, wx = shape_of(x[i] / dx)
    iy, wy = shape_of(y[i] / dy)
    ex = gather(Ex, ix, wx, iy, wy, nx, ny)
    ey = gather(Ey, ix, wx, iy, wy, nx, ny)
    ez = gather(Ez, ix, wx, iy, wy, nx, ny)
    bx = gather(Bx, ix, wx, iy, wy, nx, ny)
    by = gather(By, ix, wx, iy, wy, nx, ny)
    bz = gather(Bz, ix, wx, iy, wy, nx, ny)
    px, py, pz = boris(ux[i], uy[i], uz[i], ex, ey, ez, bx, by, bz, 0.5 * q * dt / m)
    ux[i], uy[i], uz[i] = px, py, pz
    gamma = math.sqrt(1.0 + px**2 + py**2 + pz**2)
    vx, vy, vz = px / gamma, py / gamma, pz / gamma
    x[i] += vx * dt
    y[i] += vy * dt
    cuda.atomic.add(energy, 0, w[i] * (gamma - 1.0))
    if x[i] < 0 or x[i] >= nx * dx or y[i] < 0 or y[i] >= ny * dy:
        alive[i] = False
        cuda.atomic.add(lost, 0, 1)
        return
    ix, wx = shape_of(x[i] / dx)
    iy, wy = shape_of(y[i] / dy)
    for a in range(3):
        for b in range(3):
            c = ((ix + a - 1) % nx, (iy + b - 1) % ny)
            amount = q * w[i] * wx[a] * wy[b]
            cuda.atomic.add(rho, c, amount)
            cuda.atomic.add(Jx, c, amount * vx)
            cuda.atomic.add(Jy, c, amount * vy)
            cuda.atomic.add(Jz, c, amount * vz)


def weights_of(x):
    cell = np.floor(x + 0.5).astype(int)
    d = x - cell
    return cell, np.stack([0.5 * (0.5 - d) ** 2, 0.75 - d * d, 0.5 * (0.5 + d) ** 2])


def test_particle_in_cell():
    rng = np.random.default_rng(3)
    n, nx, ny, dx, dy, dt, q, m = 300, 16, 12, 0.5, 0.25, 0.2, -1.0, 1.5
    x, y = rng.random(n) * nx * dx, rng.random(n) * ny * dy
    u = rng.normal(size=(3, n))
    w = rng.random(n)
    alive = rng.random(n) < 0.9
    E, B = rng.normal(size=(3, nx, ny)), rng.normal(size=(3, nx, ny))
    J, rho = np.zeros((3, nx, ny)), np.zeros((nx, ny))
    lost, energy = np.zeros(1, np.int32), np.zeros(1)
    got = [x.copy(), y.copy(), *(a.copy() for a in u), w, alive.copy()]
    launch(push_and_deposit, n, *got, *E, *B, *J, rho, q, m, dt, dx, dy, nx, ny, lost, energy,
           reference=False)  # fmt: skip  # sums of atomics are in another order there

    def at(field, cx, wx, cy, wy):
        return sum(wx[a] * wy[b] * field[(cx + a - 1) % nx, (cy + b - 1) % ny]
                   for a in range(3) for b in range(3))  # fmt: skip

    cx, wx = weights_of(x / dx)
    cy, wy = weights_of(y / dy)
    e = np.stack([at(f, cx, wx, cy, wy) for f in E])
    b = np.stack([at(f, cx, wx, cy, wy) for f in B])
    h = 0.5 * q * dt / m
    minus = u + h * e
    t = h / np.sqrt(1 + (minus**2).sum(0)) * b
    prime = minus + np.cross(minus.T, t.T).T
    plus = minus + np.cross(prime.T, (2 / (1 + (t**2).sum(0)) * t).T).T + h * e
    gamma = np.sqrt(1 + (plus**2).sum(0))
    v = plus / gamma
    x2, y2 = np.where(alive, x + v[0] * dt, x), np.where(alive, y + v[1] * dt, y)
    inside = (x2 >= 0) & (x2 < nx * dx) & (y2 >= 0) & (y2 < ny * dy)
    assert np.allclose(got[0], x2) and np.allclose(got[1], y2)
    assert np.allclose(got[2:5], np.where(alive, plus, u))
    assert np.array_equal(got[6], alive & inside)
    assert lost[0] == (alive & ~inside).sum() > 0
    assert np.isclose(energy[0], (w * (gamma - 1))[alive].sum())
    k = alive & inside
    cx, wx = weights_of(x2[k] / dx)
    cy, wy = weights_of(y2[k] / dy)
    expected = np.zeros((4, nx, ny))
    for a in range(3):
        for c in range(3):
            amount = q * w[k] * wx[a] * wy[c]
            for row, factor in enumerate([1.0, *v[:, k]]):
                np.add.at(expected[row], ((cx + a - 1) % nx, (cy + c - 1) % ny), amount * factor)
    assert np.allclose([rho, *J], expected)


# --- Rotated boxes: intersection over union, and suppression by masks of 64 -----------------------


@cuda.jit(device=True)
def corners(box, out):
    cx, cy, w, h, angle = box[0], box[1], box[2], box[3], box[4]
    c, s = math.cos(angle), math.sin(angle)
    for k in range(4):
        dx = w / 2 if k == 1 or k == 2 else -w / 2
        dy = h / 2 if k >= 2 else -h / 2
        out[k, 0] = cx + dx * c - dy * s
        out[k, 1] = cy + dx * s + dy * c


@cuda.jit(device=True, inline=True)
def side(p, a, b):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


@cuda.jit("float32(float32[:], float32[:])", device=True)
def rotated_iou(one, other):
    """The corners of one box, cut by the four sides of the other."""
    own = cuda.local.array((16, 2), float32)
    cut = cuda.local.array((16, 2), float32)
    by = cuda.local.array((4, 2), float32)
    corners(one, own)
    corners(other, by)
    n = 4
    for k in range(4):
        a, b = by[k], by[(k + 1) % 4]
        m = 0
        for i in range(n):
            p, q = own[i], own[(i + 1) % n]
            sp, sq = side(p, a, b), side(q, a, b)
            if sp >= 0:
                cut[m] = p
                m += 1
            if (sp > 0 and sq < 0) or (sp < 0 and sq > 0):
                t = sp / (sp - sq)
                cut[m, 0] = p[0] + t * (q[0] - p[0])
                cut[m, 1] = p[1] + t * (q[1] - p[1])
                m += 1
        own[:m] = cut[:m]
        n = m
        if n < 3:
            return 0.0
    area = 0.0
    for i in range(n):
        j = (i + 1) % n
        area += own[i, 0] * own[j, 1] - own[j, 0] * own[i, 1]
    area = abs(area) / 2
    return area / (one[2] * one[3] + other[2] * other[3] - area)


THREADS = 64


@cuda.jit
def suppress(n, threshold, boxes, mask):
    row, column = cuda.blockIdx.y, cuda.blockIdx.x
    rows = min(n - row * THREADS, THREADS)
    columns = min(n - column * THREADS, THREADS)
    held = cuda.shared.array((THREADS, 5), dtype=float32)
    t = cuda.threadIdx.x
    if t < columns:
        for k in range(5):
            held[t, k] = boxes[column * THREADS + t, k]
    cuda.syncthreads()
    if t < rows:
        bits = cuda.uint64(0)
        start = t + 1 if row == column else 0
        for i in range(start, columns):
            if rotated_iou(boxes[row * THREADS + t], held[i]) > threshold:
                bits |= cuda.uint64(1) << i
        mask[row * THREADS + t, column] = bits


def iou_of(one, other):
    def polygon(box):
        cx, cy, w, h, angle = map(float, box)
        c, s = math.cos(angle), math.sin(angle)
        return [(cx + x * c - y * s, cy + x * s + y * c)
                for x, y in ((-w / 2, -h / 2), (w / 2, -h / 2), (w / 2, h / 2), (-w / 2, h / 2))]  # fmt: skip

    points, by = polygon(one), polygon(other)
    for a, b in zip(by, by[1:] + by[:1]):
        cut = []
        for p, q in zip(points, points[1:] + points[:1]):
            sp, sq = ((b[0] - a[0]) * (r[1] - a[1]) - (b[1] - a[1]) * (r[0] - a[0]) for r in (p, q))
            if sp >= 0:
                cut.append(p)
            if sp * sq < 0:
                t = sp / (sp - sq)
                cut.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
        points = cut
        if len(points) < 3:
            return 0.0
    area = abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in zip(points, points[1:] + points[:1]))) / 2
    return area / (one[2] * one[3] + other[2] * other[3] - area)


@large
def test_rotated_boxes():
    rng = np.random.default_rng(5)
    n, threshold = 100, 0.31
    boxes = np.concatenate(
        [rng.random((n, 2)) * 12, 1 + 3 * rng.random((n, 2)), rng.random((n, 1)) * 3], axis=1
    ).astype(np.float32)
    blocks = (n + THREADS - 1) // THREADS
    mask = np.zeros((n, blocks), np.uint64)
    suppress[(blocks, blocks), THREADS](n, threshold, boxes, mask)
    seen = 0
    for i in range(n):
        for j in range(n):
            bit = int(mask[i, j // THREADS]) >> j % THREADS & 1
            if j // THREADS == i // THREADS and j <= i:
                assert bit == 0
                continue
            expected = iou_of(boxes[i], boxes[j])
            if abs(expected - threshold) > 1e-4:
                assert bit == (expected > threshold), (i, j, expected)
                seen += bit
    assert seen > 20


# --- Dynamic time warping along diagonals ---------------------------------------------------------


@cuda.jit
def dtw(D, gamma, bandwidth, max_i, max_j, n_passes, R):
    b, tid = cuda.blockIdx.x, cuda.threadIdx.x
    for p in range(n_passes):
        j = max(0, min(p - tid, max_j - 1))
        i, k = tid + 1, j + 1
        if tid + j == p and tid < max_i and j < max_j and not (abs(i - k) > bandwidth > 0):
            r0 = -R[b, i - 1, k - 1] / gamma
            r1 = -R[b, i - 1, k] / gamma
            r2 = -R[b, i, k - 1] / gamma
            rmax = max(max(r0, r1), r2)
            rsum = math.exp(r0 - rmax) + math.exp(r1 - rmax) + math.exp(r2 - rmax)
            R[b, i, k] = D[b, i - 1, k - 1] - gamma * (math.log(rsum) + rmax)
        cuda.syncthreads()


@pytest.mark.parametrize("bandwidth", [0, 4])
def test_soft_time_warping(bandwidth):
    rng = np.random.default_rng(1)
    batch, n, m, gamma = 2, 13, 17, 0.7
    D = rng.random((batch, n, m))
    R = np.full((batch, n + 2, m + 2), np.inf)
    R[:, 0, 0] = 0
    expected = R.copy()
    dtw[batch, max(n, m)](D, gamma, bandwidth, n, m, n + m - 1, R)
    for b in range(batch):
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                if bandwidth and abs(i - j) > bandwidth:
                    continue
                r = -expected[b, [i - 1, i - 1, i], [j - 1, j, j - 1]] / gamma
                top = r.max()
                expected[b, i, j] = D[b, i - 1, j - 1] - gamma * (
                    np.log(np.exp(r - top).sum()) + top
                )
    assert np.allclose(R, expected)
    assert np.isfinite(R[:, n, m]).all() or bandwidth


# --- A matrix profile by its diagonals ------------------------------------------------------------


@cuda.jit("(f8[:], f8[:], i8, f8[:], f8[:], f8[:], f8[:], i8, b1, i8, f8[:, :], i8[:, :], b1)")
def profile_step(T_A, T_B, m, QT_even, QT_odd, M_T, S_T, i, ignore, zone, profile, indices, first):
    start, stride = cuda.grid(1), cuda.gridsize(1)
    if i % 2 == 0:
        QT_out, QT_in = QT_even, QT_odd
    else:
        QT_out, QT_in = QT_odd, QT_even
    for j in range(start, QT_out.shape[0], stride):
        if first or j == 0:
            dot = 0.0
            for h in range(m):
                dot += T_A[j + h] * T_B[i + h]
            QT_out[j] = dot
        else:
            QT_out[j] = QT_in[j - 1] - T_B[i - 1] * T_A[j - 1] + T_B[i + m - 1] * T_A[j + m - 1]
        denominator = max(m * S_T[j] * S_T[i], 1e-10)
        distance = abs(2 * m * (1.0 - (QT_out[j] - m * M_T[j] * M_T[i]) / denominator))
        if ignore and i - zone <= j <= i + zone:
            distance = np.inf
        if distance < profile[j, 0]:
            profile[j, 0] = distance
            indices[j, 0] = i


def test_matrix_profile():
    rng = np.random.default_rng(4)
    T, m = rng.normal(size=60).cumsum(), 8
    k = len(T) - m + 1
    windows = np.lib.stride_tricks.sliding_window_view(T, m)
    even, odd = np.zeros(k), np.zeros(k)
    profile, indices = np.full((k, 2), np.inf), np.full((k, 2), -1)
    zone = math.ceil(m / 4)
    for i in range(k):
        profile_step[2, 32](T, T, m, even, odd, windows.mean(1), windows.std(1), i, True, zone,
                            profile, indices, i == 0)  # fmt: skip
    z = (windows - windows.mean(1, keepdims=True)) / windows.std(1, keepdims=True)
    distance = ((z[:, None] - z[None]) ** 2).sum(2)
    distance[np.abs(np.subtract.outer(np.arange(k), np.arange(k))) <= zone] = np.inf
    assert np.allclose(profile[:, 0], distance.min(1), atol=1e-6)
    assert np.array_equal(indices[:, 0], distance.argmin(1))


# --- A transducer's loss: forward variables in log space, locks between columns -------------------


@cuda.jit(device=True)
def log_plus(p, q):
    if p == -math.inf:
        return q
    if q == -math.inf:
        return p
    return max(p, q) + math.log1p(math.exp(-abs(p - q)))


@cuda.jit
def transducer_alphas(acts, denominators, alphas, costs, labels, t_lens, u_lens, blank, lock):
    b, u = cuda.blockIdx.x, cuda.threadIdx.x
    T, U = t_lens[b], u_lens[b] + 1
    if u == 0:
        alphas[b, 0, 0] = 0.0
    cuda.syncthreads()
    for n in range(1, T + U - 1):
        t = n - u
        if u < U and 0 <= t < T:
            value = float32(-math.inf)
            if t > 0:
                value = alphas[b, t - 1, u] + (acts[b, t - 1, u, blank] - denominators[b, t - 1, u])
            if u > 0:
                emitted = acts[b, t, u - 1, labels[b, u - 1]] - denominators[b, t, u - 1]
                value = log_plus(value, alphas[b, t, u - 1] + emitted)
            alphas[b, t, u] = value
        cuda.syncthreads()
    if u == U - 1:
        costs[b] = -(alphas[b, T - 1, u] + acts[b, T - 1, u, blank] - denominators[b, T - 1, u])
        cuda.atomic.add(lock, b, 1)


def test_transducer_loss():
    rng = np.random.default_rng(9)
    batch, T, U, V, blank = 3, 7, 5, 6, 0
    acts = rng.normal(size=(batch, T, U + 1, V)).astype(np.float32)
    labels = rng.integers(1, V, (batch, U)).astype(np.int32)
    t_lens, u_lens = np.array([7, 5, 6], np.int32), np.array([5, 3, 4], np.int32)
    denominators = np.log(np.exp(acts).sum(-1))
    alphas = np.zeros((batch, T, U + 1), np.float32)
    costs, lock = np.zeros(batch, np.float32), np.zeros(batch, np.int32)
    transducer_alphas[batch, U + 1](
        acts, denominators, alphas, costs, labels, t_lens, u_lens, blank, lock
    )
    logp = acts.astype(np.float64) - denominators[..., None]
    for b in range(batch):
        n, k = t_lens[b], u_lens[b] + 1
        a = np.full((n, k), -np.inf)
        a[0, 0] = 0
        for t in range(n):
            for u in range(k):
                if t:
                    a[t, u] = np.logaddexp(a[t, u], a[t - 1, u] + logp[b, t - 1, u, blank])
                if u:
                    a[t, u] = np.logaddexp(
                        a[t, u], a[t, u - 1] + logp[b, t, u - 1, labels[b, u - 1]]
                    )
        assert np.isclose(costs[b], -(a[-1, -1] + logp[b, n - 1, k - 1, blank]), rtol=1e-5)
    assert lock.tolist() == [1, 1, 1]


# --- Two-stream radiative transfer over wavelengths, layers and angles ----------------------------


@cuda.jit(fastmath=False, cache=True)
def transfer(
    flux_up, flux_down, flux_up_wavg, planck_lay, planck_int, albedo, tau, w0, g0, rescale,
    n_layers, n_bins, n_points, epsi, surface, top, mu_star, direct, limit, scat, clouds,
):  # fmt: skip
    b = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    y = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
    if b < n_bins and y < n_points:
        below = cuda.local.array(32, float64)
        flux_down[y + n_points * b] = top * planck_int[b]
        for i in range(n_layers - 1, -1, -1):
            at = y + n_points * b + n_points * n_bins * i
            omega = min(w0[at], limit) if scat else 0.0
            g = g0[b + n_bins * i] if clouds == 1 else 0.0
            E = 1.225 - 0.1582 * g - 0.1777 * omega - 0.07465 * g * g if omega > 0.1 else 1.0
            factor = math.sqrt((1.0 - omega) / (E * (1.0 - omega * g)))
            t = math.exp(-1.0 / epsi * math.sqrt(E * (1.0 - omega * g) * (1.0 - omega)) * tau[at])
            M = 0.5 * (1.0 - factor)
            N = 0.5 * (1.0 + factor)
            scale = 1.0 / (N * N * t - M * M * t) if rescale and t > 1e-30 else 1.0
            beam = direct[at] * mu_star * (1.0 - t)
            below[i] = t * scale * (N * N - M * M)
            source = planck_lay[i + b * n_layers] * (1.0 - t) + beam
            before = (
                flux_down[y + n_points * b]
                if i == n_layers - 1
                else flux_down[y + n_points * b + n_points * n_bins * (i + 1)]
            )
            flux_down[at] = below[i] * before + math.pi * source
        up = (1.0 - albedo[b]) * surface * planck_int[b] + albedo[b] * flux_down[y + n_points * b]
        for i in range(n_layers):
            at = y + n_points * b + n_points * n_bins * i
            up = below[i] * up + math.pi * planck_lay[i + b * n_layers]
            flux_up[at] = up
        cuda.atomic.add(flux_up_wavg, b, up / n_points)


def test_radiative_transfer():
    rng = np.random.default_rng(8)
    layers, bins, points = 10, 7, 4
    size = layers * bins * points
    tau, w0, direct = rng.random(size) * 2, rng.random(size), rng.random(size)
    g0, albedo = rng.random(layers * bins), rng.random(bins)
    lay, inter = rng.random(layers * bins), rng.random(bins)
    up, down, mean = np.zeros(size), np.zeros(size), np.zeros(bins)
    epsi, surface, top, mu, limit = 0.5, 2.0, 0.3, 0.6, 0.95
    transfer[(1, 1), (8, 4)](up, down, mean, lay, inter, albedo, tau, w0, g0, 1, layers, bins, points,
                             epsi, surface, top, mu, direct, limit, 1, 1)  # fmt: skip
    cube = (layers, bins, points)
    t3, omega, beam = tau.reshape(cube), np.minimum(w0, limit).reshape(cube), direct.reshape(cube)
    g = g0.reshape(layers, bins, 1)
    E = np.where(omega > 0.1, 1.225 - 0.1582 * g - 0.1777 * omega - 0.07465 * g * g, 1.0)
    factor = np.sqrt((1 - omega) / (E * (1 - omega * g)))
    t = np.exp(-1 / epsi * np.sqrt(E * (1 - omega * g) * (1 - omega)) * t3)
    M, N = 0.5 * (1 - factor), 0.5 * (1 + factor)
    below = t / (N * N * t - M * M * t) * (N * N - M * M)
    planck = lay.reshape(bins, layers).T[:, :, None]
    d = np.zeros(cube)
    before = np.repeat(top * inter[:, None], points, 1)
    for i in range(layers - 1, -1, -1):
        before = d[i] = below[i] * before + np.pi * (
            planck[i] * (1 - t[i]) + beam[i] * mu * (1 - t[i])
        )
    u = (1 - albedo[:, None]) * surface * inter[:, None] + albedo[:, None] * d[0]
    for i in range(layers):
        u = below[i] * u + np.pi * planck[i]
        assert np.allclose(up.reshape(cube)[i], u)
    assert np.allclose(down.reshape(cube), d)
    assert np.allclose(mean, u.mean(1))
