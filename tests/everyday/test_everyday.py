"""The twelve everyday kernels give the right answers on the device of the run."""

import gpu
import numpy as np
import pytest
from kernels import NAMES, make
from problems import PROBLEMS, SMALL

KERNELS = make(gpu, gpu.float32, gpu.int32)


@pytest.mark.parametrize("name", NAMES)
def test_answer(name):
    problem = PROBLEMS[name](**SMALL[name])
    args = [gpu.to_device(x) if isinstance(x, np.ndarray) else x for x in problem.args]
    KERNELS[name][problem.grid, problem.block](*args)
    written = {number: args[number].copy_to_host() for number in problem.right}
    assert problem.errors(written) == []


@pytest.mark.parametrize("name", NAMES)
def test_answers_can_be_wrong(name):
    """The references refuse what a kernel that did nothing leaves."""
    problem = PROBLEMS[name](**SMALL[name])
    written = {number: problem.args[number] for number in problem.right}
    assert len(problem.errors(written)) == len(problem.right)
