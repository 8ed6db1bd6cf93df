"""Launches with arguments bound before, one per element, for types chosen before; how host arrays
travel; that a launch makes no Python object."""

import re
import sys

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


def test_bound_launches(device):
    x, y = gpu.to_device(np.arange(8.0)), gpu.zeros(8)
    launch = saxpy[1, 8].bind(8, 2.0, x, y)
    for _ in range(3):
        assert launch() is None
    assert y.copy_to_host().tolist() == [6.0 * i for i in range(8)]
    launch.set(a=0.5, n=4)
    launch()
    assert y.copy_to_host().tolist() == [6.5 * i if i < 4 else 6.0 * i for i in range(8)]
    assert launch.arguments == (4, 0.5, x, y)
    assert launch.launcher.kernel is saxpy
    assert repr(launch) == "<bound <gpu launcher saxpy[(1,), (8,)]>>"


def test_set_changes_types_and_arrays(device):
    x, y = gpu.ones(4, np.float32), gpu.zeros(4, np.float32)
    launch = saxpy[1, 4].bind(4, 2.0, x, y)
    launch()
    z = gpu.zeros(4)
    launch.set(y=z, a=3)
    launch()
    assert z.copy_to_host().tolist() == [3.0] * 4
    assert y.copy_to_host().tolist() == [2.0] * 4
    with pytest.raises(gpu.ArgumentTypeError, match="argument 3 'x' of saxpy: 'object' cannot"):
        launch.set(a=100, x=object())
    launch()  # as it was
    assert z.copy_to_host().tolist() == [6.0] * 4


def test_bound_defaults_and_keywords(device):
    out = gpu.zeros(4, np.int64)
    launch = store[1, 4].bind(out, scale=3)
    launch()
    assert out.copy_to_host().tolist() == [15] * 4
    launch.set(value=2)
    launch()
    assert out.copy_to_host().tolist() == [6] * 4


def test_a_bound_launch_keeps_its_arrays(device):
    y = gpu.zeros(4, np.int64)
    launch = store[1, 4].bind(y)
    before = sys.getrefcount(y)
    again = store[1, 4].bind(y)
    assert sys.getrefcount(y) == before + 1
    del again
    assert sys.getrefcount(y) == before
    launch()
    assert y.copy_to_host().tolist() == [5] * 4


def test_host_arrays_can_be_bound(device):
    x, y = np.arange(4.0), np.zeros(4)
    launch = saxpy[1, 4].bind(4, 2.0, x, y)
    launch()
    x[:] = 1
    launch()
    assert y.tolist() == [2, 4, 6, 8]


def test_guards_hold_for_bound_launches(device):
    scope = {"gpu": gpu, "factor": 2}
    exec("def f(out):\n    out[gpu.grid(1)] = factor\n", scope)
    out = gpu.zeros(2, np.int64)
    launch = gpu.jit(scope["f"])[1, 2].bind(out)
    launch()
    assert out.copy_to_host().tolist() == [2, 2]
    scope["factor"] = 7
    launch()
    assert out.copy_to_host().tolist() == [7, 7]


def test_wrong_use_of_bound_launches(device):
    out = gpu.zeros(4, np.int64)
    with pytest.raises(gpu.ArgumentTypeError, match=r"store\(\) takes 1 to 2 arguments, 0 given"):
        store[1, 4].bind()
    with pytest.raises(gpu.ArgumentTypeError, match="argument 'size' of store: there is no such"):
        store[1, 4].bind(out, size=3)
    launch = store[1, 4].bind(out)
    for wrong in (lambda: launch(out), lambda: launch(value=3)):
        with pytest.raises(gpu.LaunchError, match="called without arguments"):
            wrong()
    with pytest.raises(gpu.LaunchError, match="set takes arguments by name"):
        launch.set(3)
    with pytest.raises(gpu.ArgumentTypeError, match="argument 'size' of store: there is no such"):
        launch.set(size=3)
    with pytest.raises(gpu.ArgumentTypeError, match="BoundLaunch cannot be pickled"):
        launch.__reduce__()


