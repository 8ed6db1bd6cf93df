"""What tests of streams, events and graphs share."""

import threading

import gpu

WAIT = 30  # seconds until a test gives up


@gpu.jit
def add(x, n):
    """Adds n to each element, after n steps that no compiler can do without."""
    i = gpu.grid(1)
    if i < x.size:
        step = 1.0
        for _ in range(n):
            step = step * 0.999 + 1.0
        x[i] += n if step > 0.0 else -1


@gpu.jit(check=True)
def out_of_bounds(x):
    x[x.size] = 1


LONG = 5_000_000  # some milliseconds


class Collector:
    """A callback that keeps what it was called with, and lets the test wait for that."""

    def __init__(self, n):
        self.calls, self.missing, self.all = [], n, threading.Event()

    def __call__(self, stream, status, arg):
        self.calls.append((stream, status, arg))
        if len(self.calls) == self.missing:
            self.all.set()

    def wait(self):
        assert self.all.wait(WAIT), f"{len(self.calls)} of {self.missing} callbacks came"
        return self.calls
