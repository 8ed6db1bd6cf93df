"""The kernels that copy, convert and fill arrays of any strides; compiled when they are needed."""

from __future__ import annotations

from gpu import _gpujit

BLOCK = 256
# The host's own work: always compiled, on the device of the first argument, without warnings.
INTERNAL = {"internal": 1}


def _place(k, shape):
    """The index of element k of an array, in the order of its axes."""
    if len(shape) == 1:
        return (k,)
    return (*_place(k // shape[-1], shape[:-1]), k % shape[-1])


def _copy(to, source):
    k = _gpujit.grid(1)
    if k < to.size:
        index = _place(k, to.shape)
        to[index] = source[index]


def _fill(to, value):
    k = _gpujit.grid(1)
    if k < to.size:
        to[_place(k, to.shape)] = value


_copy_kernel = _gpujit.Kernel(_copy, (), INTERNAL)
_fill_kernel = _gpujit.Kernel(_fill, (), INTERNAL)


def copy(to: _gpujit.Array, source: _gpujit.Array, stream: int) -> None:
    """Stores the elements of an array in another one of the same shape that it shares none with."""
    _copy_kernel[_blocks(to.size), BLOCK, stream](to, source)


def fill(to: _gpujit.Array, value: int, stream: int) -> None:
    """Stores an int in every element of an array of ints."""
    _fill_kernel[_blocks(to.size), BLOCK, stream](to, value)


def _blocks(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK
