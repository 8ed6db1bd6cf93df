"""Streams: what they are to other libraries, the order of work, callbacks, asyncio."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading

import gpu
import numpy as np
import pytest
from streams import LONG, Collector, add, out_of_bounds


class Foreign:
    """A stream of another library."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Protocol:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


def test_what_a_stream_is(memory):
    a, b = gpu.stream(), gpu.stream(priority=0, non_blocking=True)
    assert a.handle not in (0, 1, 2, b.handle)
    assert a.__cuda_stream__() == (0, a.handle)
    assert int(a) == a.handle
    assert a == a and a != b and hash(a) != hash(b)
    assert not a.non_blocking and b.non_blocking
    assert a.priority == b.priority == 0
    assert f"{a.handle:#x}" in repr(a)
    assert a.query() is True and a.done


def test_special_streams(memory):
    for make, handle in [
        (gpu.default_stream, 0),
        (gpu.legacy_default_stream, 1),
        (gpu.per_thread_default_stream, 2),
    ]:
        assert make().handle == handle
        assert make() == make()
        assert "default" in repr(make())
    a = gpu.stream()
    for same in (a.handle, a, Protocol(a.handle), Foreign(cuda_stream=a.handle)):
        assert gpu.external_stream(same) == a
    assert gpu.external_stream(Foreign(ptr=a.handle)) == a
    with pytest.raises(gpu.LaunchError, match="not 'str'"):
        gpu.external_stream("0")


def test_priorities(fake):
    assert gpu.stream(priority=-3).priority == -3
    assert gpu.stream(priority=-30).priority == -5
    assert gpu.stream(priority=7).priority == 0
    with pytest.raises(TypeError):
        gpu.stream(priority="high")


