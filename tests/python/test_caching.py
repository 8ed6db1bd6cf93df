"""What is compiled once, and what must be compiled anew: a launch never runs a stale kernel."""

import types

import gpu
import numpy as np
import pytest

FACTOR = 2
TABLE = types.SimpleNamespace(inner=types.SimpleNamespace(value=1))


def helper(v):
    return v + 1


@gpu.jit
def by_global(x):
    x[0] = FACTOR


@gpu.jit
def by_helper(x):
    x[0] = helper(1)


@gpu.jit
def by_attribute(x):
    x[0] = TABLE.inner.value


def value(kernel, *args):
    x = gpu.zeros(1)
    kernel[1, 1](x, *args)
    return x.copy_to_host()[0]


def test_changed_globals(device, monkeypatch):
    assert value(by_global) == 2
    for new in (3, 2, 2.5, True, np.float32(7), 3):
        monkeypatch.setitem(globals(), "FACTOR", new)
        assert value(by_global) == float(new)


def test_a_value_that_comes_back_does_not_compile_again(device, monkeypatch):
    assert value(by_global) == 2
    before = by_global.signatures
    monkeypatch.setitem(globals(), "FACTOR", 9)
    assert value(by_global) == 9
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert value(by_global) == 2
    assert by_global.signatures == before
    assert set(before) == {"float64[::1]"}  # one for each device that the suite used


def test_equal_values_are_the_same(device, monkeypatch):
    big = 10**9
    monkeypatch.setitem(globals(), "FACTOR", big)
    assert value(by_global) == big
    monkeypatch.setitem(globals(), "FACTOR", int(str(big)))
    assert value(by_global) == big


def test_a_global_that_shadows_a_builtin(device, monkeypatch):
    @gpu.jit
    def kernel(x):
        x[0] = abs(-3)

    assert value(kernel) == 3
    monkeypatch.setitem(globals(), "abs", helper)
    assert value(kernel) == -2
    monkeypatch.delitem(globals(), "abs")
    assert value(kernel) == 3


def test_a_deleted_global(device, monkeypatch):
    assert value(by_global) == 2
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(NameError, match="FACTOR"):
        value(by_global)


def test_changed_functions(device, monkeypatch):
    assert value(by_helper) == 2
    monkeypatch.setitem(globals(), "helper", lambda v: v + 10)
    assert value(by_helper) == 11


def test_code_that_was_swapped_in_place(device, monkeypatch):
    assert value(by_helper) == 2
    monkeypatch.setattr(helper, "__code__", (lambda v: v + 20).__code__)
    assert value(by_helper) == 21


def test_changed_attributes(device, monkeypatch):
    assert value(by_attribute) == 1
    monkeypatch.setattr(TABLE.inner, "value", 5)
    assert value(by_attribute) == 5
    monkeypatch.setattr(TABLE, "inner", types.SimpleNamespace(value=6))
    assert value(by_attribute) == 6


def test_changed_closures(device):
    scale = 3

    @gpu.jit
    def kernel(x):
        x[0] = scale

    assert value(kernel) == 3
    scale = 4
    assert value(kernel) == 4


def test_changed_defaults(device):
    def function(x, v=1, *, w=10):
        x[0] = v + w

    kernel = gpu.jit(function)
    assert value(kernel) == 11
    function.__defaults__ = (2,)
    assert value(kernel) == 12
    function.__kwdefaults__ = {"w": 20}
    assert value(kernel) == 22
    function.__defaults__ = None
    with pytest.raises(gpu.ArgumentTypeError):
        value(kernel)


def test_swapped_code_of_the_kernel_itself(device):
    def function(x):
        x[0] = 1

    kernel = gpu.jit(function)
    assert value(kernel) == 1

    def other(x):
        x[0] = 2

    function.__code__ = other.__code__
    assert value(kernel) == 2


def test_one_compilation_per_signature(device):
    @gpu.jit
    def kernel(x, v):
        x[0] = v

    for v in (1, 2, np.int8(3), 2**40):
        assert value(kernel, v) == v
    assert kernel.signatures == ["float64[::1], int"]
    for v in (1.5, np.float64(2.5), np.float32(2.5), True, np.uint64(7)):
        assert value(kernel, v) == float(v)
    assert sorted(kernel.signatures) == [
        f"float64[::1], {t}" for t in ("bool", "float", "float32", "int", "uint64")
    ]


def test_layouts_are_told_apart(device):
    @gpu.jit
    def kernel(x):
        x[1, 0] = 7

    base = np.zeros((4, 6))
    for x in (base, base.T, base[::2, ::2], base[::-1]):
        x[...] = 0
        array = gpu.empty(x.shape)
        kernel[1, 1](x)
        assert x[1, 0] == 7 and x.sum() == 7
        array.copy_to_device(x)
        kernel[1, 1](array.T)
        assert array.copy_to_host()[0, 1] == 7


def test_functions_of_one_code_share_a_compilation(device):
    @gpu.jit
    def kernel(x, f):
        x[0] = f(3)

    for _ in range(5):
        assert value(kernel, lambda v: v * 2) == 6
    assert len(kernel.signatures) == 1


def test_functions_with_different_closures_do_not(device):
    @gpu.jit
    def kernel(x, f):
        x[0] = f(3)

    def times(k):
        return lambda v: v * k

    for k in (2, 5, 7):
        assert value(kernel, times(k)) == 3 * k
    for k in (2, 5):

        def default(v, k=k):
            return v * k

        assert value(kernel, default) == 3 * k
