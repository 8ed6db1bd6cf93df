"""Programs of several processes: multiprocessing, joblib, Dask, MPI. Each test is a program, run as
people run it, on the CPU device; the ranks and workers ask for it by the environment."""

import importlib.util
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from ranks import mpirun

KERNELS = """
import gpu
import numpy as np

@gpu.jit(check=True)
def fill(first, x):
    i = gpu.grid(1)
    x[i] = first + i

@gpu.jit
def never_launched_here(x):
    x[0] = gpu.float32(2.5)

def total(kernel, first, n=10):
    x = gpu.zeros(n)
    kernel[1, n](first, x)
    return x.copy_to_host().sum().item()

def faulty(n):
    x = gpu.zeros(n)
    fill[1, n + 1](0, x)
    gpu.synchronize()
"""


def needs(*packages):
    for name in packages:
        if not importlib.util.find_spec(name):
            pytest.skip(f"{name} is not installed")


# Other people's packages may warn, of newer Pythons say, and log what is an error to a task.
OTHERS = "error::gpu.Warning"
# joblib's process that looks after its semaphores may find one gone, when the machine is busy.
LOKY = "joblib.externals.loky.backend.resource_tracker"
QUIET = {
    "GPUJIT_DEVICE": "cpu",
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "PYTHONWARNINGS": f"ignore::UserWarning:{LOKY}",
}


def run(folder, program, starter=(sys.executable,), args=(), warnings="error", timeout=120):
    """What a program prints that has the kernels above in its __main__."""
    path = folder / "program.py"
    path.write_text(KERNELS + textwrap.dedent(program))
    process = subprocess.Popen(
        [*starter, "-W", warnings, str(path), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **QUIET},
    )
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it started
        out, errors = process.communicate()
        pytest.fail(f"no end after {timeout} s\n{out}\n{errors}")
    assert process.returncode == 0, out + errors
    assert not errors
    return out.split()


POOLS = """
    import multiprocessing, sys

    def send(connection):
        launcher = connection.recv()
        x = gpu.zeros(4)
        launcher(7, x)
        connection.send((launcher.kernel, x.copy_to_host(), fill is launcher.kernel))

    def first_value(kernel):
        if not kernel:
            return gpu.float32, gpu.threadIdx.x == gpu.threadIdx.x
        x = gpu.zeros(1)
        kernel[1, 1](x)
        return x.copy_to_host()[0]

    @gpu.jit
    def wrong(x):
        x[0] = nowhere

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            print(*pool.starmap(total, [(fill, 0), (fill, 100)]))
            print(*pool.map(first_value, [never_launched_here, None]))
            try:
                pool.apply(faulty, (5,))
            except gpu.KernelIndexError as error:
                print(error.code, error.kernel, error.thread[0], type(error.__cause__).__name__)
            try:
                pool.apply(first_value, (wrong,))
            except gpu.UndefinedError as error:
                print(error.code, error.lineno - wrong.py_func.__code__.co_firstlineno)
        here, there = context.Pipe()
        process = context.Process(target=send, args=(there,))
        process.start()
        here.send(fill[1, 4])
        kernel, values, was_same = here.recv()
        process.join(60)
        print(kernel is fill, *values, was_same, process.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    out = run(tmp_path, POOLS, args=[method])
    assert " ".join(out) == (
        "45.0 1045.0 2.5 (gpu.float32, True) OUT_OF_BOUNDS fill 5 RemoteTraceback UNKNOWN_NAME 2 "
        "True 7.0 8.0 9.0 10.0 True 0"
    )


def test_fork_before_anything_runs(tmp_path):
    """The driver, the threads of the CPU device and LLVM start in each process by themselves."""
    out = run(tmp_path, """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(*pool.starmap(total, [(fill, 0), (fill, 100)]))
        print(total(fill, 1))
    """)  # fmt: skip
    assert out == ["45.0", "1045.0", "55.0"]


def test_process_pool_executor(tmp_path):
    out = run(tmp_path, """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        def start(kernel):
            global started
            started = kernel

        def use(first):
            return total(started, first), started is fill

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(2, context, start, (fill,)) as pool:
                print(*pool.map(use, range(0, 400, 100)))
                future = pool.submit(faulty, 3)
                error = future.exception()
                print(type(error).__name__, error.kernel, error.lineno, error.block, error.thread)
    """)  # fmt: skip
    line = 1 + KERNELS.splitlines().index("    x[i] = first + i")
    assert out[::2][:4] == ["(45.0,", "(1045.0,", "(2045.0,", "(3045.0,"]
    assert out[1:8:2] == ["True)"] * 4
    assert out[8:] == f"KernelIndexError fill {line} (0, 0, 0) (3, 0, 0)".split()


def test_joblib(tmp_path):
    """Its workers are loky's, which pickle by value what is in __main__ or in a function."""
    needs("joblib")
    out = run(tmp_path, """
        from joblib import Parallel, delayed

        def make(shift):
            @gpu.jit
            def shifted(first, x):
                x[gpu.grid(1)] = first + shift
            return shifted

        if __name__ == "__main__":
            with Parallel(n_jobs=2) as parallel:
                print(*parallel(delayed(total)(fill, k) for k in (0, 100)))
                print(*parallel(delayed(total)(make(k), k) for k in (1, 2)))
                print(*parallel(delayed(lambda: total(fill, k))() for k in (1,)))
                kernels = parallel(delayed(make)(k) for k in (5,))
                print(total(kernels[0], 1), *kernels[0].signatures)
                try:
                    parallel([delayed(faulty)(5)])
                except IndexError as error:
                    print(type(error).__name__, error.kernel)
    """, warnings=OTHERS)  # fmt: skip
    out = " ".join(out)
    assert out == ("45.0 1045.0 20.0 40.0 55.0 60.0 int, float64[::1] KernelIndexError fill")


