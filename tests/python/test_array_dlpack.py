"""Our arrays in other libraries' hands and theirs in ours, by DLPack in all its forms."""

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import textwrap
import weakref

import gpu
import numpy as np
import pytest

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]  # fmt: skip
INT64S = ctypes.POINTER(ctypes.c_int64)
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("n_dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", INT64S),
        ("strides", INT64S),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Table(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        (
            "allocate",
            ctypes.CFUNCTYPE(
                ctypes.c_int,
                ctypes.POINTER(Tensor),
                ctypes.POINTER(ctypes.POINTER(Managed)),
                ctypes.c_void_p,
                SetError,
            ),
        ),
        (
            "managed_from_object",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Managed))
            ),
        ),
        (
            "managed_to_object",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(ctypes.py_object)
            ),
        ),
        (
            "tensor_from_object",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor)),
        ),
        (
            "current_stream",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
            ),
        ),
    )


def table():
    capsule = gpu.Array.__dlpack_c_exchange_api__
    return Table.from_address(api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))


def pointed(tensor):
    return tensor.shape[: tensor.n_dims], tensor.strides[: tensor.n_dims]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_the_memory(dtype):
    host = (np.arange(24) % 7 - 3).astype(dtype).reshape(2, 3, 4)
    array = gpu.to_device(host)
    for ours, theirs in [
        (array, host), (array.T, host.T), (array[:, ::-1, ::2], host[:, ::-1, ::2]),
        (array[1, 2, 3:], host[1, 2, 3:]), (array[:0], host[:0]), (array[1, 1, 1, ...], host[1, 1, 1, ...]),
    ]:  # fmt: skip
        got = np.from_dlpack(ours)
        assert got.dtype == theirs.dtype and got.strides == theirs.strides
        np.testing.assert_array_equal(got, theirs)
        if got.size:
            assert got.__array_interface__["data"][0] == ours.address
    back = gpu.from_dlpack(np.from_dlpack(array))
    assert back.address == array.address and back.dtype == host.dtype


