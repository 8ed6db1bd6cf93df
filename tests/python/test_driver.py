"""The driver's side of launches, against its stand-in."""

import gpu
import numpy as np
import pytest


def kernel(source):
    """The stand-in knows one kernel, by this name."""
    scope = {"gpu": gpu}
    exec(source, scope)
    return gpu.jit(scope["entry"])


COPY = "def entry(x, y):\n    i = gpu.grid(1)\n    y[i] = x[i]\n"


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_host_arrays_come_back_as_they_were(fake, step):
    """Up and down through the device with strides: nothing but the elements is touched."""
    base = np.arange(60, dtype=np.int32).reshape(12, 5)
    before = base.copy()
    kernel(COPY)[1, 4](base[::step, 1], base[::step, 3])
    assert np.array_equal(base, before)


def test_fortran_arrays_and_scalars(fake):
    f = kernel("def entry(a, x):\n    x[0, 1] = a\n")
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    f[1, 1](2.0, x)
    f[1, 1](np.float32(2), x)
    assert np.array_equal(x, np.arange(12.0).reshape(3, 4))
    f[1, 1](1, x[::2, ::2])
    assert sorted(f.signatures) == [
        "float, float64[::1, :]", "float32, float64[::1, :]", "int, float64[:, ::1]",
    ]  # fmt: skip


def test_read_only_host_arrays(fake):
    f, x = kernel(COPY), np.zeros(4)
    x.flags.writeable = False
    f[1, 4](x, np.zeros(4))
    with pytest.raises(gpu.ArgumentTypeError, match="'y' of entry: the array is read-only"):
        f[1, 4](np.zeros(4), x)


def test_arrays_of_the_cpu_device(fake):
    gpu.select_device("cpu")
    x = gpu.zeros(4)
    gpu.select_device("cuda")
    with pytest.raises(
        gpu.ArgumentTypeError, match="'x' of entry is in the memory of cpu, the kern"
    ):
        kernel(COPY)[1, 4](x, x)
    assert gpu.to_device(x).device == "cpu"


class Cuda:
    """Device memory of another library."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


def test_device_memory_of_others(fake):
    f, x = kernel(COPY), gpu.zeros(4)
    for stream in (None, 1, 2, 0x1234):
        f[1, 4](Cuda(x, stream=stream), x)
    f[1, 4, gpu.stream()](Cuda(x, stream=1), x)
    assert gpu.as_gpu_array(Cuda(x)).address == x.address
    assert f.signatures == ["float64[::1], float64[::1]"]
    with pytest.raises(gpu.ArgumentTypeError, match="read-only"):
        f[1, 4](x, Cuda(x, data=(x.address, True)))


def test_memory_of_the_other_gpu(fake):
    other = Cuda(gpu.zeros(4), data=(0x8000, False))  # the stand-in's second device owns it
    with pytest.raises(gpu.ArgumentTypeError, match="cuda:1, the kernel runs on cuda:0"):
        kernel(COPY)[1, 4](other, other)


def test_two_devices(fake):
    """The second one is newer than what its driver takes."""
    f = kernel(COPY)
    for name in ("cuda:0", "cuda:1", 1, 0):
        gpu.select_device(name)
        x = gpu.zeros(4)
        assert x.device == f"cuda:{gpu.device().ordinal}"
        if gpu.device().ordinal == 0:
            f[1, 4](x, x)
        else:
            with pytest.raises(gpu.CompileError, match="newer driver") as caught:
                f[1, 4](x, x)
            assert caught.value.code == "TARGET_LACKS"
    with pytest.raises(gpu.Error):
        gpu.select_device("cuda:7")


def test_foreign_streams(fake):
    class Protocol:
        def __cuda_stream__(self):
            return (0, 0x77)

    class Torch:
        cuda_stream = 0x78

    class CuPy:
        ptr = 0x79

    f = kernel(COPY)
    assert f[1, 4, gpu.stream()].stream.handle != 0
    for stream in (Protocol(), Torch(), CuPy()):
        assert f[1, 4, stream].stream is stream
    assert f[1, 4, 0x80].stream == 0x80


def test_host_arrays_that_share_elements(fake):
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    flat, copy = x.reshape(-1), kernel(COPY)
    two = kernel("def entry(x, y):\n    y[0, 0] = x[0, 0]\n")
    apart = [(copy, flat[::2], flat[1::2]), (two, x[:, :3], x[:, 3:]), (two, x[::2], x[1::2])]
    apart += [(copy, flat[:5], flat[5:]), (copy, flat, flat), (copy, flat[::-2], flat[::-2])]
    apart += [(copy, flat[:0], flat), (copy, flat.view(np.uint8)[::8], flat[1::2])]
    for f, a, b in apart:
        f[1, 1](a, b)
    assert np.array_equal(flat, np.arange(24))
    message = "'y' of entry: it overlaps argument 'x' in part"
    for f, a, b in [(copy, flat[:5], flat[4:]), (two, x[:, :4], x[:, 3:]), (copy, flat, flat[::-1]),
                    (copy, flat.view(np.int64), flat), (copy, flat[::2], flat[::3])]:  # fmt: skip
        with pytest.raises(gpu.ArgumentTypeError, match=message):
            f[1, 1](a, b)
    read = kernel("def entry(x, y, z):\n    z[0] = x[0] + y[0]\n")
    read[1, 1](flat[:5], flat[4:], np.zeros(1))