def test_read_only_arrays_are_refused_when_they_are_bound(device):
    x = np.zeros(4)
    x.flags.writeable = False
    with pytest.raises(gpu.ArgumentTypeError, match="argument 1 'out' of store: the array is read"):
        store[1, 4].bind(x)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
@pytest.mark.parametrize("how", [{}, {"tpb": 32}, {"tpb": 0}, {"block": 64}, {"stream": 0},
                                 {"sharedmem": 16}])  # fmt: skip
def test_forall(device, n, how):
    x, y = gpu.ones(1000), gpu.zeros(1000)
    saxpy.forall(n, **how)(n, 2.0, x, y)
    assert y.copy_to_host().tolist() == [2.0] * n + [0.0] * (1000 - n)


def test_forall_as_numba_has_it(device):
    launcher = saxpy.forall(100, 32, 0, 64)
    assert (launcher.grid, launcher.block, launcher.shared_bytes) == ((4,), (32,), 64)


def test_forall_keeps_to_the_kernels_limit(device):
    kernel = gpu.jit(launch_bounds=64)(saxpy.py_func)
    x, y = gpu.ones(1000), gpu.zeros(1000)
    kernel.forall(1000)(1000, 2.0, x, y)
    assert y.copy_to_host().tolist() == [2.0] * 1000
    with pytest.raises(gpu.LaunchError, match="128 threads"):
        kernel.forall(1000, tpb=128)(1000, 2.0, x, y)


@pytest.mark.parametrize(
    "how", [{"n": -1}, {"n": 1, "tpb": -1}, {"n": 1, "block": 0}, {"n": 1, "sharedmem": -1}]
)
def test_wrong_forall(how):
    with pytest.raises(gpu.LaunchError, match="forall needs"):
        saxpy.forall(**how)


def test_specialize(device):
    y = gpu.zeros(4, np.float32)
    kernel = saxpy.specialize(4, 2.0, y, y)
    assert kernel.declared == ("int, float, float32[::1], float32[::1]",)
    assert kernel.signatures == ["int, float, float32[::1], float32[::1]"]
    kernel[1, 4](4, 1.0, gpu.ones(4, np.float32), y)
    assert y.copy_to_host().tolist() == [1.0] * 4
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature"):
        kernel[1, 4](4, 1.0, gpu.ones(4), y)
    text = saxpy.specialize("int, float, float64[:], float64[:]")
    assert text.signatures == ["int, float, float64[:], float64[:]"]
    assert saxpy.specialize.__doc__


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (lambda: (1, gpu.zeros((4, 4), np.float32)[:, ::2]),
         r"argument 2 'x' is float32\[:, :\], declared is float32\[:, ::1\]; pass a contiguous copy"),
        (lambda: (1, np.zeros((4, 4))), r"2 'x' is float64\[:, ::1\], declared is float32.*x.astype"),
        (lambda: (1, np.zeros((4, 4, 4), np.float32)), "argument 2 'x' is .*; reshape it"),
        (lambda: (1, 2), r"argument 2 'x' is int, declared is float32\[:, ::1\]; pass an array"),
    ],
)  # fmt: skip
def test_what_keeps_arguments_from_a_signature(device, arguments, text):
    declared_at_once = gpu.jit(signature="int, float32[:, ::1]")(lambda n, x: None)
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature") as caught:
        declared_at_once[1, 1](*arguments())
    assert re.search(text, str(caught.value)), caught.value
    assert re.search(text, caught.value.hint)


def test_the_nearest_signature_is_meant(device):
    kernel = gpu.jit(signature=["int, float32[:]", "int, int, float32[:]"])(lambda *args: None)
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature"):
        kernel[1, 1](1.5, np.zeros(1, np.float32))
    kernel = gpu.jit(signature=["float32[:], int", "int, float32[:]"])(lambda a, b: None)
    with pytest.raises(gpu.ArgumentTypeError, match="argument 2 'b' is float64"):
        kernel[1, 1](1, np.zeros(1))


