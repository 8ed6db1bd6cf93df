"""The driver's side of arrays, against its stand-in: what is asked of it, and that nobody waits."""

import copy
import ctypes
import os

import gpu
import numpy as np
import pytest
from gpu import _array_kernels

LAUNCHED = []


def count(name):
    library = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    library.fake_count.restype = ctypes.c_longlong
    return library.fake_count(name.encode())


@pytest.fixture
def kernels(fake, monkeypatch):
    """The stand-in runs no kernels: what would be launched is noted instead."""

    def launch(what):
        def called(to, other, stream):
            source = getattr(other, "strides", other)
            LAUNCHED.append((what, to.shape, to.strides, to.dtype.name, source, stream))

        return called

    for what in ("copy", "fill"):
        monkeypatch.setattr(_array_kernels, what, launch(what))
    LAUNCHED.clear()
    return LAUNCHED


def no_wait(f):
    gpu.synchronize()
    before = count("syncs")
    result = f()
    assert count("syncs") == before, "it has waited"
    return result


def test_what_is_contiguous_is_the_drivers(kernels):
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    array, other = gpu.to_device(host), gpu.zeros((4, 6), np.float32)

    def moves():
        other[...] = array
        other[1:3].fill(7)
        other[3, 2] = 9
        other.T[0, 0] = 5
        other[0, 1:].copy_to_device(array[1, :5])
        return (
            array.copy(),
            array.T.copy("F"),
            copy.copy(array.T),
            array.view("int32").astype("int32"),
        )

    made = no_wait(moves)
    expected = host.copy()
    expected[1:3] = 7
    expected[3, 2] = 9
    expected[0, 0] = 5
    expected[0, 1:] = host[1, :5]
    np.testing.assert_array_equal(other.copy_to_host(), expected)
    np.testing.assert_array_equal(made[0].copy_to_host(), host)
    np.testing.assert_array_equal(made[1].copy_to_host(), host.T)
    np.testing.assert_array_equal(made[2].copy_to_host(), host.T)
    assert not kernels


def test_the_rest_is_a_kernel_over_merged_axes(kernels):
    array, other = gpu.zeros((4, 6, 8), np.float32), gpu.zeros((4, 6, 8), np.float32)
    no_wait(lambda: array.__setitem__(np.s_[:, :, ::2], 3))
    no_wait(lambda: array.__setitem__(np.s_[:, ::-1], other))
    no_wait(lambda: array.T.astype(np.int8))
    no_wait(lambda: array.__setitem__(np.s_[:2], other[2:].view(np.int32)))
    assert [k[:4] for k in kernels] == [
        ("fill", (96,), (8,), "int32"),
        ("copy", (4, 6, 8), (192, 32, 4), "int32"),
        ("copy", (192,), (1,), "int8"),
        ("copy", (96,), (4,), "float32"),
    ]
    assert kernels[0][4] == int(np.float32(3).view(np.int32))
    assert kernels[1][4] == (192, -32, 4)


def test_overlaps_go_by_new_memory_without_a_wait(kernels):
    host = np.arange(40, dtype=np.int16)
    array = gpu.to_device(host)
    no_wait(lambda: array.__setitem__(np.s_[1:], array[:-1]))
    np.testing.assert_array_equal(array.copy_to_host(), [0, *host[:-1]])
    assert not kernels
    no_wait(lambda: array.__setitem__(np.s_[:], array[::-1]))
    assert [k[1:5] for k in kernels] == [((40,), (2,), "int16", (-2,))]


def test_streams(kernels):
    stream = gpu.stream()
    array = gpu.zeros((4, 6), np.float32)
    bound = array.bind(stream)
    for f in (lambda: bound[:, 1].fill(2), lambda: array[:, 1].fill(2, stream), lambda: bound.T.astype("int8"),
              lambda: array.astype("int8", stream=stream), lambda: array.setitem(np.s_[:, 2], 2, stream=stream),
              lambda: array.bind(5)[:, 1].fill(1, stream)):  # fmt: skip
        no_wait(f)
    assert [k[5] for k in kernels] == [stream.handle] * 6


def test_strided_values_up_and_down(kernels):
    host = np.arange(60, dtype=np.float64).reshape(6, 10)
    array = gpu.to_device(host)
    np.testing.assert_array_equal(array[:, 1::3].copy_to_host(), host[:, 1::3])
    np.testing.assert_array_equal(array.T.copy_to_host(), host.T)
    assert not kernels
    array[:, 0].copy_to_host()  # the whole span would be ten times as much
    assert [k[:2] for k in kernels] == [("copy", (6,))]
    kernels.clear()
    array[:, 3] = np.ones(6)
    array[1] = np.ones(10, np.int8)
    array[2] = 2 * np.ones(1)
    assert [k[1] for k in kernels] == [(6,), (10,), (10,)]
    array[4] = np.arange(20.0)[::-2]
    assert array[4].copy_to_host().tolist() == np.arange(20.0)[::-2].tolist()


def test_dlpack_and_the_interface(kernels):
    stream = gpu.stream()
    array = gpu.zeros((4, 6), np.float32)
    assert array.__dlpack_device__() == (2, 0)
    interface = array.T.__cuda_array_interface__
    assert interface == {"shape": (6, 4), "strides": (4, 24), "typestr": "<f4", "version": 3,
                         "data": (array.address, False), "stream": 1}  # fmt: skip
    assert array.bind(stream).__cuda_array_interface__["stream"] == stream.handle
    assert not hasattr(array, "__array_interface__")
    before = count("event_waits")
    no_wait(lambda: [array.__dlpack__(), array.__dlpack__(stream=1), array.__dlpack__(stream=-1)])
    assert count("event_waits") == before
    no_wait(lambda: array.__dlpack__(stream=stream.handle, max_version=(1, 0)))
    assert count("event_waits") > before and count("ordered_after") == stream.handle
    for bad in (0, -2):
        with pytest.raises(BufferError, match="legacy default"):
            array.__dlpack__(stream=bad)
    with pytest.raises(BufferError, match="another device"):
        array.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError, match="another device"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    host = np.from_dlpack(array, device="cpu")
    assert host.shape == (4, 6) and not host.any()


def test_arrays_do_not_travel_to_another_gpu_by_accident(kernels):
    here = gpu.zeros(4)
    gpu.select_device("cuda:1")
    there = gpu.full(4, 2.0)
    no_wait(lambda: there.__setitem__(np.s_[:2], here[:2]))
    assert there.copy_to_host().tolist() == [0, 0, 2, 2]
    rows = gpu.full((2, 4), 7.0)
    no_wait(lambda: rows.__setitem__(..., here))
    assert [k[:2] for k in kernels] == [("copy", (2, 4))]
    with pytest.raises(ValueError, match="could not broadcast"):
        there[:2] = here
    with pytest.raises(gpu.ArgumentTypeError, match="the other one"):
        there[:2].copy_to_device(here)
    gpu.select_device("cuda:0")
    assert there.copy().device == "cuda:1" and there.astype("int8").device == "cuda:1"
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        there.__array__(copy=False)
