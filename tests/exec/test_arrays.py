"""Arrays: every dtype, rank and layout; reading, writing, attributes, bounds."""

import gpu
import kit
import numpy as np
import pytest

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)
SHAPES = {1: (7,), 2: (3, 5), 3: (2, 3, 4), 4: (2, 3, 2, 3)}


class Device:
    """A view, with the strides of a NumPy view, of a copy of its base in the GPU's memory."""

    def __init__(self, view: np.ndarray):
        base = view
        while base.base is not None:
            base = base.base
        self.shape = view.shape
        self.memory = gpu.to_device(base.reshape(-1))
        offset = view.ctypes.data - base.ctypes.data
        self.host = base
        self.view = view
        self.__cuda_array_interface__ = {
            "shape": view.shape, "strides": view.strides, "typestr": view.dtype.str, "version": 3,
            "data": (self.memory.address + offset, False),
        }  # fmt: skip

    def result(self) -> np.ndarray:
        """The view with what is in the device's memory now."""
        host = self.memory.copy_to_host().reshape(-1)
        self.host.reshape(-1)[...] = host
        return self.view


class Host:
    """The CPU device uses a NumPy array where it is."""

    def __init__(self, view: np.ndarray):
        self.view = view
        self.__array_interface__ = view.__array_interface__

    def result(self) -> np.ndarray:
        return self.view


@pytest.fixture
def place(device):
    """Puts an array with its strides where the device can use it."""
    return Host if device == "cpu" else Device


def filled(dtype: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.startswith("float"):
        return rng.standard_normal(count).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype, endpoint=True)


def c_order(dtype, shape):
    return filled(dtype, int(np.prod(shape))).reshape(shape)


def f_order(dtype, shape):
    return filled(dtype, int(np.prod(shape))).reshape(shape[::-1]).T


def strided(dtype, shape):
    wide = tuple(2 * n + 1 for n in shape)
    return filled(dtype, int(np.prod(wide))).reshape(wide)[tuple(slice(1, 2 * n, 2) for n in shape)]


def negative(dtype, shape):
    return c_order(dtype, shape)[tuple(slice(None, None, -1) for _ in shape)]


def mixed(dtype, shape):
    """The first axis reversed, the last two exchanged where there are two."""
    if len(shape) == 1:
        return strided(dtype, (2 * shape[0],))[::-2]
    return np.swapaxes(c_order(dtype, (*shape[:-2], shape[-1], shape[-2])), -1, -2)[::-1]


LAYOUTS = (c_order, f_order, strided, negative, mixed)


def indices(rank: int) -> tuple[str, str]:
    """Lines that split i into an index per axis, and the index."""
    names = [f"i{k}" for k in range(rank)]
    lines = []
    for k in reversed(range(1, rank)):
        lines += [f"    i{k} = j % x.shape[{k}]", f"    j //= x.shape[{k}]"]
    return "\n".join(["    j = i", *lines, "    i0 = j"]), ", ".join(names)


def element_kernel(rank: int):
    split, index = indices(rank)
    back = ", ".join(f"-1 - i{k}" for k in range(rank))
    return kit.kernel(
        f"def kernel(x, y, z):\n    i = gpu.grid(1)\n    if i >= x.size:\n        return\n{split}\n"
        f"    y[{index}] = x[{index}]\n    z[{index}] = x[{back}]\n    z[{index}] += x[{index}]\n"
    )


