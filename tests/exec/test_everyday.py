"""The everyday kernels against NumPy, on arrays of ours and on NumPy's own."""

from functools import partial
from types import SimpleNamespace

import gpu
import numpy as np
import pytest
from everyday import Problem, problems
from kernels import make

PROBLEMS = {problem.name: problem for problem in problems()}


def check(problem: Problem, results: list[np.ndarray]) -> None:
    for result, expected in zip(results, problem.expected, strict=True):
        if problem.tolerance:
            largest = np.max(np.abs(expected))
            assert np.max(np.abs(result - expected)) <= problem.tolerance * largest
        else:
            np.testing.assert_array_equal(result, expected)


def kernel_of(problem: Problem) -> object:
    # Escape counts are equal only where every operation is rounded as NumPy rounds it.
    namespace = gpu
    if not problem.tolerance:
        namespace = SimpleNamespace(**{**vars(gpu), "jit": partial(gpu.jit, fma=False)})
    return make(namespace, gpu.float32, gpu.int32, gpu.uint8)[problem.name]


@pytest.mark.parametrize("name", PROBLEMS)
def test_device_arrays(name: str) -> None:
    problem = PROBLEMS[name]
    arguments = [
        gpu.to_device(argument) if isinstance(argument, np.ndarray) else argument
        for argument in problem.arguments
    ]
    kernel_of(problem)[problem.grid, problem.block](*arguments)
    check(problem, [arguments[i].copy_to_host() for i in problem.results])


@pytest.mark.parametrize("name", PROBLEMS)
def test_numpy_arrays(name: str) -> None:
    problem = PROBLEMS[name]
    arguments = [
        argument.copy() if isinstance(argument, np.ndarray) else argument
        for argument in problem.arguments
    ]
    kernel_of(problem)[problem.grid, problem.block](*arguments)
    check(problem, [arguments[i] for i in problem.results])
    for i, (before, after) in enumerate(zip(problem.arguments, arguments, strict=True)):
        if i not in problem.results:
            np.testing.assert_array_equal(before, after)
