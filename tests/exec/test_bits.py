"""Functions of bits, gpu.popc and its like, on every typed integer; rsqrt, cbrt, fma and selp.

Against Python's integers of the type's width, and exact roots.
"""

import math
from fractions import Fraction

import gpu
import kit
import numpy as np
import pytest
from gpu._python import namespace

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def _reference_has_them(_reference, monkeypatch):
    if "popc" not in namespace.NAMES:
        monkeypatch.setattr(kit, "comparing", False)


def width(dtype: str) -> int:
    return np.dtype(dtype).itemsize * 8


def values(dtype: str) -> np.ndarray:
    """Edges, powers of two and their neighbours, random numbers, as bits."""
    bits = width(dtype)
    edges = {0, 1, 2, 3, (1 << bits) - 1, (1 << bits) - 2, (1 << bits - 1) - 1, 1 << bits - 1}
    for k in range(bits):
        edges |= {1 << k, (1 << k) - 1, ((1 << k) + 1) % (1 << bits)}
    numbers = [*sorted(edges), *(int(x) for x in RNG.integers(0, 1 << 63, 40) >> (63 - bits))]
    return np.array([n % (1 << bits) for n in numbers], f"uint{bits}").view(dtype)


def popc(x: int, bits: int) -> int:
    return bin(x).count("1")


def clz(x: int, bits: int) -> int:
    return bits - x.bit_length()


def ffs(x: int, bits: int) -> int:
    return (x & -x).bit_length()


def brev(x: int, bits: int) -> int:
    return int(format(x, f"0{bits}b")[::-1], 2)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("reference", [popc, clz, ffs])
def test_counts_are_ints(reference, dtype):
    name, bits = reference.__name__, width(dtype)
    source = f"""def kernel(x, out):
    i = gpu.grid(1)
    if i < x.size:
        n = gpu.{name}(gpu.{dtype}(x[i]))
        out[i] = n + (1 << 40)  # an int has room for that
"""
    x = values(dtype)
    out = np.zeros(x.size, np.int64)
    kit.launch(kit.kernel(source), x.size, x, out)
    got = (out - (1 << 40)).tolist()
    assert got == [reference(int(v), bits) for v in x.view(f"uint{bits}")]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_reversed_bits_have_the_type(dtype):
    source = f"""def kernel(x, out, wrapped):
    i = gpu.grid(1)
    if i < x.size:
        r = gpu.brev(gpu.{dtype}(x[i]))
        out[i] = r
        wrapped[i] = r + r
"""
    x, bits = values(dtype), width(dtype)
    out, wrapped = np.zeros_like(x), np.zeros_like(x)
    kit.launch(kit.kernel(source), x.size, x, out, wrapped)
    expected = [brev(int(v), bits) for v in x.view(f"uint{bits}")]
    assert out.view(f"uint{bits}").tolist() == expected
    assert wrapped.view(f"uint{bits}").tolist() == [2 * v % (1 << bits) for v in expected]


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_bytes(dtype):
    source = f"""def kernel(x, y, s, out, swapped, with_zero, signs):
    i = gpu.grid(1)
    if i < x.size:
        a, b = gpu.{dtype}(x[i]), gpu.{dtype}(y[i])
        out[i] = gpu.byte_perm(a, b, s[i])
        swapped[i] = gpu.byte_perm(a, b, 0x0123)
        with_zero[i] = gpu.byte_perm(a, 0, 0x4441)
        signs[i] = gpu.byte_perm(-1, a, gpu.uint16(0x8CF0))
"""
    x = RNG.integers(0, 1 << 32, 200, np.uint32).view(dtype)
    y = RNG.integers(0, 1 << 32, 200, np.uint32).view(dtype)
    s = RNG.integers(-(1 << 40), 1 << 40, 200)
    outs = [np.zeros(200, dtype) for _ in range(4)]
    kit.launch(kit.kernel(source), 200, x, y, s, *outs)

    def picked(a, b, selector):
        eight = int(a).to_bytes(4, "little") + int(b).to_bytes(4, "little")
        four = bytes(eight[(int(selector) >> 4 * k) & 7] for k in range(4))
        return int.from_bytes(four, "little")

    a, b = x.view(np.uint32), y.view(np.uint32)
    for got, selectors, second, first in (
        (outs[0], s, b, a),
        (outs[1], [0x0123] * 200, b, a),
        (outs[2], [0x4441] * 200, [0] * 200, a),
        (outs[3], [0x0470] * 200, a, [2**32 - 1] * 200),
    ):
        expected = [picked(*row) for row in zip(first, second, selectors, strict=True)]
        assert got.view(np.uint32).tolist() == expected
    assert outs[1].view(np.uint32).tolist() == a.byteswap().tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_funnel_shifts(dtype):
    source = f"""def kernel(low, high, n, left, right, constant):
    i = gpu.grid(1)
    if i < n.size:
        a, b = gpu.{dtype}(low[i]), gpu.{dtype}(high[i])
        left[i] = gpu.funnelshift_l(a, b, n[i])
        right[i] = gpu.funnelshift_r(a, b, n[i])
        constant[i] = gpu.funnelshift_l(a, a, 3)
"""
    bits = width(dtype)
    low = values(dtype)
    high = np.roll(low, 7)
    n = (np.arange(low.size) * 5 - 100).astype(np.int64)
    outs = [np.zeros_like(low) for _ in range(3)]
    kit.launch(kit.kernel(source), low.size, low, high, n, *outs)
    kind = f"uint{bits}"
    mask = (1 << bits) - 1
    for k in range(low.size):
        a, b, shift = int(low.view(kind)[k]), int(high.view(kind)[k]), int(n[k]) % bits
        both = b << bits | a
        assert int(outs[0].view(kind)[k]) == (both << shift) >> bits & mask
        assert int(outs[1].view(kind)[k]) == both >> shift & mask
        assert int(outs[2].view(kind)[k]) == ((a << bits | a) << 3) >> bits & mask


