"""The disk cache: what is found, what is compiled again, and what becomes of broken files.

The suite has a folder of its own. `device` is the CPU device, and the GPU or the stand-in for its
driver (GPUJIT_CUDA_LIBRARY), which computes nothing and knows one kernel, by the name "entry".
"""

import atexit
import os
import shutil
import tempfile

FOLDER = tempfile.mkdtemp(prefix="gpujit-cache-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.environ["GPUJIT_CACHE_DIR"] = FOLDER

import cachekit  # noqa: E402
import gpu  # noqa: E402
import pytest  # noqa: E402
from gpu import _gpujit  # noqa: E402


@pytest.fixture(autouse=True)
def empty_cache():
    gpu.select_device("cpu")
    _gpujit._cache_prune(0)
    yield


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not gpu.is_available():
        pytest.skip("no NVIDIA GPU here, and no stand-in for its driver")
    gpu.select_device(request.param)
    yield request.param
    gpu.select_device("cpu")


@pytest.fixture
def folder():
    return cachekit.Path(FOLDER)
