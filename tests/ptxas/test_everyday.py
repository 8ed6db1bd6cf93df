"""PTX of the twelve everyday kernels assembles for every architecture, without spills."""

import sys
from pathlib import Path

import gpu
import numpy as np
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "everyday"))

from kernels import NAMES, make
from problems import PROBLEMS, SMALL

KERNELS = make(gpu, gpu.float32, gpu.int32)


def signature(args: tuple) -> str:
    """The types of a launch with C-contiguous arrays."""
    texts = []
    for arg in args:
        name = np.asarray(arg).dtype.name
        rank = np.ndim(arg)
        texts.append(name + f"[{':, ' * (rank - 1)}::1]" * isinstance(arg, np.ndarray))
    return ", ".join(texts)


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", NAMES)
def test_assembles(name, arch, tmp_path):
    text = KERNELS[name].ptx(signature(PROBLEMS[name](**SMALL[name]).args), arch=arch)
    assert "0 bytes spill stores" in assemble(text, arch, tmp_path)