def test_constants():
    def kernel(out):
        out[0] = gpu.popc(gpu.uint8(255)) + gpu.popc(np.int16(-1))
        out[1] = gpu.clz(gpu.uint16(1))
        out[2] = gpu.ffs(gpu.int64(-(1 << 63)))
        out[3] = gpu.brev(gpu.uint8(1))
        out[4] = gpu.byte_perm(gpu.uint32(0x11223344), gpu.uint32(0x55667788), 0x7250)
        out[5] = gpu.funnelshift_r(gpu.uint32(0), gpu.uint32(1), 1)
        out[6] = gpu.funnelshift_r(gpu.uint8(1), 255, 4)

    out = np.zeros(7, np.int64)
    kit.single(gpu.jit(kernel), out)
    assert out.tolist() == [24, 15, 64, 128, 0x55227744, 1 << 31, 0xF0]


def test_in_device_functions_and_branches():
    def lowest(x):
        return gpu.ffs(x) - 1

    def kernel(x, out):
        i = gpu.grid(1)
        if i < x.size:
            bits = gpu.uint64(x[i])
            total = 0
            while bits != 0:
                total += lowest(bits)
                bits &= bits - 1
            out[i] = total

    x = RNG.integers(0, 1 << 63, 64)
    out = np.zeros(64, np.int64)
    kit.launch(gpu.jit(kernel), 64, x, out)
    assert out.tolist() == [sum(k for k in range(64) if int(v) >> k & 1) for v in x]


# --- Numbers ---------------------------------------------------------------------------------------


def root_units(x: float, got: float, dtype: str) -> float:
    """How far got is from 1 / sqrt(x), in units of the last place, by exact arithmetic."""
    scale = 1 << 700
    square = Fraction(1) / Fraction(x)
    exact = Fraction(math.isqrt(square.numerator * scale * scale // square.denominator), scale)
    unit = float(np.spacing(np.dtype(dtype).type(float(exact))))
    return abs(float((Fraction(got) - exact) / Fraction(unit)))


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 2.5), ("float64", 2), ("float16", 0.51)])
def test_rsqrt(dtype, bound):
    source = """def kernel(x, out):
    i = gpu.grid(1)
    if i < x.size:
        out[i] = gpu.rsqrt(x[i])
"""
    limits = np.finfo(dtype)
    x = np.exp(RNG.uniform(np.log(float(limits.tiny)), np.log(float(limits.max)), 300))
    x = np.concatenate([x, [1, 2, 3, 4, 0.25, float(limits.tiny), float(limits.max)]]).astype(dtype)
    out = np.zeros_like(x)
    kit.launch(kit.kernel(source), x.size, x, out, ulps=4)
    for value, got in zip(x.tolist(), out.tolist(), strict=True):
        assert root_units(value, got, dtype) <= bound, (value, got)


