"""Heat that spreads over a plate, whose rows the ranks of an MPI program share. Each rank has a GPU
of its own if there are enough, and swaps the rows at its borders with its neighbours.

mpirun -n 2 python mpi_heat.py [size [steps [direct]]]          needs mpi4py

`direct`: rows go from device memory to device memory, by an MPI that was built for CUDA.
"""

import sys

import gpu
import numpy as np
from mpi4py import MPI

RATE = np.float32(0.2)


@gpu.jit(fma=False)  # NumPy rounds every product
def spread(now, then):
    x, y = gpu.grid(2)
    height, width = now.shape
    if 0 < x < width - 1 and 0 < y < height - 1:
        here = now[y, x]
        around = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1]
        then[y, x] = here + RATE * (around - 4 * here)


def reference(plate: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        then, here = plate.copy(), plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        then[1:-1, 1:-1] = here + RATE * (around - 4 * here)
        plate = then
    return plate


def swap_borders(comm: MPI.Comm, part, direct: bool) -> None:
    """The outermost rows of a part are the neighbours' second ones."""
    up, down = (r if 0 <= r < comm.size else MPI.PROC_NULL for r in (comm.rank - 1, comm.rank + 1))
    gpu.synchronize()  # MPI knows nothing of streams
    for inner, to, outer, source in ((1, up, -1, down), (-2, down, 0, up)):
        row, border = part[inner], part[outer]
        if not direct:
            row, border = row.copy_to_host(), border.copy_to_host()
        comm.Sendrecv(row, to, recvbuf=border, source=source)
        if not direct:
            part[outer].copy_to_device(border)


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    comm = MPI.COMM_WORLD
    local = comm.Split_type(MPI.COMM_TYPE_SHARED)  # the ranks of this host
    gpu.select_device(local.rank % len(gpu.gpus))

    y, x = np.mgrid[0:n, 0:n] / n - 0.5
    plate = (x * x + y * y < 0.04).astype(np.float32)
    bounds = [1 + (n - 2) * rank // comm.size for rank in range(comm.size + 1)]
    first, last = bounds[comm.rank] - 1, bounds[comm.rank + 1] + 1  # with the neighbours' rows
    now, then = gpu.to_device(plate[first:last]), gpu.to_device(plate[first:last])
    for _ in range(steps):
        spread[((n + 15) // 16, (last - first + 15) // 16), (16, 16)](now, then)
        swap_borders(comm, then, "direct" in sys.argv)
        now, then = then, now

    parts = comm.gather(now.copy_to_host()[1:-1])
    if comm.rank:
        return 0
    print(f"{n} x {n} plate after {steps} steps, {comm.size} ranks on {gpu.device().kind}")
    if not np.array_equal(np.concatenate(parts), reference(plate, steps)[1:-1]):
        print("the heat is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
