"""Graphs: work that is captured once and replayed, alone and with other libraries' work."""

import gc
import weakref

import gpu
import numpy as np
import pytest
from streams import LONG, Collector, add, out_of_bounds


@gpu.jit
def axpy(a, x, y):
    i = gpu.grid(1)
    if i < y.size:
        y[i] += a * x[i]


@gpu.jit
def copy(x, y):
    i = gpu.grid(1)
    if i < y.size:
        y[i] = x[i]


@gpu.jit
def say(x):
    print("x is", x[0])
    x[0] += 1


@pytest.fixture(params=["cpu", "python", "cuda"])
def any_device(request):
    """The python device too, whose kernels run where they are replayed."""
    if request.param == "cuda":
        request.getfixturevalue("device_cuda")
    gpu.select_device(request.param)
    yield request.param
    gpu.synchronize()
    gpu.select_device("cpu")


@pytest.fixture
def device_cuda():
    from conftest import HAS_GPU, NO_GPU

    if not HAS_GPU:
        pytest.skip(NO_GPU)


def test_capture_runs_nothing_and_replay_all(any_device):
    x, y = gpu.to_device(np.arange(8.0)), gpu.zeros(8)
    with gpu.graph() as g:
        axpy[1, 8](2.0, x, y)
        axpy[1, 8](1.0, x, y)
    assert y.copy_to_host().tolist() == [0.0] * 8
    assert "ready" in repr(g) and "2 launches" in repr(g)
    for n in range(1, 4):
        g.replay()
        gpu.synchronize()
        assert y.copy_to_host().tolist() == (3.0 * n * np.arange(8)).tolist()
    g.launch(gpu.stream())
    gpu.synchronize()
    assert y.copy_to_host()[1] == 12.0


def test_parameters_are_those_of_the_capture(any_device):
    y, a = gpu.zeros(4), 5.0
    x = gpu.ones(4)
    with gpu.graph() as g:
        axpy[1, 4](a, x, y)
    a = 7.0
    axpy[1, 4](a, x, x)
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [40.0] * 4  # x is 8 by now, a was 5


def test_on_a_stream_by_name(any_device):
    s, other = gpu.stream(), gpu.stream()
    x, y = gpu.ones(4), gpu.zeros(4)
    with gpu.graph(s) as g:
        assert gpu.current_stream() == s and g.stream is s
        axpy[1, 4, s](1.0, x, y)
        axpy[1, 4, s.handle](1.0, x, y)
        axpy[1, 4, other](0.5, x, y)  # another stream is not captured
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [0.5] * 4
    assert gpu.current_stream().handle == 0
    g.replay(s)
    s.synchronize()
    assert y.copy_to_host().tolist() == [2.5] * 4
    axpy[1, 4, s](1.0, x, y)  # and s is a stream like before
    s.synchronize()
    assert y.copy_to_host().tolist() == [3.5] * 4


def test_first_launch_in_a_capture(any_device):
    @gpu.jit
    def fresh(x):
        x[gpu.grid(1)] += 3

    x = gpu.zeros(4)
    with gpu.graph() as g:
        fresh[1, 4](x)
    g.replay()
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [3.0] * 4


def test_every_replay_raises(any_device):
    x = gpu.zeros(4)
    with gpu.graph() as g:
        out_of_bounds[1, 1](x)
    gpu.synchronize()
    for _ in range(3):
        g.replay()
        with pytest.raises(IndexError, match="axis 0"):
            gpu.synchronize()
        gpu.synchronize()


def test_kernels_print_at_every_replay(any_device, capfd):
    x = gpu.zeros(1)
    with gpu.graph() as g:
        say[1, 1](x)
        say[1, 1](x)
    gpu.synchronize()
    assert capfd.readouterr().out == ""
    for n in range(3):
        g.replay()
        gpu.synchronize()
        assert capfd.readouterr().out == f"x is {2.0 * n}\nx is {2.0 * n + 1}\n"


def test_update(any_device):
    x, y, z = gpu.ones(4), gpu.zeros(4), gpu.zeros(4)
    with gpu.graph() as g:
        axpy[1, 4](2.0, x, y)
        axpy[1, 4](10.0, x, y)
    first, second = g.nodes
    assert first.kernel is axpy and second.arguments[0] == 10.0
    first.update(3.0, x, y)
    second.update(a=20.0, x=x, y=z)
    assert y.copy_to_host().tolist() == [0.0] * 4  # an update launches nothing
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [3.0] * 4
    assert z.copy_to_host().tolist() == [20.0] * 4
    axpy[1, 4](1.0, x, z)  # launches are launches again
    gpu.synchronize()
    assert z.copy_to_host().tolist() == [21.0] * 4
    with pytest.raises(TypeError):
        first.update(3.0, x)
    with pytest.raises(gpu.Error):
        first.update(3.0, x, "y")
    assert first.arguments[0] == 3.0


