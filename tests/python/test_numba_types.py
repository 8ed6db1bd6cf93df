"""gpu.types, numba's forms of signatures, its names of types and functions, and jit's keywords."""

import warnings

import gpu as cuda
import numpy as np
import pytest
from gpu import float32, float64, int32, types, uint8, void


@cuda.jit(device=True)
def double(x):
    return 2 * x


def scale(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= n


# Each with what it must have been taken for.
SIGNATURES = [
    ("void(float32[:], int32)", "float32[:], int32"),
    ("(float32[:], int32)", "float32[:], int32"),
    ("float32[:], i4", "float32[:], int32"),
    ("none(f4[::1], intp)", "float32[::1], int64"),
    ("types.void(types.float32[:], types.int64)", "float32[:], int64"),
    ("void(numba.types.float32[::1], nb.int_)", "float32[::1], int64"),
    ("void(Array(float32, 1, 'C'), long_)", "float32[::1], int64"),
    ('void(Array(float32, 1, "A"), uchar)', "float32[:], uint8"),
    ("void(array(float32, 1d, C), short)", "float32[::1], int16"),
    (void(float32[:], int32), "float32[:], int32"),
    (types.void(types.f4[::1], types.boolean), "float32[::1], bool"),
    (types.none(types.Array(types.float32, 1, "C"), types.double), "float32[::1], float64"),
    ((float32[:], int32), "float32[:], int32"),
    ([(float32[:], int32)], "float32[:], int32"),
    ([void(float32[:], uint8)], "float32[:], uint8"),
    ((np.dtype("float32"), np.int32), "float32, int32"),
]


@pytest.mark.parametrize(("signature", "means"), SIGNATURES, ids=str)
def test_signatures(signature, means):
    kernel = cuda.jit(signature)(scale)
    text = kernel.declared[0]
    plain = cuda.jit(means)(scale)
    if "float32," in means:  # a scalar cannot be indexed: the types alone are looked at
        return
    assert kernel.ptx() == plain.ptx(), text


def test_signatures_run(device):
    x = np.arange(5, dtype=np.float32)
    for signature in ("void(float32[:], int32)", types.void(float32[::1], types.i4)):
        y = x.copy()
        cuda.jit(signature)(scale)[1, 8](y, 3)
        assert y.tolist() == (3 * x).tolist()
    several = cuda.jit([void(float32[:], int32), void(float64[:], float64)])(scale)
    for dtype, n in ((np.float32, 2), (np.float64, 0.5)):
        y = x.astype(dtype)
        several[1, 8](y, n)
        assert y.tolist() == (n * x).tolist()
    with pytest.raises(TypeError, match="fits no declared signature"):
        several[1, 8](np.arange(5), 2)


def test_tuples_in_signatures(device):
    def store(out, pair, triple):
        out[0] = pair[0] + pair[1] + triple[0] + triple[1] + triple[2]

    forms = [
        "void(float64[:], Tuple((int32, float32)), UniTuple(int64, 3))",
        "void(float64[:], Tuple((int32, float32)), UniTuple(int64 x 3))",
        "void(float64[:], (int32, float32), (int64, int64, int64))",
        void(float64[:], types.Tuple((int32, float32)), types.UniTuple(types.int64, 3)),
        void(float64[:], (int32, float32), (types.int64,) * 3),
    ]
    for form in forms:
        out = np.zeros(1)
        cuda.jit(form)(store)[1, 1](out, (1, 0.5), (2, 3, 4))
        assert out[0] == 10.5

    def nested(out, t):
        out[0] = t[0][0] + t[1][1]

    out = np.zeros(1)
    cuda.jit("void(float64[:], UniTuple(UniTuple(int32, 2), 2))")(nested)[1, 1](
        out, ((1, 2), (3, 4))
    )
    assert out[0] == 5


def test_device_functions_have_signatures(device):
    for signature in ("float32(float32)", float32(float32), types.float32(types.float32)):
        half = cuda.jit(signature, device=True, inline=True)(lambda x: x / 2)

        @cuda.jit
        def kernel(x, half=half):
            x[0] = half(x[0])

        x = np.array([5], np.float32)
        kernel[1, 1](x)
        assert x[0] == 2.5


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("void(UniTuple(int32))", "',' and the number of elements expected"),
        ("void(UniTuple(int32, 0))", "a number from 1 to"),
        ("void(UniTuple(int32, 99999999999))", "a number from 1 to"),
        ("void(UniTuple(UniTuple(int32, 1000), 1000))", "too many arguments"),
        ("void(UniTuple(int32, 3)", "'\\)' expected"),
        ("void(UniTuple(int32, 3", "'\\)' expected"),
        ("void(Tuple(int32))", "write Tuple"),
        ("void(Tuple((int32), float32))", "'\\)' expected"),
        ("void(Array(float32, 9, 'C'))", "a number from 1 to 8"),
        ("void(Array(float32, C))", "a number from 1 to 8"),
        ("void(Array(float32, 2))", "the layout expected"),
        ("void(Array(float32))", "the number of dimensions expected"),
        ("void(Array(float32, 2, 'X'))", "the layout is C, F or A"),
        ("void(Array(float32, 2, 'C))", "the quote is not closed"),
        ("void(Array(floaty, 2, 'C'))", "unknown type 'floaty'"),
        ("void(types.int33)", "unknown type 'int33'"),
        ("float32(float32)", "a kernel returns nothing"),
    ],
)
def test_signatures_that_are_none(signature, message):
    with pytest.raises(cuda.ArgumentError, match=message):
        cuda.jit(signature)(lambda x: None)


