"""Arguments whose protocols answer nonsense, and objects that answer everything with an exception."""

import functools
import sys
import types

import gpu
import numpy as np
import pytest

MEMORY = np.zeros(8)
GOOD = {"shape": (8,), "typestr": "<f8", "data": (MEMORY.ctypes.data, False), "version": 3}


@gpu.jit
def store(out, value):
    out[0] = value


@gpu.jit
def fill(x):
    x[gpu.grid(1)] = 1


class Interface:
    """By the name of the host's interface, which the CPU device takes."""

    def __init__(self, given):
        self.__array_interface__ = given


def changed(**changes):
    return Interface({k: v for k, v in {**GOOD, **changes}.items() if v is not Ellipsis})


def test_a_good_one():
    fill[1, 8](changed())
    gpu.synchronize()
    assert MEMORY.sum() == 8


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"shape": ...}, "lacks shape"),
        ({"shape": 8}, "bad shape"),
        ({"shape": (8.0,)}, "bad shape"),
        ({"shape": ("8",)}, "bad shape"),
        ({"shape": (2**70,)}, "bad shape"),
        ({"shape": (1,) * 20}, "bad shape"),
        ({"shape": (-1,)}, "negative extent"),
        ({"shape": (2**61, 2**61)}, "shape"),
        ({"typestr": ...}, "lacks shape, typestr"),
        ({"typestr": 3}, "lacks shape, typestr"),
        ({"typestr": ">f8"}, "elements of type '>f8' are not supported"),
        ({"data": ...}, "lacks shape, typestr or data"),
        ({"data": (1,)}, "lacks shape, typestr or data"),
        ({"data": (None, False)}, "bad address"),
        ({"data": ("text", False)}, "bad address"),
        ({"data": (-8, False)}, "bad address"),
        ({"data": (2**70, False)}, "bad address"),
        ({"strides": 8}, "bad strides"),
        ({"strides": (8, 8)}, "bad strides"),
        ({"strides": ("8",)}, "bad strides"),
        ({"strides": (2**70,)}, "bad strides"),
        ({"stream": "text"}, "bad stream"),
        ({"stream": -5}, "bad stream"),
        ({"mask": MEMORY}, "masked arrays"),
    ],
)
def test_bad_interfaces(changes, text):
    with pytest.raises(gpu.ArgumentTypeError, match=text):
        fill[1, 8](changed(**changes))


@pytest.mark.parametrize("given", [3, None, [], "text", (1,)])
def test_interfaces_that_are_no_dict(given):
    with pytest.raises(gpu.ArgumentTypeError, match="lacks shape, typestr or data"):
        fill[1, 8](Interface(given))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_exceptions_of_the_producer(error):
    class Raises:
        @property
        def __cuda_array_interface__(self):
            raise error("from the producer")

    with pytest.raises(error, match="from the producer"):
        fill[1, 8](Raises())


@pytest.mark.parametrize("answer", [3, None, "text"])
def test_dlpack_without_a_tensor(answer):
    class Tensor:
        def __dlpack__(self, **kwargs):
            return answer

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(gpu.ArgumentTypeError, match="gives no DLPack tensor"):
        fill[1, 8](Tensor())


def test_objects_that_raise_at_every_name(capfd):
    class Evil:
        def __getattr__(self, name):
            raise RuntimeError(f"no {name}")

    out = np.zeros(1)
    before = sys.getrefcount(out)
    for _ in range(10):
        with pytest.raises(RuntimeError, match="no __"):
            store[1, 1](out, Evil())
    assert sys.getrefcount(out) == before
    assert capfd.readouterr().err == ""  # an exception was not swallowed with a message


def test_signatures_that_are_no_text():
    for signature in (3, b"int", ["int"]):
        with pytest.raises(gpu.ArgumentTypeError, match="a signature is a text such as"):
            store.ptx(signature)
    for signature in (3, {}, [3]):
        with pytest.raises(gpu.ArgumentError, match="is no type|must be a text"):
            gpu.jit(signature=signature)


def test_names_that_are_no_text():
    def f(x):
        x[0] = 1

    code = f.__code__.replace(co_name="\udcff", co_filename="\udcff")
    function = types.FunctionType(code, globals(), "\udcff\udcfe")
    out = np.zeros(1)
    gpu.jit(function)[1, 1](out)
    assert out[0] == 1
    with pytest.raises(gpu.LaunchError, match="udcff"):
        gpu.jit(function)(out)


@pytest.mark.parametrize(
    ("wrap", "text"),
    [
        (staticmethod, "write @staticmethod above @gpu.jit"),
        (classmethod, "write @staticmethod above @gpu.jit"),
        (functools.partial, "when the kernel is launched"),
        (functools.cache, "leave the cache away"),
        (lambda f: types.MethodType(f, 1), "a kernel has no self"),
        (lambda f: 3, "not 'int'"),
    ],
)
def test_what_is_no_function(wrap, text):
    with pytest.raises(gpu.ArgumentTypeError, match=text):
        gpu.jit(wrap(lambda x: None))
