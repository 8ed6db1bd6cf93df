"""Events: order between streams, times, and what cannot be asked of them."""

import threading
import time

import gpu
import numpy as np
import pytest
from streams import LONG, add, out_of_bounds


def test_query_and_synchronize(device):
    x, event = gpu.zeros(8, np.int64), gpu.event()
    add[1, 8](x, 10 * LONG)
    event.record()
    assert event.query() is False and not event.done
    event.synchronize()
    assert event.query() is True and event.done
    add[1, 8](x, 10 * LONG)
    assert event.done  # it stands for what was before
    event.record()
    assert not event.done
    event.synchronize()
    assert x.copy_to_host().tolist() == [20 * LONG] * 8


def test_an_event_is_waited_for_without_what_comes_later(device):
    x, s, event = gpu.zeros(8, np.int64), gpu.stream(), gpu.event()
    add[1, 8, s](x, LONG)
    event.record(s)
    add[1, 8, s](x, 20 * LONG)
    event.synchronize()
    assert not s.query()
    s.synchronize()


def test_elapsed_time_is_that_of_the_work(device):
    x, s = gpu.zeros(8, np.int64), gpu.stream()
    start, end = gpu.event(), gpu.event(timing=True)
    add[1, 8, s](x, 1)
    s.synchronize()
    before = time.perf_counter()
    start.record(s)
    add[1, 8, s](x, 10 * LONG)
    end.record(s)
    end.synchronize()
    spent_ms = (time.perf_counter() - before) * 1000
    ms = gpu.event_elapsed_time(start, end)
    assert isinstance(ms, float) and 0 < ms <= spent_ms
    assert ms > 0.3 * spent_ms
    assert ms == start.elapsed_time(end) == -end.elapsed_time(start)
    assert gpu.event_elapsed_time(start, start) == 0


def test_no_work_takes_no_time(device):
    start, end = gpu.event(), gpu.event()
    start.record()
    end.record()
    end.synchronize()
    assert 0 <= start.elapsed_time(end) < 1000


def test_streams_wait_for_events(device):
    x, a, b = gpu.zeros(8, np.int64), gpu.stream(non_blocking=True), gpu.stream(non_blocking=True)
    event = gpu.event(timing=False)
    add[1, 8, a](x, LONG)
    event.record(a)
    event.wait(b)
    b.wait_event(event)
    event.wait()
    add[1, 8, b](x, 1)
    b.synchronize()
    assert x.copy_to_host().tolist() == [LONG + 1] * 8
    assert a.record(event) is event
    assert not a.record().timing


def test_records_of_a_stream_by_default(device):
    s, event = gpu.stream(), gpu.event()
    x = gpu.zeros(8, np.int64)
    with s:
        add[1, 8](x, LONG)
        event.record()
    event.synchronize()
    assert s.query()


def test_an_event_raises_what_kernels_before_it_raised(device):
    x, s, event, later = gpu.zeros(4), gpu.stream(), gpu.event(), gpu.event()
    out_of_bounds[1, 1, s](x)
    event.record(s)
    with pytest.raises(IndexError):
        event.synchronize()
    event.synchronize()
    later.record(s)
    later.synchronize()


def test_events_that_go_away_before_they_are_done(device):
    x = gpu.zeros(8, np.int64)
    for _ in range(50):
        add[1, 8](x, 10_000)
        event = gpu.event()
        event.record()
        event.record()
        del event
    gpu.synchronize()
    assert x.copy_to_host().tolist() == [500_000] * 8


def test_many_threads_record_and_wait(device):
    x = gpu.zeros(8, np.int64)
    failures = []

    def work():
        try:
            s, event = gpu.stream(), gpu.event()
            for _ in range(50):
                add[1, 8, s](x, 100)
                event.record(s)
                event.synchronize()
                assert event.done
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


NEVER = "never recorded"


@pytest.mark.parametrize(
    "use",
    [
        lambda e: e.synchronize(),
        lambda e: e.query(),
        lambda e: e.done,
        lambda e: e.wait(),
        lambda e: gpu.stream().wait_event(e),
        lambda e: e.elapsed_time(e),
    ],
)
def test_never_recorded(memory, use):
    event = gpu.event()
    assert NEVER in repr(event)
    with pytest.raises(gpu.DeviceError, match=NEVER) as caught:
        use(event)
    assert caught.value.code == "EVENT_MISUSE"
    assert "event.record(stream)" in str(caught.value)
    event.record()
    gpu.synchronize()
    use(event)
    assert NEVER not in repr(event)


def test_times_that_were_not_kept(memory):
    timed, plain = gpu.event(), gpu.event(timing=False)
    assert timed.timing and not plain.timing
    timed.record()
    plain.record()
    for a, b in [(timed, plain), (plain, timed), (plain, plain)]:
        with pytest.raises(gpu.DeviceError, match="without timing") as caught:
            gpu.event_elapsed_time(a, b)
        assert "timing=True" in str(caught.value)


def test_time_of_work_that_is_not_done(device):
    x, start, end = gpu.zeros(8, np.int64), gpu.event(), gpu.event()
    start.record()
    add[1, 8](x, 20 * LONG)
    end.record()
    with pytest.raises(gpu.DeviceError, match="not done yet") as caught:
        start.elapsed_time(end)
    assert "end.synchronize()" in str(caught.value)
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_wrong_objects(memory):
    event = gpu.event()
    event.record()
    for use in (lambda: event.elapsed_time(3), lambda: gpu.stream().wait_event(None),
                lambda: gpu.event_elapsed_time("a", event)):  # fmt: skip
        with pytest.raises(TypeError, match=r"gpu\.event\(\)"):
            use()
    with pytest.raises(gpu.LaunchError):
        event.record("stream")
    with pytest.raises(gpu.DeviceError, match="no timing"):
        gpu.event(interprocess=True)
    gpu.event(timing=False, interprocess=True, blocking=True).record()


def test_events_of_the_driver(fake):
    s, start, end = gpu.stream(), gpu.event(), gpu.event()
    f = gpu.jit(entry)
    start.record(s)
    x = gpu.zeros(4)
    f[1, 4, s](x)
    f[1, 4, s](x)
    end.record(s)
    assert start.elapsed_time(end) == 4.0  # two launches of two milliseconds


def entry(x):
    x[0] = 1
