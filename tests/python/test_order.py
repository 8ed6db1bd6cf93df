"""In which stream a launch runs, and what waits for what, with arrays of other libraries: against
the stand-in for the driver, which notes it."""

import ctypes
import os
import sys
import types
import weakref

import gpu
import numpy as np
import pytest
from test_leaks import resident_B

SIDE, OTHER = 0x7700, 0x7800


def kernel(source):
    scope = {"gpu": gpu}
    exec(source, scope)
    return gpu.jit(scope["entry"])


COPY = kernel("def entry(x, y):\n    i = gpu.grid(1)\n    y[i] = x[i]\n")


@pytest.fixture
def notes(fake):
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_take_notes.restype = ctypes.c_char_p
    library.fake_take_notes()
    return lambda: library.fake_take_notes().decode().strip("; ").split("; ")


class Interface:
    """An array by __cuda_array_interface__, on a stream."""

    def __init__(self, stream, n=4):
        self.memory, self.stream = gpu.zeros(n), stream

    @property
    def __cuda_array_interface__(self):
        return {**self.memory.__cuda_array_interface__, "stream": self.stream}


class Tensor:
    """An array by __dlpack__; it notes for which stream it was asked."""

    def __init__(self):
        self.memory, self.asked = gpu.zeros(4), []

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None, max_version=None):
        self.asked.append(stream)
        return self.memory.__dlpack__(stream=-1, max_version=max_version)


def test_the_stream_of_all_arrays_is_taken(notes):
    COPY[1, 4](Interface(SIDE), Interface(SIDE))
    assert notes() == [f"l {SIDE:#x}"]
    COPY[1, 4](Interface(None), Interface(SIDE))  # the first is ready
    assert notes() == [f"l {SIDE:#x}"]


@pytest.mark.parametrize("stream", [None, 1])
def test_the_default_stream(notes, stream):
    COPY[1, 4](Interface(stream), Interface(stream))
    COPY[1, 4](Interface(stream), gpu.zeros(4))
    assert notes() == ["l 0x0", "l 0x0"]


def test_the_streams_of_threads_and_others_are_ordered_both_ways(notes):
    COPY[1, 4](Interface(2), gpu.zeros(4))
    assert notes() == ["w 0x2 0x0", "l 0x0", "w 0x0 0x2"]
    COPY[1, 4](Interface(SIDE), Interface(OTHER))
    assert notes() == [
        f"w {SIDE:#x} 0x0", f"w {OTHER:#x} 0x0", "l 0x0", f"w 0x0 {SIDE:#x}", f"w 0x0 {OTHER:#x}",
    ]  # fmt: skip


def test_a_stream_that_was_named_is_kept(notes):
    COPY[1, 4, OTHER](Interface(SIDE), Interface(SIDE))  # two arrays of one stream: once
    assert notes() == [f"w {SIDE:#x} {OTHER:#x}", f"l {OTHER:#x}", f"w {OTHER:#x} {SIDE:#x}"]
    COPY[1, 4, SIDE](Interface(SIDE), Interface(SIDE))
    assert notes() == [f"l {SIDE:#x}"]
    COPY[1, 4, gpu.default_stream()](Interface(SIDE), Interface(SIDE))
    assert notes()[0] == f"w {SIDE:#x} 0x0"


def test_bound_launches_ask_for_the_stream_again(notes):
    x = Interface(SIDE)
    launch = COPY[1, 4].bind(x, x)
    launch()
    x.stream = OTHER
    launch()
    assert notes() == [f"l {SIDE:#x}", f"l {OTHER:#x}"]


def test_host_arrays_follow(notes):
    COPY[1, 4](np.zeros(4), Interface(SIDE))
    assert notes()[-1] == f"l {SIDE:#x}"


