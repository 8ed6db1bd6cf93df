"""Launching: configuration, binding and kinds of arguments, and what is refused before it runs."""

import math
import os
import re
import subprocess
import sys
import types

import gpu
import numpy as np
import pytest


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@gpu.jit
def store(out, value=5, *, scale=1):
    i = gpu.grid(1)
    if i < out.size:
        out[i] = value * scale


def filled(kernel, configuration, *args, n=4, dtype=np.int64, **kwargs):
    out = gpu.zeros(n, dtype)
    kernel[configuration](out, *args, **kwargs)
    return out.copy_to_host().tolist()


def test_saxpy_on_our_arrays(device):
    x = np.arange(1000, dtype=np.float32)
    dx, dy = gpu.to_device(x), gpu.ones(1000, np.float32)
    saxpy[4, 256](1000, 2.0, dx, dy)
    assert np.array_equal(dy.copy_to_host(), 2 * x + 1)
    assert np.array_equal(dx.copy_to_host(), x)


def test_saxpy_on_numpy_arrays(device):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    saxpy[4, 256](1000, 2.0, x, y)
    assert np.array_equal(y, 2 * x + 1)


def test_strided_numpy_arrays(device):
    base = np.zeros((50, 3), np.float32)
    x, y = np.arange(100, dtype=np.float32)[::-2], base[:, 1]
    saxpy[1, 64](50, 1.0, x, y)
    assert np.array_equal(base[:, 1], x)
    assert not base[:, [0, 2]].any()


@pytest.mark.parametrize(
    "configuration",
    [(1, 4), ((1,), (4,)), ((1, 1), (4, 1, 1)), ([1], [4]), (np.int32(1), np.uint8(4)), (4, 1),
     (1, 4, None), (1, 4, 0), (1, 4, 0, 0)],
)  # fmt: skip
def test_configurations(device, configuration):
    assert filled(store, configuration) == [5] * 4


def test_streams(device):
    stream = gpu.stream()
    out = gpu.zeros(4, np.int64)
    store[1, 4, stream](out)
    stream.synchronize()
    assert out.copy_to_host(stream=stream).tolist() == [5] * 4
    assert store[1, 4, stream].stream is stream
    assert filled(store, (1, 4, gpu.default_stream())) == [5] * 4


def test_defaults_and_keywords(device):
    assert filled(store, (1, 4)) == [5] * 4
    assert filled(store, (1, 4), 2) == [2] * 4
    assert filled(store, (1, 4), value=3, scale=2) == [6] * 4
    assert filled(store, (1, 4), scale=2, value=4) == [8] * 4
    assert filled(store, (1, 4), scale=3) == [15] * 4
    out = gpu.zeros(4, np.int64)
    store[1, 4](value=1, out=out)
    keywords = {"out": out, "value": 7}
    store[1, 4](*[], **keywords)
    assert out.copy_to_host().tolist() == [7] * 4


def test_forall(device):
    for n in (0, 1, 255, 256, 257):
        out = gpu.zeros(n, np.int64)
        store.forall(n)(out)
        assert out.copy_to_host().tolist() == [5] * n
    assert store.forall(1000, block=128).grid == (8,)


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ((0, 1), "grid is 0"),
        ((1, 0), "block is 0"),
        ((1, -3), "block is negative"),
        ((1.5, 1), "write (n + 255) // 256"),
        ((2**80, 1), "beyond 64 bits"),
        (((1, 2, 3, 4), 1), "has 4 dimensions"),
        ((1, ()), "has 0 dimensions"),
        ((1, "4"), "not str"),
        ((1,), "the block is missing: write store[grid, block]"),
        (1, "the block is missing"),
        ((1, 2, 0, 0, 0), "too many values"),
        ((1, 1, "stream"), "not 'str'"),
        ((1, 1, 0, -1), "shared_bytes is negative"),
        ((1, 1, 0, 1.5), "shared_bytes must be an int of 0 or more, not float"),
        ((1, 1, 0, None), "shared_bytes must be an int of 0 or more, not NoneType"),
        ((1, 2**63), "block is beyond 64 bits, devices allow up to 2**31 - 1"),
        ((-(2**70), 1), "grid is negative"),
        (((1, 0), 1), "grid is 0"),
        ((1, (4, -1, 1)), "block is negative"),
        ((None, 1), "the grid must be an int or a tuple of 1 to 3 ints, not NoneType"),
        ((1, None), "the block must be an int or a tuple of 1 to 3 ints, not NoneType"),
        ((np.array([1, 2]), 1), "the grid must be an int or a tuple of 1 to 3 ints, not ndarray"),
        (((1, (2, 3)), 1), "the grid must be an int or a tuple of 1 to 3 ints, not tuple"),
        ((..., 1), "not ellipsis"),
        ((1, {1}), "the block must be an int or a tuple of 1 to 3 ints, not set"),
        ((), "the block is missing: write store[grid, block]"),
        ((1, 1, -1), "the stream must be made by gpu.stream(), 0 or a handle"),
        ((1, 1, 2**64), "the stream must be made by gpu.stream(), 0 or a handle"),
        ((1, 1, 1.5), "not 'float'"),
    ],
)
def test_bad_configurations(configuration, text):
    with pytest.raises(gpu.LaunchError, match="bad launch") as caught:
        store[configuration]
    assert text in str(caught.value)
    assert caught.value.code == "BAD_CONFIGURATION"
    assert isinstance(caught.value, ValueError)


