"""Memory that other processes open, and memory of other devices."""

import gc
import os
import pickle
import subprocess
import sys

import gpu
import numpy as np
import pytest

CHILD = """
import pickle, sys
import gpu
import numpy as np

handle = pickle.load(sys.stdin.buffer)
gpu.select_device(handle._kind)
with handle as x:
    seen = x.copy_to_host()
    x[...] = x.copy_to_host() + 1
    gpu.synchronize()
    del x
np.save(sys.stdout.buffer, seen)
"""


def child(handle, code=CHILD):
    """What another process sees of the array, to which it adds 1."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(handle), capture_output=True, env=env
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    import io

    return np.load(io.BytesIO(done.stdout)) if done.stdout else None


@gpu.jit
def add(x, y):
    i = gpu.grid(1)
    if i < x.size:
        x[i] += y


VALUES = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
VIEWS = {
    "all": lambda x: x,
    "part": lambda x: x[1:, 2],
    "backwards": lambda x: x[::-1, :, ::-2],
    "turned": lambda x: x.T,
    "element": lambda x: x[2, 3, 4:],
}


@pytest.mark.parametrize("which", VIEWS)
def test_other_process(device, which):
    x = gpu.to_device(VALUES)
    expected = VALUES.copy()
    part = VIEWS[which](x)
    assert (child(part.get_ipc_handle()) == VIEWS[which](expected)).all()
    VIEWS[which](expected)[...] += 1
    assert (x.copy_to_host() == expected).all()


def test_kernels_of_both(device):
    x = gpu.zeros(1000)
    handle = x.get_ipc_handle()
    code = CHILD.replace("x[...] = x.copy_to_host() + 1", "x.fill(5.0)")
    for round_ in range(3):
        add[4, 256](x, 1.0)
        gpu.synchronize()
        assert (child(handle, code) == (1.0 if round_ == 0 else 6.0)).all()
    add[4, 256](x, 1.0)
    assert (x.copy_to_host() == 6.0).all()


def test_handles(device):
    x = gpu.to_device(VALUES)
    handle = pickle.loads(pickle.dumps(x.get_ipc_handle()))
    with pytest.raises(gpu.ArgumentError, match="is not open"):
        handle.close()
    assert x.get_ipc_handle().size == VALUES.nbytes
    with pytest.raises(gpu.ArgumentTypeError, match="without elements"):
        x[:0].get_ipc_handle()
    for wrong in ((b"", 10, 0, 10), (handle._memory[0], 10, 5, 6), (handle._memory[0], 10, 0, 0)):
        with pytest.raises(gpu.ArgumentError, match="not the handle"):
            gpu._gpujit._ipc_open(*wrong)


def test_same_process_on_the_cpu_device():
    """Where the CPU device does more than a GPU."""
    x = gpu.to_device(VALUES)
    handle = x.get_ipc_handle()
    y = handle.open()
    assert y.address != x.address and y.shape == x.shape
    with pytest.raises(gpu.ArgumentError, match="open already"):
        handle.open()
    y.fill(3)
    assert (x.copy_to_host() == 3).all()
    handle.close()
    assert (y.copy_to_host() == 3).all()
    add[1, 64](y.reshape(-1), 1)
    del y  # queued work still has it
    assert (x.copy_to_host() == 4).all()


def test_the_array_is_gone():
    """Who has opened the memory keeps it; who comes late is told, and gets nobody else's."""
    x = gpu.to_device(VALUES)
    handle = pickle.loads(pickle.dumps(x.get_ipc_handle()))
    late = pickle.loads(pickle.dumps(x.get_ipc_handle()))
    y = handle.open()
    del x
    gc.collect()
    gpu.synchronize()
    others = [gpu.zeros(60, np.float32) for _ in range(20)]
    assert (y.copy_to_host() == VALUES).all()
    y.fill(7)
    assert not any(z.copy_to_host().any() for z in others)
    with pytest.raises(gpu.ArgumentError, match="it has ended, has freed the array"):
        late.open()


def test_the_process_is_gone():
    code = """
import pickle, sys
import gpu
import numpy as np
sys.stdout.buffer.write(pickle.dumps(gpu.zeros(10).get_ipc_handle()))
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    env["GPUJIT_DEVICE"] = "cpu"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    with pytest.raises(gpu.ArgumentError, match="it has ended") as caught:
        pickle.loads(done.stdout).open()
    assert "keeps its array" in str(caught.value)


def test_memory_of_others_is_not_shared():
    with pytest.raises(gpu.ArgumentError, match="only memory that gpu has allocated"):
        gpu.as_gpu_array(np.zeros(10)).get_ipc_handle()


def test_driver_handles(fake):
    x = gpu.to_device(VALUES)
    handle = pickle.loads(pickle.dumps(x[1].get_ipc_handle()))
    assert handle.size == 80
    with handle as y:
        assert y.shape == (4, 5) and (y.copy_to_host() == VALUES[1]).all()
    del y
    gpu.select_device("cpu")
    with pytest.raises(gpu.ArgumentError, match="kind 'cuda', the current one is 'cpu'"):
        handle.open()


def test_peers_of_the_driver(fake):
    second = gpu.gpus[1]
    with second:
        far = gpu.zeros(100, np.int32)
    near = gpu.to_device(np.arange(100, dtype=np.int32))
    far.copy_to_device(near)
    assert (far.copy_to_host() == np.arange(100)).all()
    far[:50].copy_to_device(near[50:])
    assert (far.copy_to_host()[:50] == np.arange(50, 100)).all()

    context = gpu.current_context()
    assert context.can_access_peer(1) and context.can_access_peer(second)
    scope = {"gpu": gpu}
    exec("def entry(x, y):\n    y[gpu.grid(1)] = x[gpu.grid(1)]\n", scope)
    f = gpu.jit(scope["entry"])
    with pytest.raises(gpu.ArgumentTypeError, match="cuda:1"):
        f[200, 4](near, far)
    context.enable_peer_access(second)
    context.enable_peer_access(second)  # it is so already
    f[200, 4](near, far)
    context.disable_peer_access(second)
    with pytest.raises(gpu.ArgumentTypeError, match="cuda:1"):
        f[200, 4](near, far)
    with pytest.raises(gpu.ArgumentError, match="no flags"):
        context.enable_peer_access(1, flags=1)


def test_no_peers():
    context = gpu.current_context()
    assert context.can_access_peer(context)
    context.enable_peer_access(gpu.get_current_device())  # nothing to do
