"""Whole programs as kernels: odd control flow, views, nested functions, tuples, typed integers.

Each runs on the device and on the python device, and its result is held against what Python's own
library or a plain function says. One thread does one job on its own row of the arrays.
"""

import bisect
import datetime
import hashlib
import math
import zlib
from typing import NamedTuple

import gpu
import kit
import numpy as np

RNG = np.random.default_rng(5)


# --- Sorting and searching, on views ------------------------------------------------------------------


def insertion_sort(row):
    for i in range(1, len(row)):
        value = row[i]
        j = i - 1
        while j >= 0 and row[j] > value:
            row[j + 1] = row[j]
            j -= 1
        row[j + 1] = value


def sift_down(heap, start, end):
    root = start
    while (child := 2 * root + 1) < end:
        if child + 1 < end and heap[child] < heap[child + 1]:
            child += 1
        if not heap[root] < heap[child]:
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


def heap_sort(row):
    n = len(row)
    for start in reversed(range(n // 2)):
        sift_down(row, start, n)
    for end in range(n - 1, 0, -1):
        row[0], row[end] = row[end], row[0]
        sift_down(row[:end], 0, end)


def quick_sort(row):
    if len(row) < 2:
        return
    pivot, store = row[-1], 0
    for k in range(len(row) - 1):
        if row[k] < pivot:
            row[k], row[store] = row[store], row[k]
            store += 1
    row[-1], row[store] = row[store], row[-1]
    quick_sort(row[:store])
    quick_sort(row[store + 1 :])


def sort_kernel(a, how):
    i = gpu.grid(1)
    if i < a.shape[0]:
        how(a[i])


def test_sorts():
    for dtype in ("int16", "float64", "uint64"):
        for how in (insertion_sort, heap_sort, quick_sort):
            a = (RNG.random((5, 17)) * 1000).astype(dtype)
            source = np.sort(a, axis=1)

            def kernel(a):
                sort_kernel(a, how)  # noqa: B023  called at once

            (result,) = kit.agree(kernel, (a,), block=5)
            assert np.array_equal(result, source)
            (reverse,) = kit.agree(kernel, (a[:, ::-1],), block=5)
            assert np.array_equal(reverse, source)


def search_kernel(table, wanted, found):
    i = gpu.grid(1)
    if i >= wanted.size:
        return
    low, high = 0, len(table)
    while low < high:
        middle = (low + high) // 2
        if table[middle] < wanted[i]:
            low = middle + 1
        else:
            high = middle
    found[i] = low if low < len(table) and table[low] == wanted[i] else ~low


def test_binary_search():
    table = np.unique(RNG.integers(0, 300, 60)).astype("int32")
    wanted = RNG.integers(-5, 310, 100).astype("int32")
    _, _, found = kit.agree(search_kernel, (table, wanted, np.zeros(100, "int32")), block=100)
    for value, at in zip(wanted.tolist(), found.tolist(), strict=True):
        place = bisect.bisect_left(table.tolist(), value)
        here = place < len(table) and table[place] == value
        assert at == (place if here else ~place)


# --- Hashes and generators, in typed integers -----------------------------------------------------------


def exact_k256():
    """The first 32 bits of the fractions of the cube roots of the first 64 primes, exactly."""
    primes = [p for p in range(2, 312) if all(p % d for d in range(2, p))]
    values = []
    for p in primes:
        root = round((p << 96) ** (1 / 3))
        while root**3 > p << 96:
            root -= 1
        while (root + 1) ** 3 <= p << 96:
            root += 1
        values.append(root & 0xFFFFFFFF)
    return values


def rotate(x, n):
    return x >> n | x << (32 - n)


def sha256_block(state, words, k):
    a, b, c, d, e, f, g, h = (gpu.uint32(state[0]), gpu.uint32(state[1]), gpu.uint32(state[2]),
                              gpu.uint32(state[3]), gpu.uint32(state[4]), gpu.uint32(state[5]),
                              gpu.uint32(state[6]), gpu.uint32(state[7]))  # fmt: skip
    for t in range(64):
        if t >= 16:
            w15, w2 = gpu.uint32(words[(t - 15) % 16]), gpu.uint32(words[(t - 2) % 16])
            s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ w15 >> 3
            s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ w2 >> 10
            words[t % 16] = words[t % 16] + s0 + words[(t - 7) % 16] + s1
        t1 = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g))
              + gpu.uint32(k[t]) + gpu.uint32(words[t % 16]))  # fmt: skip
        t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        a, b, c, d, e, f, g, h = t1 + t2, a, b, c, d + t1, e, f, g
    for k, value in enumerate((a, b, c, d, e, f, g, h)):
        state[k] = state[k] + value


