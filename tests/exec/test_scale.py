"""Large programs compile in time that grows with their size, not faster."""

import time
from typing import Any

import gpu
import kit
import numpy as np

BODY = "\n".join(
    f"    t = t * {k}.5 + a / ({k} + 1.0)\n    if t > {k * 100}.0:\n        t = t - a * {k}.25"
    for k in range(9)
)


def front_ms(kernel: Any) -> float:
    """Milliseconds until inlining, the best of some."""
    rounds = [kernel.compile_times("float64[::1], float", "sm_90") for _ in range(9)]
    return min(times["read"] + times["typed"] + times["core"] for times in rounds)


def chain(n: int) -> Any:
    functions = []
    for i in range(n):
        call = f"f{i + 1}(t, a)" if i < n - 1 else "t"
        functions.append(f"def f{i}(t, a):\n{BODY}\n    u = t + {i}.0\n    return {call} + u\n")
    functions.append("def kernel(x, a):\n    x[0] = f0(x[0], a)\n")
    return kit.kernel("".join(functions))


def calls(n: int) -> Any:
    return kit.kernel(
        "def f(t, a):\n"
        + f"{BODY}\n" * 10
        + "    return t\ndef kernel(x, a):\n    t = x[0]\n"
        + "    t = f(t, a)\n" * n
        + "    x[0] = t\n"
    )


def test_200_functions_of_30_lines_in_a_chain() -> None:
    assert len(BODY.splitlines()) + 3 == 30
    chain(2).ptx("float64[::1], float", arch="sm_90")
    kernel = chain(200)
    start = time.process_time()
    kernel.ptx("float64[::1], float", arch="sm_90")
    assert time.process_time() - start < 2


def test_a_function_called_100_times_is_typed_once() -> None:
    text = calls(100).ir("typed", "float64[::1], float")
    assert text.count("instance ") == 2
    assert front_ms(calls(100)) < 2 * front_ms(calls(1))


def test_results_of_a_chain() -> None:
    x = gpu.to_device(np.array([0.5]))
    kernel = chain(20)
    expected = kernel.py_func
    kernel[1, 1](x, 1.25)
    values = [0.5]
    expected(values, 1.25)
    assert abs(x.copy_to_host()[0] - values[0]) <= 1e-9 * abs(values[0])
