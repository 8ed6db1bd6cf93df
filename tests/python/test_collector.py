"""Python's collector, finalizers and other threads amid everything: objects are kept while they are
used, and what nobody refers to goes."""

import gc
import threading
import weakref

import gpu
import numpy as np
import pytest


class Watched:
    """An object that a weak reference may point to."""


def namespace(text, **names):
    """A module of its own with one kernel, `kernel`, and who watches its end."""
    watched = Watched()
    space = {"gpu": gpu, "watched": watched, **names}
    exec(compile(text, "<namespace>", "exec"), space)
    space["kernel"] = gpu.jit(space["kernel"])
    return space, weakref.ref(watched)


TEXT = """
def kernel(x):
    x[0] = n
"""


def test_bound_launches_hold_no_module(device):
    x = gpu.zeros(1)
    space, watched = namespace(TEXT, n=3.0)
    space["bound"] = space["kernel"][1, 1].bind(x)
    space["bound"]()
    assert x.copy_to_host().tolist() == [3.0]
    del space
    gc.collect()
    assert watched() is None


def test_bound_launch_of_other_parameters(device):
    @gpu.jit
    def kernel(x, a):
        x[0] += a

    def longer(x, a, b, c, d):
        x[0] += a + b + c + d

    x = gpu.zeros(1)
    launch = kernel[1, 1].bind(x, 2.0)
    launch()
    kernel.py_func.__code__ = longer.__code__
    with pytest.raises(gpu.LaunchError, match="not those that were bound; bind anew"):
        launch()
    with pytest.raises(gpu.LaunchError, match="bind anew"):
        launch.set(a=3.0)
    assert x.copy_to_host().tolist() == [2.0]
    kernel[1, 1].bind(x, 1.0, 2.0, 3.0, 4.0)()
    assert x.copy_to_host().tolist() == [12.0]


def test_values_of_a_bound_launch_set_amid_it(device):
    """The array is asked for its interface amid the launch, which sets the values anew."""

    @gpu.jit
    def add(x, y):
        y[0] += x[0]

    class Foreign:
        def __init__(self, array):
            self.array = array
            self.amid = None

        @property
        def __array_interface__(self):
            if self.amid:
                self.amid()
            return self.array.__array_interface__

    y = np.zeros(1)
    first = Foreign(np.full(1, 5.0))
    launch = add[1, 1].bind(first, y)
    gone = weakref.ref(first)

    def amid():
        first_again = gone()
        first_again.amid = None
        launch.set(x=np.full(1, 7.0))
        gc.collect()

    first.amid = amid
    del first
    launch()
    assert y.tolist() == [5.0]
    gc.collect()
    launch()
    assert y.tolist() == [12.0]
    del amid
    gc.collect()
    assert gone() is None


def test_reading_let_go_launches_the_kernel(device):
    """A constant of the oldest reading dies when a new one takes its place, and its end launches."""

    @gpu.jit
    def kernel(x, f):
        x[0] = f(number)

    class Function:
        def __del__(self):
            globals()["number"] = -1.0
            for other in (11.0, 12.0, 13.0, 14.0, 15.0, 16.0):
                globals()["number"] = other
                kernel[1, 1](x, last)
            done.append(1)

    def function(ender):
        def f(value):
            return value + 1.0

        f.ender = ender
        return f

    x, done = gpu.zeros(1), []
    last = function(None)
    for n in range(12):
        globals()["number"] = float(n)
        kernel[1, 1](x, function(Function()))
        gc.collect()
    gpu.synchronize()
    assert done
    globals()["number"] = 40.0
    kernel[1, 1](x, last)
    assert x.copy_to_host().tolist() == [41.0]


number = 0.0


def test_bound_launches_of_many_threads(device):
    @gpu.jit
    def add(x, a):
        i = gpu.grid(1)
        if i < x.size:
            gpu.atomic.add(x, i, a)

    arrays = [gpu.zeros(8) for _ in range(4)]
    launch = add[1, 8].bind(arrays[0], 1.0)
    failed = []

    def work(seed):
        try:
            for n in range(200):
                if n % 3 == seed % 3:
                    launch.set(x=arrays[(n + seed) % 4], a=1.0)
                if n % 50 == 0:
                    launch.set(x=gpu.zeros(8))
                launch()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gpu.synchronize()
    assert not failed
    for array in arrays:
        assert len(set(array.copy_to_host().tolist())) == 1


