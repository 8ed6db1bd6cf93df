"""What waits for the device, and what does not: beside a kernel that ends when it is told to."""

import copy
import threading

import gpu
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@gpu.jit
def until(flag, out):
    while flag[0] == 0:
        pass
    out[0] = 7


class Running:
    """A kernel of the CPU device that runs until end(), or until a patient timer ends it."""

    def __init__(self):
        self.flag, self.out = gpu.zeros(1, np.int32), gpu.zeros(1, np.int32)
        self.gate = np.asarray(self.flag)
        self.out[0] = 0

    def __enter__(self):
        gpu.synchronize()
        until[1, 1](self.flag, self.out)
        self.timer = threading.Timer(20, self.end)
        self.timer.start()
        return self

    def runs(self):
        return self.gate[0] == 0

    def end(self):
        self.gate[0] = 1

    def __exit__(self, *unused):
        self.end()
        self.timer.cancel()
        gpu.synchronize()
        assert self.out[0] == 7


def numbers(shape=(64, 48)):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 100


def check(f):
    """Calls f while a kernel runs; then what it gives is the host's to look at."""
    with Running() as kernel:
        result = f()
        assert kernel.runs(), "it has waited"
    return result


def test_views():
    array = gpu.to_device(numbers())

    def views():
        return [
            array[3:, ::-2], array[..., None], array[5], array.T, array.mT, array.reshape(-1),
            array.ravel(), array.view(np.int32), array.transpose(1, 0), array.swapaxes(0, 1),
            array[:1].squeeze(), array.bind(0), array.flags, array.is_c_contiguous(), array.dtype,
            array.__dlpack_device__(), *array, *array.reshape(-1).split(1000), array.shape,
        ]  # fmt: skip

    made = check(views)
    np.testing.assert_array_equal(made[0].copy_to_host(), numbers()[3:, ::-2])


@pytest.mark.parametrize(
    "index", [np.s_[...], np.s_[3:50:2, ::-3], np.s_[:, 5], np.s_[2], np.s_[1, 1]]
)
def test_fill(index):
    array = gpu.to_device(numbers())
    check(lambda: array.__setitem__(index, 2.5))
    expected = numbers()
    expected[index] = 2.5
    np.testing.assert_array_equal(array.copy_to_host(), expected)


def test_fill_method_and_makers():
    array = gpu.to_device(numbers())
    made = check(lambda: [array.fill(1), gpu.zeros((3, 4)), gpu.full(9, 2), gpu.empty((5, 5)),
                          gpu.ones_like(array), gpu.zeros_like(array.T)])  # fmt: skip
    assert (array.copy_to_host() == 1).all() and made[1].copy_to_host().sum() == 0
    assert made[2].tolist() == [2] * 9 and made[4].copy_to_host().sum() == 64 * 48


def test_assignment_between_arrays():
    for dtype in (np.float32, np.int8, np.float64, np.float16, np.uint64):
        source = gpu.to_device(numbers().astype(dtype))
        target, rows = gpu.zeros((64, 48), np.float32), gpu.zeros((48, 64), np.int32)

        def assign(source=source, target=target, rows=rows):
            target[...] = source
            target[::2] = source[1::2]
            target[:, 3] = source[0, :1]
            rows[:] = source.T

        check(assign)
        expected = numbers()
        expected[::2] = numbers()[1::2]
        expected[:, 3] = 0
        np.testing.assert_array_equal(target.copy_to_host(), expected)
        np.testing.assert_array_equal(rows.copy_to_host(), numbers().T)


def test_assignment_of_what_overlaps():
    array = gpu.to_device(numbers((50, 50)))

    def assign():
        array[:] = array.T
        array[1:] = array[:-1]
        array[:, ::-1] = array

    check(assign)
    expected = numbers((50, 50)).T.copy()
    expected[1:] = expected[:-1].copy()
    np.testing.assert_array_equal(array.copy_to_host(), expected[:, ::-1])


def test_copies():
    array = gpu.to_device(numbers())
    made = check(lambda: [array.copy(), array.T.copy("F"), array.astype(np.int8), array[::2].flatten(),
                          array.T.reshape(-1), array[:, ::2].ravel(), copy.copy(array),
                          copy.deepcopy(array.T), array.astype(np.float64, order="F")])  # fmt: skip
    host = numbers()
    expected = [host, host.T, host, host[::2].ravel(), host.T.ravel(), host[:, ::2].ravel(), host,
                host.T, host]  # fmt: skip
    for ours, theirs in zip(made, expected, strict=True):
        np.testing.assert_array_equal(ours.copy_to_host(), theirs)


