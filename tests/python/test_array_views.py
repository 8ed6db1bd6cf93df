"""Views and copies of device arrays against NumPy 2: random shapes, slices, axes and dtypes."""

import copy
import functools
import gc
import operator
import pickle
import sys
import weakref

import gpu
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]  # fmt: skip
shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=6)
few = settings(max_examples=120, deadline=None)


def numbers(shape, dtype="int32"):
    return (np.arange(np.prod(shape, dtype=int)) % 113 - 50).astype(dtype).reshape(shape)


def outcome(f):
    """What a call gives, or the builtin classes of its exception with its text."""
    try:
        return f(), None
    except Exception as error:
        return None, error


def agree(ours, theirs):
    """Both succeed with equal arrays, or both fail with an exception of the same builtin class."""
    got, our_error = outcome(ours)
    expected, their_error = outcome(theirs)
    if their_error is not None:
        assert our_error is not None, (got, their_error)
        assert isinstance(our_error, (ValueError, IndexError, TypeError))
        kinds = (ValueError, IndexError, TypeError)
        kinds = [k for k in kinds if isinstance(their_error, k)]
        assert any(isinstance(our_error, k) for k in kinds), (our_error, their_error)
        return None
    if our_error is not None:
        raise our_error
    if isinstance(expected, np.ndarray):
        assert isinstance(got, gpu.Array)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(got.copy_to_host(), expected)
    else:
        assert type(got) is type(expected) and (got == expected or got != got)
    return got


def agree_on(array, host, name, *args, **kwargs):
    call = operator.methodcaller(name, *args, **kwargs)
    return agree(lambda: call(array), lambda: call(host))


@few
@given(st.data())
def test_slices(data):
    host = numbers(data.draw(shapes))
    index = data.draw(hnp.basic_indices(host.shape, allow_newaxis=True, max_dims=7))
    array = gpu.to_device(host)
    got = agree(lambda: array[index], lambda: host[index])
    if isinstance(got, gpu.Array) and got.size:
        twice = data.draw(hnp.basic_indices(got.shape, allow_newaxis=True, max_dims=8))
        agree(lambda: got[twice], lambda: host[index][twice])
        assert got.address - array.address == (
            host[index].__array_interface__["data"][0] - host.__array_interface__["data"][0]
        )


@few
@given(st.data())
def test_bad_slices(data):
    host = numbers(data.draw(shapes))
    index = data.draw(
        st.tuples(*[st.sampled_from([0, 5, -7, 3, slice(None), None, ..., slice(1, 9, -2)])] * 3)
    )
    array = gpu.to_device(host)
    got, error = outcome(lambda: host[index])
    agree(lambda: array[index], lambda: host[index])
    if error is not None and "bounds" in str(error):
        with pytest.raises(IndexError, match=str(error).replace("(", ".").replace(")", ".")):
            array[index]


@few
@given(st.data())
def test_assignment(data):
    dtype, other = data.draw(st.tuples(*[st.sampled_from(DTYPES)] * 2))
    host = numbers(data.draw(shapes), dtype)
    index = data.draw(hnp.basic_indices(host.shape))
    target = host[index]
    shape = np.shape(target)
    cut = data.draw(st.integers(0, len(shape)))
    source_shape = tuple(1 if data.draw(st.booleans()) and n != 1 else n for n in shape[cut:])
    values = np.abs(numbers(source_shape, "int64")).astype(other)
    if data.draw(st.booleans()):
        values = values[(slice(None, None, -1),) * values.ndim]
    array = gpu.to_device(host)
    expected = host.copy()
    expected[index] = values.astype(dtype)
    if data.draw(st.booleans()):
        array[index] = values
    else:
        array[index] = gpu.to_device(values)[(slice(None),) * values.ndim]
    np.testing.assert_array_equal(array.copy_to_host(), expected)


@few
@given(st.data())
def test_assignment_of_overlapping_views(data):
    n = data.draw(st.integers(1, 40))
    host = numbers((2 * n, 3))
    steps = st.sampled_from([1, 2, -1, -2])
    a, b = (
        np.s_[start : start + n] if step > 0 else np.s_[start + n : (start or None) : -1]
        for start, step in [(data.draw(st.integers(0, n - 1)), data.draw(steps)) for _ in range(2)]
    )
    count = min(len(host[a]), len(host[b]))
    array = gpu.to_device(host)
    array[a][:count] = array[b][:count]
    expected = host.copy()
    expected[a][:count] = host[b][:count]
    np.testing.assert_array_equal(array.copy_to_host(), expected)


