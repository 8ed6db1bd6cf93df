"""From bytecode to PTX, stage by stage: python tests/bench/compile_time.py [ARCH]

Needs no GPU. Prints milliseconds for saxpy: the first compilation of the process, and the median of
later ones, each of a function that was never seen before. `llvm` and `ptx` are LLVM's own time: its
passes and its code generation.
"""

import statistics
import sys

import gpu

SOURCE = """
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + {number}.0 * y[i]
"""
SIGNATURE = "int, float, float32[::1], float32[::1]"
ROUNDS = 100


def fresh(number: int) -> object:
    scope: dict = {"gpu": gpu}
    exec(SOURCE.format(number=number), scope)
    return gpu.jit(scope["saxpy"])


def show(title: str, times: dict[str, float]) -> None:
    stages = "  ".join(f"{stage} {ms:.3f}" for stage, ms in times.items())
    print(f"{title}: {sum(times.values()):.2f} ms = {stages}")


def main() -> None:
    arch = sys.argv[1] if len(sys.argv) > 1 else "sm_90"
    show("first", fresh(0).compile_times(SIGNATURE, arch))
    rounds = [fresh(n).compile_times(SIGNATURE, arch) for n in range(1, ROUNDS)]
    show("warm ", {stage: statistics.median(r[stage] for r in rounds) for stage in rounds[0]})


if __name__ == "__main__":
    main()