def test_work_of_a_stream_is_in_order(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    for _ in range(10):
        add[1, 8, s](x, 1000)
    s.synchronize()
    assert s.query()
    assert x.copy_to_host().tolist() == [10_000] * 8


def test_wait_for_another_stream(device):
    x, a, b = gpu.zeros(8, np.int64), gpu.stream(non_blocking=True), gpu.stream(non_blocking=True)
    for _ in range(5):
        add[1, 8, a](x, 100_000)
        b.wait_stream(a)
        add[1, 8, b](x, 1)
        a.wait_event(b.record())
    a.synchronize()
    assert x.copy_to_host().tolist() == [500_005] * 8
    b.wait_stream(b)
    a.wait_stream(0)


def test_what_kernels_raise_comes_with_the_wait(device):
    x, s = gpu.zeros(4), gpu.stream()
    out_of_bounds[1, 1, s](x)
    with pytest.raises(IndexError):
        s.synchronize()
    s.synchronize()


def test_closed_streams(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    add[1, 8, s](x, LONG)
    s.close()
    s.close()
    for use in (s.synchronize, s.query, s.record, s.async_done, s.__enter__, s.__cuda_stream__,
                lambda: add[1, 8, s], lambda: gpu.stream().wait_stream(s),
                lambda: s.add_callback(print), lambda: s.wait_event(gpu.event())):  # fmt: skip
        with pytest.raises(gpu.DeviceError, match="was closed") as caught:
            use()
        assert caught.value.code == "STREAM_MISUSE"
        assert "gpu.stream()" in str(caught.value)
    assert "closed" in repr(s)
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [LONG] * 8


def test_streams_that_go_away_while_they_work(device):
    x = gpu.zeros(8, np.int64)
    for _ in range(20):
        add[1, 8, gpu.stream()](x, 10_000)
    gc.collect()
    gpu.synchronize()
    assert x.copy_to_host()[0] > 0


def test_current_stream(device):
    x, a, b = gpu.zeros(8, np.int64), gpu.stream(), gpu.stream()
    assert gpu.current_stream() == gpu.default_stream()
    with a as entered:
        assert entered is a and gpu.current_stream() is a
        assert add[1, 8].stream is a and add[1, 8, None].stream is a
        assert add[1, 8, 0].stream == 0 and add[1, 8, b].stream is b
        with b, a:
            assert gpu.current_stream() is a
        assert gpu.current_stream() is a
        seen = []
        thread = threading.Thread(target=lambda: seen.append(gpu.current_stream().handle))
        thread.start()
        thread.join()
        assert seen == [0]
        add[1, 8](x, 3)
    assert add[1, 8].stream == 0
    with pytest.raises(KeyError), a:
        raise KeyError
    assert gpu.current_stream().handle == 0
    a.synchronize()
    assert x.copy_to_host().tolist() == [3] * 8


def test_current_stream_of_each_task():
    a, b = gpu.stream(), gpu.stream()

    async def use(stream):
        with stream:
            for _ in range(3):
                await asyncio.sleep(0)
                assert gpu.current_stream() is stream

    async def both():
        await asyncio.gather(use(a), use(b))

    asyncio.run(both())
    assert gpu.current_stream().handle == 0


def test_callbacks_come_in_order(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    got = Collector(500)
    for i in range(500):
        if i % 50 == 0:
            add[1, 8, s](x, 100_000)
        s.add_callback(got, i)
    assert got.wait() == [(s, 0, i) for i in range(500)]
    assert all(call[0] is s for call in got.calls)


def test_callback_after_the_work(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    got, done = Collector(1), []
    add[1, 8, s](x, LONG)
    s.add_callback(lambda *call: (done.append(s.query()), got(*call)))
    got.wait()
    assert done == [True]
    assert got.calls == [(s, 0, None)]


def test_callbacks_may_use_the_device(device):
    """They run on a thread of Python's, so waiting there holds up nobody."""
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    got = Collector(1)

    def callback(stream, status, arg):
        add[1, 8, stream](x, 5)
        stream.synchronize()
        arg.append(x.copy_to_host().tolist())
        stream.add_callback(got)

    values = []
    s.add_callback(callback, values)
    got.wait()
    assert values == [[5] * 8]


def test_callbacks_while_the_host_waits(device):
    """More launches than any queue holds, with callbacks between: nobody waits for the GIL."""
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    got = Collector(100)
    for i in range(100):
        for _ in range(100):
            add[1, 8, s](x, 1)
        s.add_callback(got, i)
    s.synchronize()
    assert [call[2] for call in got.wait()] == list(range(100))
    assert x.copy_to_host().tolist() == [10_000] * 8


def test_what_callbacks_raise(monkeypatch):
    s, got, seen = gpu.stream(), Collector(1), []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))
    s.add_callback(lambda *call: 1 / 0)
    s.add_callback(lambda: None)
    s.add_callback(lambda *call: sys.exit(3))
    s.add_callback(got)
    got.wait()
    assert seen == [ZeroDivisionError, TypeError, SystemExit]
    with pytest.raises(TypeError, match="callback"):
        s.add_callback(3)


def test_callbacks_keep_their_stream(device):
    got = Collector(20)
    x = gpu.zeros(8, np.int64)
    for i in range(20):
        s = gpu.stream()
        add[1, 8, s](x, 10_000)
        s.add_callback(got, i)
        del s
    got.wait()
    assert sorted(call[2] for call in got.calls) == list(range(20))


def test_driver_calls_callbacks_without_the_gil(fake):
    """The stand-in calls on another thread and waits for it, while this one is in the driver."""
    s, got = gpu.stream(), Collector(3)
    for i in range(3):
        s.add_callback(got, i)
    assert [call[2] for call in got.wait()] == [0, 1, 2]


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_at_the_end_of_the_program(device):
    program = """
        import gpu
        @gpu.jit
        def add(x, n):
            for _ in range(n):
                x[0] += 1
        x, s = gpu.zeros(1), gpu.stream()
        add[1, 1, s](x, 20_000)
        s.add_callback(lambda stream, status, arg: print("called", arg, x.copy_to_host()[0]), 7)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120,
        env={"GPUJIT_DEVICE": device, "PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert (run.stdout, run.stderr, run.returncode) == ("called 7 20000.0\n", "", 0)


def test_after_a_fork():
    program = """
        import os, threading, gpu
        s, here = gpu.stream(), threading.Event()
        s.add_callback(lambda *call: here.set())
        assert here.wait(30)
        child = os.fork()
        if child == 0:
            again = threading.Event()
            gpu.stream().add_callback(lambda *call: again.set())
            os._exit(0 if again.wait(30) else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120,
        env={"GPUJIT_DEVICE": "cpu", "PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert (run.stderr, run.returncode) == ("", 0)


def test_await(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()

    async def run():
        add[1, 8, s](x, LONG)
        assert await s.async_done() is s
        assert s.query()
        assert await s is s
        others = [gpu.stream() for _ in range(5)]
        assert await asyncio.gather(*(other.async_done() for other in others)) == others

    asyncio.run(run())
    assert x.copy_to_host().tolist() == [LONG] * 8


def test_others_run_while_a_task_waits(device):
    x, s, steps = gpu.zeros(8, np.int64), gpu.stream(), []

    async def count():
        while True:
            steps.append(s.query())
            await asyncio.sleep(0.001)

    async def run():
        counter = asyncio.create_task(count())
        add[1, 8, s](x, 10 * LONG)
        await s
        counter.cancel()

    asyncio.run(run())
    assert False in steps


def test_await_raises_what_kernels_raised(device):
    x, s = gpu.zeros(4), gpu.stream()

    async def run():
        out_of_bounds[1, 1, s](x)
        with pytest.raises(IndexError, match="axis 0"):
            await s
        await s

    asyncio.run(run())


def test_await_that_is_given_up(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()

    async def run():
        add[1, 8, s](x, LONG)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(s.async_done(), 0)
        s.async_done()

    asyncio.run(run())  # and the loop is closed before the future is done
    s.synchronize()
    with pytest.raises(RuntimeError, match="loop"):
        s.async_done()


def test_auto_synchronize(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    with s.auto_synchronize() as same:
        assert same is s
        add[1, 8, s](x, LONG)
    assert s.query()
    with pytest.raises(IndexError), s.auto_synchronize():
        out_of_bounds[1, 1, s](gpu.zeros(4))
    with pytest.raises(KeyError), s.auto_synchronize():
        out_of_bounds[1, 1, s](gpu.zeros(4))
        raise KeyError
    s.synchronize()
