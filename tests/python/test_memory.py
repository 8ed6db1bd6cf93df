"""Memory: the pool as programs see it, host arrays that kernels use in place, allocators."""

import ctypes
import gc
import pickle
import threading
import weakref

import gpu
import numpy as np
import pytest


@gpu.jit
def double(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] = x[i] * 2


@gpu.jit
def spin(x, n):
    """Takes its time."""
    i = gpu.grid(1)
    acc = x[i]
    for k in range(n):
        acc = acc * 0.999 + k
    x[i] = acc


def test_numbers(memory):
    gc.collect()
    gpu.memory.trim()
    before = gpu.memory.stats()
    x = gpu.empty(1000, np.float32)
    after = gpu.memory.stats()
    assert after.blocks == before.blocks + 1
    assert 4000 <= after.in_use - before.in_use <= 4096
    assert after.reserved >= after.in_use
    assert after.hits + after.misses == before.hits + before.misses + 1
    gpu.memory.reset_peak()
    y = gpu.empty(1 << 20, np.float64)
    peak = gpu.memory.stats().in_use
    del y
    assert gpu.memory.stats().peak_in_use == peak >= 8 << 20
    gpu.synchronize()
    assert gpu.memory.trim() >= 8 << 20
    assert gpu.memory.trim() == 0
    del x
    free, total = gpu.get_memory_info()
    assert 0 < free <= total
    info = gpu.memory.info()
    assert info == gpu.MemoryInfo(info.free, total) and info.total == total and len(info) == 2
    copy = pickle.loads(pickle.dumps(gpu.memory.stats()))
    assert isinstance(copy, gpu.memory.Stats) and copy == gpu.memory.stats()
    assert copy._asdict()["blocks"] == copy.blocks and f"blocks={copy.blocks}," in repr(copy)
    assert gpu.current_context().get_memory_info().total == total
    for wrong in ("gpu", 0, None):
        with pytest.raises(gpu.ArgumentError, match="kind is 'device'"):
            gpu.memory.stats(wrong)
    for call in (gpu.memory.trim, gpu.memory.set_limit):
        with pytest.raises(gpu.ArgumentError, match="bytes from 0"):
            call(-1)


def test_cycles_reach_no_driver(memory):
    """After the first round everything comes out of the pool."""
    sizes = [10, 1000, 50_000, 1 << 20]
    for n in sizes:
        gpu.empty(n, np.uint8)
    gpu.synchronize()
    before = gpu.memory.stats()
    for _ in range(25_000):
        for n in sizes:
            gpu.empty(n, np.uint8)
    after = gpu.memory.stats()
    assert after.driver_allocations == before.driver_allocations
    assert after.driver_frees == before.driver_frees
    assert after.misses == before.misses and after.hits == before.hits + 100_000
    assert (after.in_use, after.blocks) == (before.in_use, before.blocks)


def test_driver_is_not_called(fake, fake_calls):
    """Not even to ask about events: the stand-in counts every call."""
    gpu.empty(1000)
    before = fake_calls()
    for _ in range(1000):
        gpu.empty(1000)
    assert fake_calls() == before


@pytest.fixture
def fake_calls(fake):
    import os

    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_cuda_calls.restype = ctypes.c_int
    return library.fake_cuda_calls


def test_memory_under_a_running_kernel(device):
    """Freed memory is not given to the host or to anybody else while a kernel writes it."""
    for _ in range(20):
        x = gpu.to_device(np.zeros(4096))
        spin[16, 256](x, 2000)
        address = x.address
        del x
        y = gpu.zeros(4096)
        if gpu.device().kind == "cpu":
            assert y.address != address or not gpu.memory.stats().pending
        assert not y.copy_to_host().any()


def test_launches_leak_nothing(device):
    x = gpu.zeros(256)
    launcher = double[1, 256]
    launcher(x)
    gpu.synchronize()
    before = gpu.memory.stats()
    for _ in range(20_000):
        launcher(x)
    gpu.synchronize()
    assert gpu.memory.stats() == before