class Failing:
    def __index__(self):
        raise RuntimeError("its own")


def test_errors_of_the_program_come_through():
    for configuration in ((Failing(), 1), (1, (1, Failing())), (1, 1, 0, Failing())):
        with pytest.raises(RuntimeError, match="its own"):
            store[configuration]
    with pytest.raises(RuntimeError, match="its own"):
        store.forall(Failing())


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((-1,), {}, "forall needs a number of threads of 0 or more"),
        ((1.5,), {}, "n of forall must be an int, not float"),
        (("3",), {}, "n of forall must be an int, not str"),
        ((3,), {"block": 0}, "a block of 1 or more"),
        ((3,), {"block": 2.0}, "block of forall must be an int, not float"),
        ((3,), {"stream": "s"}, "not 'str'"),
    ],
)
def test_bad_forall(args, kwargs, text):
    with pytest.raises(gpu.LaunchError, match="bad launch") as caught:
        store.forall(*args, **kwargs)
    assert text in str(caught.value)


def test_wrong_counts_name_the_parameters(device):
    for args in ((), (1, 2), (1, 2, 3, 4, 5)):
        with pytest.raises(gpu.ArgumentTypeError) as caught:
            saxpy[1, 1](*args)
        assert caught.value.hint == "its parameters are n, a, x, y"


def test_limits_have_their_numbers(device):
    out = gpu.zeros(4)
    with pytest.raises(gpu.LaunchError) as caught:
        store[1, (64, 64)](out)
    assert caught.value.code == "BLOCK_THREADS" and "4096" in str(caught.value)
    with pytest.raises(gpu.LaunchError) as caught:
        store[1, 4096](out)
    assert caught.value.code == "GRID_LIMIT" and "4096" in str(caught.value)
    with pytest.raises(gpu.LaunchError) as caught:
        store[2**40, 1](out)
    assert caught.value.code == "GRID_LIMIT" and str(2**40) in str(caught.value)


