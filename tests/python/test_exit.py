"""The end of a program, in any order: no crash, no hang, status 0, whatever is alive or running."""

import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import atexit, gc, sys, threading, time
import gpu

@gpu.jit
def add(x):
    i = gpu.grid(1)
    if i < x.size:
        x[i] += 1

@gpu.jit
def forever(x):
    while x[0] < 1:
        x[1] += 0

def make(n):
    scope = {"gpu": gpu, "n": n}
    exec("@gpu.jit(cache=False)\\ndef f(x):\\n    x[0] = n\\n", scope)
    return scope["f"]
"""

PROGRAMS = {
    "live arrays, streams, events, kernels": """
        x, stream, event = gpu.ones(10), gpu.stream(), gpu.event()
        add[1, 16, stream](x)
        event.record(stream)
        bound = add[1, 16]
        bound(x)
    """,
    "a kernel that runs for ever": """
        forever[1, 1](gpu.zeros(2))
    """,
    "many that are queued": """
        x = gpu.zeros(1 << 16)
        for _ in range(500):
            add[256, 256](x)
    """,
    "reference cycles": """
        class Node:
            pass
        for i in range(50):
            node = Node()
            node.self, node.array, node.stream = node, gpu.ones(10), gpu.stream()
            node.kernel = make(i)
            node.kernel[1, 1](node.array)
            node.launcher = node.kernel[1, 1]
            node.kernel.py_func.__globals__["node"] = node
        gc.disable()
    """,
    "handlers that launch": """
        x = gpu.zeros(4)
        def last():
            add[1, 16](x)
            make(3)[1, 1](x)
            assert x.copy_to_host().tolist() == [3.0, 1.0, 1.0, 1.0], x
            print("launched")
        atexit.register(last)
    """,
    "handlers registered before the import": """
        def last():
            x = gpu.zeros(4)
            add[1, 16](x)
            assert x.copy_to_host().sum() == 4
            print("launched")
        sys.modules["atexit"].register(last)
        add[1, 16](gpu.zeros(3))
    """,
    "destructors that launch": """
        class Late:
            def __init__(self):
                self.x, self.kernel, self.gpu = gpu.zeros(4), add, gpu
            def __del__(self):
                self.kernel[1, 16](self.x)
                self.gpu.synchronize()
        late = Late()
        late.cycle = late
        other = Late()
    """,
    "daemon threads that launch": """
        def work():
            x = gpu.zeros(100)
            while True:
                add[1, 128](x)
                gpu.synchronize()
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """,
    "daemon threads that compile": """
        def work(k):
            n = k
            while True:
                n += 8
                make(n)[1, 1](gpu.zeros(1))
        for k in range(4):
            threading.Thread(target=work, args=(k,), daemon=True).start()
        time.sleep(0.5)
    """,
    "a daemon thread that waits": """
        def work():
            forever[1, 1](gpu.zeros(2))
            gpu.synchronize()
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
    """,
    "threads that end the interpreter": """
        def work():
            add[1, 16](gpu.zeros(3))
            sys.exit(3)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        sys.exit(0)
    """,
    "modules taken apart": """
        x = gpu.ones(3)
        add[1, 16](x)
        for name in [name for name in sys.modules if name.split(".")[0] == "gpu"]:
            del sys.modules[name]

        gc.collect()
        add[1, 16](x)
        assert x.copy_to_host().sum() == 9
    """,
    "after close": """
        x, stream = gpu.ones(3), gpu.stream()
        add[1, 16, stream](x)
        gpu.close()
    """,
    "an exception that keeps its frames": """
        x = gpu.ones(3)
        try:
            raise ValueError
        except ValueError as error:
            kept = error
        add[1, 16](x)
        sys.last_value = kept
        sys.modules["kept"] = [kept, x, add]
    """,
}


def run(program, **environment):
    command = [sys.executable, "-X", "faulthandler", "-c", HEAD + textwrap.dedent(program)]
    env = {**os.environ, "GPUJIT_DEVICE": "cpu", **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Traceback" not in done.stderr, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_end(name):
    out = run(PROGRAMS[name])
    if "print(" in PROGRAMS[name]:
        assert out == "launched\n"


@pytest.mark.parametrize("name", ["daemon threads that launch", "daemon threads that compile"])
def test_end_many_times(name):
    """Where the threads are when the program ends is chance."""
    for _ in range(6):
        run(PROGRAMS[name].replace("0.5", "0.1").replace("0.2", "0.02"))


def test_end_with_the_driver(fake):
    program = """
        gpu.select_device("cuda")
        x, stream, event = gpu.ones(10), gpu.stream(), gpu.event()
        event.record(stream)
        class Node:
            pass
        node = Node()
        node.self, node.array, node.stream = node, gpu.ones(3), gpu.stream()
        gpu.select_device("cuda:1")
        y = gpu.ones(3)
        def last():
            assert gpu.ones(3).copy_to_host().sum() == 3
            print("launched")
        atexit.register(last)
        def work():
            while True:
                gpu.ones(100).copy_to_host()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """
    assert run(program) == "launched\n"