def test_updates_that_do_not_fit(device):
    x, y = gpu.ones(4), gpu.zeros(4)
    g = gpu.graph()
    with g:
        axpy[1, 4](2.0, x, y)
        with pytest.raises(gpu.DeviceError, match="not ready"):
            g.nodes[0].update(3.0, x, y)
    for args in [(2, x, y), (2.0, gpu.ones(4, np.float32), y), (2.0, x, gpu.zeros((2, 2)))]:
        with pytest.raises(gpu.Error) as caught:
            g.nodes[0].update(*args)
        if caught.value.code == "CAPTURE_MISUSE":
            assert "types" in str(caught.value) and "anew" in str(caught.value)
    with pytest.raises(gpu.ArgumentTypeError, match="host array"):
        g.nodes[0].update(2.0, np.ones(4), y)
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [2.0] * 4


def test_graphs_in_graphs(any_device):
    x, y = gpu.ones(4), gpu.zeros(4)
    with gpu.graph() as inner:
        axpy[1, 4](1.0, x, y)
    with gpu.graph() as outer:
        inner.replay()
        axpy[1, 4](10.0, x, y)
        inner.replay()
    assert y.copy_to_host().tolist() == [0.0] * 4
    del inner
    gc.collect()
    outer.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [12.0] * 4
    assert len(outer.nodes) == 1
    outer.nodes[0].update(100.0, x, y)
    outer.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [114.0] * 4


def test_arrays_in_a_capture(any_device):
    """Fills, copies, conversions and new arrays are part of the graph, which keeps their memory."""
    x, y = gpu.to_device(np.arange(12.0).reshape(3, 4)), gpu.zeros((3, 4))
    z = gpu.zeros((4, 3), np.float32)
    with gpu.graph() as g:
        y.fill(5)
        y[1] = x[1]
        z[...] = y.T
        t = gpu.full(12, 2.0)
        axpy[1, 12](1.0, t, t)
        y[2, :2] = 9
    expected = np.full((3, 4), 5.0)
    expected[1] = [4, 5, 6, 7]
    assert y.copy_to_host().tolist() == np.zeros((3, 4)).tolist()
    gone = t.reshape(12)
    del t
    for n in range(3):
        x[1, 0] = expected[1, 0] = 4.0 + n
        for _ in range(5):
            gpu.full(12, -1.0)
        g.replay()
        gpu.synchronize()
        assert z.copy_to_host().tolist() == expected.T.tolist()
        assert gone.copy_to_host().tolist() == [4.0] * 12
        assert y.copy_to_host()[2].tolist() == [9, 9, 5, 5]


def test_copies_with_the_host_in_a_capture(any_device):
    s, x = gpu.stream(), gpu.zeros(4)
    with gpu.graph(s):
        for use in (lambda: x.copy_to_host(stream=s), lambda: x.copy_to_device(np.ones(4), s),
                    lambda: gpu.to_device(np.ones(4), stream=s)):  # fmt: skip
            with pytest.raises(gpu.DeviceError, match="copy with the host") as caught:
                use()
            assert "before the capture" in str(caught.value)


def test_fork_and_join(any_device):
    a, b = gpu.stream(non_blocking=True), gpu.stream(non_blocking=True)
    x, y, z = gpu.ones(4), gpu.zeros(4), gpu.zeros(4)
    with gpu.graph(a) as g:
        axpy[1, 4, a](1.0, x, y)
        b.wait_event(a.record())
        axpy[1, 4, b](2.0, y, z)
        axpy[1, 4, a](3.0, x, x)
        a.wait_stream(b)
        axpy[1, 4, a](1.0, z, y)
    for _ in range(2):
        g.replay(a)
    a.synchronize()
    assert x.copy_to_host().tolist() == [16.0] * 4
    # y: 1, z: 2, x: 4, y: 3; y: 7, z: 16, x: 16, y: 23
    assert z.copy_to_host().tolist() == [16.0] * 4
    assert y.copy_to_host().tolist() == [23.0] * 4
    b.synchronize()


def test_fork_by_waiting_for_the_stream(any_device):
    a, b = gpu.stream(non_blocking=True), gpu.stream(non_blocking=True)
    x, y = gpu.ones(4), gpu.zeros(4)
    with gpu.graph(a) as g:
        b.wait_stream(a)
        axpy[1, 4, b](2.0, x, y)
        a.wait_stream(b)
    assert y.copy_to_host().tolist() == [0.0] * 4
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [2.0] * 4