@few
@given(st.data())
def test_reshape(data):
    host = numbers(data.draw(shapes))
    axes = data.draw(st.permutations(range(host.ndim)))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in axes)
    order = data.draw(st.sampled_from("CFA"))
    view = host.transpose(axes)[(..., *steps)]
    array = gpu.to_device(host).transpose(axes)[(..., *steps)]
    parts = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, -1]), max_size=5))
    for shape in [tuple(parts), (-1,), view.shape[::-1], (*view.shape, 1), (1, *view.shape)]:
        got = agree_on(array, view, "reshape", shape, order=order)
        if got is None or not got.size:
            continue
        shares = np.shares_memory(view, view.reshape(shape, order=order))
        assert (got.base is not None and got.base is array.base) == shares
        agree_on(array, view, "reshape", shape, order=order, copy=False)
    for o in "CFAK":
        flat = agree_on(array, view, "ravel", o)
        assert flat is None or flat.flags.c_contiguous
        agree_on(array, view, "flatten", o)
        got, expected = array.copy(o), view.copy(o)
        np.testing.assert_array_equal(got.copy_to_host(), expected)
        if view.size > 1:
            extents = [(n, s, t) for n, s, t in zip(view.shape, got.strides, expected.strides,
                                                    strict=True) if n > 1]  # fmt: skip
            assert all(s == t for n, s, t in extents)


@few
@given(st.data())
def test_axes(data):
    host = numbers(data.draw(shapes))
    array = gpu.to_device(host)
    axis = st.integers(-host.ndim - 1, host.ndim)
    some = data.draw(st.lists(axis, max_size=4))
    agree(lambda: array.transpose(*some), lambda: host.transpose(*some))
    agree(lambda: array.transpose(tuple(some)), lambda: host.transpose(tuple(some)))
    a, b = data.draw(axis), data.draw(axis)
    agree(lambda: array.swapaxes(a, b), lambda: host.swapaxes(a, b))
    agree(lambda: array.squeeze(), lambda: host.squeeze())
    agree(lambda: array.squeeze(a), lambda: host.squeeze(a))
    agree(
        lambda: array.squeeze((a, b)) if a != b else 0,
        lambda: host.squeeze((a, b)) if a != b else 0,
    )
    agree(lambda: array.mT, lambda: host.mT)


@few
@given(st.data())
def test_view_of_another_dtype(data):
    old, new = data.draw(st.tuples(*[st.sampled_from(DTYPES)] * 2))
    host = numbers(data.draw(shapes), old)
    array = gpu.to_device(host)
    if new == "bool" or "float" in new:
        host = np.zeros_like(host)  # other bits are no bools, or NaNs
        array.fill(0)
    step = data.draw(st.sampled_from([1, 2, -1]))
    if host.ndim and data.draw(st.booleans()):
        host, array = host[..., ::step], array[..., ::step]
    agree(lambda: array.view(new), lambda: host.view(new))


@few
@given(st.data())
def test_astype(data):
    old, new = data.draw(st.tuples(*[st.sampled_from(DTYPES)] * 2))
    host = np.abs(numbers(data.draw(shapes), "int64")).astype(old)
    axes = data.draw(st.permutations(range(host.ndim)))
    order = data.draw(st.sampled_from("CFAK"))
    got = gpu.to_device(host).transpose(axes).astype(new, order)
    expected = host.transpose(axes).astype(new, order)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.copy_to_host(), expected)
    if expected.size:
        flags = got.flags
        assert flags.c_contiguous == expected.flags.c_contiguous
        assert flags["F_CONTIGUOUS"] == expected.flags["F_CONTIGUOUS"]


