"""The Python in docs/runtime.md runs. Its blocks are no programs: each finds the names that its
chapter speaks of, made anew for it, and what it must have done is looked at afterwards."""

import gpu
import numpy as np
import pytest
from blocks import blocks, run

PAGE = "runtime.md"
N = 1000


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@gpu.jit
def add(x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] += x[i]


@gpu.jit
def double(y):
    i = gpu.grid(1)
    if i < y.size:
        y[i] *= 2.0


def names(**more):
    """The names of a block: 4 blocks of 256 threads, arrays of N ones and N zeros."""
    given = {
        "gpu": gpu, "np": np, "n": N, "grid": 4, "block": 256, "stream": gpu.stream(),
        "shared_bytes": 0, "saxpy": saxpy, "kernel": add, "first": add, "second": add,
        "x": gpu.ones(N), "y": gpu.zeros(N), "z": gpu.zeros(N), "s": gpu.stream(),
    }  # fmt: skip
    return {**given, **more}


def first(array):
    return float(array.copy_to_host()[0])


def check_launching(space):
    assert first(space["y"]) == 8.0


def check_arrays(space):
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    a[1:3, ::-2] = 0
    b = np.empty((6, 4), np.int16)
    b[...] = a[0, :, None]
    a[1:] = a[:-1].copy()
    assert space["a"].copy_to_host().tolist() == a.tolist()
    assert space["b"].copy_to_host().tolist() == b.tolist()
    assert space["row"].copy_to_host().tolist() == a[2].tolist()


def check_memory(space):
    gpu.memory.set_limit(0)


def check_streams(space):
    assert first(space["y"]) == 2.0


def check_events(space):
    assert space["ms"] >= 0


def check_graphs(space):
    assert first(space["y"]) == 100.0
    assert first(space["z"]) == 100 * 101 / 2


def needs_two(_):
    if len(gpu.gpus) < 2:
        pytest.skip("needs two GPUs")


def needs_torch(space):
    space["torch"] = pytest.importorskip("torch")
    if gpu.current_context().device.kind != "cuda":
        pytest.skip("torch's allocator is of a GPU")


def needs_rmm(space):
    space["rmm"] = pytest.importorskip("rmm")


def allocator_of(space):
    gpu.memory.set_allocator(None)


def before_handle(space):
    """Another process of multiprocessing's would be sent the handle."""
    space["kernel"] = double
    if gpu.current_context().device.kind == "cuda":
        pytest.skip("a process cannot open its own handles on a GPU")


def check_handle(space):
    assert first(space["x"]) == 2.0


# By heading, of its blocks one after the other: before, after.
CHAPTERS = {
    "Launching": [(None, check_launching)],
    "Arrays": [(None, check_arrays)],
    "Devices": [(needs_two, None)],
    "Memory": [(None, check_memory)],
    "Allocators": [(needs_torch, allocator_of), (needs_rmm, allocator_of)],
    "Other processes": [(before_handle, check_handle)],
    "Streams": [(None, check_streams)],
    "Events": [(None, check_events)],
    "Graphs": [(None, check_graphs)],
}


def listed():
    seen, rows = {}, []
    for line, heading, text in blocks(PAGE):
        number = seen[heading] = seen.get(heading, -1) + 1
        rows.append(pytest.param(line, heading, number, text, id=f"{heading}-{number}"))
    return rows


@pytest.mark.parametrize(("line", "heading", "number", "text"), listed())
def test_block(line, heading, number, text):
    before, after = CHAPTERS[heading][number]
    space = names()
    if before:
        before(space)
    try:
        run(PAGE, line, text, space)
        gpu.synchronize()
    finally:
        if after:
            after(space)


def test_every_chapter_is_there():
    counts = {}
    for _, heading, _ in blocks(PAGE):
        counts[heading] = counts.get(heading, 0) + 1
    assert counts == {heading: len(rows) for heading, rows in CHAPTERS.items()}
