"""The first call of a kernel that is in the disk cache, in fresh processes.

    python tests/bench/cached_call.py [--processes N]

Times one launch of kernels that another process has compiled: the first one after the device was
opened, and 20 different ones after that; beside them the same without a cache. The CPU device, and
the GPU or (GPUJIT_CUDA_LIBRARY) the stand-in for its driver, which loads and launches in no time, so
that what is left is ours. The best and the median of the processes, ms: the first launch starts threads,
so on a machine that has other work the median is mostly of that.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

CHILD = """
import sys, time
import gpu
gpu.select_device(sys.argv[1])
def kernel(n):
    source = f"def entry(n, a, x, y):\\n    i = gpu.grid(1)\\n    if i < n:\\n"
    source += f"        y[i] = a * x[i] + y[i] + {n}\\n"
    scope = {"gpu": gpu}
    exec(source, scope)
    return gpu.jit(scope["entry"])
kernels = [kernel(n) for n in range(21)]
x = gpu.zeros(1024, gpu.float32)
y = gpu.zeros(1024, gpu.float32)
gpu.synchronize()
times = []
for k in kernels:
    start = time.perf_counter()
    k[4, 256](1024, 2.0, x, y)
    times.append((time.perf_counter() - start) * 1e3)
    gpu.synchronize()
print(kernels[0]._events()[0][0], times[0], *times[1:])
"""


def child(device: str, folder: str) -> tuple[str, float, float]:
    env = {**os.environ, "GPUJIT_CACHE_DIR": folder, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, device], env=env, check=True, capture_output=True, text=True
    )
    words = done.stdout.split()
    numbers = [float(word) for word in words if word[0].isdigit()]
    return words[0], numbers[0], statistics.median(numbers[1:])


def measure(device: str, n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        child(device, folder)  # fills it
        for what, where in (("from disk", folder), ("without a cache", "")):
            runs = [child(device, where) for _ in range(n if where else max(3, n // 4))]
            wanted = "disk" if where else "compiled,"
            assert all(run[0] == wanted for run in runs), runs
            first, later = [run[1] for run in runs], [run[2] for run in runs]
            print(
                f"{device:5} {what:16} first {min(first):7.3f} (median {statistics.median(first):.3f}),"
                f" later ones {min(later):7.3f} (median {statistics.median(later):.3f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=21)
    n = parser.parse_args().processes
    import gpu

    for device in ["cpu", *(["cuda"] if gpu.is_available() else [])]:
        measure(device, n)


if __name__ == "__main__":
    main()