def test_streams(device):
    """Each stream writes what it has got; nobody else's values come up."""
    streams = [None, gpu.stream(), gpu.stream(), 0]
    for round_ in range(50):
        arrays = []
        for number, stream in enumerate(streams):
            x = gpu.to_device(np.full(1000, number + 1.0), stream=stream)
            double[4, 256, stream or 0](x)
            arrays.append(x)
        for number, (x, stream) in enumerate(zip(arrays, streams, strict=True)):
            assert (x.copy_to_host(stream=stream) == 2.0 * (number + 1)).all(), round_
        streams[1] = gpu.stream()  # the old one is destroyed, its memory comes back


def test_threads(device):
    wrong = []

    def work(number):
        stream = gpu.stream()
        for k in range(100):
            x = gpu.to_device(np.full(100 * (k % 7 + 1), float(number)), stream=stream)
            double[3, 256, stream](x)
            if not (x.copy_to_host(stream=stream) == 2.0 * number).all():
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_limit(memory):
    gc.collect()
    gpu.synchronize()
    gpu.memory.trim()
    reserved = gpu.memory.stats().reserved
    gpu.memory.set_limit(reserved + (32 << 20))
    assert gpu.memory.get_limit() == reserved + (32 << 20)
    try:
        x = gpu.empty(24 << 20, np.uint8)
        with pytest.raises(MemoryError, match="its limit is") as caught:
            gpu.empty(24 << 20, np.uint8)
        assert isinstance(caught.value, gpu.Error) and caught.value.code == "NO_MEMORY"
        assert "in arrays, the pool keeps" in str(caught.value)
        del x, caught
        gc.collect()
        gpu.empty(24 << 20, np.uint8)
        holder = [gpu.empty(24 << 20, np.uint8)]
        holder.append(holder)  # only the collector finds it
        del holder
        gpu.empty(28 << 20, np.uint8)
    finally:
        gpu.memory.set_limit(0)
    assert gpu.memory.get_limit() == 0


def test_too_much(memory):
    total = max(gpu.get_memory_info()[1], 1 << 40)
    with pytest.raises(MemoryError, match=f"{8 * total} bytes of .* memory cannot be had"):
        gpu.empty(total, np.float64)


def test_defer_cleanup(memory):
    gpu.empty(5000)
    with gpu.defer_cleanup():
        with gpu.defer_cleanup():
            x = gpu.empty(50_000)
            address = x.address
            del x
        assert gpu.empty(50_000).address != address
        pending = gpu.memory.stats().pending
        assert pending >= 400_000
    gpu.synchronize()
    gpu.empty(5000)
    assert gpu.memory.stats().pending < pending


MAKERS = [gpu.pinned_array, gpu.mapped_array, gpu.managed_array]


@pytest.mark.parametrize("make", MAKERS)
def test_host_arrays(memory, make):
    x = make((3, 5), np.int16)
    assert isinstance(x, np.ndarray) and x.shape == (3, 5) and x.flags.c_contiguous
    assert x.dtype == np.int16 and x.flags.writeable
    x[:] = np.arange(15).reshape(3, 5)
    assert (gpu.to_device(x).copy_to_host() == x).all()
    f = make((3, 5), order="F")
    assert f.flags.f_contiguous and f.dtype == np.float64 and f.strides == (8, 24)
    assert make(7, gpu.float32).shape == (7,) and make(0).size == 0 and make((), np.int8).ndim == 0
    assert make(4, np.int32, strides=(4,)).strides == (4,)
    with pytest.raises(gpu.ArgumentError, match="strides"):
        make(4, np.int32, strides=(8,))
    with pytest.raises(gpu.ArgumentError, match="order"):
        make(4, order="K")
    with pytest.raises(gpu.ArgumentError, match="negative"):
        make(-1)
    y = make(4)
    with pytest.raises(gpu.ArgumentError, match="when nothing refers"):
        np_base(y).unlock()