def test_astype_without_a_copy():
    array = gpu.zeros((2, 3), np.float32)
    assert array.astype(np.float32, copy=False) is array
    assert array.astype(gpu.float32) is not array
    assert array.T.astype("float32", "C", copy=False).is_c_contiguous()
    with pytest.raises(gpu.ArgumentTypeError, match="no dtype of a gpu array"):
        array.astype("complex64")
    with pytest.raises(ValueError, match="order must be one of"):
        array.astype("int8", "X")


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.array([1, 1.00390625, -3e38, 0.1], "float32")
    array = gpu.to_device(host).astype(gpu.bfloat16)
    assert array.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(array.copy_to_host(), host.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(
        array.astype("float32").copy_to_host(), host.astype(ml_dtypes.bfloat16).astype("float32")
    )
    array[1:3] = 2.5
    assert array[2] == 2.5 and type(array[2]) is ml_dtypes.bfloat16
    assert array.tolist()[1] == 2.5 and array.view(np.uint16)[1] == 0x4020
    again = pickle.loads(pickle.dumps(array))
    assert again.dtype == array.dtype and again.tolist() == array.tolist()
    assert np.asarray(array).dtype == ml_dtypes.bfloat16 and "2.5" in repr(array)


def test_scalars():
    one = gpu.full((1, 1), 7, np.int32)
    host = one.copy_to_host()
    for f in (bool, int, float, complex, str, lambda a: a.item(), lambda a: a.item(0),
              lambda a: a.item(0, 0), lambda a: a.item((0, 0)), lambda a: a.item(1),
              lambda a: a.item(0, 0, 0), len, list, lambda a: [1, 2][a]):  # fmt: skip
        got, our_error = outcome(functools.partial(f, one))
        expected, their_error = outcome(functools.partial(f, host))
        assert type(our_error).__mro__[-3:] == type(their_error).__mro__[-3:] or (
            isinstance(our_error, type(their_error))
        )
        if our_error is None and f is not list:
            assert (type(got), got) == (type(expected), expected)
    zero = one.reshape(())
    assert (int(zero), float(zero), complex(zero), bool(zero), zero.item()) == (7, 7.0, 7, True, 7)
    assert "ab" * zero == "ab" * 7 and f"{zero:03d}" == "007"
    assert range(10)[zero] == 7 and zero[()] == 7 and type(zero[()]) is np.int32
    assert isinstance(zero[...], gpu.Array) and zero.tolist() == 7
    for many in (gpu.zeros(3), gpu.zeros(0)):
        with pytest.raises(ValueError, match="is ambiguous"):
            bool(many)
        for f in (int, float, lambda a: [1][a]):
            with pytest.raises(TypeError):
                f(many)
        with pytest.raises(ValueError, match="of size 1 to a Python scalar"):
            many.item()
    with pytest.raises(TypeError, match="only integer scalar arrays"):
        [1][gpu.full((), 0.0)]
    with pytest.raises(TypeError, match="unsized"):
        len(zero)
    with pytest.raises(TypeError, match="0-d"):
        iter(zero)


def test_iteration():
    host = numbers((3, 4))
    rows = list(gpu.to_device(host))
    assert all(isinstance(row, gpu.Array) for row in rows)
    assert [row.tolist() for row in rows] == host.tolist()
    values = list(gpu.to_device(host[0]))
    assert values == list(host[0]) and type(values[0]) is np.int32
    assert gpu.to_device(host).tolist() == host.tolist()
    a, b, c = gpu.to_device(host)
    assert c[1] == host[2, 1] and host[0, 1] in gpu.to_device(host[0])


def test_equality_is_identity():
    a, b = gpu.zeros(3), gpu.zeros(3)
    assert (a == a) is True and (a == b) is False and (a != b) is True
    assert len({a, b, a}) == 2
    with pytest.raises(TypeError):
        operator.lt(a, b)
    with pytest.raises(TypeError):
        operator.add(a, b)


def test_fill_and_store_of_numbers():
    array = gpu.zeros((4, 6), np.float32)
    assert array.fill(2.5) is None and (array.copy_to_host() == 2.5).all()
    array[::2, ::-3] = 7
    array.T[1] = np.float64(-1)
    array.setitem((0, 0), 9)
    assert array.getitem((0, 0)) == 9 and array.getitem(np.s_[0, :2]).tolist() == [9, -1]
    host = np.full((4, 6), 2.5, np.float32)
    host[::2, ::-3] = 7
    host.T[1] = -1
    host[0, 0] = 9
    np.testing.assert_array_equal(array.copy_to_host(), host)
    array[1] = [1, 2, 3, 4, 5, 6]
    array[:, 0] = (0.5, 1.5, 2.5, 3.5)
    host[1] = [1, 2, 3, 4, 5, 6]
    host[:, 0] = (0.5, 1.5, 2.5, 3.5)
    np.testing.assert_array_equal(array.copy_to_host(), host)
    for bad in (None, {}, object()):
        with pytest.raises(gpu.ArgumentTypeError, match="a number, an array or a list"):
            array[:] = bad
    with pytest.raises(gpu.ArgumentTypeError, match="fill takes a number"):
        array.fill(np.zeros((4, 6)))
    with pytest.raises(TypeError):
        array[0, 0] = "text"
    with pytest.raises(gpu.ArgumentTypeError, match="complex128"):
        array[:] = np.zeros(6, complex)


def test_read_only():
    host = np.arange(4.0)
    host.flags.writeable = False
    array = gpu.as_gpu_array(host)
    for store in (lambda a: a.fill(1), lambda a: a.__setitem__(0, 1), lambda a: a[::2].fill(1),
                  lambda a: a.T.__setitem__(..., a)):  # fmt: skip
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            store(array)
    assert not array.flags.writeable and array.copy().flags.writeable
    assert array.copy().base is None


def test_pickles():
    for host in (numbers((3, 4), "float16"), np.asfortranarray(numbers((3, 4))), numbers((0, 3)),
                 numbers(())):  # fmt: skip
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(gpu.to_device(host), protocol))
            assert isinstance(again, gpu.Array) and again.dtype == host.dtype
            assert again.is_f_contiguous() == host.flags.f_contiguous
            np.testing.assert_array_equal(again.copy_to_host(), host)
    buffers = []
    array = gpu.to_device(numbers(100000))
    text = pickle.dumps(array[::2], 5, buffer_callback=buffers.append)
    assert len(text) < 2000 and len(buffers) == 1
    assert pickle.loads(text, buffers=buffers).tolist() == numbers(100000)[::2].tolist()