def test_bound_launches(any_device):
    x, y = gpu.ones(4), gpu.zeros(4)
    bound = axpy[1, 4].bind(2.0, x, y)
    s = gpu.stream(non_blocking=True)  # the default stream would wait for another
    on_s = axpy[1, 4, s].bind(3.0, x, y)
    with gpu.graph(s) as g:
        on_s()
        bound()  # on the default stream
    assert len(g.nodes) == 1
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [2.0] * 4
    g.replay()
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [8.0] * 4


def test_streams_that_do_not_come_back(any_device):
    a, b = gpu.stream(non_blocking=True), gpu.stream(non_blocking=True)
    x, y = gpu.ones(4), gpu.zeros(4)
    with pytest.raises(gpu.Error, match="first") as caught, gpu.graph(a) as g:
        b.wait_event(a.record())
        axpy[1, 4, b](2.0, x, y)
    assert "before the capture ends" in str(caught.value)
    with pytest.raises(gpu.DeviceError, match="failed"):
        g.replay()
    for s in (a, b):
        axpy[1, 4, s](1.0, x, y)
        s.synchronize()
    assert y.copy_to_host().tolist() == [2.0] * 4


def test_what_cannot_be_captured(any_device):
    s, x = gpu.stream(), gpu.zeros(4)
    event, outside = gpu.event(), gpu.event()
    outside.record()
    with gpu.graph(s) as g:
        for use, text in [
            (s.synchronize, "waited for"),
            (s.query, "asked"),
            (lambda: s.add_callback(print), "call of the host"),
            (g.replay, "still being captured"),
            (g.__enter__, "captured already"),
            (lambda: gpu.graph(s).__enter__(), "captured already"),
        ]:
            with pytest.raises(gpu.DeviceError, match=text) as caught:
                use()
            assert caught.value.code == "CAPTURE_MISUSE"
            assert "Hint" in str(caught.value)
        with pytest.raises(gpu.ArgumentTypeError, match="host array"):
            axpy[1, 4](1.0, np.ones(4), x)
        event.record(s)
        for use in (event.query, event.synchronize):
            with pytest.raises(gpu.DeviceError, match="in a capture") as caught:
                use()
            assert caught.value.code == "EVENT_MISUSE"
        add[1, 4](x, 2)
    g.replay(s)
    s.synchronize()
    assert x.copy_to_host().tolist() == [2.0] * 4
    with pytest.raises(gpu.DeviceError, match="not captured yet"):
        gpu.graph().replay()
    with pytest.raises(gpu.DeviceError, match="captured already"):
        g.__enter__()
    with pytest.raises(gpu.DeviceError, match="default stream"):
        gpu.graph(0).__enter__()
    with pytest.raises(ValueError, match="thread_local"):
        gpu.graph(mode="some")


def test_waiting_for_what_is_outside(device):
    if device == "cuda":
        pytest.skip("the driver gives up such a capture")
    s, x, outside = gpu.stream(), gpu.zeros(4), gpu.event()
    outside.record()
    inside = gpu.event()
    with gpu.graph(s) as g:
        with pytest.raises(gpu.DeviceError, match="not in the capture"):
            s.wait_event(outside)
        s.wait_stream(0)  # which was there before any replay
        inside.record(s)
        add[1, 4](x, 1)
    with pytest.raises(gpu.DeviceError, match="a capture that is over"):
        gpu.stream().wait_event(inside)
    g.replay()
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [1.0] * 4


def test_an_exception_in_the_block(any_device):
    s, x = gpu.stream(), gpu.zeros(4)
    with pytest.raises(KeyError), gpu.graph(s) as g:
        add[1, 4](x, 1)
        raise KeyError
    assert gpu.current_stream().handle == 0
    with pytest.raises(gpu.DeviceError, match="failed") as caught:
        g.replay()
    assert "anew" in str(caught.value)
    add[1, 4, s](x, 5)
    s.synchronize()
    assert x.copy_to_host().tolist() == [5.0] * 4


def test_a_graph_keeps_its_arrays(any_device):
    y = gpu.zeros(4)
    x = gpu.ones(4)
    gone = weakref.ref(x)
    with gpu.graph() as g:
        axpy[1, 4](1.0, x, y)
    del x
    gc.collect()
    assert gone() is not None
    for _ in range(20):
        gpu.full(4, 9.0)
    g.replay()
    gpu.synchronize()
    assert y.copy_to_host().tolist() == [1.0] * 4
    g.nodes[0].update(1.0, gpu.ones(4), y)
    gc.collect()
    assert gone() is None
    del g
    gc.collect()


