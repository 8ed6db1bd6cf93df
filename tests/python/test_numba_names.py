"""Programs of numba.cuda: its spellings of what has another name here."""

import gpu as cuda
import numpy as np
import pytest


@cuda.jit
def add(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += n


def test_configure(device):
    x = cuda.to_device(np.zeros(100))
    add.configure(4, 32)(x, 1)
    add.configure(griddim=(4, 1), blockdim=32, stream=cuda.stream(), sharedmem=64)(x, 2)
    assert (x.copy_to_host() == 3).all()
    launcher = add.configure(2, (8, 4), 0, 16)
    assert (launcher.grid, launcher.block) == ((2,), (8, 4))
    assert (launcher.stream, launcher.shared_bytes) == (0, 16)
    with pytest.raises(cuda.LaunchError, match="the block must be"):
        add.configure(1, "a")
    with pytest.raises(TypeError, match="blockdim"):
        add.configure(1)


def test_arrays_are_bound_by_keyword(device):
    x, stream = cuda.to_device(np.arange(4.0)), cuda.stream()
    assert x.bind(stream=stream).stream is stream
    assert x.bind(stream).bind().stream == 0
    with pytest.raises(TypeError):
        x.bind(stream, 2)


@pytest.mark.parametrize("make", [cuda.pinned_array_like, cuda.mapped_array_like])
def test_host_arrays_like_others(device, make):
    for model in [
        np.zeros((3, 4), np.int16),
        np.zeros((3, 4), order="F"),
        np.zeros((3, 8))[:, ::2],
        cuda.zeros((2, 5), np.float32),
        [[1, 2]],
    ]:
        got = make(model)
        expected = np.empty_like(np.asarray(model), subok=False)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        assert got.strides == expected.strides
    got[:] = 0
    add[1, 32](got.reshape(-1), 2)
    cuda.synchronize()
    assert (got == 2).all()


@pytest.mark.parametrize("make", [cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_host_arrays_say_what_is_wrong(make):
    with pytest.raises(cuda.ArgumentTypeError, match="shape is an int or a tuple of ints, not 'a'"):
        make("a")
    with pytest.raises(cuda.ArgumentTypeError, match="not 2.5"):
        make(2.5)
    with pytest.raises(cuda.ArgumentTypeError, match=r"not \(3, None\)"):
        make((3, None))
    with pytest.raises(cuda.ArgumentTypeError, match="numbers, not objects"):
        make(3, object)


@pytest.mark.parametrize("lock", [cuda.pinned, cuda.mapped])
def test_what_cannot_be_locked(device, lock):
    x = np.zeros((4, 4))
    with pytest.raises(cuda.ArgumentTypeError, match="takes NumPy arrays, not 'list'"), lock([1]):
        pass
    with pytest.raises(cuda.ArgumentTypeError, match="not 'Array'"), lock(x, cuda.zeros(3)):
        pass
    with pytest.raises(cuda.ArgumentError, match="contiguous"), lock(x[:, 1]):
        pass
    with lock(x):  # nothing was left locked
        pass


def test_sizes_that_are_none():
    with pytest.raises(cuda.ArgumentTypeError, match="limit: bytes are an int, not '1G'"):
        cuda.memory.set_limit("1G")
    with pytest.raises(cuda.ArgumentTypeError, match="keep: bytes are an int, not 1.5"):
        cuda.memory.trim(1.5)


def test_contexts_make_streams_and_events(device):
    context = cuda.current_context()
    x = cuda.to_device(np.zeros(8))
    start, end = context.create_event(), context.create_event(timing=True)
    stream = context.create_stream()
    start.record(stream)
    add[1, 8, stream](x, 1)
    end.record(stream)
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) >= 0
    add[1, 8, context.create_external_stream(stream.handle)](x, 1)
    for other in (
        context.get_default_stream(),
        context.get_legacy_default_stream(),
        context.get_per_thread_default_stream(),
    ):
        stream.synchronize()
        add[1, 8, other](x, 1)
        other.synchronize()
    assert (x.copy_to_host() == 5).all()


def test_profiler_calls_do_nothing_without_one(device):
    cuda.profile_start()
    cuda.profile_stop()
    with cuda.profiling():
        pass


def test_classes_keep_their_names_beside_the_types():
    assert isinstance(cuda.zeros(1), cuda.Array) and cuda.Array is type(cuda.zeros(1))
    assert cuda.types.Array(cuda.float32, 2, "C") == "float32[:, ::1]"
