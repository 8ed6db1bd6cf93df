"""After a fork: the CPU device works in the child, a GPU that the parent had opened says why not."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time

import gpu
import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # of threads, from 3.12 on
]


@gpu.jit
def double(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] *= 2


def child(n):
    """Runs in another process."""
    x = gpu.to_device(np.arange(n, dtype=np.float64))
    double[1, 256](x)
    return float(x.copy_to_host().sum())


def in_child(work):
    """What work() prints, or its exception's text, in a forked child."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__name__} {getattr(error, 'code', '')}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, (status, text)
    return text


@pytest.mark.parametrize("used", [False, True])
def test_pools_by_fork_work_on_the_cpu_device(used):
    if used:
        assert child(4) == 12
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(child, [1, 10, 100, 200]) == [n * (n - 1) for n in (1, 10, 100, 200)]
    assert child(10) == 90


def test_what_the_parent_made_works_in_the_child():
    x = gpu.ones(5)
    double[1, 8](x)
    gpu.synchronize()

    def work():
        double[1, 8](x)
        return x.copy_to_host().tolist()

    assert in_child(work) == str([4.0] * 5)
    assert x.copy_to_host().tolist() == [2.0] * 5


def test_grandchildren():
    def work():
        return child(6), in_child(lambda: child(5))

    assert in_child(work) == "(30.0, '20.0')"


def test_a_fork_while_kernels_run_and_threads_compile():
    """Locks may be held, a kernel be half compiled and another half run: the child has none of it."""
    stop = threading.Event()

    def compile_on():
        n = 0
        while not stop.is_set():
            n += 1
            scope = {"gpu": gpu, "n": n}
            exec("@gpu.jit\ndef f(x):\n    x[0] = n\n", scope)
            scope["f"][1, 1](gpu.zeros(1))
            if n % 5 == 0:
                gpu.synchronize()

    threads = [threading.Thread(target=compile_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            time.sleep(0.02)
            assert in_child(lambda: child(7)) == "42.0"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_forks_wait_for_the_compiler():
    """LLVM's own locks are free in every child: each of them compiles, and new kernels."""
    stop = threading.Event()

    def compile_on():
        while not stop.is_set():
            scope = {"gpu": gpu}
            exec("@gpu.jit(cache=False)\ndef f(x):\n    x[0] = 1\n", scope)
            scope["f"][1, 1](gpu.zeros(1))
            scope["f"].ptx("float64[::1]")

    def work():
        scope, x = {"gpu": gpu}, gpu.zeros(1)
        exec("@gpu.jit(cache=False)\ndef f(x):\n    x[0] = 5\n", scope)
        scope["f"][1, 1](x)
        return x[0]

    threads = [threading.Thread(target=compile_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(25):
            assert in_child(work) == "5.0"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_fork_by_two_threads_at_once():
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(in_child(lambda: child(7))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["42.0"] * 4


def test_a_kernel_that_another_thread_was_compiling_is_compiled_by_the_child():
    source = "    x[0] += 1\n" * 400
    scope = {"gpu": gpu}
    exec(f"@gpu.jit(cache=False)\ndef long(x):\n{source}", scope)
    started = threading.Event()

    def launch():
        started.set()
        scope["long"][1, 1](gpu.zeros(1))

    thread = threading.Thread(target=launch)
    thread.start()
    started.wait()
    time.sleep(0.05)  # it is in the compiler now, most likely

    def work():
        x = gpu.zeros(1)
        scope["long"][1, 1](x)
        return x.copy_to_host()[0]

    assert in_child(work) == "400.0"
    thread.join()


def test_the_driver_does_not_survive(fake):
    """The stand-in ends the process if it is called in the child."""
    x = gpu.ones(4)

    def every_use():
        scope = {"gpu": gpu}
        exec("def entry(x):\n    x[0] = 1\n", scope)
        kernel = gpu.jit(scope["entry"])
        for use in (
            lambda: gpu.zeros(3),
            x.copy_to_host,
            lambda: x.copy_to_device(np.ones(4)),
            lambda: kernel[1, 1](x),
            gpu.synchronize,
            gpu.stream,
            gpu.reset,
            lambda: gpu.select_device("cuda:1"),
            lambda: gpu.device().WARP_SIZE,
        ):
            with pytest.raises(gpu.DeviceError, match="forked") as caught:
                use()
            assert caught.value.code == "FORKED" and "'spawn'" in str(caught.value)
        gpu.select_device("cpu")
        return child(3)

    assert in_child(every_use) == "6.0"
    assert x.copy_to_host().sum() == 4

    def ends():
        global kept
        kept = x, gpu.device("cpu")
        return "bye"

    assert in_child(ends) == "bye"


def test_a_child_may_open_the_driver_first(fake):
    """A process that has not used the GPU forks; the child uses it."""
    program = """
        import os, gpu
        os.environ["GPUJIT_DEVICE"] = "cuda"
        pid = os.fork()
        if pid == 0:
            assert gpu.ones(3).copy_to_host().sum() == 3
            assert gpu.device().name == "Fake GPU A"
            raise SystemExit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert gpu.ones(3).copy_to_host().sum() == 3
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)


def test_a_child_that_ends_by_itself():
    """With arrays, streams and kernels of the parent alive: module and runtime are taken down."""
    program = """
        import os, gpu, numpy as np
        @gpu.jit
        def f(x):
            x[0] += 1
        x, stream = gpu.ones(3), gpu.stream()
        f[1, 1, stream](x)
        pid = os.fork()
        if pid == 0:
            f[1, 1](x)
            raise SystemExit(0)
        assert os.waitpid(pid, 0)[1] == 0
        gpu.synchronize()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "GPUJIT_DEVICE": "cpu"})