def test_plain_call_says_what_to_write():
    with pytest.raises(gpu.LaunchError, match=r"write saxpy\[grid, block\]\(\.\.\.\)"):
        saxpy(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((1, 2), {}, "saxpy() takes 4 arguments, 2 given"),
        ((1, 2, 3, 4, 5), {}, "saxpy() takes 4 arguments, 5 given"),
        ((1, 2, 3), {"z": 1}, "'z' of saxpy: there is no such parameter"),
        ((1, 2, 3, 4), {"n": 1}, "'n' of saxpy: is given twice"),
        ((1, 2, 3), {"a": 1}, "'a' of saxpy: is given twice"),
        ((1,), {"a": 1}, "'x' of saxpy: is missing"),
        ((1, 2, [1.0], 4), {}, "np.array(values, dtype=np.float32)"),
        ((1, 2, {}, 4), {}, "'dict' cannot be passed"),
        ((1, 1j, 3, 4), {}, "complex numbers are not supported yet"),
        ((1, object(), 3, 4), {}, "'object' cannot be passed"),
        ((1, 2, np.zeros(3, np.longdouble), 4), {}, "float128"),
        ((1, 2, np.zeros(3, ">f4"), 4), {}, ">f4"),
        ((1, 2, np.zeros(3, "M8[s]"), 4), {}, "datetime64"),
        ((1, 2, np.ndarray(3, np.float32, bytearray(16), 1), 4), {}, "aligned"),
    ],
)
def test_bad_arguments(device, args, kwargs, text):
    with pytest.raises(gpu.ArgumentTypeError) as caught:
        saxpy[1, 1](*args, **kwargs)
    assert text in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_too_large_ints(device):
    with pytest.raises(OverflowError, match="does not fit 64 bits") as caught:
        store[1, 1](gpu.zeros(4), 2**63)
    assert isinstance(caught.value, gpu.ArgumentOverflowError)
    assert filled(store, (1, 4), 2**63 - 1) == [2**63 - 1] * 4
    assert filled(store, (1, 4), -(2**63)) == [-(2**63)] * 4
    assert filled(store, (1, 4), np.uint64(2**64 - 1), dtype=np.uint64) == [2**64 - 1] * 4


