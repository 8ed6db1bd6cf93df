"""The parameters of a kernel: up to 4,352 bytes in any PTX, up to 32,764 in PTX 8.1 and later, none beyond."""

import re

import gpu
import pytest
from assemble import assemble, needs_ptxas


def numbers(x, *a):
    x[0] = a[-1]


def arrays(*a):
    a[-1][0, 0, 0, 0, 0, 0, 0, 0] = 1


def version(ptx: str) -> tuple[int, ...]:
    return tuple(map(int, re.search(r"^\.version (\d+)\.(\d+)", ptx, re.MULTILINE).groups()))


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("n", [1, 541, 542, 543, 1022])
def test_numbers_around_the_small_limit(n, arch, tmp_path):
    ptx = gpu.jit(numbers).ptx("float64[::1]" + ", float64" * n, arch=arch)
    lowest = {"sm_75": (6, 3), "sm_90": (7, 8), "sm_120": (8, 7)}[arch]
    assert version(ptx) == max(lowest, (8, 1) if 16 + 8 * n > 4352 else (0, 0))
    assemble(ptx, arch, tmp_path)


@needs_ptxas
@pytest.mark.parametrize("n", [32, 33, 240])
def test_arrays_up_to_the_large_limit(n, tmp_path):
    ptx = gpu.jit(arrays).ptx(", ".join(["float64[:, :, :, :, :, :, :, :]"] * n), arch="sm_75")
    assert version(ptx) == ((8, 1) if 17 * 8 * n > 4352 else (6, 3))
    assemble(ptx, "sm_75", tmp_path)


def test_beyond_the_large_limit():
    signature = ", ".join(["float64[:, :, :, :, :, :, :, :]"] * 241)
    with pytest.raises(
        gpu.CompileError, match="32776 bytes of parameters needs at most 32764 bytes"
    ) as caught:
        gpu.jit(arrays).ptx(signature, arch="sm_90")
    assert "put numbers into an array" in str(caught.value)