def test_types_are_the_packages_own(device):
    assert types.float32 is cuda.float32 is types.f4 is cuda.f4
    assert types.boolean is cuda.boolean is cuda.bool_ is types.bool_
    assert types.intp is types.int64 and types.uint is types.uint64 and types.uintc is cuda.uint32
    assert str(types.float32[:, ::1]) == "float32[:, ::1]"
    assert types.Array(types.float32, 3, "F") == "float32[::1, :, :]"
    assert types.Array(types.u1, 0, "C") == "uint8[]"
    with pytest.raises(cuda.ArgumentError, match="'C', 'F' or 'A', not 'X'"):
        types.Array(float32, 1, "X")

    @cuda.jit
    def kernel(x):
        part = cuda.shared.array(4, dtype=types.int16)
        own = cuda.local.array(shape=(2, 2), dtype=types.double)
        own[1, 0] = types.uint8(x[0])
        part[3] = own[1, 0]
        x[0] = part[3] + cuda.i4(1)

    x = np.array([257], np.int64)
    kernel[1, 1](x)
    assert x[0] == 2


def test_a_star_import_keeps_pythons_names():
    names = {}
    exec("from gpu import *\nfrom gpu.types import *", names)
    for name in ("bool", "int", "float", "compile", "Warning"):
        assert name not in names or names[name] is __builtins__[name]
    assert names["boolean"] is cuda.bool_


