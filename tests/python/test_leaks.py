"""Memory: what was compiled goes with its kernel, also through reference cycles."""

import gc
import os
import weakref
from pathlib import Path
from typing import NamedTuple

import gpu
import numpy as np
import pytest

N = int(os.environ.get("GPUJIT_LEAK_KERNELS", "600"))
WARM = max(100, N // 10)
SOURCE = """
@gpu.jit
def kernel(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] = x[i] + {n}
"""


def resident_B():
    if "sanitizer" in Path("/proc/self/maps").read_text():
        pytest.skip("a sanitizer in the process has memory of its own")
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def compile_one(n, x):
    scope = {"gpu": gpu}
    exec(SOURCE.format(n=n), scope)
    scope["kernel"][1, 4](x)
    if n % 20 == 0:
        gc.collect()  # a kernel and its globals are a cycle; what waits for the collector is no leak
    return scope["kernel"]


def delete(kernel):
    """Undoes the cycle with its globals, so that memory is free when it is dead, not at a collection."""
    kernel.py_func.__globals__.clear()


def test_compiled_and_deleted_kernels(device):
    """GPUJIT_LEAK_KERNELS=10000 is the whole measurement: less than 5 MB after the first 1,000."""
    x = gpu.zeros(4)
    for n in range(WARM):
        delete(compile_one(n, x))
    gc.collect()
    before = resident_B()
    for n in range(WARM, N):
        delete(compile_one(n, x))
    gc.collect()
    gpu.synchronize()
    grown = resident_B() - before
    assert x.copy_to_host()[0] == sum(range(N))
    assert grown < 5e6, f"{grown / 1e6:.1f} MB for {N - WARM} kernels"


def test_a_cycle_through_globals_is_collected(device):
    kernel = compile_one(1, gpu.zeros(4))
    gpu.synchronize()
    reference = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert reference() is None


def test_a_cycle_through_a_closure_is_collected(device):
    def make():
        bystander = np.zeros(1)  # noqa: F841
        kernels = type("Space", (), {})()

        @gpu.jit
        def inner(x):
            x[0] = 1.0

        @gpu.jit
        def outer(x):
            inner(x)

        kernels.inner, kernels.outer = inner, outer
        outer.py_func.__kwdefaults__ = {}
        outer.py_func.cycle = outer
        outer[1, 1](gpu.zeros(1))
        gpu.synchronize()
        return weakref.ref(outer), weakref.ref(inner)

    references = make()
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_a_cycle_through_a_launcher_is_collected(device):
    @gpu.jit
    def kernel(x):
        x[0] = 1.0

    kernel.py_func.launcher = kernel[1, 1]
    kernel.py_func.launcher(gpu.zeros(1))
    gpu.synchronize()
    reference = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert reference() is None


def cycle_of_attribute(kernel):
    kernel.py_func.itself = kernel


def cycle_of_default(kernel):
    kernel.py_func.__kwdefaults__ = {"itself": kernel}


def cycle_of_carrier(kernel):
    kernel.py_func.itself = kernel.__gpu_carrier__
    kernel.__gpu_carrier__.itself = kernel


def cycle_of_launcher(kernel):
    kernel.py_func.launchers = [kernel[n, 1] for n in range(1, 40)]


def cycle_of_forall(kernel):
    kernel.py_func.launcher = kernel.forall(10)


def cycle_of_class(kernel):
    kernel.py_func.owner = type("Owner", (), {"kernel": staticmethod(kernel)})


def cycle_of_traceback(kernel):
    try:
        kernel[1, 1]("no array")
    except gpu.Error as error:
        kernel.py_func.error = error


def cycle_of_method(kernel):
    kernel.py_func.method = kernel.forall, kernel.ptx, kernel.__reduce_ex__


CYCLES = [function for name, function in list(globals().items()) if name.startswith("cycle_of")]


@pytest.mark.parametrize("launched", [False, True])
@pytest.mark.parametrize("make_cycle", CYCLES)
def test_every_cycle_is_collected(device, make_cycle, launched):
    """As in a long program, which makes such kernels again and again."""
    references = []
    for n in range(5):
        scope = {"gpu": gpu, "n": n}
        exec("def f(v):\n    return v + n\ndef function(x):\n    x[0] = f(1.0)", scope)
        kernel = gpu.jit(scope["function"])
        x = gpu.zeros(1)
        if launched:
            kernel[1, 1](x)
            assert x.copy_to_host()[0] == n + 1
        make_cycle(kernel)
        references += [weakref.ref(kernel), weakref.ref(scope["f"]), weakref.ref(x)]
        del kernel, scope, x
    gc.collect()
    assert [r() for r in references] == [None] * 15


def test_kernels_that_call_each_other_are_collected(device):
    scope = {"gpu": gpu}
    exec(
        """
@gpu.jit
def even(x, n):
    if n == 0:
        x[0] = 1.0
    else:
        odd(x, n - 1)

@gpu.jit
def odd(x, n):
    if n > 0:
        even(x, n - 1)
""",
        scope,
    )
    references = [weakref.ref(scope[name]) for name in ("even", "odd")]
    scope["even"][1, 1](gpu.zeros(1), 4)
    gpu.synchronize()
    with pytest.raises(gpu.TypingError):
        scope["odd"][1, 1](gpu.zeros((2, 2, 2)), "four")
    del scope
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_without_cycles_nothing_waits_for_the_collector(device):
    def make():
        x = gpu.zeros(1)

        def function(x):
            x[0] = 1.0

        kernel = gpu.jit(function)
        kernel[1, 1](x)
        gpu.synchronize()
        return weakref.ref(kernel), weakref.ref(x)

    gc.collect()
    gc.disable()
    try:
        assert [r() for r in make()] == [None, None]
    finally:
        gc.enable()


def test_launches_leak_nothing(device):
    @gpu.jit
    def kernel(n, a, x, y=None):
        x[0] = n * a

    x, host = gpu.zeros(4), np.zeros(4)
    bad = [(1, 2, [1]), (1,), (1, 2, {})]

    def once():
        kernel[1, 4](1, 2.0, x)
        kernel[1, 4](n=1, a=np.float32(2), x=x, y=None)
        kernel[1, 4](1, 2.0, host)
        kernel[1, 4, 0](np.int32(1), True, host[::2])
        for args in bad:
            with pytest.raises(gpu.ArgumentTypeError):
                kernel[1, 4](*args)

    for _ in range(300):
        once()
    gc.collect()
    gpu.synchronize()
    before = resident_B()
    for _ in range(3000):
        once()
    gc.collect()
    gpu.synchronize()
    assert resident_B() - before < 2e6


def test_tuples_and_functions_leak_nothing(device):
    class Pair(NamedTuple):
        first: float
        second: object

    @gpu.jit
    def kernel(x, p, f, *rest, name=None):
        x[0] = p.first * p.second[0] + f(1) + len(rest)

    x, host = gpu.zeros(4), np.zeros(4)

    def once(k):
        kernel[1, 4](x, Pair(1.0, x), lambda v: v + k)
        kernel[1, 4](x, Pair(1.0, host), lambda v: v + k, 1, (2, host), name="x" * 30)
        for bad in (([1],), ((1, (2, {})),), ((host, [1]), 1)):
            with pytest.raises(gpu.ArgumentTypeError):
                kernel[1, 4](x, *bad)

    for _ in range(300):
        once(3)
    gc.collect()
    gpu.synchronize()
    before = resident_B()
    for _ in range(3000):
        once(3)
    gc.collect()
    gpu.synchronize()
    assert resident_B() - before < 2e6


def test_readings_that_were_replaced_go(device):
    scope = {"gpu": gpu, "value": 0}
    exec("@gpu.jit\ndef kernel(x):\n    x[0] = value\n", scope)
    x = gpu.zeros(1)
    for n in range(60):
        scope["value"] = n
        scope["kernel"][1, 1](x)
    gc.collect()
    before = resident_B()
    for n in range(60, 260):
        scope["value"] = n
        scope["kernel"][1, 1](x)
        assert x.copy_to_host()[0] == n
    assert resident_B() - before < 3e6