SCALARS = [
    (5, "int"), (True, "bool"), (2.5, "float"), (np.int8(-5), "int"), (np.int16(-5), "int"),
    (np.int32(-5), "int"), (np.int64(-5), "int"), (np.longlong(-5), "int"), (np.uint8(5), "int"),
    (np.uint16(5), "int"), (np.uint32(5), "int"), (np.uint64(5), "uint64"),
    (np.float32(2.5), "float32"), (np.float64(2.5), "float"), (np.bool_(True), "bool"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "type"), SCALARS, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_scalars(device, value, type):
    @gpu.jit
    def keep(out, value):
        out[0] = value

    out = gpu.zeros(1, np.float64)
    keep[1, 1](out, value)
    assert out.copy_to_host()[0] == float(value)
    assert keep.signatures == [f"float64[::1], {type}"]


@pytest.mark.parametrize("value", [np.longdouble(1), np.complex64(1), np.datetime64("2020-01-01")])
def test_numpy_scalars_that_have_no_type(device, value):
    with pytest.raises(gpu.ArgumentTypeError):
        store[1, 1](gpu.zeros(1), value)


def test_read_only_arrays(device):
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    x.flags.writeable = False
    saxpy[1, 4](4, 2.0, x, y)
    assert y.tolist() == [3.0] * 4
    with pytest.raises(gpu.ArgumentTypeError, match="'y' of saxpy: the array is read-only"):
        saxpy[1, 4](4, 2.0, y, x)
    assert x.tolist() == [1.0] * 4


def test_functions_and_dtypes_as_arguments(device):
    def double(v):
        return 2 * v

    def negate(v):
        return -v

    @gpu.jit
    def apply(f, x):
        i = gpu.grid(1)
        x[i] = f(x[i])

    x = gpu.to_device(np.arange(4.0))
    apply[1, 4](double, x)
    apply[1, 4](gpu.jit(negate), x)
    assert x.copy_to_host().tolist() == [0.0, -2.0, -4.0, -6.0]


def test_functions_of_one_code_differ_by_their_globals(device):
    code = (lambda v: v + step).__code__  # noqa: F821

    @gpu.jit
    def apply(f, x):
        x[0] = f(x[0])

    x = gpu.zeros(1)
    for value in (1, 10, 100):
        apply[1, 1](types.FunctionType(code, {"step": value}), x)
    assert x.copy_to_host().tolist() == [111.0]


def test_declared_signatures(device):
    @gpu.jit("float32, float32[:]")
    def keep(value, out):
        out[0] = value

    out = gpu.zeros(1, np.float32)
    keep[1, 1](0.1, out)
    assert out.copy_to_host()[0] == np.float32(0.1)
    keep[1, 1](3, out)
    assert keep.signatures == ["float32, float32[:]"]
    assert keep.declared == ("float32, float32[:]",)
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature"):
        keep[1, 1](0.1, gpu.zeros(1, np.float64))

    @gpu.jit(signature=["int8, float64[:]", gpu.float32[:, ::1] + ", int64[:]"])
    def small(value, out):
        out[0] = 1

    small[1, 1](-128, gpu.zeros(1))
    with pytest.raises(gpu.ArgumentTypeError):
        small[1, 1](128, gpu.zeros(1))
    small[1, 1](gpu.zeros((2, 2), np.float32), gpu.zeros(1, np.int64))


def test_launchers():
    launcher = saxpy[(2, 3), 64]
    assert (launcher.grid, launcher.block, launcher.stream) == ((2, 3), (64,), 0)
    assert launcher.kernel is saxpy and launcher.shared_bytes == 0
    assert repr(launcher) == "<gpu launcher saxpy[(2, 3), (64,)]>"
    with pytest.raises(TypeError):
        type(launcher)()


def test_many_configurations_of_one_kernel(device):
    """More than the parked launchers hold, with living ones between them."""
    living = [store[g, b] for g in range(1, 9) for b in range(1, 9)]
    for launcher in living * 2:
        out = gpu.zeros(64, np.int64)
        launcher(out)
        n = launcher.grid[0] * launcher.block[0]
        assert out.copy_to_host().sum() == 5 * n
        assert filled(store, (launcher.grid, launcher.block), n=64) == [5] * n + [0] * (64 - n)


def test_kernel_attributes():
    def documented(x):
        """What it does."""

    kernel = gpu.jit(documented)
    assert kernel.py_func is kernel.__wrapped__ is documented
    assert (kernel.__name__, kernel.__doc__, kernel.__module__) == (
        "documented", "What it does.", __name__,
    )  # fmt: skip
    assert repr(kernel) == "<gpu kernel documented>"
    assert gpu.jit(kernel).py_func is documented


def test_options():
    @gpu.jit(device=True, inline="always", fastmath=True, max_registers=32, launch_bounds=(128, 2))
    def f(x):
        x[0] = 1.0

    assert f.options["max_registers"] == 32
    assert (f.options["max_threads"], f.options["min_blocks"]) == (128, 2)
    assert gpu.jit(opt=False)(f).options == {"opt_level": 0, "jit_opt_level": 0}
    for options, text in [
        ({"colour": 1}, "option 'colour': is not known; there are"),
        ({"opt_level": 9}, "option 'opt_level'"),
        ({"max_registers": 2.5}, "must be an int, not float"),
        ({"launch_bounds": (1, 2, 3)}, "takes threads"),
        ({"signature": 3}, ""),
    ]:
        with pytest.raises((gpu.ArgumentError, TypeError)) as caught:
            gpu.jit(**options)(lambda x: None)
        assert text in str(caught.value)
    with pytest.raises(gpu.ArgumentError, match="signature"):
        gpu.jit("flaot32[:]")(lambda x: None)
    with pytest.raises(gpu.ArgumentTypeError, match="needs a Python function, not 'int'"):
        gpu.jit(3)
    with pytest.raises(gpu.ArgumentTypeError, match="not 'method'"):
        gpu.jit(gpu.device().__repr__)


def test_sixteen_and_more_arguments(device):
    n = 40
    names = ", ".join(f"a{i}" for i in range(n))
    total = " + ".join(f"a{i}" for i in range(n))
    scope = {"gpu": gpu}
    exec(f"def f(out, {names}):\n    out[0] = {total}\n", scope)
    out = gpu.zeros(1, np.int64)
    kernel = gpu.jit(scope["f"])
    kernel[1, 1](out, *range(n))
    assert out.copy_to_host()[0] == sum(range(n))
    kernel[1, 1](out, **{f"a{i}": 2 * i for i in range(n)})
    assert out.copy_to_host()[0] == 2 * sum(range(n))


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}
    )
    return done.returncode, done.stdout, done.stderr


CODE = """
import gpu
@gpu.jit
def f(x):
    x[0] = 1.0
x = gpu.zeros(1)
f[1, 1](x); f[1, 1](x)
print(x.copy_to_host()[0])
"""