DASK = """
    from distributed import Client, LocalCluster

    @gpu.jit
    def add(a, b, out):
        i = gpu.grid(1)
        out[i] = a[i] + b[i]

    def make(first):
        x = gpu.zeros(8)
        fill[1, 8](first, x)
        return x

    def join(kernel, a, b):
        out = gpu.zeros_like(a)
        kernel[1, 8](a, b, out)
        return out

    if __name__ == "__main__":
        def local(shift):
            @gpu.jit
            def kernel(first, x):
                x[gpu.grid(1)] = first + shift
            return kernel

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            print(*client.gather(client.map(total, [fill] * 3, range(3))))
            print(client.submit(total, local(5), 1).result())
            print(client.submit(total, fill, first=3).result())
            kernel, = client.scatter([local(7)])
            print(client.submit(total, kernel, 1).result())
            print(total(client.submit(local, 9).result(), 1))
            try:
                client.submit(faulty, 5).result()
            except gpu.KernelIndexError as error:
                print(error.code, error.kernel, error.thread)
            workers = list(client.scheduler_info()["workers"])
            parts = [client.submit(make, k, workers=[worker])
                     for k, worker in zip((0, 100), workers)]
            joined = [client.submit(join, add, *parts, workers=[worker]) for worker in workers]
            for one in client.gather(joined):
                print(type(one).__name__, *one.copy_to_host().astype(int))
            print(client.submit(np.sum, client.submit(np.asarray, joined[0])).result())
"""


def test_dask(tmp_path):
    needs("distributed")
    out = " ".join(run(tmp_path, DASK, warnings=OTHERS))
    joined = "Array 100 102 104 106 108 110 112 114"
    assert out == ("45.0 55.0 65.0 60.0 75.0 80.0 100.0 OUT_OF_BOUNDS fill (5, 0, 0) "
                   f"{joined} {joined} 856.0")  # fmt: skip


def test_mpi(tmp_path):
    out = run(tmp_path, """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        local = comm.Split_type(MPI.COMM_TYPE_SHARED)
        gpu.select_device(local.rank % len(gpu.gpus))

        kernel = comm.bcast(fill if comm.rank == 0 else None)
        assert kernel is fill and comm.bcast(gpu.float32) is gpu.float32
        totals = comm.gather(total(kernel, 100 * comm.rank))

        # Device arrays: the memory itself by the buffer protocol, and as objects.
        x, y = gpu.zeros(6, gpu.float32), gpu.zeros((2, 6), gpu.float32)
        fill[1, 6](10 * comm.rank, x)
        gpu.synchronize()
        comm.Sendrecv(x, 1 - comm.rank, recvbuf=y[1], source=1 - comm.rank)
        assert y.copy_to_host().tolist() == [[0] * 6, [10 * (1 - comm.rank) + k for k in range(6)]]
        comm.Allreduce(MPI.IN_PLACE, x)
        assert x.copy_to_host().tolist() == [10 + 2 * k for k in range(6)]
        other = comm.sendrecv(x, 1 - comm.rank, source=1 - comm.rank)
        assert type(other) is gpu.Array and other.copy_to_host().tolist() == x.copy_to_host().tolist()

        try:
            faulty(5)
        except gpu.Error as error:
            errors = comm.gather(error)
        if comm.rank == 0:
            print(*totals, *[f"{type(e).__name__}:{e.kernel}" for e in errors])
    """, mpirun(2), warnings=OTHERS)  # fmt: skip
    assert out == ["45.0", "1045.0", "KernelIndexError:fill", "KernelIndexError:fill"]
