"""What travels to other processes: kernels as functions do, names, errors; what does not says so."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import gpu
import numpy as np
import pytest

cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@gpu.jit(check=True)
def scale(x, factor=2.0, *, plus=0.5):
    i = gpu.grid(1)
    if i < x.size:
        x[i] = x[i] * factor + plus


@gpu.jit("float64[:]")
def declared(x):
    x[0] = 4.0


@gpu.jit(device=True)
def helper(v):
    return v + 1


def plain(x):
    x[0] = 7.0


of_plain = gpu.jit(plain)
fast = gpu.jit(fastmath=True)(scale.py_func)


class Holder:
    @staticmethod
    @gpu.jit
    def kernel(x):
        x[0] = 9.0


def classes(base):
    yield base
    for below in base.__subclasses__():
        if below.__module__ == "gpu":
            yield from classes(below)


ERRORS = sorted(set(classes(gpu.Error)) | set(classes(gpu.Warning)), key=repr)


def value(kernel, *args):
    x = gpu.ones(1)
    kernel[1, 1](x, *args)
    return x.copy_to_host()[0]


def by_value(thing):
    return cloudpickle.loads(cloudpickle.dumps(thing))


def far(thing, code, main="", **env):
    """What `code` prints of `thing` in a new process, to which cloudpickle brought it."""
    program = f"import pickle, sys, gpu\n{main}\nthing = pickle.load(sys.stdin.buffer)\n{code}"
    done = subprocess.run([sys.executable, "-c", program], input=cloudpickle.dumps(thing),
                          capture_output=True, timeout=100, env={**os.environ, **env})  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def run(program, *args):
    done = subprocess.run([sys.executable, *args, "-"], input=program, capture_output=True, text=True,
                          timeout=100)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- Kernels by name --------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kernel", [scale, declared, helper, Holder.kernel], ids=repr)
def test_a_name_is_enough(kernel, protocol):
    if "." in kernel.__qualname__ and protocol in (0, 1):
        pytest.skip("methods need protocol 2")
    for dumps in (pickle.dumps, pickle._dumps, cloudpickle.dumps):
        data = dumps(kernel, protocol)
        assert pickle.loads(data) is pickle._loads(data) is kernel
        assert kernel.__name__.encode() in data and len(data) < 250


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kernels_under_another_name(protocol):
    other = pickle.loads(pickle.dumps(of_plain, protocol))
    assert other is not of_plain and other.py_func is plain
    other = pickle.loads(pickle.dumps(fast, protocol))
    assert other is not fast and other.py_func is scale.py_func
    assert other.options == fast.options != scale.options


def test_a_kernel_among_other_things():
    data = pickle.dumps({"first": scale, "launcher": scale[2, 3], "again": [scale, scale]})
    thing = pickle.loads(data)
    assert thing["first"] is thing["again"][0] is thing["again"][1] is thing["launcher"].kernel


def test_the_kernel_of_the_other_side_is_meant():
    data = pickle.dumps(scale)
    name = __name__.encode()
    module = type(sys)("another_module_")
    module.scale = gpu.jit(fma=False)(plain)
    other = b"another_module_"
    module.scale.py_func.__module__, before = other.decode(), plain.__module__
    module.scale.py_func.__qualname__ = "scale"
    try:
        sys.modules[module.__name__] = module
        found = pickle.loads(data.replace(b"\x8c" + bytes([len(name)]) + name,
                                          b"\x8c" + bytes([len(other)]) + other))  # fmt: skip
    finally:
        del sys.modules[module.__name__]
        plain.__module__, plain.__qualname__ = before, "plain"
    assert found is module.scale and found.options == {"fma": 0, "jit_fma": 0}


def test_a_name_that_is_gone():
    data = pickle.dumps(scale).replace(b"scale.", b"stale.")
    with pytest.raises(AttributeError, match="stale"):
        pickle.loads(data)


def test_local_kernels_need_cloudpickle():
    @gpu.jit
    def local(x):
        x[0] = 1.0

    for kernel in (local, gpu.jit(lambda x: None)):
        with pytest.raises((pickle.PicklingError, AttributeError), match="local|lambda"):
            pickle.dumps(kernel)


def test_copies_are_the_kernel_itself():
    for kernel in (scale, gpu.jit(lambda x: None)):
        assert copy.copy(kernel) is kernel and copy.deepcopy([kernel])[0] is kernel


# ---- Kernels by value -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the values that array 'table' has now")
def test_a_closure(device):
    shift, table = 3.0, np.array([10.0, 20.0])

    @gpu.jit(fma=False)
    def kernel(x):
        x[0] = x[0] + shift + table[1]

    other = by_value(kernel)
    assert other is not kernel and other.options == kernel.options
    assert other.__qualname__ == kernel.__qualname__ and other.__module__ == __name__
    assert value(other) == value(kernel) == 24.0


def test_a_lambda(device):
    assert value(by_value(gpu.jit(lambda x, y: gpu.atomic.add(x, 0, y))), 5.0) == 6.0


def test_nothing_compiled_travels(device):
    kernel = gpu.jit(lambda x: gpu.atomic.add(x, 0, 2.0))
    assert value(kernel) == 3.0 and kernel.signatures
    other = by_value(kernel)
    assert not other.signatures and value(other) == 3.0


def test_a_declared_signature_travels(device):
    @gpu.jit("int32, float64[:]")
    def kernel(n, x):
        x[0] = n

    other = by_value(kernel)
    assert other.declared == ("int32, float64[:]",)
    x = gpu.zeros(1)
    other[1, 1](np.int32(2), x)
    assert x.copy_to_host()[0] == 2.0
    with pytest.raises(gpu.ArgumentTypeError, match="fits no declared signature"):
        other[1, 1](2.0, x)


@pytest.mark.parametrize("options", [{"cache": False}, {"fastmath": True, "lineinfo": True}, {"debug": True},
                                     {"max_registers": 32, "launch_bounds": (64, 2), "opt_level": 1},
                                     {"float": gpu.float32, "device": True}], ids=str)  # fmt: skip
def test_options_travel(options):
    kernel = gpu.jit(**options)(lambda x: None)
    assert kernel.options and by_value(kernel).options == kernel.options


def test_the_other_side_takes_it_from_the_disk(tmp_path):
    """Whatever the name of its module; what it calls is part of what it is."""

    def plus(v):
        return v + 1

    @gpu.jit
    def kernel(x):
        x[0] = plus(1.0)

    code = """