def test_rsqrt_of_special_values_and_integers():
    def kernel(x, n, out):
        for i in range(x.size):
            out[i] = gpu.rsqrt(x[i])
        out[x.size] = gpu.rsqrt(n)
        out[x.size + 1] = gpu.rsqrt(gpu.uint8(4))

    x = np.array([0.0, -0.0, math.inf, -1.0, math.nan])
    out = np.zeros(7)
    kit.single(gpu.jit(kernel), x, 16, out, ulps=2)
    assert out[:2].tolist() == [math.inf, -math.inf] and out[2] == 0
    assert np.isnan(out[3:5]).all()
    assert out[5:].tolist() == pytest.approx([0.25, 0.5], rel=4e-16)


def test_rsqrt_keeps_the_type():
    def kernel(x, out):
        out[0] = gpu.rsqrt(x[0]) == np.float32(gpu.rsqrt(x[0]))

    out = np.zeros(1, np.int64)
    kit.single(gpu.jit(kernel), np.array([3], np.float32), out)
    assert out[0] == 1


def test_cbrt_and_fma_are_those_of_math():
    def kernel(x, out):
        out[0] = gpu.cbrt(x[0])
        out[1] = gpu.fma(x[1], x[1], x[2])

    x = np.array([27.0, 1 + 2.0**-30, -1 - 2.0**-29])
    out = np.zeros(2)
    kit.single(gpu.jit(kernel), x, out, ulps=1)
    assert out[0] == pytest.approx(3, rel=3e-16)
    assert out[1] == 2.0**-60


def test_selp_is_a_conditional_that_computes_both():
    def kernel(x, out, small):
        i = gpu.grid(1)
        if i < x.size:
            out[i] = gpu.selp(x[i] > 0, x[i], -1)
            small[i] = gpu.selp(x[i], gpu.uint8(200), gpu.uint8(100)) + gpu.uint8(100)

    x = np.array([1.5, -2.5, 0.0, -0.0, math.nan, 7.0], np.float32)
    out, small = np.zeros(6, np.float32), np.zeros(6, np.int64)
    kit.launch(gpu.jit(kernel), 6, x, out, small)
    assert out.tolist() == [1.5, -1, -1, -1, -1, 7]
    assert small.tolist() == [44, 44, 200, 200, 44, 44]


def test_selp_joins_its_values():
    source = """def kernel(c, out):
    out[0] = gpu.selp(c, 1, 2.5)
    out[1] = gpu.selp(c, gpu.int8(-1), gpu.uint8(255))
    out[2] = gpu.selp(not c, True, False)
"""
    for c, expected in ((True, [1, -1, 0]), (False, [2.5, 255, 1])):
        out = np.zeros(3)
        kit.single(kit.kernel(source), c, out)
        assert out.tolist() == expected


# --- Lanes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [(64,), (33,), (8, 4, 2), (5, 7), (3, 3, 3), (1, 40)])
def test_lanes_are_numbered_along_x_first(block):
    def kernel(lane, masks):
        x, y, z = gpu.threadIdx.x, gpu.threadIdx.y, gpu.threadIdx.z
        i = (z * gpu.blockDim.y + y) * gpu.blockDim.x + x
        lane[i] = gpu.laneid
        masks[i, 0] = gpu.lanemask_lt()
        masks[i, 1] = gpu.lanemask_le()
        masks[i, 2] = gpu.lanemask_eq()
        masks[i, 3] = gpu.lanemask_ge()
        masks[i, 4] = gpu.lanemask_gt()

    n = math.prod(block)
    lane, masks = np.full(n, -1, np.int64), np.zeros((n, 5), np.int64)
    kit.run(gpu.jit(kernel), 1, block, (lane, masks))
    assert lane.tolist() == [i % 32 for i in range(n)]
    for i in range(n):
        own, full = 1 << i % 32, (1 << 32) - 1
        below = own - 1
        assert masks[i].tolist() == [below, below | own, own, full ^ below, full ^ below ^ own]


def test_lane_masks_are_typed():
    def kernel(out):
        out[0] = gpu.lanemask_ge() + 1  # wraps
        out[1] = gpu.popc(gpu.lanemask_ge())
        out[2] = gpu.laneid - 5  # an int
        out[3] = ~gpu.lanemask_eq()

    out = np.zeros(4, np.int64)
    kit.single(gpu.jit(kernel), out)
    assert out.tolist() == [0, 32, -5, 2**32 - 2]


def test_the_size_of_a_warp_is_a_constant():
    def kernel(x, out):
        t = (1,) * gpu.warpsize
        out[0] = len(t) + gpu.threadIdx.x // gpu.warpsize
        out[1] = gpu.smid >= 0

    out = np.zeros(2, np.int64)
    kit.single(gpu.jit(kernel), 0, out)
    assert out.tolist() == [32, 1]
    assert gpu.warpsize == 32