def test_copies():
    array = gpu.to_device(numbers((3, 4)))
    for made in (copy.copy(array), copy.deepcopy(array), array.copy(), copy.copy(array.T).T):
        assert made.address != array.address and made.base is None or made.base is not array
        made.fill(0)
        np.testing.assert_array_equal(array.copy_to_host(), numbers((3, 4)))
    pair = copy.deepcopy([array, array])
    assert pair[0] is pair[1] and pair[0] is not array


def test_the_memory_lives_as_long_as_a_view():
    array = gpu.zeros((100, 100))
    died = weakref.ref(array)
    view = array
    for _ in range(50):
        view = view[1:].T.reshape(view.shape[1], -1, copy=False).view(np.int64).view(np.float64)
    assert view.base is array
    del array
    gc.collect()
    assert died() is not None and view[0, 0] == 0
    del view
    assert died() is None


def test_a_long_chain_of_views():
    array = gpu.zeros(200001, np.int8)
    for _ in range(200000):
        array = array[1:]
    assert array.size == 1 and array.base.size == 200001


def test_bind():
    stream = gpu.stream()
    array = gpu.zeros(4)
    bound = array.bind(stream)
    assert bound.stream is stream and array.stream == 0 and bound[1:].stream is stream
    bound[:2] = 3
    assert bound.copy_to_host().tolist() == [3, 3, 0, 0] and bound.bind(0).stream == 0


def test_what_numba_has():
    array = gpu.to_device(numbers(10))
    assert [part.tolist() for part in array.split(4)] == [
        numbers(10)[i : i + 4].tolist() for i in (0, 4, 8)
    ]
    assert array.alloc_size == 40 and array.device_ctypes_pointer.value == array.address
    assert array.is_c_contiguous() and array[::2].is_c_contiguous() is False
    out = np.zeros(10, np.int32)
    assert array.copy_to_host(ary=out) is out and out[3] == numbers(10)[3]
    array.copy_to_device(ary=out + 1)
    assert array[3] == out[3] + 1
    assert gpu.zeros((2, 3)).flags["C_CONTIGUOUS"] and "C_CONTIGUOUS : True" in repr(array.flags)
    with pytest.raises(KeyError):
        array.flags["NOPE"]
    with pytest.raises(ValueError, match="one axis"):
        gpu.zeros((2, 2)).split(1)