gpu.select_device("cpu")
x = gpu.zeros(1)
thing[1, 1](x)
print(x.copy_to_host()[0], "found on disk" in str(thing.explain()))
"""
    env = {"GPUJIT_CACHE_DIR": str(tmp_path / "cache")}
    assert far(kernel, code, **env) == "2.0 False"
    assert far(kernel, code, **env) == "2.0 True"
    kernel.py_func.__module__ = "__main__"
    assert far(kernel, code, **env) == "2.0 True"
    plus.__code__ = (lambda v: v + 5).__code__
    assert far(kernel, code, **env) == "6.0 False"
    assert far(kernel, code, **env) == "6.0 True"


def test_kernels_that_call_each_other(device):
    def make():
        @gpu.jit
        def even(x, n):
            if n == 0:
                x[0] = 100.0
            else:
                odd(x, n - 1)

        @gpu.jit
        def odd(x, n):
            if n == 0:
                x[0] = 200.0
            else:
                even(x, n - 1)

        return even, odd

    even, odd = by_value(make())
    assert value(even, 5) == 200.0 and value(odd, 5) == 100.0
    assert even.py_func.__closure__[0].cell_contents is odd
    assert odd.__qualname__ == make.__qualname__ + ".<locals>.odd"


MAIN = """
import math, pickle, gpu, cloudpickle, numpy as np
from enum import IntEnum
from gpu import float32, grid, threadIdx

class Color(IntEnum):
    RED = 3

add = gpu.atomic.add
LIMIT = 10.0
TABLE = np.arange(3.0)

def twice(v):
    return 2 * v

@gpu.jit
def once(v):
    return v + Color.RED

@gpu.jit(check=True)
def kernel(x, factor=3.0, *, plus=1.0):
    i = grid(1)
    if i < x.size:
        x[i] = min(twice(once(float32(factor))) + plus + TABLE[2] + math.floor(1.5), LIMIT)

@gpu.jit
def down(x, n):
    if n > 0:
        down(x, n - 1)
    add(x, threadIdx.x, n)

class Space:
    @staticmethod
    @gpu.jit
    def kernel(x):
        x[0] = LIMIT + 1
"""


def test_of_main(tmp_path):
    """By name for a program that imports the same __main__, by value for one that has another."""
    path = tmp_path / "things"
    program = (
        MAIN
        + f"""
assert pickle.loads(pickle.dumps([kernel, down])) == [kernel, down]
kernel[1, 1](gpu.zeros(1))
with open({str(path)!r}, "wb") as file:
    cloudpickle.dump([kernel, down, Space, kernel[2, 3], twice], file)
"""
    )
    run(program)
    out = run(f"""
import pickle
with open({str(path)!r}, "rb") as file:
    kernel, down, Space, launcher, twice = pickle.load(file)
import gpu
def value(kernel, *args, **kwargs):
    x = gpu.zeros(1)
    kernel[1, 1](x, *args, **kwargs)
    return x.copy_to_host()[0]