def test_wrong_specialize():
    with pytest.raises(gpu.ArgumentTypeError, match="takes 4 arguments, 1 given"):
        saxpy.specialize(4)
    with pytest.raises(gpu.ArgumentTypeError, match="argument 2 'a' of saxpy: functions, dtypes"):
        saxpy.specialize(4, abs, gpu.zeros(1), gpu.zeros(1))
    with pytest.raises(gpu.ArgumentError, match="signature"):
        saxpy.specialize("int, float")
    with pytest.raises(gpu.LaunchError, match="device function"):
        gpu.jit(device=True)(saxpy.py_func).specialize(1)


@gpu.jit
def double(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] = 2 * x[i] + 1


def test_in_is_not_copied_back(device):
    x = np.arange(4.0)
    double[1, 4](gpu.In(x))
    gpu.synchronize()
    assert x.tolist() == [0, 1, 2, 3]
    double[1, 4](gpu.InOut(x))
    assert x.tolist() == [1, 3, 5, 7]


def test_in_may_be_read_only(device):
    x = np.arange(4.0)
    x.flags.writeable = False
    double[1, 4](gpu.In(x))
    with pytest.raises(gpu.ArgumentTypeError, match="the array is read-only"):
        double[1, 4](gpu.Out(x))


@pytest.mark.parametrize("step", [1, 2, -1])
def test_out(device, step):
    y = np.full(8, -1, np.int64)
    store[1, 8](gpu.Out(y[::step]))
    expected = np.full(8, -1, np.int64)
    expected[::step] = 5
    assert y.tolist() == expected.tolist()


def test_the_same_array_in_and_out(device):
    x = np.arange(4.0)
    saxpy[1, 4](4, 2.0, gpu.In(x), gpu.Out(x.copy()))
    saxpy[1, 4](4, 0.0, np.ones(4), gpu.InOut(x))
    assert x.tolist() == [0, 1, 2, 3]


def test_transfers_of_device_arrays_say_nothing(device):
    y = gpu.zeros(4)
    for wrap in (gpu.In, gpu.Out, gpu.InOut):
        double[1, 4](wrap(y))
    assert y.copy_to_host().tolist() == [7.0] * 4
    assert gpu.In(y).array is y
    assert repr(gpu.Out(3)) == "gpu.Out(3)"


def test_transfers_take_arrays(device):
    with pytest.raises(
        gpu.ArgumentTypeError, match="argument 1 'x' of double: gpu.In, gpu.Out and"
    ):
        double[1, 4](gpu.In(3))
    with pytest.raises(TypeError):
        gpu.In()


def test_elements_that_share_memory(device):
    shared = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))
    x, y = np.ones(4), np.zeros(4)
    saxpy[1, 4](4, 2.0, shared, y)
    with pytest.raises(gpu.ArgumentTypeError, match="argument 4 'y' of saxpy: elements of the arr"):
        saxpy[1, 4](4, 2.0, x, shared)
    one = np.lib.stride_tricks.as_strided(np.zeros(1), (1,), (0,))
    saxpy[1, 4](1, 2.0, x, one)
    assert one[0] == 2.0
    double[1, 4](gpu.In(shared))  # each has a copy of its own
    assert shared[0] == 0


def blocks_of(launch, rounds=1000):
    """Python's memory blocks that so many launches leave, the least of a few tries."""
    least = []
    for _ in range(5):
        before = sys.getallocatedblocks()
        for _ in range(rounds):
            launch()
        least.append(sys.getallocatedblocks() - before)
        gpu.synchronize()
    return min(least)


def test_launches_make_no_objects(device):
    x, y = gpu.zeros(4), gpu.zeros(4)
    kept, bound = saxpy[1, 4], saxpy[1, 4].bind(4, 2.0, x, y)
    for launch in (lambda: kept(4, 2.0, x, y), bound, lambda: kept(4, 2.0, x=x, y=y)):
        launch()
        assert blocks_of(launch) <= 2  # what the loop itself has


def test_a_closed_stream(device):
    out = gpu.zeros(4, np.int64)
    stream = gpu.stream()
    kept = store[1, 4, stream]
    kept(out)
    stream.close()
    with pytest.raises(gpu.Error, match="the stream was closed"):
        kept(out)
