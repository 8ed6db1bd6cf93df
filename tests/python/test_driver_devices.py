"""Several devices, contexts, threads of the host and reset: on the CPU device, and with the stand-in
for the driver, which has two GPUs whose memories are apart."""

import ctypes
import os
import pickle
import threading

import gpu
import numpy as np
import pytest


def kernel(source="def entry(x, y):\n    i = gpu.grid(1)\n    y[i] = x[i]\n"):
    """The stand-in knows one kernel, by this name."""
    scope = {"gpu": gpu}
    exec(source, scope)
    return gpu.jit(scope["entry"])


def in_thread(work):
    """What it returns, or raises, on a thread of its own."""
    found = []

    def run():
        try:
            found.append((work(), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = found[0]
    if error:
        raise error
    return value


@pytest.fixture
def same_gpus(monkeypatch, fake):
    """Both of one architecture, that the stand-in's driver takes."""
    monkeypatch.setenv("FAKE_CUDA_SAME", "1")
    gpu.close()
    gpu.select_device("cuda")
    yield
    gpu.select_device("cpu")
    gpu.close()


# ---- The list of devices


def test_the_cpu_device_is_the_list_where_kernels_run_on_it():
    assert len(gpu.gpus) == 1 and len(gpu.gpus.lst) == 1
    (cpu,) = gpu.gpus
    assert cpu.kind == "cpu" and cpu.id == 0 and cpu == gpu.gpus[0] == gpu.gpus[-1]
    assert gpu.gpus.current == gpu.device() == gpu.get_current_device() == gpu.device(0)
    assert gpu.list_devices() is gpu.gpus is gpu.devices
    with pytest.raises(IndexError, match=r"gpu\.gpus\[1\]: there is 1 device"):
        gpu.gpus[1]
    assert gpu.gpus[:] == [cpu] and pickle.loads(pickle.dumps(cpu)) == cpu
    assert gpu.select_device(0) == cpu
    with pytest.raises(gpu.DeviceError, match="only one CPU device"):
        gpu.select_device(1)
    for wrong in (True, 1.5, None, [0]):
        with pytest.raises(gpu.DeviceError, match=r"a device is a number of gpu\.gpus"):
            gpu.select_device(wrong)


def test_attributes_of_the_cpu_device():
    cpu = gpu.device("cpu")
    assert cpu.WARP_SIZE == 32 and cpu.MAX_THREADS_PER_BLOCK == 1024
    assert cpu.processors == cpu.MULTIPROCESSOR_COUNT
    assert cpu.MAX_GRID_DIM_X == 2**31 - 1 and cpu.MAX_BLOCK_DIM_Z == 64
    assert cpu.shared_memory == cpu.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    assert cpu.UNIFIED_ADDRESSING == 1 and cpu.CLUSTER_LAUNCH == 0 and cpu.ECC_ENABLED == 0
    assert cpu.get_device_identity() == {
        "pci_domain_id": 0, "pci_bus_id": 0, "pci_device_id": 0,
    }  # fmt: skip
    assert "MULTIPROCESSOR_COUNT" in dir(cpu) and cpu.pci == ""
    with pytest.raises(AttributeError, match="no CU_DEVICE_ATTRIBUTE_NUMBER_OF_WHEELS"):
        _ = cpu.NUMBER_OF_WHEELS
    with pytest.raises(AttributeError, match="no attribute 'wheels'"):
        _ = cpu.wheels


def test_gpus(fake):
    assert [g.name for g in gpu.gpus] == ["Fake GPU A", "Fake GPU B"]
    first, second = gpu.gpus
    assert (first.uuid, second.pci) == (
        "GPU-" + "40404040-4040-4040-4040-404040404040",
        "0000:3c:00.0",
    )
    assert (first.compute_capability, second.compute_capability) == ((9, 0), (10, 0))
    assert (first.COMPUTE_CAPABILITY_MAJOR, second.COMPUTE_CAPABILITY_MAJOR) == (9, 10)
    assert first.MULTIPROCESSOR_COUNT == 132 and first != second
    with pytest.raises(AttributeError, match="the driver does not know ONLY_PARTIAL"):
        _ = first.ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED
    with pytest.raises(IndexError, match="there is 2 devices"):
        gpu.gpus[2]
    with pytest.raises(gpu.DeviceError, match="there is no GPU number 2; the driver has 2"):
        gpu.select_device(2)


def test_detect(capsys):
    found = gpu.detect()
    out = capsys.readouterr().out
    n = gpu._gpujit._gpu_count()
    assert found == (n > 0) and out.startswith(f"Found {n} CUDA device")
    fake = "fake_cuda" in os.environ.get("GPUJIT_CUDA_LIBRARY", "")
    names = ("Fake GPU B", "0000:3b:00.0") if fake else ()
    assert all(text in out for text in names)
    assert out.count("sm_") == out.count("PCI") == n


def test_require_context(memory):
    @gpu.require_context
    def work(n, *, twice=1):
        """Works."""
        return n * twice

    assert work(3, twice=2) == 6 and work.__doc__ == "Works."
    assert gpu.devices.require_context(work)(1) == 1
    assert gpu.current_context().device == gpu.device() == gpu.current_context(0).device
    assert gpu.devices.get_context() == gpu.current_context()


# ---- Choosing


def test_with_brings_back_what_was(fake):
    assert gpu.device().id == 0
    with gpu.gpus[1] as second:
        assert gpu.device() == second and gpu.zeros(3).device == "cuda:1"
        with gpu.device(0), gpu.device("cpu"):
            assert gpu.zeros(3).device == "cpu"
            with gpu.gpus[0]:  # of the kind that kernels run on
                assert gpu.device().kind == "cpu"
        assert gpu.device() == second
        with pytest.raises(ZeroDivisionError), gpu.device(0):
            _ = 1 / 0
        assert gpu.device() == second
    assert gpu.device().id == 0 and gpu.zeros(3).device == "cuda:0"
    context = gpu.current_context(1)
    context.push()
    assert gpu.device().id == 1
    context.pop()
    assert gpu.device().id == 0


def test_each_thread_has_its_own(fake):
    gpu.select_device(1)
    assert in_thread(lambda: gpu.device().id) == 0  # new threads start at the first one
    assert in_thread(lambda: gpu.select_device(1).id) == 1
    barrier = threading.Barrier(2)

    def work(i):
        for n in range(50):
            gpu.select_device((i + n) % 2)
            barrier.wait()
            assert gpu.zeros(2).device == f"cuda:{(i + n) % 2}"
        return i

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gpu.device().id == 1
    gpu.select_device(0)


def test_new_threads_start_where_the_main_thread_chose():
    gpu.select_device("python")
    try:
        assert in_thread(lambda: gpu.device().kind) == "python"
        assert in_thread(lambda: gpu.select_device("cpu").kind) == "cpu"
        assert gpu.device().kind == "python"  # a thread's choice is its own
        assert in_thread(lambda: gpu.device().kind) == "python"
    finally:
        gpu.select_device("cpu")
    assert in_thread(lambda: gpu.device().kind) == "cpu"


# ---- Memories apart


def test_memory_of_the_other_device_is_refused(same_gpus):
    f, here = kernel(), gpu.zeros(4)
    with gpu.gpus[1]:
        there = gpu.zeros(4)
        f[1, 4](there, there)
        with pytest.raises(
            gpu.ArgumentTypeError,
            match="'x' of entry is in the memory of cuda:0, the kernel runs on cuda:1",
        ):
            f[1, 4](here, there)
    with pytest.raises(gpu.ArgumentTypeError, match="memory of cuda:1, the kernel runs on cuda:0"):
        f[1, 4](here, there)
    stream = gpu.stream()
    with gpu.gpus[1]:
        with pytest.raises(
            gpu.DeviceError, match="the stream is of cuda:0, the kernel runs on cud"
        ):
            f[1, 4, stream](there, there)
        with stream, pytest.raises(gpu.DeviceError, match="the stream is of cuda:0"):
            f[1, 4](there, there)
    assert np.array_equal(there.copy_to_host(), np.zeros(4))  # copies go where the array is


# ---- Reset and close


@pytest.fixture(params=["cpu", "cuda"])
def resettable(request):
    if request.param == "cuda":
        request.getfixturevalue("fake")
    gpu.select_device(request.param)
    yield request.param
    gpu.select_device("cpu")


@pytest.mark.parametrize("how", ["reset", "device", "context", "close", "devices"])
def test_after_a_reset_old_objects_say_so(resettable, how):
    f, x, stream = kernel(), gpu.zeros(4), gpu.stream()
    view = x[1:]
    f[1, 4](x, x)
    bound = f[1, 4, stream]
    bound(x, x)
    if how == "reset":
        gpu.reset()
    elif how == "device":
        gpu.device().reset()
    elif how == "context":
        gpu.current_context().reset()
    elif how == "close":
        gpu.close()
    else:
        gpu.devices.reset()
    gpu.select_device(resettable)
    for use in (
        x.copy_to_host,
        view.copy_to_host,
        lambda: x.copy_to_device(np.zeros(4)),
        stream.synchronize,
        lambda: f[1, 4](x, x),
        lambda: f[1, 4](gpu.zeros(4), view),
    ):
        with pytest.raises(gpu.DeviceError, match="was reset") as caught:
            use()
        assert caught.value.code == "DEVICE_RESET"
    assert "was reset" in repr(x)
    y = gpu.ones(4)
    f[1, 4](y, y)  # compiled anew
    assert np.array_equal(y.copy_to_host(), np.ones(4))


def test_close_in_another_thread_forgets_its_choice(fake):
    def work():
        gpu.select_device(1)
        gpu.close()
        return gpu.device().id

    x = gpu.ones(3)
    assert in_thread(work) == 0
    assert x.copy_to_host()[0] == 1  # nothing was reset


def test_reset_of_one_device_leaves_the_other(same_gpus):
    here = gpu.ones(4)
    with gpu.gpus[1] as second:
        there = gpu.ones(4)
        second.reset()
        assert gpu.zeros(3).device == "cuda:1"
    assert here.copy_to_host()[0] == 1
    with pytest.raises(gpu.DeviceError, match="cuda:1 was reset"):
        there.copy_to_host()


def test_memory_that_numpy_looks_at_keeps_a_gpu_from_being_reset(fake):
    x = gpu.pinned_array(10)
    with pytest.raises(gpu.DeviceError, match="cannot be reset: 1 arrays in pinned") as caught:
        gpu.reset()
    assert caught.value.code == "DEVICE_IN_USE"
    x[:] = 1
    del x
    gpu.reset()


def test_a_host_view_outlives_the_reset():
    x = gpu.to_device(np.arange(5.0))
    host = np.asarray(memoryview(x))
    gpu.reset()
    assert host.sum() == 10
    del x
    assert host.sum() == 10


# ---- One compilation for devices of one architecture


def test_a_kernel_is_compiled_once_per_architecture(same_gpus):
    f = gpu.jit(kernel().py_func, cache=False)
    for device in [*gpu.gpus, *gpu.gpus]:
        with device:
            x = gpu.zeros(4)
            f[1, 4](x, x)
    compiled = [event for event in f._events() if event[0].startswith("compiled")]
    assert len(compiled) == 1  # and loaded on each
    x = gpu.zeros(4, np.float32)
    f[1, 4](x, x)
    assert len([event for event in f._events() if event[0].startswith("compiled")]) == 2


# ---- Contexts that others make current


def test_an_argument_that_makes_another_context_current(same_gpus):
    """The launch stays on the device that was current when it was called."""
    driver = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    here, run = gpu.zeros(4), kernel()[1, 4]

    class Changes:
        @property
        def __cuda_array_interface__(self):
            assert driver.cuCtxSetCurrent(ctypes.c_void_p(0x1001)) == 0
            return here.__cuda_array_interface__

    run(here, here)
    for _ in range(3):
        driver.cuCtxSetCurrent(ctypes.c_void_p(0x1000))
        assert gpu.device().ordinal == 0
        run(here, Changes())  # the stand-in refuses memory that the context does not have
        assert gpu.device().ordinal == 1
    driver.cuCtxSetCurrent(ctypes.c_void_p(0x1000))
    gpu.synchronize()


def test_the_current_context_decides(same_gpus):
    """As torch.cuda.set_device does it: the driver is asked at every call."""
    driver = ctypes.CDLL(os.environ["GPUJIT_CUDA_LIBRARY"])
    gpu.zeros(3)
    with gpu.gpus[1]:
        gpu.zeros(3)
    assert driver.cuCtxSetCurrent(ctypes.c_void_p(0x1001)) == 0
    assert gpu.device().id == 1 and gpu.zeros(3).device == "cuda:1"
    assert driver.cuCtxSetCurrent(ctypes.c_void_p(0x1000)) == 0
    assert gpu.device().id == 0 and gpu.zeros(3).device == "cuda:0"
    here = gpu.zeros(4)
    assert driver.cuCtxSetCurrent(ctypes.c_void_p(0x2000)) == 0  # not the primary one
    try:
        there, f = gpu.zeros(4), kernel()
        assert there.device == "cuda:0 (own context)"
        f[1, 4](there, there)
        with pytest.raises(gpu.ArgumentTypeError, match=r"cuda:0, the kernel runs on cuda:0 \(own"):
            f[1, 4](here, there)
        assert in_thread(lambda: gpu.zeros(2).device) == "cuda:0"
    finally:
        assert driver.cuCtxSetCurrent(None) == 0
    gpu.select_device("cuda")
    assert gpu.zeros(2).device == "cuda:0"