assert not kernel.signatures
print(value(kernel, 0.5), value(kernel), value(kernel, 0.0, plus=0.25), value(down, 4))
print(value(Space.kernel), launcher.grid, launcher.block, launcher.kernel is kernel)
print(kernel.__module__, kernel.__qualname__, kernel.options, down.__qualname__)
print(down.py_func.__globals__["down"] is down)
""")
    assert out.splitlines() == [
        "10.0 10.0 9.25 10.0",
        "11.0 (2,) (3,) True",
        "__main__ kernel {'check': 1} down",
        "True",
    ]


def test_another_main_with_the_same_name():
    @gpu.jit
    def kernel(x):
        x[0] = 8.0

    kernel.py_func.__module__, kernel.py_func.__qualname__ = "__main__", "kernel"
    main = "@gpu.jit\ndef kernel(x):\n    x[0] = 1.0\n"
    code = "x = gpu.zeros(1); thing[1, 1](x); print(x.copy_to_host()[0], thing is kernel)"
    assert far(kernel, code, main) == "8.0 False"


def test_a_module_that_is_registered():
    """The other side does not have it, the kernels go by value."""
    module = type(sys)("module_only_here")
    sys.modules[module.__name__] = module
    source = "import gpu\nBASE = 5.0\n@gpu.jit\ndef kernel(x):\n    x[0] = BASE\n"
    exec(source, module.__dict__)
    code = "x = gpu.zeros(1); thing[1, 1](x); print(x.copy_to_host()[0])"
    try:
        data = cloudpickle.dumps(module.kernel)
        assert pickle.loads(data) is module.kernel
        cloudpickle.register_pickle_by_value(module)
        assert far(module.kernel, code) == "5.0"
        module.kernel.py_func.__code__ = plain.__code__
        assert far(module.kernel, code) == "7.0"
        cloudpickle.unregister_pickle_by_value(module)
    finally:
        del sys.modules[module.__name__]


def test_errors_name_file_and_line():
    @gpu.jit
    def wrong(x):
        x[0, 1] = 1.0

    line = wrong.py_func.__code__.co_firstlineno + 2
    code = """
try:
    thing[1, 1](gpu.zeros(1))
except gpu.TypingError as error:
    print(error.lineno, error.filename, "x[0, 1] = 1.0" in str(error), ", in wrong" in str(error))
