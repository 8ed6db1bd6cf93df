"""Other processes: one compiles, the others find it, and none of them waits for a dead one."""

import os
import signal
import time

from cachekit import files, run

PROGRAM = """
import os, sys
import gpu, numpy as np
N = 3
class Bad(Exception):
    pass
def helper(v):
    return v * N
@gpu.jit
def first(x):
    x[gpu.grid(1)] = helper(gpu.grid(1))
@gpu.jit
def second(x, f):
    s = gpu.shared.array(32, gpu.float64)
    i = gpu.threadIdx.x
    s[i] = i
    gpu.syncthreads()
    x[i] = f(s[31 - i])
@gpu.jit
def third(x):
    i = gpu.grid(1)
    if i == 31:
        raise Bad("at", i)
    x[i] = 1
x = gpu.zeros(32)
first[1, 32](x)
assert np.array_equal(x.copy_to_host(), np.arange(32) * 3.0)
second[1, 32](x, lambda v: v + 1)
assert np.array_equal(x.copy_to_host(), np.arange(32)[::-1] + 1.0)
try:
    third[1, 32](x)
    gpu.synchronize()
    raise SystemExit("nothing was raised")
except Bad as error:
    assert error.args == ("at", 31)
print(*[k._events()[0][0] for k in (first, second, third)])
"""


def test_a_second_process_compiles_nothing(tmp_path):
    assert run(PROGRAM, tmp_path / "c") == "compiled compiled compiled\n"
    for seed in ("0", "1", "random"):
        assert run(PROGRAM, tmp_path / "c", PYTHONHASHSEED=seed) == "disk disk disk\n"
    more = "import enum, collections\nclass Other(Exception):\n    pass\n" + PROGRAM
    assert run(more, tmp_path / "c") == "disk disk disk\n"


SET = """
import gpu
MODE = "slow"
@gpu.jit
def entry(x):
    x[0] = 1 if MODE in {"fast", "slow", "careful", "other"} else 2
x = gpu.zeros(1)
entry[1, 1](x)
assert x.copy_to_host()[0] == 1
print(entry._events()[0][0])
"""


def test_the_order_of_a_set_does_not_matter(tmp_path):
    """That of texts is another one in each process."""
    assert run(SET, tmp_path / "c", PYTHONHASHSEED="1") == "compiled\n"
    for seed in range(2, 6):
        assert run(SET, tmp_path / "c", PYTHONHASHSEED=str(seed)) == "disk\n"


def test_nothing_of_the_compiler_runs(tmp_path):
    """The stages of a compilation would be dumped; with GPUJIT_DUMP nothing is taken from disk."""
    run(PROGRAM, tmp_path / "c")
    assert run(PROGRAM, tmp_path / "c", GPUJIT_DUMP="llvm").startswith("compiled, not kept")


def test_64_processes_at_once(tmp_path):
    """On an empty cache: each kernel is compiled by few of them, all results are right."""
    gate = tmp_path / "go"
    waiting = "import os, time\nwhile not os.path.exists({!r}):\n    time.sleep(0.01)\n"
    source = PROGRAM.replace("N = 3\n", waiting.format(str(gate)) + "N = 3\n", 1)
    children = [run(source, tmp_path / "c", wait=False) for _ in range(64)]
    time.sleep(0.5)
    gate.write_text("")
    origins = []
    for child in children:
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0, out + err
        origins.append(out.split())
    for kernel in zip(*origins, strict=True):
        assert 1 <= kernel.count("compiled") <= 4
        assert kernel.count("compiled") + kernel.count("disk") == 64
    left = [p.name for p in (tmp_path / "c").iterdir() if not p.name.endswith(".gpujit")]
    assert left == []
    assert len(files(tmp_path / "c")) == 4  # three kernels, and the question about f


HOLDS = """
import ctypes, fcntl, os, sys, time
folder = sys.argv[1]
os.makedirs(folder, mode=0o700)
import gpu
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = 1
entry[1, 1](gpu.zeros(1))
gpu.synchronize()
name = next(n for n in os.listdir(folder) if n.endswith(".gpujit"))
os.unlink(os.path.join(folder, name))
file = os.open(os.path.join(folder, "." + name.replace(".gpujit", ".lock")), os.O_CREAT | os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""
WAITS = """
import gpu, time
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = 1
x = gpu.zeros(1)
entry[1, 1](x)
assert x.copy_to_host()[0] == 1
print(entry._events()[0][0])
"""


def test_a_process_that_dies_while_it_compiles(tmp_path):
    holder = run(HOLDS, tmp_path / "c", wait=False, arguments=[tmp_path / "c"])
    assert holder.stdout.readline() == "held\n"
    waiter = run(WAITS, tmp_path / "c", wait=False)
    time.sleep(0.7)
    assert waiter.poll() is None  # it waits for what the other one compiles
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    out, err = waiter.communicate(timeout=30)
    assert (waiter.returncode, out) == (0, "compiled\n"), err


def test_a_wait_can_be_interrupted(tmp_path):
    holder = run(HOLDS, tmp_path / "c", wait=False, arguments=[tmp_path / "c"])
    assert holder.stdout.readline() == "held\n"
    waiter = run(WAITS, tmp_path / "c", wait=False)
    time.sleep(0.7)
    waiter.send_signal(signal.SIGINT)
    _, err = waiter.communicate(timeout=10)
    holder.kill()
    holder.communicate()
    assert waiter.returncode != 0 and "KeyboardInterrupt" in err


FORKS = """
import os
import gpu
@gpu.jit
def entry(x):
    x[gpu.grid(1)] = 7
for _ in range(8):
    if not os.fork():
        x = gpu.zeros(1)
        entry[1, 1](x)
        os._exit(int(x.copy_to_host()[0] != 7))
assert all(os.wait()[1] == 0 for _ in range(8))
"""


def test_forks(tmp_path):
    run(FORKS, tmp_path / "c")
    assert len(files(tmp_path / "c")) == 1


def test_a_file_of_kernels_is_edited(tmp_path):
    """As a person does it: run, edit, run."""
    path = tmp_path / "kernels.py"
    text = """import gpu
LIMIT = {limit}
@gpu.jit
def entry(x, i):
    assert i < LIMIT, "too large"
    x[0] = i
"""
    use = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
sys.dont_write_bytecode = True
import gpu, kernels, traceback
x = gpu.zeros(1)
kernels.entry[1, 1](x, 1)
assert x.copy_to_host()[0] == 1
print(kernels.entry._events()[0][0])
try:
    kernels.entry[1, 1](x, 100)
    gpu.synchronize()
except AssertionError as error:
    print(*[f.lineno for f in traceback.extract_tb(error.__traceback__) if "kernels" in f.filename],
          str(error) + "".join(getattr(error, "__notes__", [])))
"""
    for source, where, line in [
        (text.format(limit=5), "compiled", 5),
        (text.format(limit=5), "disk", 5),
        ("# A comment\n\n" + text.format(limit=5), "disk", 7),
        (text.format(limit="(\n    5\n)"), "disk", 7),
        (text.format(limit=6), "compiled", 5),
    ]:
        path.write_text(source)
        shown = run(use, tmp_path / "c").split("\n", 1)
        assert shown[0] == where
        assert f"line {line}" in shown[1] or str(line) in shown[1].split()[:1], shown[1]
        assert os.path.exists(path)
