"""Exceptions of several launches, of threads at once, of host arrays, in number and in length.

All of it holds on every device; the python device differs where a test says so.
"""

import gc
import sys
import threading
import time
import weakref

import gpu
import kit
import numpy as np
import pytest

N = 8

ONE = (
    "def one(x, n, value):\n    i = gpu.grid(1)\n    x[i] = value\n    if i == n:\n"
    "        raise ValueError(value, i)\n    x[i] = value + 1\n"
)
TWO = "def two(x, n):\n    i = gpu.grid(1)\n    if i == n:\n        raise KeyError(n)\n    x[i] = -1\n"


def fresh():
    return gpu.to_device(np.zeros(N, "int64"))


def run(kernel, *args):
    """A block of N threads, and their end."""
    kernel[1, N](*args)
    gpu.synchronize()


def raised(action):
    """The exceptions of an action and of three synchronisations after it, None where there is none."""
    found = []
    for step in (action, gpu.synchronize, gpu.synchronize, gpu.synchronize):
        try:
            step()
        except Exception as error:
            found.append(error)
        else:
            found.append(None)
    return found


def is_python():
    return gpu.device().kind == "python"


@pytest.mark.parametrize("first", ["one", "two"])
def test_two_kernels_before_one_synchronisation(first):
    one, two, x = kit.kernel(ONE, "one"), kit.kernel(TWO, "two"), fresh()

    def both():
        if first == "two":
            two[1, N](x, 2)
        one[1, N](x, 3, 7)
        if first == "one":
            two[1, N](x, 2)

    (e,) = [e for e in raised(both) if e is not None]
    assert e.kernel == first
    if first == "one":
        assert (type(e), e.args, e.thread) == (ValueError, (7, 3), (3, 0, 0))
        assert x.copy_to_host().tolist() == [-1, -1, 8, -1, -1, -1, -1, -1]
    else:
        assert (type(e), e.args, e.thread) == (KeyError, (2,), (2, 0, 0))
        assert x.copy_to_host().tolist() == [8, 8, 8, 7, 8, 8, 8, 8]
    if not is_python():
        later = "'two', raised KeyError" if first == "one" else "'one', raised ValueError"
        assert f"a later launch, of kernel {later}" in e.__notes__[0]
        assert e.__notes__[0].count("a later launch") == 1


@pytest.mark.parametrize(
    ("total", "raisers"),
    [
        (200, ()),
        (100, (20, 90)),
        (150, (40, 149)),
        (250, (249,)),
        (240, (2, 3, 239)),
        (700, (300,)),
    ],
)
def test_the_first_of_many_launches(total, raisers):
    """Also where the records of earlier launches are used again, in a ring."""
    one, x = kit.kernel(ONE, "one"), fresh()

    def many():
        for k in range(total):
            one[1, N](x, 5 if k in raisers else -1, k)

    errors = [e for e in raised(many) if e is not None]
    assert [e.args for e in errors] == [(k, 5) for k in raisers[:1]]
    expected = [total] * N
    expected[5] -= total - 1 in raisers
    assert x.copy_to_host().tolist() == expected


def test_checked_bounds_between_launches():
    source = "def kernel(x, k):\n    i = gpu.grid(1)\n    x[i * k] = i + k\n"
    kernel = kit.kernel(source, check=True)
    x = fresh()

    def three():
        kernel[1, N](x, 1)
        kernel[1, 3](x, 5)
        kernel[1, N](x, 1)

    errors = [e for e in raised(three) if e is not None]
    assert len(errors) == 1 and isinstance(errors[0], IndexError)
    assert "index 10 is out of bounds for axis 0 of array 'x' with shape (8,)" in str(errors[0])
    assert errors[0].thread == (2, 0, 0)
    assert x.copy_to_host().tolist() == [i + 1 for i in range(N)]


def test_host_arrays_have_the_results_of_other_threads():
    one = kit.kernel(ONE, "one")
    x, y = np.zeros(N, "int64"), np.full(N, 9, "int64")
    errors = [e for e in raised(lambda: one[1, N](x, 3, 7)) if e is not None]
    assert [e.args for e in errors] == [(7, 3)]
    assert x.tolist() == [8, 8, 8, 7, 8, 8, 8, 8]
    assert [e for e in raised(lambda: one[1, N](y, -1, 1)) if e is not None] == []
    assert y.tolist() == [2] * N


def test_long_and_odd_texts():
    odd = "a\0b\0\u00e9\u4e2d\U0001f600\n\"'{}%s\\"
    for text in (odd, odd * 500, "\0", "", "x" * 9000):
        source = f"def kernel(x):\n    raise ValueError({text!r}, x[0], {text!r})\n"
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            kit.single(kit.kernel(source), np.array([2.5]))
        assert caught.value.args == (text, 2.5, text)
    passed = kit.kernel("def kernel(x, t):\n    raise KeyError(t, f'<{t}|{x[0]:3000}>')\n")
    for text in (odd, odd * 500, "\0"):
        with pytest.raises(KeyError) as caught:
            kit.single(passed, np.array([2.5]), text)
        assert caught.value.args == (text, f"<{text}|{2.5:3000}>")