"""
    assert far(wrong, code) == f"{line} {__file__} True False"


def test_pickling_a_kernel_leaves_no_cycle():
    import gc
    import weakref

    kernel = gpu.jit(lambda x: None)
    by_value(kernel)
    reference = weakref.ref(kernel)
    gc.collect()
    gc.disable()
    try:
        del kernel
        assert reference() is None
    finally:
        gc.enable()


# ---- Launchers, names, dtypes ------------------------------------------------------------------


@pytest.mark.parametrize("launcher", [scale[2, 3], scale[(1, 2), (3, 4, 5)], scale[1, 2, 0, 64],
                                      scale.forall(1000)], ids=repr)  # fmt: skip
def test_launchers(launcher):
    for dumps in (pickle.dumps, cloudpickle.dumps):
        other = pickle.loads(dumps(launcher))
        assert other.kernel is scale and repr(other) == repr(launcher)
        assert (other.stream, other.shared_bytes) == (launcher.stream, launcher.shared_bytes)


NAMES = [name for name in vars(gpu) if isinstance(getattr(gpu, name), (gpu.DType, gpu.Intrinsic))]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_names(protocol):
    assert len(NAMES) > 40
    for name in NAMES:
        thing = getattr(gpu, name)
        assert pickle.loads(pickle.dumps(thing, protocol)) is thing
        assert copy.deepcopy(thing) is thing
    assert pickle.loads(pickle.dumps(gpu.void, protocol)) is gpu.void
    assert pickle.loads(pickle.dumps(gpu.jit, protocol)) is gpu.jit


def test_names_with_dots_are_equal():
    for one, same, other in [(gpu.atomic.add, gpu.atomic.add, gpu.atomic.sub),
                             (gpu.threadIdx.x, gpu.threadIdx.x, gpu.threadIdx.y)]:  # fmt: skip
        assert one == same and hash(one) == hash(same) and one != other and one != 3
        assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("make", [gpu.stream, gpu.default_stream, gpu.event,
                                  lambda: scale[1, 1, gpu.stream()], lambda: scale[1, 1, 77]])  # fmt: skip
def test_what_stays(make):
    thing = make()
    for dumps in (pickle.dumps, cloudpickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(gpu.ArgumentTypeError, match="belongs to this process: .* there"):
            dumps(thing)


def graph():
    with gpu.graph() as captured:
        x = gpu.zeros(4)
        gpu.zeros_like(x)
    return captured


def test_every_type_travels_or_says_that_it_stays():
    x, host = gpu.zeros(4), np.zeros(4)
    with gpu.pinned(host) as pinned:
        things = {type(thing).__name__: thing for thing in (
            x, scale, scale[1, 1], scale[1, 1].bind(x), gpu.float32, gpu.grid, gpu.stream(), gpu.event(),
            gpu.In(host), gpu.Out(host), gpu.InOut(host), gpu.device("cpu"), gpu.gpus, pinned, graph(),
        )}  # fmt: skip
        stay = set()
        for name, thing in things.items():
            for dumps in (pickle.dumps, cloudpickle.dumps):
                try:
                    assert type(pickle.loads(dumps(thing))) is type(thing)
                except gpu.ArgumentTypeError as error:
                    assert str(error).startswith(f"gpu.{name} cannot be pickled or copied")
                    stay.add(name)
    assert stay >= {"Stream", "Event", "Graph", "BoundLaunch"}
    assert not stay & {"Array", "Kernel", "Launcher", "DType", "Intrinsic", "In", "Device"}
    # A type of the extension that is not in this test is one that nobody thought about.
    types = {t.__name__ for t in vars(gpu._gpujit).values() if isinstance(t, type)}
    errors = {t.__name__ for t in ERRORS}
    assert types - errors - set(things) <= {"GraphNode", "Memory"}
    other = pickle.loads(pickle.dumps(gpu.Out(host)))
    assert type(other) is gpu.Out and other.array.tolist() == host.tolist()


def test_types():
    """Dask sends the types of what it sends."""
    types = [thing for thing in vars(gpu).values() if isinstance(thing, type)]
    assert gpu.Kernel in types and gpu.Array in types and len(types) > 20
    for one in types:
        assert isinstance(one.__module__, str)
        for dumps in (pickle.dumps, cloudpickle.dumps):
            assert pickle.loads(dumps(one)) is one
    assert gpu.Kernel.__module__ == "gpu" and isinstance(gpu.Kernel.__doc__, str)
    assert scale.__module__ == __name__ and helper.__doc__ is None


@pytest.mark.parametrize("offset", range(9))
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_arrays_from_buffers_that_begin_anywhere(memory, dtype, offset):
    """As they come from a network: frames of protocol 5 are parts of larger ones."""
    values = np.arange(12, dtype=dtype).reshape(3, 4)
    frames = []
    data = pickle.dumps(gpu.to_device(values), 5, buffer_callback=frames.append)
    moved = [memoryview(bytearray(offset) + bytearray(frame.raw()))[offset:] for frame in frames]
    assert moved and pickle.loads(data, buffers=moved).copy_to_host().tolist() == values.tolist()
    moved = [frame.toreadonly() for frame in moved]
    assert pickle.loads(data, buffers=moved).copy_to_host().tolist() == values.tolist()


# ---- Errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_class(error, protocol):
    one = error("the text")
    one.code, one.filename, one.lineno, one.offset, one.hint = "CODE", "file.py", 7, 3, None
    one.function, one.kernel, one.block, one.thread = "f", "k", (1, 0, 0), (2, 3, 0)
    one.add_note("a note")
    other = pickle.loads(pickle.dumps(one, protocol))
    assert type(other) is error and str(other) == "the text" and vars(other) == vars(one)
    assert other.__notes__ == ["a note"] and other.lineno == 7


class Own(Exception):
    pass


@gpu.jit(check=True)
def faulty(x, i):
    if i == 100:
        raise Own("mine", i)
    if i == 101:
        raise AssertionError("not this one")
    x[i] = 1 // (i - 102)


@pytest.mark.parametrize(("i", "kind"), [(100, Own), (101, AssertionError), (5, IndexError),
                                         (102, ZeroDivisionError)])  # fmt: skip
def test_what_kernels_raise(device, i, kind):
    with pytest.raises(kind) as caught:
        faulty[2, 3](gpu.zeros(3), i)
        gpu.synchronize()
    one = caught.value
    other = pickle.loads(pickle.dumps(one))
    assert type(other) is type(one) and str(other) == str(one) and vars(other) == vars(one)
    assert other.kernel == "faulty" and other.block == (0, 0, 0) and other.lineno == one.lineno


def test_what_compiling_raises(device):
    kernel = gpu.jit(lambda x: x[0, 1, 2])
    with pytest.raises(gpu.TypingError) as caught:
        kernel[1, 1](gpu.zeros(1))
    other = pickle.loads(pickle.dumps(caught.value))
    assert other.args == caught.value.args and vars(other) == vars(caught.value)
    assert other.code == "RANK_MISMATCH" and other.lineno


def test_warnings_travel(device):
    kernel = gpu.jit(lambda x: gpu.atomic.add(x, 0, 1.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[1, 1](np.zeros(10_000_000))
        gpu.synchronize()
    for one in caught:
        other = pickle.loads(pickle.dumps(one.message))
        assert type(other) is one.category and str(other) == str(one.message)