def test_the_device_is_announced_once():
    if gpu.is_available():
        pytest.skip("there is a GPU, nothing is announced")
    code, out, err = run(CODE, GPUJIT_DEVICE="")
    assert (code, out) == (0, "1.0\n")
    assert err.count("\n") == 1 and "CPU device" in err
    assert run(CODE, GPUJIT_DEVICE="cpu") == (0, "1.0\n", "")


def test_unknown_devices():
    code, _, err = run("import gpu; gpu.synchronize()", GPUJIT_DEVICE="tpu")
    assert code == 1 and "there is no device 'tpu'" in err


def test_dump_prints_the_stages():
    stages = ["decode", "ssa", "typed", "core", "opt", "llvm"]
    code, _, err = run(CODE, GPUJIT_DEVICE="cpu", GPUJIT_DUMP=",".join(stages))
    assert code == 0
    places = [err.index(f"; {stage}\n") for stage in stages]
    assert places == sorted(places)
    _, _, err = run(CODE, GPUJIT_DEVICE="cpu", GPUJIT_DUMP="ssa")
    assert "; ssa\n" in err and "; decode\n" not in err and "; llvm\n" not in err
    assert "no stage" not in err
    code, _, err = run(CODE, GPUJIT_DEVICE="cpu", GPUJIT_DUMP="ptx,all,")
    assert code == 0 and "GPUJIT_DUMP has no stage 'all'; there are decode, ssa" in err
    assert "'ptx'" not in err and "''" not in err


def test_ctrl_c_stops_a_kernel():
    code = """
import gpu, threading, os, signal, time
@gpu.jit
def forever(x):
    i = 1
    while i != 0:
        i += x[0]
x = gpu.zeros(1, "int64")
forever[1, 1](x)
forever[1, 1](gpu.zeros(1, "int64"))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    gpu.synchronize()
except KeyboardInterrupt:
    print("stopped")
gpu.synchronize()
"""
    assert run(code, GPUJIT_DEVICE="cpu")[:2] == (0, "stopped\n")


def test_any_exception_of_a_signal_stops_a_kernel():
    code = """
import gpu, signal
@gpu.jit
def forever(x):
    i = 1
    while i != 0:
        i += x[0]
def late(number, frame):
    raise TimeoutError("too late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.5)
forever[1, 1](gpu.zeros(1, "int64"))
try:
    gpu.synchronize()
except TimeoutError as error:
    print(error)
gpu.synchronize()
"""
    assert run(code, GPUJIT_DEVICE="cpu")[:2] == (0, "too late\n")


def test_one_host_array_as_two_arguments(device):
    def add(x, y):
        i = gpu.grid(1)
        if i < x.size:
            y[i] += 1
            x[i] *= 10

    x = np.arange(5, dtype=np.float32)
    gpu.jit(add)[1, 8](x, x)
    gpu.synchronize()
    assert np.array_equal(x, [10, 20, 30, 40, 50])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "sqrt.rn.f32 div.rn.f32"),
        ({"prec_div": False}, "sqrt.rn.f32 div.approx.f32"),
        ({"prec_sqrt": False}, "sqrt.approx.f32 div.rn.f32"),
        ({"ftz": True}, "sqrt.rn.ftz.f32 div.rn.ftz.f32"),
        ({"fastmath": True}, "sqrt.approx.ftz.f32 div.approx.ftz.f32"),
        ({"max_registers": 32, "opt_level": 1}, "sqrt.rn.f32 div.rn.f32"),
        ({"fma": False, "lineinfo": True}, "sqrt.rn.f32 div.rn.f32"),
        ({"opt_level": 0, "check": True}, "sqrt.rn.f32 div.rn.f32"),
    ],
)
def test_rounding_options(device, options, expected):
    def f(x, y):
        i = gpu.grid(1)
        if i < x.size:
            y[i] = math.sqrt(x[i]) / y[i]

    kernel = gpu.jit(**options)(f)
    ptx = kernel.ptx("float32[::1], float32[::1]", "sm_90")
    assert " ".join(re.findall(r"(?:sqrt|div)\S*\.f32", ptx)) == expected
    x, y = np.arange(1, 9, dtype=np.float32), np.full(8, 3, np.float32)
    kernel[1, 8](x, y)
    gpu.synchronize()
    np.testing.assert_allclose(y, np.sqrt(x) / 3, rtol=0 if not options else 1e-6)
