"""PTX of kernels with arrays of their own assembles, and takes the memory that it says."""

import re

import gpu
import numpy as np
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

pytestmark = needs_ptxas

SMALL = np.arange(100, dtype="int16")
SMALL.flags.writeable = False
LONG = np.arange(20_000, dtype="int64")
LONG.flags.writeable = False
EMPTY = np.zeros(0, "float32")
EMPTY.flags.writeable = False


def shared(out, i):
    a = gpu.shared.array((4, 5), gpu.float32)
    b = gpu.shared.array(3, bool)
    c = gpu.shared.array((), gpu.float64, alignment=4096)
    a[i, i] = i
    b[i] = i > 2
    c[()] = i
    gpu.syncthreads()
    out[0] = a[i, 0] + b[0] + c[()]


def large(out, i):
    a = gpu.shared.array((80, 80), gpu.float64)
    b = gpu.shared.array(3, gpu.float16)
    a[i, i] = i
    b[i] = i
    gpu.syncthreads()
    out[0] = a[i, 0] + b[0]


def added(out, i):
    a = gpu.shared.array(0, gpu.float32)
    b = gpu.shared.dynamic((i, 3), gpu.int8)
    c = gpu.shared.dynamic(i, gpu.float64)
    b[i, i] = c[i] = i
    gpu.syncthreads()
    out[0] = a[i] + b[0, 0]


def local(out, i):
    a = gpu.local.array((3, 7), gpu.float16)
    b = gpu.local.array(33, gpu.int64, alignment=64)
    for j in range(33):
        b[j] = i * j
    a[i, i] = b[i]
    a[0, i] += 1
    out[0] = a[2, i]


def constant(out, i):
    out[0] = SMALL[i] + EMPTY.size


def both_constant(out, i):
    out[0] = SMALL[i] + LONG[i]


STATIC = {"shared": 4096 + 8, "large": 0, "added": 0, "local": 0, "constant": 0, "both_constant": 0}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", STATIC)
def test_assembles(name, check, arch, tmp_path):
    kernel = gpu.jit(check=check)(globals()[name])
    said = assemble(kernel.ptx("float64[::1], int", arch=arch), arch, tmp_path)
    found = re.search(r"(\d+) bytes smem", said)
    assert (int(found[1]) if found else 0) >= STATIC[name], said
    assert STATIC[name] or not found, said