def sha256_kernel(messages, k, states):
    i = gpu.grid(1)
    if i < len(messages):
        sha256_block(states[i], messages[i], k)


def test_sha256():
    texts = [b"", b"abc", b"message digest" * 3]
    k = np.array(exact_k256(), "uint32")
    start = [int(((p**0.5) % 1) * 2**32) for p in (2, 3, 5, 7, 11, 13, 17, 19)]
    blocks = []
    for text in texts:
        padded = text + b"\x80" + b"\0" * (55 - len(text)) + (8 * len(text)).to_bytes(8, "big")
        blocks.append(np.frombuffer(padded, ">u4").astype("uint32"))
    states = np.array([start] * 3, "uint32")
    *_, states = kit.agree(sha256_kernel, (np.array(blocks), k, states), block=3)
    for text, state in zip(texts, states, strict=True):
        assert state.astype(">u4").tobytes() == hashlib.sha256(text).digest()


def crc32_kernel(data, table, out):
    i = gpu.grid(1)
    if i == 0:
        for n in range(256):
            c = n
            for _ in range(8):
                c = c >> 1 ^ (0xEDB88320 if c & 1 else 0)
            table[n] = c
        crc = 0xFFFFFFFF
        for byte in data:
            crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
        out[0] = ~crc


def test_crc32():
    data = RNG.integers(0, 256, 333).astype("uint8")
    args = (data, np.zeros(256, "uint32"), np.zeros(1, "uint32"))
    assert kit.agree(crc32_kernel, args)[2][0] == zlib.crc32(data.tobytes())


def xorshift_kernel(seeds, out):
    i = gpu.grid(1)
    if i < seeds.size:
        s = gpu.uint64(seeds[i]) | 1
        total = 0.0
        for k in range(out.shape[1]):
            s ^= s << 13
            s ^= s >> 7
            s ^= s << 17
            out[i, k] = (s >> 11) * (1.0 / 9007199254740992.0)
            total += out[i, k]
        out[i, 0] = total / out.shape[1]


def test_xorshift():
    seeds = np.array([1, 2, 2**63, 12345678901234567890], "uint64")
    _, out = kit.agree(xorshift_kernel, (seeds, np.zeros((4, 9))), block=4)
    for seed, row in zip(seeds.tolist(), out.tolist(), strict=True):
        s, numbers = seed | 1, []
        for _ in range(9):
            s ^= s << 13 & (2**64 - 1)
            s ^= s >> 7
            s ^= s << 17 & (2**64 - 1)
            numbers.append((s >> 11) / 2**53)
        total = 0.0
        for number in numbers:
            total += number
        assert row == [total / 9, *numbers[1:]]


# --- State machines ---------------------------------------------------------------------------------------


def utf8_kernel(data, codes, count):
    if gpu.grid(1) != 0:
        return
    n = at = 0
    while at < data.size:
        first = data[at]
        if first < 0x80:
            length, code = 1, first
        elif first < 0xC0:
            count[1] += 1
            at += 1
            continue
        elif first < 0xE0:
            length, code = 2, first & 0x1F
        elif first < 0xF0:
            length, code = 3, first & 0x0F
        else:
            length, code = 4, first & 0x07
        for k in range(1, length):
            if at + k >= data.size or data[at + k] & 0xC0 != 0x80:
                count[1] += 1
                at += k
                break
            code = code << 6 | data[at + k] & 0x3F
        else:
            codes[n] = code
            n += 1
            at += length
    count[0] = n


def test_utf8():
    text = "Grüße, 世界 🎉 fin"
    data = np.frombuffer(text.encode(), "uint8")
    _, codes, count = kit.agree(utf8_kernel, (data, np.zeros(40, "int32"), np.zeros(2, "int32")))
    assert "".join(map(chr, codes[: count[0]])) == text and count[1] == 0
    broken = np.concatenate([data[:3], data[:20]]).copy()
    kit.agree(utf8_kernel, (broken, np.zeros(40, "int32"), np.zeros(2, "int32")))