def added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a += b as an element does it: computed by the rules of numbers, then stored."""
    if a.dtype == bool:
        return a | b
    with np.errstate(over="ignore"):
        return a + b


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(place, dtype, rank, layout):
    x = layout(dtype, SHAPES[rank])
    source = x.copy()
    y, z = (layout(dtype, SHAPES[rank]) for _ in range(2))
    x, y, z = (place(a) for a in (x, y, z))
    kit.launch(element_kernel(rank), source.size, x, y, z)
    assert np.array_equal(y.result(), source)
    flipped = source[tuple(slice(None, None, -1) for _ in range(rank))]
    assert np.array_equal(z.result(), added(flipped, source))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_numpy_arrays_are_copied_in_and_out(layout):
    x = layout("int32", (3, 5))
    y = layout("int32", (3, 5))
    expected, untouched = x.copy(), y.base.copy() if y.base is not None else None
    kit.launch(element_kernel(2), 15, x, y, np.zeros((3, 5), "int32"))
    assert np.array_equal(y, expected)
    if layout is strided:
        # What lies between the elements stays.
        between = np.ones(untouched.shape, bool).reshape(7, 11)
        between[1:6:2, 1:10:2] = False
        assert np.array_equal(y.base.reshape(7, 11)[between], untouched.reshape(7, 11)[between])


ATTRIBUTES = """
def kernel(x, out):
    out[0] = x.size
    out[1] = x.ndim
    out[2] = len(x)
    out[3] = len(x.shape)
    out[4] = x.shape[0]
    out[5] = x.shape[-1]
    out[6] = x.strides[0]
    out[7] = x.strides[-1]
    total = 0
    for n in range(x.ndim):
        total += 1
    out[8] = total