def test_copy_to_device_of_an_array():
    array, other = gpu.to_device(numbers()), gpu.zeros((64, 48), np.float32)
    check(lambda: (other.copy_to_device(array), other.T.copy_to_device(array.T)))
    np.testing.assert_array_equal(other.copy_to_host(), numbers())


def test_what_is_dropped_is_not_waited_for():
    array = gpu.to_device(numbers())

    def drop():
        for _ in range(100):
            array[...] = gpu.full((64, 48), 3, np.float32).T.copy().T

    check(drop)
    assert (array.copy_to_host() == 3).all()


@pytest.mark.parametrize(
    "read",
    [lambda a: a.copy_to_host(), lambda a: a[0, 0], lambda a: a.tolist(), lambda a: str(a),
     lambda a: np.asarray(a), lambda a: memoryview(a)[0, 0], lambda a: a[:1, :1].item(),
     lambda a: np.from_dlpack(a)[0, 0], lambda a: bool(a[0, :1]), lambda a: list(a[0]),
     lambda a: a.__reduce_ex__(4), lambda a: a.__setitem__(0, numbers()[1])],
)  # fmt: skip
def test_what_waits(read):
    """Values on the host are those after what runs."""
    array = gpu.to_device(numbers())
    with Running() as kernel:
        ended = []
        threading.Timer(0.2, lambda: (ended.append(kernel.runs()), kernel.end())).start()
        read(array)
        assert ended == [True]


def test_the_kernel_is_of_the_streams_order():
    """Copies on the device see what the kernel before them has written."""
    array = gpu.zeros(100000, np.float32)

    @gpu.jit
    def write(x):
        i = gpu.grid(1)
        if i < x.size:
            x[i] = i % 1000

    for _ in range(20):
        array.fill(0)
        write[(100000 + 255) // 256, 256](array)
        half = array[::-2].astype(np.int32)
        array.fill(-1)
        np.testing.assert_array_equal(half.copy_to_host(), (np.arange(100000) % 1000)[::-2])


def test_from_several_threads():
    source = gpu.to_device(numbers((200, 300)))
    wrong = []

    def work(k):
        for i in range(20):
            made = (source[k:, i:].T.astype(np.int64))[::-1].copy()
            made[...] = made
            if not np.array_equal(made.copy_to_host(), numbers((200, 300))[k:, i:].T[::-1]):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_moves_by_kernels(data):
    """Beside a kernel that runs all moves are kernels too: the same as NumPy's."""
    names = ["bool", "int8", "int16", "int64", "uint8", "uint64", "float16", "float32", "float64"]
    moves = []
    for _ in range(4):
        shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=5))
        old, new = data.draw(st.tuples(*[st.sampled_from(names)] * 2))
        host = (np.arange(np.prod(shape, dtype=int)) % 113).reshape(shape).astype(new)
        index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
        axes = data.draw(st.permutations(range(np.ndim(host[index]))))
        part = np.asarray(host[index]).transpose(axes)
        lead = data.draw(st.integers(0, part.ndim))
        source = np.resize(np.arange(1, 90), [n if data.draw(st.booleans()) else 1
                                              for n in part.shape[lead:]]).astype(old)  # fmt: skip
        moves.append((host, index, axes, source))
    ours = [(gpu.to_device(host), gpu.to_device(source)) for host, _, _, source in moves]
    with Running() as kernel:
        for (array, source), (_, index, axes, _) in zip(ours, moves, strict=True):
            index = index if isinstance(index, tuple) else (index,)
            part = array[index if ... in index else (*index, ...)]
            part.transpose(axes)[...] = source
        assert kernel.runs()
    for (array, _), (host, index, axes, source) in zip(ours, moves, strict=True):
        index = index if isinstance(index, tuple) else (index,)
        host[index if ... in index else (*index, ...)].transpose(axes)[...] = source
        np.testing.assert_array_equal(array.copy_to_host(), host)


def test_the_largest_rank():
    host = (np.arange(2 * 3**7) % 100).astype(np.int16).reshape(2, *(3,) * 7)
    array = gpu.to_device(host)
    order = (3, 0, 7, 1, 6, 2, 5, 4)
    with Running():
        made = array.transpose(order).copy()
        made[::-1, :, 1:] = array.transpose(order)[::-1, :, :-1]
    expected = host.transpose(order).copy()
    expected[::-1, :, 1:] = host.transpose(order)[::-1, :, :-1]
    np.testing.assert_array_equal(made.copy_to_host(), expected)
