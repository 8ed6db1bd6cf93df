"""float16 and bfloat16 on the host: arrays, scalars, signatures, protocols."""

import ctypes
import math
import os
import pickle
import subprocess
import sys

import gpu
import numpy as np
import pytest
from test_exchange import DLTensor

ml_dtypes = pytest.importorskip("ml_dtypes")
bfloat16 = ml_dtypes.bfloat16
HALVES = [(gpu.float16, np.float16), (gpu.bfloat16, bfloat16)]


@gpu.jit
def scale(x, a, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] = x[i] * a


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_arrays_come_and_go(memory, dtype, scalar):
    values = np.array([[0.1, -0.0, 2], [math.inf, math.nan, 3e-8]], scalar)
    there = gpu.to_device(values)
    assert there.dtype == np.dtype(scalar) and there.itemsize == 2 and there.nbytes == 12
    back = there.copy_to_host()
    assert back.dtype == np.dtype(scalar)
    assert back.view(np.uint16).tolist() == values.view(np.uint16).tolist()
    out = np.zeros((2, 3), scalar, order="F")
    there.copy_to_host(out)
    assert out.view(np.uint16).tolist() == values.view(np.uint16).tolist()
    assert np.asarray(there.T).dtype == np.dtype(scalar)
    assert type(there[0, 0]) is scalar and there[0, 0] == scalar(0.1)
    assert gpu.zeros_like(there).dtype == np.dtype(scalar)


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_fills_round_once(memory, dtype, scalar):
    # A tie of the type that a float32 between would make of the double above it.
    tie = 1 + (2.0**-11 if scalar is np.float16 else 2.0**-8)
    above = math.nextafter(tie, 2)
    beyond = 65520.0 if scalar is np.float16 else 2.0**128
    for value, expected in ((1, 1), (0.1, 0.1), (tie, 1), (beyond, math.inf), (-beyond, -math.inf),
                            (above, 1 + 2 * (tie - 1)), (True, 1), (2**62 + 1, 2.0**62)):  # fmt: skip
        array = gpu.full(3, value, dtype)
        assert array.dtype == np.dtype(scalar)
        expected = float(scalar(expected)) if abs(expected) < beyond else expected
        if expected == 2.0**62 and scalar is np.float16:
            expected = math.inf
        assert [float(x) for x in array.copy_to_host()] == [expected] * 3, value
    array = gpu.ones(4, dtype)
    array[1] = 0.1
    array[2:] = scalar(7)
    assert array.copy_to_host().tolist() == [1, scalar(0.1), 7, 7]


def test_bfloat16_of_integers_is_rounded_once():
    """2^54 and a tie of eight digits, and 1: a double would lose the 1 and round to even."""
    tie = (2**8 + 1) << 46
    assert float(gpu.full(1, tie, gpu.bfloat16)[0]) == 2**54
    assert float(gpu.full(1, tie + 1, gpu.bfloat16)[0]) == (2**8 + 2) << 46
    assert float(gpu.full(1, -tie - 1, gpu.bfloat16)[0]) == -((2**8 + 2) << 46)


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_text(dtype, scalar):
    array = gpu.to_device(np.array([1, 2.5], scalar))
    assert (
        repr(array)
        == f"gpu.Array([1{'.' if scalar is np.float16 else ''}, 2.5], dtype={dtype.name}, device=cpu)".replace(
            "[1., 2.5]", "[1. , 2.5]"
        )
    )
    assert repr(dtype) == f"gpu.{dtype.name}" and dtype.itemsize == 2
    assert type(dtype(1.5)) is scalar and np.dtype(dtype) == np.dtype(scalar)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert dtype[:, ::1] == f"{dtype.name}[:, ::1]"


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_scalars_are_typed(device, dtype, scalar):
    """As an argument, in a closure and in a signature: the product is the half's, not float32's."""
    y = np.zeros(1, np.float32)
    x = np.array([scalar(1.1)])
    exact = float(x[0]) * float(scalar(0.3))
    scale[1, 1](x, scalar(0.3), y)
    gpu.synchronize()
    assert y[0] == float(scalar(exact))

    outside = scalar(0.3)

    def by_closure(x, y):
        y[0] = x[0] * outside

    z = np.zeros(1, np.float32)
    gpu.jit(by_closure)[1, 1](x, z)
    gpu.synchronize()
    assert z[0] == y[0]
    declared = gpu.jit(f"{dtype.name}[:], {dtype.name}, float32[:]")(scale.py_func)
    for given in (scalar(0.3), 0.3, np.float32(scalar(0.3)), np.float64(scalar(0.3))):
        z[0] = 0
        declared[1, 1](x, given, z)
        gpu.synchronize()
        assert z[0] == y[0], given
    declared[1, 1](x, 2, z)
    gpu.synchronize()
    assert z[0] == float(scalar(2 * float(x[0])))


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_casts_by_every_name(device, dtype, scalar):
    def cast(x, y):
        y[0] = scalar(x[0])
        y[1] = dtype(x[0])

    y = np.zeros(2)
    gpu.jit(cast)[1, 1](np.array([0.1]), y)
    gpu.synchronize()
    assert y.tolist() == [float(scalar(0.1))] * 2