"""


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("rank", SHAPES)
def test_attributes(place, rank, layout):
    x = layout("int16", SHAPES[rank])
    out = np.zeros(9, "int64")
    kit.single(kit.kernel(ATTRIBUTES), place(x), out)
    expected = [
        x.size,
        rank,
        len(x),
        rank,
        x.shape[0],
        x.shape[-1],
        x.strides[0],
        x.strides[-1],
        rank,
    ]
    assert out.tolist() == expected


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_strides_of_numpy_arrays(layout):
    """Those of the array, or of its copy on a GPU: contiguous, in F order if the array is."""
    x = layout("int16", (3, 5))
    out = np.zeros(2, "int64")
    kit.single(kit.kernel("def kernel(x, out):\n    out[0], out[1] = x.strides\n"), x, out)
    in_order = np.empty_like(x, order="F" if x.flags.f_contiguous else "C")
    expected = in_order if gpu.device().kind == "cuda" else x
    assert tuple(out.tolist()) == expected.strides


def test_shapes_unpack():
    source = "def kernel(x, out):\n    a, b = x.shape\n    out[0] = a\n    out[1] = b\n    out[2] = x.shape[1] * x.shape[0]\n"
    out = np.zeros(3, "int64")
    kit.single(kit.kernel(source), np.zeros((4, 6), "int8"), out)
    assert out.tolist() == [4, 6, 24]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 2)])
def test_empty_arrays(shape):
    x = np.zeros(shape, "float32")
    out = np.zeros(9, "int64")
    kit.single(kit.kernel(ATTRIBUTES), gpu.to_device(x), out)
    assert out[[0, 1, 2, 4, 5]].tolist() == [0, len(shape), shape[0], shape[0], shape[-1]]
    kit.launch(element_kernel(len(shape)), 64, x, x.copy(), x.copy())


def test_an_index_may_be_a_tuple_or_any_integer():
    source = (
        "def kernel(x, out):\n    at = (1, 2)\n    out[0] = x[at]\n    out[1] = x[gpu.uint8(1), gpu.int64(0)]\n"
        "    out[2] = x[np.int8(1), gpu.uint64(0)]\n    t = (0, 1)\n    x[t] = 50\n    x[at] += 1\n"
    )
    x = np.arange(12, dtype="int32").reshape(3, 4)
    out = np.zeros(3, "int32")
    kit.single(kit.kernel(source), x, out)
    assert out.tolist() == [6, 4, 4]
    assert (x[0, 1], x[1, 2]) == (50, 7)


def test_an_augmented_index_is_computed_once():
    source = (
        "def step(c):\n    c[0] += 1\n    return c[0]\n"
        "def kernel(x, c):\n    x[step(c)] += 10\n    x[step(c)] *= 3\n"
    )
    x, c = np.ones(4, "int32"), np.zeros(1, "int32")
    kit.single(kit.kernel(source), x, c)
    assert x.tolist() == [1, 11, 3, 1]
    assert c[0] == 2


def test_integers_of_narrow_arrays_do_not_wrap():
    source = "def kernel(r, g, out):\n    i = gpu.grid(1)\n    if i < out.size:\n        out[i] = (77 * r[i] + 150 * g[i]) >> 8\n"
    r, g = np.full(50, 255, "uint8"), np.arange(50, dtype="uint8")
    out = np.zeros(50, "uint8")
    kit.launch(kit.kernel(source), 50, r, g, out)
    assert np.array_equal(out, (77 * r.astype(int) + 150 * g.astype(int)) >> 8)


BOUNDS = [
    ("x[i] = 1", (5,), 5, 0, "5"), ("x[i + 3] = 1", (5,), 5, 0, "5"), ("x[-6] = 1", (5,), -6, 0, "5"),
    ("x[2, i] = 1", (3, 4), 4, 1, "3, 4"), ("x[3, 0] += 1", (3, 4), 3, 0, "3, 4"), ("x[0, 0, -9] = 1", (1, 2, 8), -9, 2, "1, 2, 8"),
    ("y = x[i * 100]\n    x[0] = y", (5,), 100, 0, "5"), ("x[2 ** 62 * 2] = 0", (5,), -(2**63), 0, "5"),
]  # fmt: skip


@pytest.mark.parametrize("statement, shape, index, axis, shown", BOUNDS, ids=lambda v: str(v)[:20])
def test_bounds(device, statement, shape, index, axis, shown):
    if device != "cpu":
        pytest.skip("only the CPU device checks bounds without check=True")
    source = f"def kernel(x):\n    i = gpu.grid(1)\n    {statement}\n"
    x = np.zeros(shape, "int32")
    with pytest.raises(IndexError) as caught:
        kit.kernel(source)[2, 64](x)
        gpu.synchronize()
    text = str(caught.value)
    assert isinstance(caught.value, gpu.Error)
    first = statement.splitlines()[0]
    for part in (
        f"index {index} ",
        f"axis {axis}",
        "'x'",
        f"({shown}",
        first,
        "line 3",
        "block",
        "thread",
    ):
        assert part in text, f"{part!r} is not in:\n{text}"


def test_bounds_of_tuples_and_of_huge_indices(device):
    if device != "cpu":
        pytest.skip("only the CPU device checks bounds without check=True")
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        source = "def kernel(x, n):\n    x[0] = (1, 2, 3)[n]\n"
        kit.single(kit.kernel(source), np.zeros(2), 7)
    for n in (2**64 - 1, 2**63):
        with pytest.raises(IndexError):
            kit.single(kit.kernel("def kernel(x, n):\n    x[n] = 3\n"), np.zeros(2), np.uint64(n))


def test_the_device_works_after_an_error(device):
    if device != "cpu":
        pytest.skip("only the CPU device checks bounds without check=True")
    kernel = kit.kernel("def kernel(x, n):\n    x[n] = 7\n")
    x = gpu.zeros(3, np.int32)
    for _ in range(3):
        with pytest.raises(IndexError):
            kit.single(kernel, x, 9)
        kit.single(kernel, x, 1)
        assert x.copy_to_host().tolist() == [0, 7, 0]


def test_bounds_in_a_device_function_name_its_line(device):
    if device != "cpu":
        pytest.skip("only the CPU device checks bounds without check=True")
    source = "def get(a, k):\n    return a[k]\n\n\ndef kernel(x):\n    x[0] = get(x, 10)\n"
    with pytest.raises(IndexError, match="return a\\[k\\]"):
        kit.single(kit.kernel(source), np.zeros(4))