def resident_KiB():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def test_three_hundred_in_a_row_keep_nothing():
    one = kit.kernel(ONE, "one")
    n = 20 if is_python() else 300
    x = np.zeros(1 << 17, "int64")  # 1 MiB

    def repeat(n):
        for k in range(n):
            with pytest.raises(ValueError) as caught:  # noqa: PT011
                run(one, x, k % N, k)
            assert caught.value.args == (k, k % N)

    repeat(n // 3)
    gc.collect()
    objects, memory = len(gc.get_objects()), resident_KiB()
    repeat(n)
    gc.collect()
    assert len(gc.get_objects()) - objects < n // 4
    assert resident_KiB() - memory < n * 512  # half of what the arrays would be


def test_exceptions_keep_no_arrays():
    if is_python():
        pytest.skip("its tracebacks show the frames of the kernel, which have its arrays")

    class Watched(np.ndarray):
        pass

    one = kit.kernel(ONE, "one")

    def launch(x):
        try:
            run(one, x, 3, 7)
        except ValueError as error:
            return error.with_traceback(None), sys.getrefcount(x)
        raise AssertionError("nothing was raised")

    x = np.zeros(N, "int64").view(Watched)
    ref = weakref.ref(x)
    error, _ = launch(x)
    assert error.args == (7, 3)
    del x
    gc.collect()
    assert ref() is None
    on_device = fresh()
    before = sys.getrefcount(on_device)
    error, _ = launch(on_device)
    assert sys.getrefcount(on_device) == before and error.args == (7, 3)


def in_threads(work, n):
    """What each thread's work returned, by its number; nothing else may be raised."""
    results, others = {}, []

    def run(j):
        try:
            results[j] = work(j)
        except BaseException as error:
            others.append(error)

    threads = [threading.Thread(target=run, args=(j,)) for j in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert others == []
    return [results[j] for j in range(n)]


def test_threads_raise_at_once():
    """A launch with host arrays raises what it raised, and nothing of other threads."""
    one = kit.kernel(ONE, "one")
    run(one, fresh(), -1, 0)

    def work(j):
        got = []
        for k in range(10):
            x = np.zeros(N, "int64")
            value = 100 * j + k
            with pytest.raises(ValueError) as caught:  # noqa: PT011
                one[1, N](x, j, value)
            got.append(caught.value.args)
            assert x.tolist() == [value + (i != j) for i in range(N)]
            one[1, N](x, -1, value)  # raises nothing, whatever other threads do
            assert x.tolist() == [value + 1] * N
        return got

    made = [[(100 * j + k, j) for k in range(10)] for j in range(6)]
    assert in_threads(work, 6) == made
    gpu.synchronize()


def test_threads_get_their_own():
    """A thread that synchronises gets what its launches raised, also when others asked before."""
    one = kit.kernel(ONE, "one")
    run(one, fresh(), -1, 0)
    launched, asked = threading.Barrier(6), threading.Barrier(6)

    def work(j):
        x = fresh()
        launched.wait()
        one[1, N](x, j, j)
        launched.wait()
        errors = [e.args for e in raised(gpu.synchronize) if e is not None]
        asked.wait()
        assert x.copy_to_host().tolist() == [j + (i != j) for i in range(N)]
        return errors

    for j, errors in enumerate(in_threads(work, 6)):
        assert errors[0] == (j, j)
        assert set(errors[1:]) <= {(k, k) for k in range(6) if k != j}
    assert raised(gpu.synchronize) == [None] * 4


def test_threads_that_only_launch():
    """Whoever synchronises for them gets what they raised, each once; so do they, if they ever wait."""
    one, x = kit.kernel(ONE, "one"), fresh()
    run(one, x, -1, 0)
    go, done = threading.Event(), []

    def waits():
        one[1, N](x, 2, 7)
        done.append(None)
        go.wait()
        done.append(raised(gpu.synchronize))

    def ends():
        one[1, N](x, 3, 8)

    thread = threading.Thread(target=waits)
    thread.start()
    while not done:
        time.sleep(0.001)
    other = threading.Thread(target=ends)
    other.start()
    other.join()
    errors = raised(gpu.synchronize)
    assert [e and e.args for e in errors] == [(7, 2), (8, 3), None, None]
    if not is_python():
        assert "another thread" in errors[0].__notes__[-1]
    go.set()
    thread.join()
    assert [e and e.args for e in done[1]] == [(7, 2), None, None, None]
    assert raised(gpu.synchronize) == [None] * 4


def test_its_own_comes_first():
    one, x = kit.kernel(ONE, "one"), fresh()
    run(one, x, -1, 0)
    thread = threading.Thread(target=lambda: one[1, N](x, 3, 8))
    thread.start()
    thread.join()
    host = np.zeros(N, "int64")
    one[1, N](host, -1, 1)  # waits for its own end, which raises nothing of others
    assert host.tolist() == [2] * N
    one[1, N](x, 5, 9)
    assert [e and e.args for e in raised(gpu.synchronize)] == [(9, 5), (8, 3), None, None]
