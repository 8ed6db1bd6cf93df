"""Atomics and bits of the python device, with values by hand."""

import gpu
import numpy as np
import pytest
from gpu._python import run

NAN, INF = float("nan"), float("inf")


def one(text: str, dtype: str, start, *args):
    """The element and the old value after one operation; the text names array `a`."""
    names: dict = {"gpu": gpu}
    exec(f"def kernel(a, old, x, y):\n    old[0] = gpu.atomic.{text}", names)
    a, old = np.array([start], dtype), np.zeros(1, "float64" if dtype[0] == "f" else dtype)
    run(names["kernel"], 1, 1, (a, old, *args, *[0] * (2 - len(args))))
    return a[0].item(), old[0].item()


CHANGES = [
    ("add", "int32", 2**31 - 1, 1, -(2**31)), ("add", "uint8", 250, 10, 4),
    ("add", "int8", 100, 300, -112), ("add", "uint64", 2**64 - 1, 2, 1),
    ("add", "float16", 2048.0, 1.0, 2048.0), ("add", "float32", 1.0, 2.0**-25, 1.0),
    ("add", "float64", 1.0, 2, 3.0), ("sub", "uint32", 0, 1, 2**32 - 1), ("sub", "float32", 1.5, 2, -0.5),
    ("min", "int16", -5, 3, -5), ("min", "int16", 5, -3, -3), ("min", "uint16", 5, 65530, 5),
    ("max", "uint32", 5, -1, 2**32 - 1), ("max", "int64", 5, -1, 5), ("max", "float32", 1.0, 2.5, 2.5),
    ("max", "float64", 1.0, NAN, 1.0), ("min", "float64", 1.0, NAN, 1.0),
    ("min", "float32", 0.0, -0.0, -0.0), ("max", "float32", 0.0, -0.0, 0.0), ("max", "float64", -0.0, 0.0, 0.0),
    ("and_", "bool", True, False, False), ("xor", "bool", True, 3, False), ("inc", "int8", -5, 3, -4),
    ("dec", "int8", -5, 3, -6), ("dec", "int8", 4, 3, 3),
    ("nanmax", "float64", 1.0, NAN, 1.0), ("nanmax", "float64", NAN, 1.0, 1.0),
    ("nanmin", "float32", NAN, -INF, -INF), ("nanmin", "int32", 4, 3, 3),
    ("inc", "uint32", 6, 7, 7), ("inc", "uint32", 7, 7, 0), ("inc", "uint32", 9, 7, 0),
    ("inc", "uint64", 2**64 - 1, -1, 0), ("dec", "uint32", 6, 7, 5), ("dec", "uint32", 0, 7, 7),
    ("dec", "uint32", 8, 7, 7), ("dec", "uint32", 7, 7, 6), ("and_", "uint8", 0b1101, 0b0111, 0b0101),
    ("or_", "int32", 0b1001, 0b0011, 0b1011), ("xor", "int64", -1, 0b101, -6),
    ("exch", "float32", 1.0, 7, 7.0), ("exch", "uint8", 1, 257, 1), ("exch", "bool", False, 2, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype", "start", "x", "end"), CHANGES)
def test_one_operation(name, dtype, start, x, end):
    got = one(f"{name}(a, 0, x)", dtype, start, x)
    assert np.array_equal(got, (end, start), equal_nan=True)
    assert np.signbit(got[0]) == np.signbit(end)


def test_nan_stays_but_for_nanmin_and_nanmax():
    for name in ("min", "max", "add", "sub"):
        assert np.isnan(one(f"{name}(a, 0, x)", "float32", NAN, 1.0)[0])
    for name in ("nanmin", "nanmax"):
        assert np.isnan(one(f"{name}(a, 0, x)", "float32", NAN, NAN)[0])


CAS = [
    ("int32", 5, 5, 9, 9), ("int32", 5, 6, 9, 5), ("uint8", 255, -1, 7, 7), ("float32", 0.0, -0.0, 1, 0.0),
    ("float32", 0.5, 0.5, 1, 1.0), ("float16", 1.0, 1.0001, 3, 3.0), ("int64", -1, 2**63 - 1, 3, -1),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "start", "expected", "value", "end"), CAS)
def test_cas(dtype, start, expected, value, end):
    assert one("cas(a, 0, x, y)", dtype, start, expected, value) == (end, start)
    assert one("compare_and_swap(a, x, y)", dtype, start, expected, value) == (end, start)


def test_old_values_are_of_the_elements_type():
    def kernel(a, b, out):
        out[0] = gpu.atomic.add(a, 0, 1) * 1000
        out[1] = gpu.atomic.exch(b, 0, 3) / 3

    out = np.zeros(2)
    run(kernel, 1, 1, (np.array([100], np.uint8), np.ones(1, np.float32), out))
    assert out.tolist() == [100_000, float(np.float32(1) / np.float32(3))]


def test_any_rank_and_views():
    def kernel(a, b):
        i = gpu.grid(1)
        gpu.atomic.add(a, (i % 2, i % 3, -1), 1)
        gpu.atomic.max(a[1], (2, 0), i)
        gpu.atomic.add(b, (), 1)

    a, b = np.zeros((2, 3, 2), np.int32), np.zeros((), np.int32)
    run(kernel, 3, 4, (a, b))
    assert a[:, :, 1].tolist() == [[2] * 3] * 2
    assert a[1, 2, 0] == 11 and b == 12


def test_errors():
    def check(text, dtype, match, *args):
        with pytest.raises(gpu.TypingError, match=match):
            one(text, dtype, 0, *args)

    check("add(a, 0, x)", "int32", "argument 3 of gpu.atomic.add cannot be float", 1.5)
    check("exch(a, 0, x)", "int32", "argument 3 of gpu.atomic.exch cannot be float", 1.5)
    check("cas(a, 0, x, y)", "int32", "argument 4 of gpu.atomic.cas cannot be float", 1, 1.5)
    check("xor(a, 0, x)", "float32", "argument 1 of gpu.atomic.xor cannot be", 1)
    check("add(a, 0, x)", "bool", "argument 1 of gpu.atomic.add cannot be an array of bool", 1)
    check("max(a, 0, x)", "bool", "argument 1 of gpu.atomic.max cannot be an array of bool", 1)
    check("inc(a, 0, x)", "float16", "argument 1 of gpu.atomic.inc cannot be an array of", 1)
    check("add(x, 0, x)", "float32", "argument 1 of gpu.atomic.add cannot be", 1)
    check("add(a, slice(None), x)", "float32", "index of one element", 1)
    check("add(a, 0)", "float32", "3 arguments", 1)


def test_a_spin_lock():
    def kernel(lock, count, shared):
        for _ in range(3):
            while gpu.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            old = count[0]
            for i in range(30):
                shared[i % 2] = i + shared[i % 2]
            count[0] = old + 1
            gpu.threadfence()
            gpu.atomic.exch(lock, 0, 0)

    count = np.zeros(1, np.int64)
    run(kernel, 3, 20, (np.zeros(1, np.int32), count, np.zeros(2, np.int64)))
    assert count[0] == 180


def test_a_ticket_lock():
    def kernel(ticket, serving, order):
        mine = gpu.atomic.add(ticket, 0, 1)
        while gpu.atomic.add(serving, 0, 0) != order.size - 1 - mine:
            gpu.nanosleep(100)
        order[order.size - 1 - mine] = gpu.grid(1)
        gpu.atomic.add(serving, 0, 1)

    order = np.full(12, -1)
    run(kernel, 3, 4, (np.zeros(1, np.int32), np.zeros(1, np.int32), order))
    assert order.tolist() == list(range(12))[::-1]


BITS = [
    ("popc(gpu.uint32(x))", 0xF0F0, 8), ("popc(gpu.int8(x))", -1, 8), ("popc(gpu.int64(x))", -1, 64),
    ("clz(gpu.uint32(x))", 1, 31), ("clz(gpu.uint32(x))", 0, 32), ("clz(gpu.uint64(x))", 1, 63),
    ("clz(gpu.int16(x))", -1, 0), ("clz(gpu.uint8(x))", 8, 4), ("ffs(gpu.uint32(x))", 0, 0),
    ("ffs(gpu.uint32(x))", 8, 4), ("ffs(gpu.int64(x))", -(2**63), 64), ("brev(gpu.uint32(x))", 1, 2**31),
    ("brev(gpu.uint8(x))", 0b00010011, 0b11001000), ("brev(gpu.int32(x))", 1, -(2**31)),
    ("byte_perm(gpu.uint32(x), gpu.uint32(0x76543210), gpu.uint32(0x7410))", 0x33221100, 0x76101100),
    ("byte_perm(gpu.int32(x), -1, 0xF4FB)", 0x44332211, -188),
    ("funnelshift_l(gpu.uint32(x), gpu.uint32(1), 33)", 2**31, 3), ("funnelshift_r(gpu.uint32(x), gpu.uint32(1), 1)", 2, 2**31 + 1),
    ("funnelshift_r(gpu.int8(x), 1, 4)", 0x70, 0x17), ("funnelshift_l(gpu.int8(0), x, 7)", 1, -128),
    ("selp(x > 2, x, 2.5)", 3, 3.0), ("selp(x > 2, x, 2.5)", 2, 2.5), ("selp(x, gpu.float32(0.1), 1)", 7, float(np.float32(0.1))),
    ("rsqrt(x)", 4, 0.5), ("rsqrt(x)", 0, INF), ("cbrt(gpu.float32(x))", 27, 3.0), ("fma(x, x, 1)", 3, 10.0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "x", "expected"), BITS)
def test_functions_of_one_thread(text, x, expected):
    names: dict = {"gpu": gpu}
    exec(f"def kernel(out, x):\n    out[0] = gpu.{text}", names)
    out = np.zeros(1, np.int64 if isinstance(expected, int) else np.float64)
    run(names["kernel"], 1, 1, (out, x))
    assert out[0] == expected


@pytest.mark.parametrize("name", ["popc", "clz", "ffs", "brev"])
def test_bits_need_a_width(name):
    names: dict = {"gpu": gpu}
    exec(f"def kernel(x):\n    gpu.{name}(x)", names)
    for x in (1, 1.5, True):
        with pytest.raises(gpu.TypingError, match=f"argument 1 of gpu.{name} cannot be"):
            run(names["kernel"], 1, 1, (x,))


def test_clocks_go_on():
    def kernel(out):
        t = gpu.clock64()
        u = gpu.globaltimer()
        while gpu.clock64() - t < 1000:
            gpu.nanosleep(10)
        out[0] = gpu.clock64() - t
        out[1] = gpu.globaltimer() - u

    out = np.zeros(2, np.int64)
    run(kernel, 1, 3, (out,))
    assert out[0] >= 1000 and out[1] >= 0
