"""raise and assert in kernels: the same exception as CPython gives for the same function and values.

Each case is a device function of a number of each kind that raises for the values it is given; plain
Python calls the very function. The place is checked on top: line, function, kernel, block, thread.
"""

import gc
import weakref

import gpu
import kit
import numpy as np
import pytest


class Shortage(Exception):
    """Of the program's own, with a constructor of its own."""

    def __init__(self, need, have):
        super().__init__(f"need {need}, have {have:.2f}")
        self.need = need


class Nested:
    class Inner(ValueError):
        pass


class Broken(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


NAMES = {"Shortage": Shortage, "Nested": Nested, "Broken": Broken}

BODIES = [
    "raise ValueError",
    "raise ValueError()",
    'raise ValueError("text")',
    'raise ValueError("text", i, f, b)',
    'raise KeyError("a key")',
    "raise IndexError(i)",
    "raise StopIteration",
    'raise OSError(2, "no such thing")',
    "raise SystemExit(i)",
    "raise NotImplementedError",
    "raise Shortage(i, f)",
    'raise Nested.Inner("inner", None)',
    'raise ValueError("text") from None',
    'raise ValueError(f"{i} {f} {b}")',
    'raise ValueError(f"{{{i:>8}}} {f:.3f} {f:e} {b!r:>6} {i:#x} {i!s} {i!a}")',
    'raise ValueError(f"{i:{w}}|{f:{w}.{p}f}|")',
    "raise ValueError(f'{i}')",
    'raise ValueError(f"plain")',
    'raise ValueError(f"{i=}")',
    'raise ValueError("%d of %.2f is %s" % (i, f, b))',
    'raise ValueError("%r" % i)',
    "raise ValueError((i, (f, 'deep', None)), b)",
    "raise ValueError(f'{(i, f)}')",
    "raise RuntimeError(-i, i * 2**40, -0.0, f * 1e300)",
    "raise ValueError('gr\u00fc\u00df\u4e2d: { } ( ) ; %d', i)",
    "raise Exception(ValueError(i), f'{i}')",
    "assert i < 0",
    "assert i < 0, 'negative only'",
    "assert i < 0, f'{i} is not negative'",
    "assert i < 0, (i, w)",
    "assert False, i",
    "assert not b, 'b holds'",
    "e = ValueError(f'kept {i}')\n    if b:\n        raise e",
    "text = f'<{i}>'\n    text = f'[{text}]'\n    raise ValueError(text, text)",
    "while True:\n        i += 1\n        if i > 1000:\n            raise OverflowError(i)",
    "for k in range(i):\n        assert k < 3, k",
]


@pytest.mark.parametrize("body", BODIES)
def test_same_as_python(body):
    source = f"def check(i, f, b, w, p):\n    {body}\n"
    check = kit.function(source, "check", **NAMES)
    values = (5, -2.6875, True, 9, 2)
    with pytest.raises(BaseException) as wanted:  # noqa: PT011
        check(*values)
    main = kit.kernel(
        "def main(out, i, f, b, w, p):\n    t = gpu.grid(1)\n    if t == 6:\n        check(i, f, b, w, p)\n"
        "    out[t] = t + 1\n", "main", {"check": check})  # fmt: skip
    out = gpu.to_device(np.zeros(8, "int64"))
    with pytest.raises(type(wanted.value)) as caught:
        main[2, 4](out, *values)
        gpu.synchronize()
    got, expected = caught.value, wanted.value
    assert type(got) is type(expected)
    assert str(got) == str(expected) and repr(got) == repr(expected)
    assert vars(expected).items() <= vars(got).items()
    assert (got.block, got.thread) == ((1, 0, 0), (2, 0, 0))
    assert (got.kernel, got.function) == ("main", "check")
    assert got.code == getattr(expected, "code", "RAISED")
    line = wanted.traceback[-1].lineno + 1
    assert got.lineno == line
    assert got.filename == getattr(expected, "filename", check.__code__.co_filename)
    (note,) = got.__notes__
    assert "kernel 'main'" in note and source.splitlines()[line - 1].strip() in note
    assert "thread (2, 0, 0) of block (1, 0, 0)" in note
    assert out.copy_to_host().tolist() == [1, 2, 3, 4, 5, 6, 0, 8]


@pytest.mark.parametrize(
    "kind", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"]
)
def test_typed_numbers_are_numpy_scalars(kind):
    main = kit.kernel(
        f"def main(x):\n    raise ValueError(gpu.{kind}(x[0]), f'{{gpu.{kind}(x[0])}}')\n", "main"
    )
    extreme = {"float32": np.float32(0.1), "float64": 0.1, "uint64": 2**64 - 1}.get(kind)
    value = np.dtype(kind).type(
        np.iinfo(kind).min or np.iinfo(kind).max if extreme is None else extreme
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        kit.single(main, np.array([value]))
    got, text = caught.value.args
    assert type(got) is type(value) and got == value and text == f"{value}"


def test_first_of_many_and_the_device_works_on():
    main = kit.kernel(
        "def main(x):\n    i = gpu.grid(1)\n    x[i] = 1\n    assert i % 2, i\n    x[i] = 2\n",
        "main",
    )
    for _ in range(3):
        x = gpu.to_device(np.zeros(512, "int32"))
        with pytest.raises(AssertionError) as caught:
            main[4, 128](x)
            gpu.synchronize()
        e = caught.value
        assert e.args[0] == e.block[0] * 128 + e.thread[0] and e.args[0] % 2 == 0
        gpu.synchronize()  # once
        assert x.copy_to_host().tolist() == [1, 2] * 256


def test_a_launch_without_fault_between_others():
    main = kit.kernel(
        "def main(x, n):\n    i = gpu.grid(1)\n    if i == n:\n        raise ValueError(i, n)\n    x[i] = n\n",
        "main",
    )
    x = gpu.to_device(np.zeros(8, "int32"))
    main[1, 8](x, 100)
    main[1, 8](x, 3)
    main[1, 8](x, 101)
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        gpu.synchronize()
    assert x.copy_to_host().tolist() == [101] * 8


def test_a_copy_raises_too():
    main = kit.kernel("def main(x):\n    raise ValueError('on copy')\n", "main")
    x = gpu.to_device(np.zeros(1))
    main[1, 1](x)
    with pytest.raises(ValueError, match="on copy"):
        x.copy_to_host()
    assert x.copy_to_host().tolist() == [0.0]


def test_host_arrays_are_copied_back():
    main = kit.kernel(
        "def main(x):\n    i = gpu.grid(1)\n    x[i] = 7\n    assert i != 1\n    x[i] = 8\n", "main"
    )
    x = np.zeros(3)
    with pytest.raises(AssertionError):
        main[1, 3](x)
        gpu.synchronize()
    gpu.synchronize()
    assert x.tolist() == [8.0, 7.0, 8.0]


def test_functions_that_always_raise():
    source = (
        "def fail(i):\n    raise LookupError(i)\n\n"
        "def pick(i):\n    if i > 2:\n        return fail(i) + 1\n    return i * 2\n\n"
        "def main(x):\n    i = gpu.grid(1)\n    y = 0.5\n    if i == 7:\n        y = fail(i)\n    x[i] = pick(i) + y\n"
    )
    main = kit.kernel(source, "main")
    x = gpu.to_device(np.zeros(3))
    main[1, 3](x)
    assert x.copy_to_host().tolist() == [0.5, 2.5, 4.5]
    with pytest.raises(LookupError) as caught:
        main[1, 4](gpu.to_device(np.zeros(4)))
        gpu.synchronize()
    assert caught.value.args == (3,) and caught.value.function == "fail"


def test_made_by_a_function_and_chosen_at_compile_time():
    source = (
        "def make(kind, i):\n    return kind(f'{i}!')\n\n"
        "def main(x, n):\n    i = gpu.grid(1)\n    if i == n:\n        raise make(KeyError, i)\n"
        "    if i == n + 1:\n        raise make(TypeError, i)\n    x[i] = 1\n"
    )
    main = kit.kernel(source, "main")
    for n, kind, text in ((1, KeyError, "'1!'"), (-1, TypeError, "0!")):
        with pytest.raises(kind) as caught:
            main[1, 1 if n < 0 else 2](np.zeros(4), n)
            gpu.synchronize()
        assert str(caught.value) == text


def test_recursion():
    source = (
        "def down(i, n):\n    if i > n:\n        raise RecursionError('deep enough', i)\n    return down(i + 1, n)\n\n"
        "def main(n):\n    down(0, n)\n"
    )
    with pytest.raises(RecursionError, match=r"deep enough.*21"):
        kit.single(kit.kernel(source, "main"), 20)


def test_raise_changes_no_type():
    source = (
        "def f(i):\n    if i < 0:\n        raise ValueError(1.5)\n    else:\n        k = i\n    return k\n\n"
        "def main(out, i):\n    out[0] = f(i) // 2\n"
    )
    main = kit.kernel(source, "main")
    out = np.zeros(1)
    kit.single(main, out, 7)
    assert out[0] == 3.0


def test_class_that_cannot_be_made():
    def main(x):
        raise Broken("one is missing")

    with pytest.raises(gpu.KernelError, match="Broken") as caught:
        kit.single(gpu.jit(main), np.zeros(1))
    assert isinstance(caught.value.__cause__, TypeError)
    assert caught.value.thread == (0, 0, 0) and caught.value.lineno


def test_class_of_a_closure_and_what_is_left_of_it():
    def make(label):
        class Local(Exception):
            name = label

        def main(x):
            raise Local("local", 3)

        return Local, gpu.jit(main)

    (a, first), (b, second) = make("a"), make("b")
    for kind, main in ((a, first), (b, second), (a, first)):
        with pytest.raises(kind) as caught:
            kit.single(main, np.zeros(1))
        assert type(caught.value) is kind
        del caught
    ref = weakref.ref(a)
    del a, first, kind, main
    gc.collect()
    assert ref() is None
    with pytest.raises(b):
        kit.single(second, np.zeros(1))


def test_class_that_is_gone():
    class Gone(Exception):
        pass

    def main(x):
        raise Gone("too late")  # noqa: F821

    kernel = gpu.jit(main)
    x = gpu.to_device(np.zeros(1))
    kernel[1, 1](x)
    del kernel, main, Gone
    gc.collect()
    with pytest.raises(gpu.KernelError, match="Gone") as caught:
        gpu.synchronize()
    assert isinstance(caught.value.__cause__, LookupError)


def test_exceptions_do_not_leak():
    class Mine(Exception):
        pass

    main = gpu.jit(
        kit.function("def main(i):\n    raise Mine(f'{i}', i, (i, None))\n", "main", Mine=Mine)
    )

    def run():
        with pytest.raises(Mine):
            kit.single(main, 3)

    run()
    gc.collect()
    before = len([o for o in gc.get_objects() if isinstance(o, Mine)])
    for _ in range(20):
        run()
    gc.collect()
    assert len([o for o in gc.get_objects() if isinstance(o, Mine)]) <= before


def test_lambda_and_default_arguments():
    source = (
        "fail = lambda i: make(i)\n\ndef make(i, text='by default'):\n    raise ValueError(text, i)\n\n"
        "def main(i):\n    fail(i)\n"
    )
    with pytest.raises(ValueError, match="by default"):
        kit.single(kit.kernel(source, "main"), 1)


@pytest.mark.parametrize("body", [b for b in BODIES if "OSError" not in b])
def test_the_python_device_raises_the_same(body):
    source = f"def kernel(i, f, b, w, p):\n    {body}\n"
    kit.agree_raises(source, (5, -2.6875, True, 9, 2), BaseException, names=NAMES)
