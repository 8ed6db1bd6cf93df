"""The host side of the package. Every test with the fixture `device` runs on the CPU
device, and again on the GPU when there is one."""

import gpu
import pytest

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not gpu.is_available(), reason="no NVIDIA GPU here")
    ),
]


@pytest.fixture(params=DEVICES)
def device(request):
    gpu.select_device(request.param)
    yield request.param
    gpu.synchronize()
    gpu.select_device("cpu")


@pytest.fixture(autouse=True)
def chosen_device():
    """Tests that do not name a device run on the CPU device, whatever is here."""
    gpu.select_device("cpu")