def np_base(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    base = array.base
    return base.obj if isinstance(base, memoryview) else base


@pytest.mark.parametrize("make", MAKERS)
def test_kernels_use_host_arrays(device, make):
    x = make(1000)
    x[:] = np.arange(1000)
    double[4, 256](x)
    gpu.synchronize()
    assert (x == 2.0 * np.arange(1000)).all()
    double[4, 256](x[::-2])
    gpu.synchronize()
    assert (x[1::2] == 4.0 * np.arange(1000)[1::2]).all()
    assert (x[::2] == 2.0 * np.arange(1000)[::2]).all()
    del x
    for _ in range(50):  # freed at once, while the kernel runs
        y = make(1000)
        y[:] = 1
        double[4, 256](y)
        del y
    gpu.synchronize()


@pytest.mark.parametrize("make", MAKERS)
def test_host_arrays_come_back_to_the_pool(memory, make):
    kind = "managed" if make is gpu.managed_array else "host"
    make(3000)
    before = gpu.memory.stats(kind)
    for _ in range(1000):
        make(3000)
    after = gpu.memory.stats(kind)
    assert after.driver_allocations == before.driver_allocations and after.blocks == before.blocks
    assert after.hits == before.hits + 1000
    view = make(3000)[10:20]
    gc.collect()
    assert gpu.memory.stats(kind).blocks == before.blocks + 1
    view[:] = 1
    del view
    assert gpu.memory.stats(kind).blocks == before.blocks


def test_launch_copies_no_host_array(fake):
    """The stand-in runs no kernels, but it is given the host's own addresses."""
    scope = {"gpu": gpu}
    exec("def entry(x, y):\n    y[gpu.grid(1)] = x[gpu.grid(1)]\n", scope)
    f = gpu.jit(scope["entry"])
    x, y = gpu.mapped_array(8), gpu.managed_array(8)
    f[200, 8](x, y)
    before = gpu.memory.stats()
    f[200, 4](x[::2], y[4:])
    z = gpu.pinned_array(8)
    f[200, 8](x, z)
    assert gpu.memory.stats() == before
    assert "float64[:]" in f.signatures[1]
    f[200, 4](np.zeros(4), y)
    assert gpu.memory.stats() != before


def test_pinned_and_mapped_for_a_time(device):
    x, y = np.arange(1000.0), np.ones((20, 30), np.float32)
    with gpu.pinned(x, y):
        double[4, 256](x)
        assert (x == 2.0 * np.arange(1000)).all()
    with gpu.mapped(x) as dx:
        assert isinstance(dx, gpu.Array) and dx.shape == x.shape
        double[4, 256](dx)
        gpu.synchronize()
        assert (x == 4.0 * np.arange(1000)).all()
    with gpu.mapped(x[:0], y) as both:
        assert [a.shape for a in both] == [(0,), (20, 30)]
    with gpu.pinned(x):
        pass
    with pytest.raises(ValueError, match="contiguous"), gpu.pinned(x[::2]):
        pass
    with gpu.pinned(x):  # what failed has left nothing locked
        pass


def test_locked_twice(fake):
    x = np.zeros(100)
    with (
        gpu.pinned(x),
        pytest.raises(gpu.Error, match="cuMemHostRegister") as caught,
        gpu.mapped(x),
    ):
        pass
    assert caught.value.code == "DRIVER_FAILED"
    assert "pinned_array" in str(caught.value)


class Allocator:
    """Memory by ctypes; says what it was asked for."""

    def __init__(self):
        self.buffers, self.calls = {}, []

    def allocate(self, nbytes, device, stream):
        buffer = ctypes.create_string_buffer(nbytes + 256)
        address = (ctypes.addressof(buffer) + 255) // 256 * 256
        self.buffers[address] = buffer
        self.calls.append(("allocate", nbytes, device))
        return address

    def free(self, address, nbytes, device, stream):
        del self.buffers[address]
        self.calls.append(("free", nbytes, device))


@pytest.fixture
def allocator():
    made = Allocator()
    gpu.memory.set_allocator(made.allocate, made.free)
    yield made
    gpu.memory.set_allocator(None)
    gpu.synchronize()


def test_allocator(allocator):
    assert gpu.memory.get_allocator() == (allocator.allocate, allocator.free)
    before = gpu.memory.stats()
    x = gpu.to_device(np.arange(1000.0))
    y = x[::2]
    assert allocator.calls == [("allocate", 8000, 0)]
    assert x.address in allocator.buffers
    double[4, 256](y)
    del x
    assert len(allocator.buffers) == 1
    assert (y.copy_to_host() == 2.0 * np.arange(0, 1000, 2)).all()
    del y
    gpu.synchronize()
    assert allocator.calls[1:] == [("free", 8000, 0)] and not allocator.buffers
    gpu.empty(0)
    assert len(allocator.calls) == 2 and gpu.memory.stats() == before
    gpu.memory.set_allocator(None)
    assert gpu.memory.get_allocator() is None
    gpu.empty(10)
    assert len(allocator.calls) == 2


def test_allocator_frees_after_the_kernel(allocator):
    kept = 0
    for _ in range(10):
        x = gpu.to_device(np.ones(4096))
        spin[16, 256](x, 20_000)
        address = x.address
        del x
        kept += address in allocator.buffers
    assert kept  # unless every kernel was faster than that
    gpu.synchronize()
    gpu.empty(1)
    assert len([c for c in allocator.calls if c[0] == "free"]) >= 10


def test_bad_allocators():
    for wrong in ((1, 2), (print, None), (None, print)):
        if wrong[0] is None:
            gpu.memory.set_allocator(*wrong)
            assert gpu.memory.get_allocator() is None
            continue
        with pytest.raises(gpu.ArgumentError, match="two functions"):
            gpu.memory.set_allocator(*wrong)
    answers = [ZeroDivisionError, "x", 0, 8, None]
    try:
        for answer in answers:

            def allocate(nbytes, device, stream, answer=answer):
                if isinstance(answer, type):
                    raise answer
                return answer

            gpu.memory.set_allocator(allocate, lambda *_: None)
            expected = answer if isinstance(answer, type) else (TypeError, gpu.ArgumentError)
            with pytest.raises(expected):
                gpu.empty(10)
    finally:
        gpu.memory.set_allocator(None)


def test_memory_manager(allocator):
    """numba's names: the memory is freed with the pointer object."""

    class Manager(gpu.memory.HostOnlyCUDAMemoryManager):
        started = 0

        def initialize(self):
            type(self).started += 1

        def memalloc(self, size):
            address = allocator.allocate(size, 0, 0)
            return gpu.memory.MemoryPointer(
                self.context,
                ctypes.c_uint64(address),
                size,
                finalizer=lambda: allocator.free(address, size, 0, 0),
            )

    gpu.set_memory_manager(Manager)
    x = gpu.to_device(np.arange(10.0))
    y = gpu.zeros(20)
    assert Manager.started == 1 and len(allocator.buffers) == 2
    assert x.copy_to_host().sum() == 45 and not y.copy_to_host().any()
    del x, y
    gpu.synchronize()
    gc.collect()
    assert not allocator.buffers
    gpu.set_memory_manager(None)
    assert gpu.memory.get_allocator() is None
    with pytest.raises(gpu.ArgumentError, match="memalloc"):
        gpu.set_memory_manager(object)

    class Newer(Manager):
        interface_version = 2

    with pytest.raises(gpu.ArgumentError, match="interface_version"):
        gpu.set_memory_manager(Newer)


def test_memory_of_others_outlives_the_launch():
    """as_gpu_array of what is freed while the kernel runs."""
    for _ in range(10):
        x = gpu.as_gpu_array(np.ones(1 << 16))
        spin[256, 256](x, 500)
        del x
    gpu.synchronize()


def test_fills_and_copies_on_other_streams(device):
    """An array is dropped while a stream that is not its own still writes or reads it."""
    streams = [gpu.stream() for _ in range(4)]
    for round_ in range(50):
        x, s = gpu.zeros(100_000, np.int32), streams[round_ % 4]
        x.fill(7, stream=s)
        y = gpu.empty(100_000, np.int32)
        y.copy_to_device(x, stream=s)
        del x
        z = gpu.full(100_000, 1, np.int32)
        s.synchronize()
        assert (y.copy_to_host() == 7).all() and (z.copy_to_host() == 1).all()


def test_streams_of_others_are_kept(fake):
    """Until the memory is freed, which asks the stream."""

    class Stream:
        def __init__(self):
            self.mine = gpu.stream()

        def __cuda_stream__(self):
            return (0, self.mine.handle)

    scope = {"gpu": gpu}
    exec("def entry(x):\n    x[gpu.grid(1)] = 1\n", scope)
    f, s = gpu.jit(scope["entry"]), Stream()
    alive = weakref.ref(s)
    x, y = gpu.to_device(np.zeros(4)), gpu.empty(4, stream=s)
    f[200, 4, s](x[1:])
    del s
    gc.collect()
    assert alive() is not None
    del x
    assert alive() is not None
    del y, f
    gc.collect()
    assert alive() is None