def test_keywords_of_jit(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = cuda.jit(device=True, inline="always", fastmath=True, link=[], opt=True)(
            lambda x: x + 1
        )
        kernel = cuda.jit(
            func_or_sig="void(float32[:])", debug=None, lineinfo=False, cache=True, forceinline=True,
            nopython=True, max_registers=64, extensions=[], launch_bounds=64,
        )(lambda x: None)  # fmt: skip
    kernel[1, 1](np.zeros(1, np.float32))
    assert plain.py_func(1) == 2
    ignored = {"abi": "c", "bind": True, "boundscheck": True, "extensions": [1], "lto": True,
               "parallel": True, "shared_memory_carveout": 50}  # fmt: skip
    for name, value in ignored.items():
        with pytest.warns(cuda.OptionWarning, match=name):
            cuda.jit(**{name: value})(scale)
    with pytest.raises(cuda.ArgumentError, match="link"):
        cuda.jit(link=["a.ptx"])(scale)
    with pytest.raises(cuda.ArgumentError, match="did you mean fastmath"):
        cuda.jit(fast_math=True)(scale)


def test_reduce(device):
    sum_of = cuda.reduce(lambda a, b: a + b)
    rng = np.random.default_rng(1)
    for n in (1, 2, 127, 128, 129, 1000, 4097):
        x = rng.integers(-1000, 1000, n)
        assert sum_of(cuda.to_device(x)) == x.sum()
        assert sum_of(x, init=7) == x.sum() + 7
    x = rng.integers(0, 100, 500)
    assert sum_of(cuda.to_device(x), size=100) == x[:100].sum()
    assert sum_of(cuda.to_device(x), size=0, init=3) == 3

    @cuda.Reduce
    def largest(a, b):
        return max(a, b)

    y = rng.random(3000).astype(np.float32)
    result = cuda.zeros(1, np.float32)
    assert largest(cuda.to_device(y), res=result, init=-1.0) is None
    assert result.copy_to_host()[0] == y.max()
    last = cuda.reduce(lambda a, b: b)  # grouped, never exchanged
    assert last(cuda.to_device(np.arange(1, 777))) == 776
    with pytest.raises(cuda.ArgumentTypeError, match="one dimension"):
        sum_of(cuda.zeros((2, 2)))
    with pytest.raises(cuda.ArgumentError, match="size is 9, the array has 4"):
        sum_of(cuda.zeros(4), size=9)


def test_compile_to_ptx():
    ptx, result = cuda.compile_ptx(scale, void(float32[:], int32), cc=(9, 0))
    assert ".target sm_90" in ptx and ".entry" in ptx and result is void
    again, _ = cuda.compile(scale, (float32[:], int32), device=False, cc=(7, 5))
    assert ".target sm_75" in again
    for call in (cuda.compile_for_current_device, cuda.compile_ptx_for_current_device):
        assert ".entry" in call(scale, "float32[:], int32", device=False)[0]
    with pytest.raises(cuda.UnsupportedError, match="device functions"):
        cuda.compile_ptx(scale, "float32[:], int32", device=True)
    with pytest.raises(cuda.UnsupportedError, match="ltoir"):
        cuda.compile(scale, "float32[:], int32", device=False, output="ltoir")
    with pytest.raises(cuda.ArgumentError, match="one signature"):
        cuda.compile_ptx(scale, ["float32[:], int32", "float64[:], int32"])


def test_what_is_not_linked():
    with pytest.raises(cuda.UnsupportedError, match="'mul'.*in Python"):
        cuda.declare_device("mul", "float32(float32, float32)")
    assert cuda.is_supported_version() == cuda.is_available()


def test_inspection(device, capsys):
    kernel = cuda.jit(scale)
    assert kernel.overloads == {} and kernel.inspect_asm() == {}
    kernel[1, 8](np.zeros(3, np.float32), 2)
    kernel[1, 8](np.zeros(3), 2)
    if device != "python":  # which compiles nothing
        assert len(kernel.overloads) == 2
        assert set(kernel.overloads) == set(kernel.signatures) == set(kernel.inspect_asm())
        one = kernel.overloads[kernel.signatures[0]]
        assert one.regs_per_thread >= 0 and one.max_threads_per_block >= 0
        assert ".entry" in one.inspect_asm() and "define" in one.inspect_llvm()
        assert list(kernel.get_regs_per_thread()) == kernel.signatures
        assert kernel.get_local_mem_per_thread("float32[:], int32") >= 0
        assert kernel.get_shared_mem_per_block((float32[:], int32)) == 0
        kernel.inspect_types()
        assert "float32" in capsys.readouterr().out
    assert ".entry" in kernel.inspect_asm((float32[:], int32))
    assert "define" in kernel.inspect_llvm("float32[:], int32")
    with pytest.raises(cuda.UnsupportedError, match="cuobjdump"):
        kernel.inspect_sass()


def test_ipc_arrays_are_opened(device):
    x = cuda.to_device(np.arange(6, dtype=np.float32))
    if cuda.device().kind == "cuda":
        pytest.skip("a process cannot open its own handles on a GPU")
    with cuda.open_ipc_array(x.get_ipc_handle(), (2, 3), np.float32) as y:
        assert y.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(cuda.UnsupportedError, match="leave them away"):
        cuda.open_ipc_array(x.get_ipc_handle(), 6, np.float32, offset=4)


def test_records_have_signatures(device):
    pair = np.dtype([("a", "f4"), ("b", "i4", 3)])
    nested = np.dtype([("pair", pair), ("n", "u1")], align=True)
    assert types.from_dtype(np.dtype("f4")) is float32
    assert types.from_dtype(np.dtype(bool)) is types.boolean
    assert types.from_dtype(pair)[:, ::1] == "record(a: float32, b: int32[3])[:, ::1]"
    with pytest.raises(TypeError, match=r"record\[:\]"):
        types.from_dtype(pair)[0]
    with pytest.raises(cuda.ArgumentTypeError, match="no elements of dtype object"):
        types.from_dtype(np.dtype(object))

    def grow(x):
        x[cuda.grid(1)].pair.b[1] += x[cuda.grid(1)].n

    of = cuda.from_dtype(nested)
    for signature in (void(of[:]), [(of[::1],)], f"void({of[:]})"):
        x = np.zeros(3, nested)
        x["n"] = [1, 2, 3]
        kernel = cuda.jit(signature)(grow)
        kernel[1, 3](x)
        assert x["pair"]["b"][:, 1].tolist() == [1, 2, 3]
        with pytest.raises(TypeError, match="fits no declared signature"):
            kernel[1, 3](np.zeros(3, pair))
        with pytest.raises(TypeError, match="fits no declared signature"):
            kernel[1, 3](np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="fits no declared signature"):
        cuda.jit("float32[:]")(grow)[1, 3](np.zeros(3, pair))