def test_signatures():
    text = scale.ptx("float16[:], bfloat16, float32[::1]")
    assert "cvt.f32.f16" in text
    assert scale.ptx("f2[:], f2, f2[:]") == scale.ptx("float16[:], float16, float16[:]")
    with pytest.raises(gpu.Error, match="unknown type 'half'") as caught:
        scale.ptx("half[:], int, int64[:]")
    assert "float16, bfloat16, float32" in str(caught.value)


class Tensor:
    """A host tensor by DLPack's capsule alone."""

    def __init__(self, array, code):
        self.array, self.code = array, code

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = DLTensor.from_address(pointer(capsule, b"dltensor"))
        assert tensor.bits == 16
        tensor.code = self.code
        return capsule


@pytest.mark.parametrize(("code", "scalar"), [(2, np.float16), (4, bfloat16)])
def test_dlpack(device, code, scalar):
    x = np.array([1.5, 0.1, -3], scalar)
    y = np.zeros(3, np.uint16)
    scale[1, 3](Tensor(x.view(np.uint16), code), 2, Tensor(y, code))
    gpu.synchronize()
    assert y.view(scalar).tolist() == (x * scalar(2)).tolist()
    assert gpu.to_device(Tensor(x.view(np.uint16), code)).dtype == np.dtype(scalar)


@pytest.mark.parametrize(("code", "name"), [(0, "int16"), (1, "uint16")])
def test_dlpack_of_other_16_bits(code, name):
    assert gpu.to_device(Tensor(np.zeros(3, np.uint16), code)).dtype.name == name


def test_interfaces():
    array = gpu.zeros(3, gpu.float16)
    assert array.__array_interface__["typestr"] == "<f2" and memoryview(array).format == "e"
    array = gpu.zeros(3, gpu.bfloat16)
    with pytest.raises(BufferError, match="bfloat16 has no buffer format"):
        memoryview(array)
    assert not hasattr(array, "__array_interface__")
    assert np.asarray(array).dtype == bfloat16

    class Text:
        __array_interface__ = np.array([1, 2], bfloat16).__array_interface__

    assert gpu.to_device(Text()).dtype == bfloat16
    with pytest.raises(TypeError, match="are not supported"):
        gpu.to_device(np.zeros(3, "V2"))
    with pytest.raises(TypeError, match="are not supported"):
        gpu.to_device(np.zeros(3, ml_dtypes.float8_e5m2))


def test_bits_stand_for_bfloat16():
    array = gpu.zeros(3, gpu.bfloat16)
    array.copy_to_device(np.array([0x3F80, 0x4000, 0x7FC0], np.uint16))
    assert np.isnan(float(array[2])) and [float(x) for x in array[:2].copy_to_host()] == [1, 2]
    bits = np.zeros(3, np.uint16)
    array.copy_to_host(bits)
    assert bits.tolist() == [0x3F80, 0x4000, 0x7FC0]
    with pytest.raises(gpu.Error, match="float16"):
        gpu.zeros(3, gpu.float16).copy_to_host(bits)


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import gpu, numpy as np
array = gpu.full(3, 1.5, gpu.bfloat16)
assert array.dtype is gpu.bfloat16 and array.copy_to_host().tolist() == [0x3fc0] * 3
assert array.copy_to_host().dtype == np.uint16
assert gpu.zeros_like(array).dtype is gpu.bfloat16
print(repr(array))
@gpu.jit
def double(x):
    x[gpu.grid(1)] *= 2
double[1, 3](array)
print(array.copy_to_host().tolist() == [0x4040] * 3)
try:
    gpu.bfloat16(1)
except ImportError as error:
    print("ml_dtypes" in str(error))
"""


def test_without_ml_dtypes():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True,
                          env=os.environ | {"GPUJIT_DEVICE": "cpu"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "gpu.Array([16320, 16320, 16320], dtype=bfloat16, device=cpu)", "True", "True"]  # fmt: skip


@pytest.mark.parametrize(("dtype", "scalar"), HALVES)
def test_atomics(device, dtype, scalar):
    """Each addition is rounded: beyond its last digit a sum of ones stays."""

    def add(x, before):
        i = gpu.grid(1)
        gpu.atomic.add(x, i % 3, 1)
        before[i] = gpu.atomic.add(x, 3, 1)
        gpu.atomic.add(x, 4, 0.1 if i == 5 else 0)

    n = 100
    x, before = gpu.zeros(5, dtype), np.zeros(n)
    gpu.jit(add)[5, n // 5](x, before)
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [34, 33, 33, 100, scalar(0.1)]
    assert sorted(before) == list(range(n))
    last = 2.0 ** (11 if scalar is np.float16 else 8)
    x[3] = last
    gpu.jit(add)[5, n // 5](x, before)
    gpu.synchronize()
    assert float(x[3]) == last


def test_atomics_of_one_byte():
    @gpu.jit
    def add(x):
        gpu.atomic.add(x, 1, gpu.threadIdx.x)

    x = gpu.zeros(4, gpu.int8)
    add[2, 9](x)
    assert x.copy_to_host().tolist() == [0, 72, 0, 0]


def test_torch(device):
    torch = pytest.importorskip("torch")
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([1.5, 0.1, -3]).to(dtype)
        y = torch.zeros(3, dtype=dtype)
        scale[1, 3](x, 2, y)
        gpu.synchronize()
        assert torch.equal(y, x * 2)