def test_the_capsule_keeps_the_memory():
    for version, name in [(None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"),
                          ((1, 3), b"dltensor_versioned")]:  # fmt: skip
        array = gpu.full(5, 3.0)
        died = weakref.ref(array)
        capsule = array.__dlpack__(max_version=version)
        assert api.PyCapsule_IsValid(capsule, name)
        del array
        gc.collect()
        assert died() is not None
        del capsule
        assert died() is None
    array = gpu.full(5, 3.0)
    died = weakref.ref(array)
    host = np.from_dlpack(array)
    del array
    assert host.sum() == 15 and died() is not None
    del host
    assert died() is None


def test_flags_and_versions():
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    array = gpu.as_gpu_array(frozen)
    with pytest.raises(BufferError, match="read-only array needs a consumer"):
        array.__dlpack__()
    capsule = array.__dlpack__(max_version=(1, 0))
    managed = Managed.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
    assert (managed.major, managed.flags) == (1, 1)
    assert not np.from_dlpack(array).flags.writeable
    copied = array.__dlpack__(max_version=(1, 0), copy=True)
    managed = Managed.from_address(api.PyCapsule_GetPointer(copied, b"dltensor_versioned"))
    assert managed.flags == 2 and managed.tensor.data != frozen.ctypes.data
    array.__dlpack__(copy=True)
    again = np.from_dlpack(gpu.zeros(3), copy=True)
    assert again.flags.writeable


def test_devices_and_streams():
    array = gpu.full(3, 2.0)
    assert array.__dlpack_device__() == (1, 0)
    assert array.__dlpack__(dl_device=(1, 0), stream=-1) and array.__dlpack__(stream=None)
    for arguments, text in [({"dl_device": (2, 0)}, "another device"), ({"stream": 1}, "no streams"),
                            ({"stream": 0}, "no streams")]:  # fmt: skip
        with pytest.raises(BufferError, match=text):
            array.__dlpack__(**arguments)
    for arguments in ({"max_version": 1}, {"dl_device": (1,)}, {"stream": "x"}, {"nonsense": 1}):
        with pytest.raises(TypeError):
            array.__dlpack__(**arguments)
    with pytest.raises(TypeError):
        array.__dlpack__(1)


def test_what_runs_is_over():
    @gpu.jit
    def slow(x):
        total = 0.0
        for i in range(3_000_000):
            total += x[i % 7]
        x[0] = total

    for read in (np.from_dlpack, lambda a: np.asarray(memoryview(a)), np.asarray):
        array = gpu.full(7, 1.0)
        slow[1, 1](array)
        assert read(array)[0] == 3_000_000
    array = gpu.full(7, 1.0)
    slow[1, 1](array)
    tensor = Tensor()
    assert table().tensor_from_object(array, tensor) == 0
    assert ctypes.c_double.from_address(tensor.data).value == 3_000_000


def test_the_exchange_table():
    functions = table()
    assert (functions.major, functions.older) == (1, None)
    stream = ctypes.c_void_p(7)
    assert functions.current_stream(2, 0, stream) == 0 and stream.value is None
    array = gpu.to_device(np.arange(24, dtype=np.int16).reshape(4, 6))
    for view in (array, array.T, array[::2, ::-3], array[1], array[1, 1, ...], array[:, None]):
        tensor = Tensor()
        assert functions.tensor_from_object(view, tensor) == 0
        assert (tensor.data or 0) + tensor.byte_offset == view.address
        assert (tensor.device_type, tensor.device_id, tensor.code, tensor.bits) == (1, 0, 0, 16)
        shape, strides = pointed(tensor)
        assert tuple(shape) == view.shape
        assert tuple(2 * s for s in strides) == view.strides


def test_the_exchange_table_with_owners():
    functions = table()
    array = gpu.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    died, address = weakref.ref(array), array.address
    managed = ctypes.POINTER(Managed)()
    assert functions.managed_from_object(array.T, managed) == 0
    del array
    assert died() is not None and managed.contents.tensor.data == address
    made = ctypes.py_object()
    assert functions.managed_to_object(managed, made) == 0
    view = made.value
    del made
    gc.collect()
    assert isinstance(view, gpu.Array) and view.address == address and view.shape == (3, 2)
    assert view.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_exchange_table_makes_arrays():
    functions = table()
    shape = (ctypes.c_int64 * 2)(3, 5)
    prototype = Tensor(None, 1, 0, 2, 2, 64, 1, ctypes.cast(shape, INT64S), None, 0)
    managed = ctypes.POINTER(Managed)()
    messages = []
    tell = SetError(lambda context, kind, text: messages.append((kind, text)))
    assert functions.allocate(prototype, managed, None, tell) == 0
    tensor = managed.contents.tensor
    assert pointed(tensor) == ([3, 5], [5, 1]) and tensor.data and not messages
    Deleter(managed.contents.deleter)(ctypes.addressof(managed.contents))
    shape[0] = 1 << 50
    assert functions.allocate(prototype, managed, None, tell) == -1
    assert messages[0][0] == b"MemoryError" and b"bytes" in messages[0][1]
    prototype.code = 5  # complex
    assert functions.allocate(prototype, managed, None, tell) == -1
    assert b"not supported" in messages[1][1]


def test_the_exchange_table_refuses_others():
    functions = table()
    for f, out in [(functions.tensor_from_object, Tensor()),
                   (functions.managed_from_object, ctypes.POINTER(Managed)())]:  # fmt: skip
        with pytest.raises(TypeError, match=r"for gpu\.Array"):
            f(np.zeros(3), out)


def test_from_dlpack():
    host = np.arange(6.0)
    shared = gpu.from_dlpack(host)
    shared[0] = 9
    assert host[0] == 9
    copied = gpu.from_dlpack(host, copy=True)
    copied[0] = 1
    assert host[0] == 9 and gpu.from_dlpack(shared) is shared
    assert gpu.from_dlpack(host, device="cpu", copy=False).address == host.ctypes.data
    with pytest.raises(gpu.ArgumentTypeError, match="__dlpack__"):
        gpu.from_dlpack([1, 2])
    with pytest.raises(gpu.ArgumentError, match="select_device"):
        gpu.from_dlpack(host, device="cuda:3")


def in_its_own_process(library, program):
    """Libraries with threads of their own stay out of tests that fork."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"there is no {library} here")
    begin = f"import gpu, numpy as np\nimport {library}\ngpu.select_device('cpu')\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr


def test_jax_both_ways():
    in_its_own_process(
        "jax",
        """
        array = gpu.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
        theirs = jax.numpy.from_dlpack(array)
        assert np.array_equal(np.asarray(theirs), array.copy_to_host())
        result = jax.numpy.arange(10, dtype=np.int32) * 3
        assert gpu.from_dlpack(result).tolist() == list(range(0, 30, 3))
        try:
            gpu.as_gpu_array(result)[0] = 1
        except ValueError as error:
            assert "read-only" in str(error)
        else:
            raise AssertionError("it was written to")
        """,
    )


def test_torch_both_ways():
    in_its_own_process(
        "torch",
        """
        array = gpu.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
        theirs = torch.from_dlpack(array.T)
        assert theirs.shape == (4, 3) and theirs.data_ptr() == array.address
        theirs += 1
        assert array[0, 1] == 2
        ours = gpu.from_dlpack(theirs[1:])
        assert ours.tolist() == theirs[1:].tolist() and ours.address == theirs[1:].data_ptr()
        assert torch.from_dlpack(array.astype(gpu.bfloat16)).dtype == torch.bfloat16
        """,
    )


def test_who_is_one():
    array = gpu.zeros(3)
    assert gpu.is_gpu_array(array) and gpu.is_cuda_array(array)
    assert gpu.as_cuda_array(array) is array

    class Theirs:
        def __init__(self, kind):
            self.kind = kind

        def __dlpack_device__(self):
            return (self.kind, 0)

    assert gpu.is_gpu_array(Theirs(2)) and not gpu.is_gpu_array(Theirs(1))
    assert not any(map(gpu.is_gpu_array, (np.zeros(3), [1], None, gpu.Array)))


def test_device_array_with_strides():
    array = gpu.device_array((3, 4), np.int32, strides=(-32, 8))
    array[...] = np.arange(12).reshape(3, 4)
    assert array.strides == (-32, 8) and array.tolist() == np.arange(12).reshape(3, 4).tolist()
    assert gpu.device_array((2, 3), np.int8, order="F").is_f_contiguous()
    assert gpu.device_array((2, 3), np.int8, "F").is_f_contiguous()
    assert gpu.device_array((0, 3), strides=(24, 8)).size == 0
    for strides in [(8,), (3, 4)]:
        with pytest.raises(gpu.ArgumentError, match="strides are bytes"):
            gpu.device_array((3, 4), np.float64, strides=strides)


def test_to_device_as_numba_has_it():
    host = np.arange(4, dtype=np.float32)
    there = gpu.zeros(4, np.float32)
    assert gpu.to_device(host, to=there) is there and there.tolist() == [0, 1, 2, 3]
    assert gpu.to_device(host, 0, False).shape == (4,)
    assert gpu.to_device(host, dtype="int8").dtype == np.int8
    assert gpu.to_device(there) is there
    assert gpu.to_device(there, dtype=np.float64).dtype == np.float64
    assert gpu.to_device(np.float32(2.5)).shape == ()
    with pytest.raises(gpu.ArgumentTypeError, match="`to` must be"):
        gpu.to_device(host, to=host)
    with pytest.raises(gpu.ArgumentTypeError, match=r"np\.array\(values"):
        gpu.to_device([1, 2])
    assert gpu.full(2, np.float32(1)).dtype == np.float32
    assert gpu.full(2, np.int8(1)).dtype == np.int8