def test_a_graph_keeps_its_kernel(any_device):
    def make(n):
        @gpu.jit
        def kernel(x):
            x[gpu.grid(1)] += n

        return kernel

    x, graphs = gpu.zeros(4), []
    for n in range(5):
        kernel = make(n)
        with gpu.graph() as g:
            kernel[1, 4](x)
        graphs.append(g)
        del kernel
    gc.collect()
    for g in graphs:
        g.replay()
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [10.0] * 4


def test_a_graph_that_goes_while_it_runs(device):
    x = gpu.zeros(8, np.int64)
    with gpu.graph() as g:
        add[1, 8](x, LONG)
    g.replay()
    del g
    gc.collect()
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [LONG] * 8


def test_callbacks_and_events_around_replays(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    with gpu.graph(s) as g:
        add[1, 8](x, LONG)
    start, end, got = gpu.event(), gpu.event(), Collector(1)
    start.record(s)
    for _ in range(3):
        g.replay(s)
    end.record(s)
    s.add_callback(got, "after")
    assert got.wait()[0][1:] == (0, "after")
    assert end.query() and start.elapsed_time(end) > 0
    assert x.copy_to_host().tolist() == [3 * LONG] * 8


def test_many_replays(device):
    x = gpu.zeros(8, np.int64)
    with gpu.graph() as g:
        for _ in range(10):
            add[1, 8](x, 1)
    for _ in range(500):
        g.replay()
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [5000] * 8


def test_after_a_reset(memory):
    s, x, event = gpu.stream(), gpu.zeros(4), gpu.event()
    with gpu.graph(s) as g:
        x.fill(1)
    g.replay()
    gpu.reset()
    for use in (g.replay, lambda: event.record(s), s.synchronize, lambda: gpu.graph(s).__enter__()):
        with pytest.raises(gpu.DeviceError) as caught:
            use()
        assert caught.value.code == "DEVICE_RESET"


def test_streams_after_a_reset_of_what_has_printed(device, capfd):
    s, x = gpu.stream(), gpu.zeros(4)
    say[1, 1, s](x)
    s.synchronize()
    assert capfd.readouterr().out == "x is 0.0\n"
    gpu.reset()
    with pytest.raises(gpu.DeviceError) as caught:
        s.synchronize()
    assert caught.value.code == "DEVICE_RESET"
    say[1, 1](gpu.zeros(4))
    gpu.synchronize()
    assert capfd.readouterr().out == "x is 0.0\n"


def test_graphs_of_the_driver(fake):
    """A launch in a capture and its replays, against the stand-in."""
    f, x = gpu.jit(entry), gpu.zeros(4)
    with gpu.graph() as g:
        f[1, 4](x)
    g.replay()
    g.nodes[0].update(gpu.zeros(4))
    g.replay()
    gpu.synchronize()


def entry(x):
    x[gpu.grid(1)] = 1


# With other libraries, on a GPU.


@pytest.fixture
def torch(device_cuda):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    gpu.select_device("cuda")
    yield torch
    gpu.synchronize()


def test_our_launches_in_torch_captures(torch):
    x = torch.ones(8, device="cuda")
    y = torch.zeros(8, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        z = x * 2
        axpy[1, 8, torch.cuda.current_stream()](3.0, z, y)
        y += 1
    for _ in range(2):
        g.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [14.0] * 8


def test_what_is_raised_in_torch_captures(torch):
    x = torch.ones(8, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out_of_bounds[1, 1, torch.cuda.current_stream()](x)
    for _ in range(2):
        g.replay()
        torch.cuda.synchronize()
        with pytest.raises(IndexError):
            gpu.synchronize()


def test_torch_work_in_our_captures(torch):
    x = torch.ones(8, device="cuda")
    y = torch.zeros(8, device="cuda")
    s = torch.cuda.Stream()
    with torch.cuda.stream(s), gpu.graph(s) as g:
        y.add_(x)
        axpy[1, 8, s](3.0, x, y)
    for _ in range(2):
        g.replay(s)
    s.synchronize()
    assert y.tolist() == [8.0] * 8


def test_cupy_captures(device_cuda):
    cupy = pytest.importorskip("cupy")
    gpu.select_device("cuda")
    x, y = cupy.ones(8), cupy.zeros(8)
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        axpy[1, 8, s](3.0, x, y)
        cupy.add(y, 1, out=y)
        g = s.end_capture()
        g.launch(s)
        g.launch(s)
    s.synchronize()
    assert y.tolist() == [8.0] * 8
