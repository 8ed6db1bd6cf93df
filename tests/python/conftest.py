"""The host side of the package.

A test with the fixture `device` runs on the CPU device, and again on the GPU when there is one. One
with `memory` launches nothing, so the stand-in for the driver (tests/runtime/fake_cuda.c, named by
GPUJIT_CUDA_LIBRARY) will do where there is no GPU; a test with `fake` is about that driver.
"""

import os
import sys
from pathlib import Path

import gpu
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

FAKE = "fake_cuda" in os.environ.get("GPUJIT_CUDA_LIBRARY", "")
NO_GPU = "the stand-in for the driver runs no kernels" if FAKE else "no NVIDIA GPU here"
HAS_GPU = gpu.is_available() and not FAKE


def devices(available):
    skip = pytest.mark.skipif(not available, reason=NO_GPU)
    return ["cpu", pytest.param("cuda", marks=skip)]


def use(name):
    gpu.select_device(name)
    yield name
    gpu.synchronize()
    gpu.select_device("cpu")


@pytest.fixture(params=devices(HAS_GPU))
def device(request):
    yield from use(request.param)


@pytest.fixture(params=devices(gpu.is_available()))
def memory(request):
    yield from use(request.param)


@pytest.fixture
def fake():
    if not FAKE:
        pytest.skip("the driver is no stand-in")
    yield from use("cuda")


@pytest.fixture(autouse=True)
def chosen_device():
    """Tests that do not name a device run on the CPU device, whatever is here."""
    gpu.select_device("cpu")
