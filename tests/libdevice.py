"""For tests of PTX with math functions: NVIDIA's libdevice must be there."""

import math

import gpu
import pytest


def sine(x):
    x[0] = math.sin(x[0])


def is_there() -> bool:
    try:
        gpu.jit(sine).ptx("float32[:]", arch="sm_75")
    except gpu.CompileError as error:
        if error.code != "NO_LIBDEVICE":
            raise
        return False
    return True


needs_libdevice = pytest.mark.skipif(not is_there(), reason="libdevice was not found")