def civil(days):
    """Year, month and day of a day number, by the era method."""
    days += 719468
    era = (days if days >= 0 else days - 146096) // 146097
    doe = days - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def civil_kernel(days, out):
    i = gpu.grid(1)
    if i < len(days):
        out[i, 0], out[i, 1], out[i, 2] = civil(days[i])


def test_civil():
    days = RNG.integers(-700000, 2900000, 60).astype("int32")
    _, out = kit.agree(civil_kernel, (days, np.zeros((60, 3), "int16")), block=60)
    epoch = datetime.date(1970, 1, 1)
    for day, (year, month, dom) in zip(days.tolist(), out.tolist(), strict=True):
        assert datetime.date(year, month, dom) == epoch + datetime.timedelta(day)


def runs_kernel(data, values, lengths, n):
    k = -1
    last = None
    for j, value in enumerate(data):
        if j == 0 or value != values[k]:
            k += 1
            values[k] = value
            lengths[k] = 1
        else:
            lengths[k] += 1
    if last is None:
        n[()] = k + 1


def test_run_lengths():
    data = np.repeat(RNG.integers(0, 4, 12), RNG.integers(1, 6, 12)).astype("uint8")
    args = (data, np.zeros(60, "uint8"), np.zeros(60, "int32"), np.zeros((), "int32"))
    _, values, lengths, n = kit.agree(runs_kernel, args)
    assert np.array_equal(np.repeat(values[:n], lengths[:n]), data)
    assert all(values[k] != values[k + 1] for k in range(n - 1))


# --- Dynamic programming ------------------------------------------------------------------------------------


def distance_kernel(words, lengths, table, out):
    """Levenshtein's distance of neighbouring words."""
    i = gpu.grid(1)
    if i + 1 >= len(words):
        return
    a, b = words[i][: lengths[i]], words[i + 1][: lengths[i + 1]]
    old, new = table[i, 0], table[i, 1]
    for j in range(len(b) + 1):
        old[j] = j
    for p in range(len(a)):
        new[0] = p + 1
        for q in range(len(b)):
            new[q + 1] = min(old[q] + (a[p] != b[q]), new[q] + 1, old[q + 1] + 1)
        old, new = new, old
    out[i] = old[len(b)]


def levenshtein(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(levenshtein(a[:-1], b[:-1]) + (a[-1] != b[-1]), levenshtein(a[:-1], b) + 1,
               levenshtein(a, b[:-1]) + 1)  # fmt: skip


def test_levenshtein():
    words = ["kitten", "sitting", "", "mitten", "fit"]
    data = np.zeros((5, 8), "uint8")
    for k, word in enumerate(words):
        data[k, : len(word)] = list(word.encode())
    lengths = np.array([len(w) for w in words], "int32")
    args = (data, lengths, np.zeros((5, 2, 9), "int32"), np.zeros(4, "int32"))
    *_, out = kit.agree(distance_kernel, args, block=5)
    assert out.tolist() == [levenshtein(a, b) for a, b in zip(words, words[1:], strict=False)]


def floyd_warshall(d):
    n, m = d.shape
    if n != m:
        return
    for k in range(n):
        for i in range(n):
            if d[i, k] == np.inf:
                continue
            row, through = d[i], d[k]
            for j in range(n):
                if (length := row[k] + through[j]) < row[j]:
                    row[j] = length


def test_shortest_paths():
    d = np.where(RNG.random((4, 7, 7)) < 0.4, RNG.random((4, 7, 7)), np.inf).astype("float32")

    def kernel(all):
        floyd_warshall(all[gpu.grid(1)])

    (result,) = kit.agree(kernel, (d,), block=4)
    for before, after in zip(d, result, strict=True):
        want = before.copy()
        for k in range(7):
            want = np.minimum(want, want[:, k : k + 1] + want[k : k + 1, :])
        assert np.array_equal(want, after)


# --- Numerics, with functions as values ----------------------------------------------------------------------


def simpson(f, low, high, n):
    h = (high - low) / n
    total = f(low) + f(high)
    for k in range(1, n):
        total += (4 if k % 2 else 2) * f(low + k * h)
    return total * h / 3


def integrals_kernel(limits, out):
    i = gpu.grid(1)
    if i < limits.size:
        scale = limits[i]

        def scaled(x):
            return scale * x * x

        out[0, i] = simpson(scaled, 0.0, 1.0, 10)
        out[1, i] = simpson(lambda x: 1 / (1 + x * x), 0.0, scale, 20)
        out[2, i] = simpson(lambda x, k=3: scaled(x) + k, -1.0, 2.0, 6)


def test_integrals():
    limits = np.array([0.5, 1.0, 2.0, -1.0])
    _, out = kit.agree(integrals_kernel, (limits, np.zeros((3, 4))), block=4)
    assert np.allclose(out[0], limits / 3)
    assert np.allclose(out[1], np.arctan(limits), atol=1e-5)
    assert np.allclose(out[2], limits * 3 + 9)


class Vector(NamedTuple):
    x: float
    y: float
    z: float


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def add(a, b, scale=1):
    return a[0] + b[0] * scale, a[1] + b[1] * scale, a[2] + b[2] * scale


def hit(origin, direction, center, radius):
    """The first distance along the ray, or None's stand-in -1."""
    oc = add(origin, center, scale=-1)
    b = dot(oc, direction)
    c = dot(oc, oc) - radius * radius
    root = b * b - c
    if root < 0:
        return -1.0
    first, second = -b - math.sqrt(root), -b + math.sqrt(root)
    return first if first > 0 else second if second > 0 else -1.0


def rays_kernel(light, spheres, image):
    y, x = gpu.threadIdx.y, gpu.threadIdx.x
    height, width = image.shape
    if not (y < height and x < width):
        return
    u, v = (x + 0.5) / width - 0.5, (y + 0.5) / height - 0.5
    length = math.sqrt(u * u + v * v + 1)
    direction = (u / length, v / length, 1 / length)
    best, normal = math.inf, (0.0, 0.0, 0.0)
    for sphere in spheres:
        center, radius = (sphere[0], sphere[1], sphere[2]), sphere[3]
        t = hit((0.0, 0.0, 0.0), direction, center, radius)
        if 0 < t < best:
            best = t
            point = add((0.0, 0.0, 0.0), direction, t)
            n = add(point, center, -1)
            normal = n[0] / radius, n[1] / radius, n[2] / radius
    if best < math.inf:
        image[y, x] = max(0.0, dot(normal, light)) + light.z * 0


def test_rays():
    spheres = np.array([[0, 0, 3, 1], [0.5, 0.2, 2, 0.3], [-1, 0, 5, 2]], "float64")
    light = Vector(0.0, 0.6, -0.8)
    *_, image = kit.agree(rays_kernel, (light, spheres, np.zeros((8, 8))), block=(8, 8))
    assert image.max() <= 1 and (image > 0).sum() > 20
    single = (light, spheres.astype("float32"), np.zeros((8, 8), "float32"))
    kit.agree(rays_kernel, single, block=(8, 8))


def lorenz(state, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = state
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def rk4(f, state, h):
    k1 = f(state)
    k2 = f(add(state, k1, h / 2))
    k3 = f(add(state, k2, h / 2))
    k4 = f(add(state, k3, h))
    (a, b, c), (d, e, g) = add(k1, k4), add(k2, k3)
    return add(state, (a + 2 * d, b + 2 * e, c + 2 * g), h / 6)


def lorenz_kernel(start, out, steps):
    i = gpu.grid(1)
    if i >= len(start):
        return
    row = start[i]
    state = row[0], row[1], row[2]
    for _ in range(steps):
        state = rk4(lorenz, state, 0.01)
    out[i, 0], out[i, 1], out[i, 2] = state


def test_lorenz():
    start = RNG.random((5, 3))
    _, out = kit.agree(lorenz_kernel, (start, np.zeros((5, 3)), 40), block=5)
    for row, end in zip(start.tolist(), out, strict=True):
        state = tuple(row)
        for _ in range(40):
            state = rk4(lorenz, state, 0.01)
        assert np.allclose(state, end, rtol=1e-10)
    kit.agree(lorenz_kernel, (start.astype("float32"), np.zeros((5, 3), "float32"), 40), block=5)


# --- Recursion and backtracking ---------------------------------------------------------------------------------


def queens(columns, left, right, full):
    if columns == full:
        return 1
    count = 0
    free = full & ~(columns | left | right)
    while free:
        bit = free & -free
        free ^= bit
        count += queens(columns | bit, (left | bit) << 1, (right | bit) >> 1, full)
    return count


def queens_kernel(out):
    i = gpu.grid(1)
    out[i] = queens(0, 0, 0, (1 << i) - 1) if i else 0


def test_queens():
    (out,) = kit.agree(queens_kernel, (np.zeros(7, "int64"),), block=7)
    assert out.tolist() == [0, 1, 0, 0, 2, 10, 4]


def determinant_kernel(matrices, out):
    """By elimination with pivoting, in place on a view."""
    i = gpu.grid(1)
    if i >= matrices.shape[0]:
        return
    m = matrices[i]
    n, sign, result = len(m), 1, 1.0
    for k in range(n):
        pivot = k
        for r in range(k + 1, n):
            if abs(m[r, k]) > abs(m[pivot, k]):
                pivot = r
        if m[pivot, k] == 0:
            result = 0.0
            break
        if pivot != k:
            for c in range(n):
                m[k, c], m[pivot, c] = m[pivot, c], m[k, c]
            sign = -sign
        result *= m[k, k]
        for r in range(k + 1, n):
            factor = m[r, k] / m[k, k]
            m[r, k + 1 :] -= 0.0
            for c in range(k + 1, n):
                m[r, c] -= factor * m[k, c]
    out[i] = sign * result


def test_determinants():
    matrices = RNG.standard_normal((6, 4, 4))
    matrices[3, 2] = matrices[3, 1]
    _, out = kit.agree(determinant_kernel, (matrices, np.zeros(6)), block=6)
    assert np.allclose(out, np.linalg.det(matrices), atol=1e-12)
    kit.agree(determinant_kernel, (matrices.transpose(0, 2, 1), np.zeros(6)), block=6)


# --- Pictures -----------------------------------------------------------------------------------------------------


def life(world, out):
    y, x = gpu.threadIdx.y, gpu.threadIdx.x
    h, w = world.shape
    neighbours = 0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if (dy, dx) != (0, 0):
                neighbours += world[(y + dy) % h, (x + dx) % w]
    out[y, x] = neighbours == 3 or (world[y, x] and neighbours == 2)


def test_life():
    world = RNG.random((9, 7)) < 0.4
    _, out = kit.agree(life, (world, np.zeros((9, 7), bool)), block=(7, 9))
    total = sum(np.roll(world, (a, b), (0, 1)).astype(int) for a in (-1, 0, 1) for b in (-1, 0, 1))
    assert np.array_equal(out, (total - world == 3) | (world & (total - world == 2)))


def bilinear_kernel(image, points, out):
    i = gpu.grid(1)
    if i >= len(points):
        return
    y, x = points[i, 0], points[i, 1]
    y0, x0 = math.floor(y), math.floor(x)
    fy, fx = y - y0, x - x0
    result = 0.0
    for dy, wy in ((0, 1 - fy), (1, fy)):
        for dx, wx in ((0, 1 - fx), (1, fx)):
            yy, xx = y0 + dy, x0 + dx
            inside = 0 <= yy < image.shape[0] and 0 <= xx < image.shape[1]
            result += wy * wx * (image[yy, xx] if inside else 0)
    out[i] = round(result)


def test_bilinear():
    image = RNG.integers(0, 256, (6, 5)).astype("uint8")
    points = (RNG.random((40, 2)) * (8, 7) - 1).astype("float32")
    _, _, out = kit.agree(bilinear_kernel, (image, points, np.zeros(40, "uint8")), block=40)
    padded = np.pad(image, 2).astype(float)
    for (y, x), got in zip(points.tolist(), out.tolist(), strict=True):
        y0, x0 = math.floor(y), math.floor(x)
        four = padded[y0 + 2 : y0 + 4, x0 + 2 : x0 + 4]
        want = (1 - y + y0) * ((1 - x + x0) * four[0, 0] + (x - x0) * four[0, 1]) + (y - y0) * (
            (1 - x + x0) * four[1, 0] + (x - x0) * four[1, 1]
        )
        assert abs(got - want) < 0.51
