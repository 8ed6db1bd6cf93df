"""DLPack's C exchange interface, by a type of our own and by torch where it is installed."""

import ctypes
import sys

import gpu
import numpy as np
import pytest


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("n_dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
CurrentStream = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class ExchangeAPI(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", FromObject),
        ("current_stream", CurrentStream),
    )


def from_object(tensor, out):
    if tensor.broken:
        return -1  # without an exception, which is the producer's mistake
    array = tensor.array
    out[0] = DLTensor(array.ctypes.data, tensor.device, 0, array.ndim, 2, 32, 1,
                      ctypes.cast(tensor.shape, ctypes.POINTER(ctypes.c_int64)),
                      ctypes.cast(tensor.strides, ctypes.POINTER(ctypes.c_int64)), 0)  # fmt: skip
    return 0


def current_stream(device_type, device_id, out):
    out[0] = None
    return 0


API = ExchangeAPI(
    1, 2, None, None, None, None, FromObject(from_object), CurrentStream(current_stream)
)
OLD = ExchangeAPI(0, 9, None, None, None, None, API.tensor_from_object, API.current_stream)
NEW = ExchangeAPI(2, 0, ctypes.addressof(API), None, None, None, FromObject(), CurrentStream())
NAME = ctypes.c_char_p(b"dlpack_exchange_api")


def capsule(table):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return new(ctypes.addressof(table), NAME, None)


class Tensor:
    __dlpack_c_exchange_api__ = capsule(API)
    broken = False

    def __init__(self, array, device=1):
        self.array, self.device = array, device
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(s // 4 for s in array.strides))


class NewerTensor(Tensor):
    __dlpack_c_exchange_api__ = capsule(NEW)


class OlderTensor(Tensor):
    __dlpack_c_exchange_api__ = capsule(OLD)


@gpu.jit
def double(x):
    i, j = gpu.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] = 2 * x[i, j]


@pytest.mark.parametrize("kind", [Tensor, NewerTensor])
def test_tensors_of_the_host(device, kind):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    double[1, (8, 8)](kind(array[:, ::2]))
    gpu.synchronize()
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[:, ::2] *= 2
    np.testing.assert_array_equal(array, expected)


def test_tables_that_cannot_be_used(device):
    with pytest.raises(gpu.ArgumentTypeError, match="x"):
        double[1, (8, 8)](OlderTensor(np.ones((2, 2), np.float32)))
    with pytest.raises(gpu.ArgumentTypeError, match="device of DLPack's kind 7"):
        double[1, (8, 8)](Tensor(np.ones((2, 2), np.float32), device=7))
    broken = Tensor(np.ones((2, 2), np.float32))
    broken.broken = True
    with pytest.raises(gpu.ArgumentTypeError, match="exchange"):
        double[1, (8, 8)](broken)


def test_torch_tensors(device):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch has no exchange interface")
    x = torch.ones((4, 6), device="cuda" if device == "cuda" else "cpu")[:, ::2]
    double[1, (8, 8)](x)
    gpu.synchronize()
    assert x.sum().item() == 24
    if device == "cuda":
        with torch.cuda.stream(torch.cuda.Stream()):
            y = torch.full((4, 6), 3.0, device="cuda")
            double[1, (8, 8)](y)
        gpu.synchronize()
        assert y.sum().item() == 144


@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    if not hasattr(module.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch has no exchange interface")
    return module


@gpu.jit
def twice(x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint16", "int64", "bool"]
)
def test_dtypes_of_torch(device, torch, dtype):
    x = torch.ones(4, dtype=getattr(torch, dtype), device=device)
    y = torch.zeros(4, device=device)
    twice[1, 4](x, y)
    gpu.synchronize()
    assert y.tolist() == [2.0] * 4


def test_views_of_torch(device, torch):
    x, y = torch.arange(12.0, device=device).reshape(3, 4), torch.zeros(12, device=device)
    twice[1, 4](x[:, 1], y[::4])
    twice[1, 4](x.T[2], y[1::4])
    twice[1, 4](torch.ones(1, device=device).expand(3), y[2::4])
    twice[1, 4](torch.empty(0, device=device), y)
    gpu.synchronize()
    assert y.reshape(3, 4)[:, :3].tolist() == [[2, 4, 2], [10, 12, 2], [18, 20, 2]]


def test_tensors_that_are_recorded(device, torch):
    """Their memory is used as it is: what a kernel does is not part of the record."""
    x, y = torch.ones(3, device=device, requires_grad=True), torch.zeros(3, device=device)
    twice[1, 4](x, y)
    gpu.synchronize()
    assert y.tolist() == [2.0] * 3 and not y.requires_grad


def test_tensors_of_torch_that_cannot_be(device, torch):
    y = np.zeros(8)
    z = torch.tensor([1 + 2j, 3 + 4j], device=device)
    fake = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensorMode
    with fake():
        traced = torch.ones(3, device=device)
    for tensor, text in [
        (z.conj().imag, r"negated when torch reads them \(is_neg\(\)\); pass x.resolve_neg\(\)"),
        (z.conj().imag[0], "x.resolve_neg"),
        (z, "'torch.complex64' are not supported"),
        (torch.ones(3, device=device).to(torch.float8_e4m3fn), "'torch.float8_e4m3fn' are not"),
        (torch.ones(3, device="meta"), "meta"),
        (torch.eye(3, device=device).to_sparse(), "exchange interface failed: Cannot access"),
        (traced, "it has no memory"),
    ]:
        with pytest.raises(gpu.ArgumentTypeError, match=text) as caught:
            twice[1, 4](tensor, y)
        assert str(caught.value).startswith("argument 1 'x' of twice: ")
    twice[1, 4](z.conj().imag.resolve_neg(), y)
    assert y[:2].tolist() == [-4, -8]
    with pytest.raises(
        gpu.ArgumentTypeError, match="argument 2 'y' of twice: elements of the array"
    ):
        twice[1, 4](np.ones(3), torch.zeros(1, device=device).expand(3))


def test_launches_with_tensors_make_no_objects(device, torch):
    x, y = torch.ones(4, device=device), torch.ones(4, device=device)
    kept, least = twice[1, 4], []
    for _ in range(6):
        before = sys.getallocatedblocks()
        for _ in range(1000):
            kept(x, y)
        least.append(sys.getallocatedblocks() - before)
        gpu.synchronize()
    assert min(least) <= 2  # what the loop itself has


def test_arrays_of_jax(device):
    jax = pytest.importorskip("jax")
    try:
        there = jax.default_device(jax.devices(device)[0])
    except RuntimeError as error:
        pytest.skip(f"jax has no device here: {error}")
    with there:
        kernels_read_jax(jax.numpy, device)


def kernels_read_jax(jnp, device):
    for dtype in (jnp.float32, jnp.bfloat16, jnp.bool_, jnp.int16):
        y = np.zeros(4)
        twice[1, 4](jnp.ones(4, dtype), y)
        assert y.tolist() == [2.0] * 4
    with pytest.raises(
        gpu.ArgumentTypeError, match="argument 2 'y' of twice: the array is read-only"
    ):
        twice[1, 4](np.ones(4), jnp.ones(4))
    if device == "cpu":
        twice[1, 4](np.ones(4), gpu.In(jnp.ones(4)))  # a copy of it is written
    else:
        with pytest.raises(gpu.ArgumentTypeError, match="read-only"):
            twice[1, 4](np.ones(4), gpu.In(jnp.ones(4)))  # it is there, nothing is copied