@pytest.mark.parametrize(("stream", "asked"), [(None, 1), (2, 2), (SIDE, SIDE)])
def test_dlpack_is_asked_for_the_launch_stream(notes, stream, asked):
    x = Tensor()
    COPY[1, 4, stream](x, gpu.zeros(4))
    assert x.asked == [asked]
    assert notes()[-1] == f"l {stream or 0:#x}"


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_memory_stays_until_the_streams_of_launches_are_done(fake, used, bound):
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    x, stream = gpu.zeros(1000), gpu.stream()
    gpu.synchronize()
    library.fake_set_busy(1)
    try:
        if used and bound:
            COPY[1, 4, stream].bind(x[::2], x)()
        elif used:
            COPY[1, 4, stream](x[::2], x)
        address = x.address
        del x
        assert (gpu.empty(1000).address == address) is not used
    finally:
        library.fake_set_busy(0)


def test_a_new_stream_at_the_handle_of_an_old_one_is_another(fake):
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    x, y, first = gpu.zeros(1000), gpu.zeros(1000), gpu.stream()
    made = gpu.empty(1000, stream=first)
    COPY[1, 4, first](x, made)
    handle = first.handle
    gpu.synchronize()
    first.close()
    library.fake_set_reuse(1)
    second, addresses = gpu.stream(), {x.address, made.address}
    library.fake_set_reuse(0)
    assert second.handle == handle
    COPY[1, 4, second](y, y)
    library.fake_set_busy(1)
    try:
        COPY[1, 4, second](x, made)
        del x, made
        assert not {gpu.empty(1000).address, gpu.empty(1000).address} & addresses
    finally:
        library.fake_set_busy(0)


def test_an_array_keeps_one_stream_of_each_handle(fake):
    """Torch makes an object whenever it is asked for its current stream."""

    class Theirs:
        def __init__(self, handle):
            self.handle = handle

        def __cuda_stream__(self):
            return 0, self.handle

    x, kept = gpu.zeros(4), []
    for n in range(60):
        stream = Theirs(0x770 + n % 3)
        kept.append(weakref.ref(stream))
        COPY[1, 4, stream](x, x)
        del stream
    assert sum(k() is not None for k in kept) == 3
    del x
    assert not any(k() for k in kept)


def test_arrays_that_outlive_streams_keep_nothing_of_them(fake):
    x = gpu.zeros(4)

    def once():
        with gpu.stream():
            COPY[1, 4](x, x)

    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_set_reuse(1)  # it remembers every handle else
    try:
        for _ in range(2000):
            once()
        before = resident_B()
        for _ in range(30000):
            once()
    finally:
        library.fake_set_reuse(0)
    assert resident_B() - before < 500_000


class MemoryPointer:
    def __init__(self, memory):
        self.memory, self.ptr, self.device_id = memory, memory.address, 0


@pytest.fixture
def cupy(monkeypatch):
    """A module that looks like CuPy where gpu looks."""
    stream_type = ctypes.CFUNCTYPE(ctypes.c_ssize_t)
    name = ctypes.create_string_buffer(b"intptr_t (void)")
    module, stream = types.ModuleType("cupy"), types.ModuleType("cupy_backends.cuda.stream")
    function = stream_type(lambda: module.current)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    address = ctypes.cast(function, ctypes.c_void_p)
    stream.__pyx_capi__ = {"get_current_stream_ptr": new(address, name, None)}

    class ndarray:  # noqa: N801
        asked = 0

        def __init__(self, array, shape=None, strides=None):
            self.data, self.dtype = MemoryPointer(array), array.dtype
            self.shape = array.shape if shape is None else shape
            self.strides = array.strides if strides is None else strides
            self._c_contiguous = strides is None

        @property
        def __cuda_array_interface__(self):
            type(self).asked += 1
            memory = self.data.memory.__cuda_array_interface__
            return {**memory, "shape": self.shape, "strides": self.strides,
                    "typestr": self.dtype.str, "stream": module.current or 1}  # fmt: skip

    module.ndarray, module.current, module.keep = ndarray, 0, (function, name)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.stream", stream)
    return module


