"""A sum of sines over a large array, in pieces, by Dask's workers: each is a process with a GPU of
its own if there are enough. Kernels and device arrays are arguments and results of tasks.

dask_pieces.py [elements [workers]]          needs dask and distributed
"""

import os
import sys

import gpu
import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin

N_PIECES = 8
VISIBLE = "CUDA_VISIBLE_DEVICES"


class OneGpu(WorkerPlugin):
    """A worker sees one GPU, in all its threads: says so before the driver is asked."""

    def __init__(self, n_gpus: int) -> None:
        self.gpus = os.environ.get(VISIBLE) or ",".join(map(str, range(n_gpus)))

    def setup(self, worker) -> None:
        gpus = self.gpus.split(",")
        os.environ[VISIBLE] = gpus[worker.name % len(gpus)]


@gpu.jit
def wave(first, out):
    i = gpu.grid(1)
    if i < out.size:
        out[i] = np.sin((first + i) * 0.001)


@gpu.jit
def add(a, b):
    i = gpu.grid(1)
    if i < a.size:
        a[i] += b[i]


def fill(kernel, first: int, n: int):
    """A task: a new piece, on the device of the worker that does it."""
    piece = gpu.empty(n)
    kernel.forall(n)(first, piece)
    return piece


def total(kernel, a, b):
    """A task: the sum of two pieces, which may come from other workers."""
    result = gpu.to_device(a)
    kernel.forall(a.size)(result, b)
    return result


def main() -> int:
    size = (int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000) // N_PIECES
    n_workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(OneGpu(len(gpu.gpus)))
        sums = [client.submit(fill, wave, k * size, size) for k in range(N_PIECES)]
        while len(sums) > 1:
            sums = [client.submit(total, add, *sums[k : k + 2]) for k in range(0, len(sums), 2)]
        result = sums[0].result().copy_to_host()
    waves = np.sin(np.arange(size * N_PIECES) * 0.001).reshape(N_PIECES, size)
    print(f"{N_PIECES} pieces of {size} on {n_workers} workers: {result[:3]} ...")
    if not np.allclose(result, waves.sum(axis=0), rtol=0, atol=1e-12):
        print("the sum is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