def test_graphs_hold_no_module(device):
    x = gpu.zeros(1)
    space, watched = namespace(TEXT, n=4.0)
    with gpu.graph() as graph:
        space["kernel"][1, 1](x)
    space["graph"] = graph
    space["node"] = graph.nodes[0]
    graph.replay()
    assert x.copy_to_host().tolist() == [4.0]
    del space, graph
    gc.collect()
    assert watched() is None


def test_graphs_end_what_they_began(device):
    for graph in (gpu.graph(), gpu.graph()):
        with pytest.raises(gpu.Error, match="not being captured"):
            graph.__exit__(None, None, None)
        with graph:
            pass
        with pytest.raises(gpu.Error, match="not being captured"):
            graph.__exit__(None, None, None)


def test_launchers_keep_the_current_stream(device):
    @gpu.jit
    def kernel(x):
        i = gpu.grid(1)
        if i < x.size:
            x[i] += 1.0

    x = gpu.zeros(4)
    with gpu.stream() as stream:
        launchers = [kernel[1, 4], kernel.forall(4)]
    assert [launcher.stream is stream for launcher in launchers] == [True, True]
    del stream
    gc.collect()
    for launcher in launchers:
        launcher(x)
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [2.0] * 4


def test_names_that_are_no_text(device):
    with pytest.raises(TypeError, match="must be string"):
        gpu.Kernel.__getattribute__(gpu.jit(lambda x: None), 5)


def test_interfaces_that_change_amid_being_read(device):
    """A number of the shape is an object whose __index__ empties the dict."""

    class Extent:
        def __index__(self):
            interface.clear()
            gc.collect()
            return 3

    class Foreign:
        @property
        def __array_interface__(self):
            return interface

    @gpu.jit
    def fill(x):
        i = gpu.grid(1)
        if i < x.size:
            x[i] = 2.0

    host = np.zeros(3)
    interface = dict(host.__array_interface__, shape=(Extent(),))
    fill[1, 3](Foreign())
    assert host.tolist() == [2.0, 2.0, 2.0]


def test_foreign_streams_are_kept_once(device):
    class Stream:
        def __cuda_stream__(self):
            return 0, handle

    @gpu.jit
    def kernel(x):
        x[0] += 1.0

    streams = [gpu.stream(), gpu.stream()]
    x, kept = gpu.zeros(1), []
    for n in range(12):
        handle = streams[n % 2].handle
        foreign = Stream()
        kept.append(weakref.ref(foreign))
        kernel[1, 1, foreign](x)
        gpu.synchronize()
        del foreign
    gc.collect()
    assert x.copy_to_host().tolist() == [12.0]
    assert sum(ref() is not None for ref in kept) <= 2
    del x
    gc.collect()
    assert not any(ref() for ref in kept)


def test_collections_amid_everything(device):
    """Collections at every allocation, while objects of all types are made and let go."""

    @gpu.jit
    def add(x, a):
        i = gpu.grid(1)
        if i < x.size:
            x[i] += a

    def work(total):
        x = gpu.zeros(4)
        launch = add[1, 4].bind(x, 1.0)
        with gpu.graph() as graph:
            add[1, 4](x, 2.0)
        for n in range(total):
            launch()
            graph.replay()
            graph.nodes[0].update(x, 2.0)
            launch.set(a=1.0)
            add.forall(4)(x[:], 3.0)
            with gpu.stream() as stream:
                add[1, 4](np.zeros(4), float(n))
                stream.wait_event(stream.record())
                stream.add_callback(lambda *_: done.append(1))
            np.asarray(gpu.In(x.copy_to_host()).array)
            np.from_dlpack(x.copy_to_host())
        gpu.synchronize()
        return x.copy_to_host().tolist()

    done = []
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        assert work(20) == [20 * 6.0] * 4
    finally:
        gc.set_threshold(*before)
    for _ in range(200):
        if len(done) == 20:
            break
        threading.Event().wait(0.05)
    assert len(done) == 20