def test_arrays_of_cupy(notes, cupy):
    x, y = cupy.ndarray(gpu.zeros(4)), cupy.ndarray(gpu.zeros(4))
    COPY[1, 4](x, y)
    cupy.current = SIDE
    COPY[1, 4](x, y)
    COPY[1, 4](x, gpu.zeros(4))
    assert notes() == ["l 0x0", f"l {SIDE:#x}", f"w {SIDE:#x} 0x0", "l 0x0", f"w 0x0 {SIDE:#x}"]
    assert cupy.ndarray.asked == 0
    assert COPY.signatures == [*COPY.signatures] and "float64[::1], float64[::1]" in COPY.signatures


def test_views_and_dtypes_of_cupy(notes, cupy):
    copy = gpu.jit(COPY.py_func)
    strided = cupy.ndarray(gpu.zeros(8, np.float32), (4,), (8,))
    copy[1, 4](strided, cupy.ndarray(gpu.zeros(4, np.int8)))
    copy[1, 4](cupy.ndarray(gpu.zeros((2, 2)), (4,)), strided)
    assert sorted(copy.signatures) == ["float32[:], int8[::1]", "float64[::1], float32[:]"]
    complex_array = cupy.ndarray(gpu.zeros(4))
    complex_array.dtype = np.dtype("c16")
    with pytest.raises(
        gpu.ArgumentTypeError, match="1 'x' of entry: elements of type 'complex128'"
    ):
        copy[1, 4](complex_array, strided)
    other = cupy.ndarray(gpu.zeros(4))
    other.data.device_id = 1
    with pytest.raises(gpu.ArgumentTypeError, match="is in the memory of cuda:1") as caught:
        copy[1, 4](other, strided)
    assert "gpu.select_device" in str(caught.value)


def test_what_only_looks_like_cupy(notes, cupy):
    class Subclass(cupy.ndarray):
        pass

    COPY[1, 4](Subclass(gpu.zeros(4)), gpu.zeros(4))  # by the protocol
    broken = cupy.ndarray(gpu.zeros(4))
    del broken.data
    with pytest.raises(gpu.ArgumentTypeError, match="1 'x' of entry: 'ndarray' cannot be passed"):
        COPY[1, 4](broken, gpu.zeros(4))
    assert Subclass.asked == 1


def test_a_profiler_is_told(notes):
    gpu.profile_start()
    COPY[1, 4](*[gpu.zeros(4)] * 2)
    gpu.profile_stop()
    assert notes() == ["p 0x1", "l 0x0", "p 0x0"]
    with pytest.raises(KeyError), gpu.profiling():
        raise KeyError
    assert notes() == ["p 0x1", "p 0x0"]


CLOSED = {
    "launch": lambda s, x: COPY[1, 4, s](x, x),
    "bind": lambda s, x: COPY[1, 4, s].bind(x, x)(),
    "empty": lambda s, x: gpu.empty(4, stream=s),
    "zeros": lambda s, x: gpu.zeros(4, stream=s),
    "to_device": lambda s, x: gpu.to_device(np.zeros(4), stream=s),
    "copy_to_host": lambda s, x: x.copy_to_host(stream=s),
    "fill": lambda s, x: x.fill(1, stream=s),
    "item": lambda s, x: x.getitem(0, stream=s),
    "copy": lambda s, x: x.copy(stream=s),
    "record": lambda s, x: gpu.event().record(s),
    "wait": lambda s, x: recorded().wait(s),
    "synchronize": lambda s, x: s.synchronize(),
    "query": lambda s, x: s.query(),
    "callback": lambda s, x: s.add_callback(print),
    "enter": lambda s, x: s.__enter__(),
    "graph": lambda s, x: gpu.graph(s).__enter__(),
}


def recorded():
    event = gpu.event()
    event.record()
    return event


@pytest.mark.parametrize("use", CLOSED)
def test_the_driver_never_sees_a_closed_stream(fake, use):
    """Its handle is freed memory to the real one; the stand-in ends the process."""
    x, s = gpu.zeros(4), gpu.stream()
    kept = COPY[1, 4, s]
    kept(x, x)
    s.close()
    with pytest.raises(gpu.Error, match="closed"):
        CLOSED[use](s, x)
    with pytest.raises(gpu.Error, match="closed"):
        kept(x, x)
