"""PTX of kernels with records assembles: packed, large, by value, in shared and local memory."""

import gpu
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

pytestmark = needs_ptxas

PACKED = "record(tag: int8, value: float64, half: float16, ok: bool)"
LARGE = "record(id: int32, x: float32, pos: float32[3], big: int64[200])"


@gpu.jit
def kernel(a, b, r, out):
    i = gpu.grid(1)
    tile = gpu.shared.array(16, b.dtype)
    own = gpu.local.array(3, a.dtype)
    tile[i % 16] = b[i]
    own[i % 3] = a[i]
    gpu.syncthreads()
    r.value += i
    a[i] = own[0]
    b[i] = tile[15]
    a[i].value += r.value
    if a[i] == own[1]:
        out[i] = a[i].half
    b[i].pos[1] += 1
    gpu.atomic.add(b["id"], i, 1)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_records(arch, tmp_path):
    text = kernel.ptx(f"{PACKED}[:], {LARGE}[::1], {PACKED}, float32[::1]", arch=arch)
    assemble(text, arch, tmp_path)