def test_as_numpy():
    array = gpu.to_device(numbers((3, 4)))
    assert np.asarray(array, dtype="float64").dtype == np.float64
    copied = np.array(array)
    copied[0] = 99
    assert array[0, 0] == numbers((3, 4))[0, 0]
    made = array.__array__(copy=True)
    made[0] = 99
    shared = array.__array__(copy=False)
    shared[0, 0] = 5
    assert array[0, 0] == 5
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        array.__array__("float64", copy=False)
    assert np.array_equal(np.concatenate([array, array]), np.concatenate([shared, shared]))


def test_text():
    with np.printoptions(threshold=20, edgeitems=2):
        for shape in [(3,), (100,), (4, 30), (30, 4), (6, 6, 6), (0, 4), (), (2, 1, 40)]:
            host = numbers(shape, "float32")
            array = gpu.to_device(host)
            assert str(array) == str(host)
            head, _, _ = repr(array).rpartition("dtype=float32, device=cpu)")
            assert (
                head
                and head.split()
                == ("gpu.Array(" + repr(host)[6:].partition(", dtype")[0] + ",").split()[
                    : len(head.split())
                ]
                or "shape=" in head
            )
    big = gpu.zeros((1 << 14, 1 << 14), np.int8)
    assert "..." in repr(big) and "shape=(16384, 16384)" in repr(big)
    assert str(big) == str(np.zeros((2000, 2000), np.int8))


@pytest.mark.parametrize("target", DTYPES)
def test_kernels_convert_as_the_host_does(target):
    """What many elements and few become is the same: a kernel's work and the host's."""
    special = {"f": [0, -0.0, 1.5, -1.5, 2.5, 255.9, 3e9, -3e9, 1e20, -1e20, np.inf, -np.inf, np.nan,
                     65519, 65520, 6e-8, 1e-310, 16777217, 2**53 + 1.0],
               "i": [0, 1, -1, 127, -128, 255, 32767, -32768, 2**31 - 1, -(2**31), 2**24 + 1, 2**53 + 1,
                     -(2**53) - 1, 2**63 - 1, -(2**63)]}  # fmt: skip
    for source in DTYPES:
        kind = "f" if "float" in source else "i"
        with np.errstate(all="ignore"):
            few = np.array(special[kind], "float64" if kind == "f" else "int64").astype(source)
        many = np.resize(few, 70000)
        small = gpu.to_device(few).astype(target).copy_to_host()
        large = gpu.to_device(many).astype(target).copy_to_host()
        np.testing.assert_array_equal(np.resize(small, 70000), large)


def test_nothing_leaks():
    array = gpu.to_device(numbers((3, 4)))
    before = sys.getrefcount(array)
    for _ in range(3):
        for f in (lambda: array[0], lambda: array[0, 0], lambda: array.T.reshape(-1), lambda: repr(array),
                  lambda: array.astype("int8"), lambda: array.fill(1), lambda: list(array),
                  lambda: array[9], lambda: array.reshape(7), lambda: pickle.dumps(array)):  # fmt: skip
            outcome(f)
    gc.collect()
    assert sys.getrefcount(array) == before


def test_the_python_device():
    """Kernels there run on the launching thread; arrays move as on the CPU device."""
    gpu.select_device("python")

    @gpu.jit
    def kernel(x):
        i = gpu.grid(1)
        x[i] = x[i] + i

    array = gpu.to_device(numbers((4, 6), "float32"))
    kernel[1, 6](array[2])
    array[:, ::-2] = array[1:2, :3]
    array[0] = 5
    made = array.T.astype(np.int16)
    host = numbers((4, 6), "float32")
    host[2] += np.arange(6)
    host[:, ::-2] = host[1:2, :3].copy()
    host[0] = 5
    np.testing.assert_array_equal(made.copy_to_host(), host.T.astype(np.int16))
    large = gpu.full((300, 300), 2.75, np.float32).T.astype(np.int8)
    assert large.copy_to_host().sum() == 2 * 90000 and str(large[:2, :2]) == "[[2 2]\n [2 2]]"
