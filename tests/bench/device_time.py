"""Device time of the twelve everyday kernels: ours beside nvcc's C++ twin and numba-cuda, in one run.

    python tests/bench/device_time.py [--rounds 25] [--check-all] [name ...]

Needs an NVIDIA GPU, CuPy (arrays, events, the twins' launches) and nvcc; numba-cuda where it is
installed. Each round launches every peer once, in turn, timed by events of the device. Results are
compared with NumPy's in float64: at a small size for all peers, at the measured size only with
--check-all, for some references take minutes there. Prints medians in ms and ratios.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "everyday")]
import problems  # noqa: E402
from kernels import NAMES, make  # noqa: E402

os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
Launch = Callable[[], object]


def twins(cupy: Any) -> Any:
    cubin = Path(tempfile.mkdtemp()) / "everyday.cubin"
    arch = "sm_" + cupy.cuda.Device().compute_capability
    source = str(HERE / "everyday.cu")
    subprocess.check_call(["nvcc", "-O3", f"-arch={arch}", "-cubin", "-o", str(cubin), source])
    return cupy.RawModule(path=str(cubin))


def numba_cuda() -> Any:
    """numba.cuda, or None where it is not installed."""
    for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
        if not hasattr(np, old):  # numba-cuda 0.30 looks for names that NumPy has dropped
            setattr(np, old, getattr(np, new))
    try:
        import numba
        import numba.cuda
    except ImportError:
        return None
    return numba


class Peers:
    """The twelve kernels of each peer, ready to be launched on one problem's arrays."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.ours = make(gpu, gpu.float32, gpu.int32)
        self.twins = twins(cupy)
        self.numba = numba_cuda()
        if self.numba:
            self.numbas = make(self.numba.cuda, self.numba.float32, self.numba.int32)

    def launches(self, problem: problems.Problem, args: list[Any]) -> dict[str, Launch]:
        """By peer; args hold CuPy arrays, which every peer works on."""
        is_array = [isinstance(x, self.cupy.ndarray) for x in args]
        ours = [gpu.as_gpu_array(x) if a else x for x, a in zip(args, is_array)]
        launcher = self.ours[problem.name][problem.grid, problem.block]
        twin = self.twins.get_function(problem.name)
        found: dict[str, Launch] = {
            "ours": lambda: launcher(*ours),
            "nvcc": lambda: twin(problem.grid, problem.block, (*args, *problem.extra)),
        }
        if self.numba:
            cuda = self.numba.cuda
            theirs = [cuda.as_cuda_array(x) if a else x for x, a in zip(args, is_array)]
            configured = self.numbas[problem.name][problem.grid, problem.block]
            found["numba"] = lambda: configured(*theirs)
        return found


def check(peers: Peers, problem: problems.Problem) -> list[str]:
    """What each peer gets wrong on fresh arrays."""
    wrong = []
    for peer in ["ours", "nvcc"] + ["numba"] * bool(peers.numba):
        args = [peers.cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in problem.args]
        peers.launches(problem, args)[peer]()
        written = {number: args[number].get() for number in problem.right}
        wrong += [f"{peer}: {error}" for error in problem.errors(written)]
    return wrong


def measure(peers: Peers, problem: problems.Problem, rounds: int) -> dict[str, float]:
    """Medians in ms by peer."""
    cupy = peers.cupy
    args = [cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in problem.args]
    launches = peers.launches(problem, args)
    times: dict[str, list[float]] = {peer: [] for peer in launches}
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    for done in range(rounds + 3):
        for peer, launch in launches.items():
            start.record()
            launch()
            end.record()
            end.synchronize()
            if done >= 3:
                times[peer].append(cupy.cuda.get_elapsed_time(start, end))
    return {peer: statistics.median(all_times) for peer, all_times in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--check-all", action="store_true", help="compare at the measured size too")
    options = parser.parse_args()
    if not gpu.is_available():
        sys.exit("needs an NVIDIA GPU")
    try:
        import cupy
    except ImportError:
        print("needs CuPy", file=sys.stderr)
        return 77  # skipped, to Meson
    warnings.simplefilter("ignore", gpu.PerformanceWarning)  # small grids of the checks
    peers = Peers(cupy)
    wrong, ratios = [], {"nvcc": [], "numba": []}
    print(f"{gpu.get_current_device().name}, medians of {options.rounds} rounds, ms")
    print("| kernel | ours | nvcc | numba-cuda | ours / nvcc | ours / numba-cuda | numba / nvcc |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names:
        small = problems.PROBLEMS[name](**problems.SMALL[name])
        large = problems.PROBLEMS[name]()
        wrong += check(peers, small)
        if options.check_all:
            wrong += check(peers, large)
        ms = measure(peers, large, options.rounds)
        theirs = ms.get("numba", math.nan)
        ratios["nvcc"].append(ms["ours"] / ms["nvcc"])
        ratios["numba"].append(ms["ours"] / theirs)
        print(
            f"| {name} | {ms['ours']:.4f} | {ms['nvcc']:.4f} | {theirs:.4f}"
            f" | {ratios['nvcc'][-1]:.2f} | {ratios['numba'][-1]:.2f} | {theirs / ms['nvcc']:.2f} |",
            flush=True,
        )
    means = {peer: math.exp(statistics.fmean(map(math.log, r))) for peer, r in ratios.items()}
    print(f"geometric means: {means['nvcc']:.3f} of nvcc, {means['numba']:.3f} of numba-cuda")
    for error in wrong:
        print(error, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
