"""Views: partial indices, slices, new axes, assignment to parts of arrays.

A kernel here is a plain Python function of NumPy arrays too, since its views are NumPy's: run as it
is, it says what the kernel must leave in its arguments.
"""

import gpu
import kit
import numpy as np
import pytest


def arrays(args: tuple) -> list:
    """Copies with the same strides."""
    return [arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args]


def agree(body: str, *args, names: dict | None = None, parameters: str = "a b c d e") -> None:
    """The kernel of this body leaves in its arguments what the Python function does."""
    head = ", ".join(parameters.split()[: len(args)])
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    function = kit.function(f"def kernel({head}):\n{lines}", **(names or {}))
    expected, got = arrays(args), arrays(args)
    function(*expected)
    kit.single(gpu.jit(function), *got)
    for name, want, have in zip(head.split(", "), expected, got, strict=True):
        if isinstance(want, np.ndarray):
            assert np.array_equal(want, have), f"{body}\n{name}: {have}\nexpected {want}"


def matrix(dtype: str = "float32") -> np.ndarray:
    return np.arange(12).astype(dtype).reshape(3, 4)


def vector(n: int = 10, dtype: str = "int32") -> np.ndarray:
    return np.arange(n).astype(dtype)


def ints(*shape: int) -> np.ndarray:
    return np.full(shape, -77, "int64")


BODIES = {
    "row": ("r = a[1]\nfor j in range(4):\n    b[j] = r[j]", matrix(), ints(4)),
    "element of a row": ("b[0] = a[1][2]\na[-1][-1] = 50", matrix(), ints(1)),
    "element of a slice of a row": ("b[0] = a[1][1:3][0]\na[-1, 1:][1:][0] = 9", matrix(), ints(1)),
    "attributes": (
        "v = a[1:, ::2]\nb[0] = v.ndim\nb[1] = v.size\nb[2] = v.itemsize\nb[3] = v.nbytes\n"
        "b[4] = len(v)\nb[5] = v.shape[1]\nb[6], b[7] = v.strides",
        matrix(),
        ints(8),
    ),
    "strides of a row": ("b[0] = a[1].strides[0]\nb[1] = a[:, 1].strides[0]", matrix(), ints(2)),
    "a step backwards": ("v = a[::-1]\nb[0] = v[0]\nb[1] = v[-1]\nb[2] = v.strides[0]", vector(), ints(3)),
    "bounds of the launch": ("v = a[c:d:2]\nb[0] = len(v)\nb[1] = v[0]\nb[2] = v[-1]", vector(), ints(3), 2, 9),
    "a step of the launch": ("v = a[::c]\nb[0] = len(v)\nb[1] = v[0]\nb[2] = v[-1]", vector(), ints(3), -3),
    "empty": ("b[0] = len(a[5:2])\nb[1] = len(a[20:])\nb[2] = a[3:3].size\na[7:7] = 5", vector(), ints(3)),
    "new axes": (
        "v = a[None, :, None]\nb[0], b[1], b[2], b[3] = v.shape\nb[4] = v[0, 1, 0, 2]\nw = a[np.newaxis]\nb[5] = w[0, 2, 3]",
        matrix(),
        ints(6),
    ),
    "strides of new axes": ("v = a[:, None]\nb[0], b[1], b[2] = v.strides", matrix(), ints(3)),
    "an ellipsis": ("v = a[..., 1]\nfor i in range(3):\n    b[i] = v[i]\nw = a[1, ...]\nb[3] = w[2]", matrix(), ints(4)),
    "mixed": (
        "v = a[c, ..., ::-1, None]\nb[0], b[1], b[2] = v.shape\nb[3] = v[1, 0, 0]\nv[0, 3, 0] = 99",
        np.arange(24.0).reshape(2, 3, 4),
        ints(4),
        1,
    ),
    "an index in a variable": ("at = (1, 2)\nb[0] = a[at]\na[at] += 5\nrest = (..., 0)\nb[1] = a[rest][2]", matrix(), ints(2)),
    "a slice in a variable": (
        "s = slice(1, None)\nt = slice(c, None, -1)\nb[0] = a[s, 0][0]\nv = a[t]\nb[1] = len(v)\nb[2] = v[0, 1]\nb[3] = a[slice(2)].size",
        matrix(),
        ints(4),
        1,
    ),
    "attributes of a slice": ("s = slice(c, 8, 2)\nb[0] = s.start + s.stop * 10 + s.step * 100\nt = slice(c)\nif t.start is None:\n    b[1] = t.stop", vector(), ints(2), 3),
    "a slice of two paths": ("s = slice(2, None)\nif c:\n    s = slice(None, c, 2)\nv = a[s]\nb[0] = len(v)\nb[1] = v[0]\nb[2] = v[-1]", vector(), ints(3), 7),
    "a whole or a part": ("v = a[c:]\nif c > 1:\n    v = a[::2]\nb[0] = len(v)\nb[1] = v[1]\nv[2] = 55", vector(), ints(2), 2),
    "layouts that meet": ("v = a\nif c:\n    v = a.T\nb[0] = v[1, 0]\nb[1], b[2] = v.shape\nb[3], b[4] = v.strides", matrix(), ints(5), 1),
    "a view through a loop": ("row = a[0]\nfor i in range(3):\n    row = a[i]\n    row[i] = 50\nb[0] = row[3]", matrix(), ints(1)),
    "a shrinking view": ("v = a\ns = 0\nwhile len(v) > 1:\n    s += v[0]\n    v = v[1:-1]\nb[0] = s", vector(), ints(1)),
    "views in a tuple": ("t = (a[0], a[::2], 3)\nb[0] = t[0][1] + t[1][1, 2] + t[2]\np, q, n = t\nq[1, 1] = 8\nb[1] = p[n]", matrix(), ints(2)),
    "a chosen view": ("t = (a[0], a[1], a[2])\nv = t[c]\nb[0] = v[2]\nv[0] = 40", matrix(), ints(1), 1),
    "transposed": ("t = a.T\nt[1, 2] = 50\nb[0] = t[3][0]\nb[1], b[2] = t.shape\nb[3] = t.T[0, 1]\nb[4] = b.T[0]", matrix(), ints(5)),
    "rows exchanged": ("a[0], a[1] = a[1], a[0]", matrix()),
    "elements exchanged": ("a[0][1], a[1][0] = a[1][0], a[0][1]", matrix()),
    "written through both": ("v = a[2:]\nw = a[::2]\nv[0] = 70\nb[0] = w[1]\nw[2] = 80\nb[1] = v[2]", vector(), ints(2)),
    "filled": ("a[1:5] = 7\na[-1:] = 2.9\na[::4] = True", vector()),
    "filled in two axes": ("a[1:, 1:3] = b[0]\na[0] = 5\na[:, 3] = -1", matrix(), vector()),
    "all of it": ("a[...] = 3\nb[:] = 4\nc[:, :] = 5\nd[()] = 6", matrix(), vector(), matrix(), matrix()),
    "a column from a vector": ("a[:, 1] = b", matrix(), vector(3, "float64")),
    "converted": ("a[:] = b\nc[:] = a", vector(5, "uint8"), vector(5, "int64") * 100, vector(5, "float32")),
    "bools": ("a[:] = b\nc[1:] = True", np.zeros(5, bool), vector(5), np.zeros(5, bool)),
    "spread": ("a[:] = b\nc[:] = b[0:1]", matrix(), vector(4), vector(7)),
    "spread along an axis of 1": ("a[:] = b", matrix(), vector(3).reshape(3, 1)),
    "one number of no axes": ("a[1:3] = b[4, ...]\na[0] = b[5, ...]", vector(), vector()),
    "in place": ("a[1:3] += 1\na[::3] *= c", vector(), ints(1), 3),
    "in place in two axes": ("a[:, 1:3] *= 2\na[1] -= 0.5", matrix()),
    "in place by an array": ("a[1] += a[0]\na[:, 0] *= b", matrix(), vector(3)),
    "in place by itself": ("v = a[1:4]\nv += v\nv *= v", vector()),
    "in place of a local": ("v = a[2]\nv += 1\nv *= 2\nv += b[0]", matrix(), vector(3, "float32")),
    "in place with every operator": (
        "a[0:2] -= 3\na[0:2] //= 2\na[2:4] %= 2\na[4:6] **= 2\na[6:8] <<= 1\na[5:9] >>= 1\na[1:6] &= 5\na[3:8] |= 8\na[2:] ^= 3",
        vector(),
    ),
    "an index computed once": ("a[b[0] : b[0] + 3] += 10", vector(), vector(3)),
    "moved up": ("a[1:] = a[:-1]", vector()),
    "moved down": ("a[:-1] = a[1:]", vector()),
    "moved by the launch": ("a[c : c + 4] = a[d : d + 4]", vector(), ints(1), 3, 5),
    "moved along a diagonal": ("a[1:, :-1] = a[:-1, 1:]", matrix()),
    "moved along the other": ("a[1:, 1:] = a[:-1, :-1]", matrix()),
    "moved among reversed": ("v = a[::-1]\nv[1:] = v[:-1]", vector()),
    "moved among columns": ("t = a.T\nt[1:, 1:] = t[:-1, :-1]\nt[:-1] = t[1:]", matrix()),
    "moved in steps": ("a[2::2] = a[:-2:2]", vector()),
    "interleaved": ("a[::2] = a[1::2]", vector()),
    "added to neighbours": ("a[1:] += a[:-1]", vector()),
    "turned around": ("a[:] = a[::-1]\nb[:] = b[::-1]", vector(), vector(9)),
    "turned around along an axis": ("a[:] = a[:, ::-1]\nb[:] = b[::-1]\nc[...] = c[::-1, ::-1]", matrix(), matrix(), matrix()),
    "added to itself turned around": ("a += a[::-1]\nb -= b[::-1]", vector(), vector()),
    "transposed in its place": ("a[:, :] = a.T\nb += b.T", np.arange(16).reshape(4, 4), np.arange(16.0).reshape(4, 4)),
    "a row from a column": ("a[1, :] = a[:, 2]\na[:, 0] = a[3]\na[2] = a[:, 1]", np.arange(16).reshape(4, 4)),
    "thinned out": ("a[:5] = a[::2]\nb[:3] = b[2::3]", vector(), vector(11)),
    "spread out": ("a[::2] = a[:5]\nb[2::3] = b[:3]", vector(), vector(11)),
    "spread from the middle": ("a[::2] = a[3:8]\nb[4:9] = b[::2]", vector(), vector()),
    "a column from a row in place": ("a[:, 1] += a[2]\na[0] *= a[:, 3]", np.arange(16).reshape(4, 4)),
    "one element in place": ("a += a[3, ...]", vector()),
    "one element in all": ("a[:] = a[3:4]", vector()),
    "a row in all": ("a[1:] = a[0]", matrix()),
    "from the other end": ("a[:] = b[::-1]", vector(), vector() + 3),
    "transposed copy": ("a[:, :] = b.T", np.zeros((4, 3)), matrix()),
    "no axis": ("v = a[2, ...]\nv[...] = b[1]\nb[0] = v[()]\nv[()] += 2\nv += 1\nb[1] = v.ndim", vector(), ints(2)),
    "nothing": ("a[:] = 3\na[1:] += 2\nb[0] = a.size\nb[1], b[2] = a.shape\nb[3] = len(a[:, 1:])", np.zeros((0, 4)), ints(4)),
    "a shape as an index": ("n, m = a.shape\na[n - 1, m - 1] = 4\na[:n][-1, 0] = 2", matrix()),
    "unsigned bounds": ("v = a[gpu.uint64(2) : gpu.uint8(5)]\nb[0] = len(v)\nb[1] = v[0]", vector(), ints(2)),
    "bounds that are bool": ("b[0] = len(a[True:])", vector(), ints(1)),
    "extreme bounds": (
        "b[0] = len(a[-(2**63) : 2**63 - 1])\nb[1] = len(a[2**63 - 1 : -(2**63) : -1])\nb[2] = len(a[c:d:d])\nb[3] = len(a[:: -(2**63)])",
        vector(),
        ints(4),
        -(2**63),
        2**63 - 1,
    ),
}  # fmt: skip


# Where NumPy copies the source of an assignment of one axis forwards although that is wrong (seen in
# NumPy 2.4), and the source is to be as it was.
NUMPY_IS_WRONG = ("a row from a column", "spread out", "spread from the middle")


@pytest.mark.parametrize("name", [name for name in BODIES if name not in NUMPY_IS_WRONG])
def test_as_numpy(name):
    agree(*BODIES[name])


def text(name: str) -> str:
    body, *args = BODIES[name]
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"def kernel({', '.join('abcde'[: len(args)])}):\n{lines}"


def test_a_source_is_as_it_was():
    a = vector()
    kit.single(kit.kernel("def kernel(a):\n    a[::2] = a[:5]\n"), a)
    assert a.tolist() == [0, 1, 1, 3, 2, 5, 3, 7, 4, 9]
    a = vector()
    kit.single(kit.kernel("def kernel(a):\n    a[:5] = a[::2]\n"), a)
    assert a.tolist() == [0, 2, 4, 6, 8, 5, 6, 7, 8, 9]
    a = np.arange(9).reshape(3, 3)
    kit.single(kit.kernel("def kernel(a):\n    a[1] = a[:, 1]\n"), a)
    assert a.tolist() == [[0, 1, 2], [1, 4, 7], [6, 7, 8]]


@pytest.mark.parametrize("name", BODIES)
def test_as_the_python_device(name):
    kit.agree(text(name), BODIES[name][1:])


FUNCTIONS = """
def total(v):
    s = 0
    for i in range(len(v)):
        s += v[i]
    return s

def halves(v):
    h = len(v) // 2
    return v[:h], v[h:]

def sum_of(v):
    if len(v) == 1:
        return v[0]
    l, r = halves(v)
    return sum_of(l) + sum_of(r)

def reverse(v):
    if len(v) > 1:
        v[0], v[-1] = v[-1], v[0]
        reverse(v[1:-1])

def pick(m, i):
    return m[i]

def either(m, i):
    if i > 1:
        return m[0]
    return m[:, 1]

def kernel(m, v, out):
    out[0] = total(v[2:5])
    out[1] = total(m[1])
    out[2] = total(m[:, 2])
    out[3] = sum_of(v)
    out[4] = sum_of(v[::2])
    reverse(v)
    reverse(v[::3])
    row = pick(m, 2)
    row[1] = 60
    pick(m, slice(1, 3))[0, 0] = 30
    out[5] = pick(pick(m, 0), 3)
    out[6] = either(m, 2)[1]
    out[7] = either(m, 0)[2]
"""


def test_views_go_through_functions():
    function = kit.function(FUNCTIONS)
    args = (matrix("int64"), vector(), ints(8))
    expected, got = arrays(args), arrays(args)
    function(*expected)
    kit.single(gpu.jit(function), *got)
    for want, have in zip(expected, got, strict=True):
        assert want.tolist() == have.tolist()


def test_atomics_on_views():
    source = "def kernel(a):\n    i = gpu.grid(1)\n    gpu.atomic.add(a[1], i % 2, 1)\n    gpu.atomic.add(a[:, ::-1], (0, 0), 2)\n"
    a = np.zeros((2, 3), "int32")
    kit.launch(kit.kernel(source), 64, a)
    assert a.tolist() == [[0, 0, 128], [32, 32, 0]]


def failure(body: str, *args) -> BaseException:
    head = ", ".join("abcde"[: len(args)])
    kernel = kit.kernel(f"def kernel({head}):\n    {body}\n", check=True)
    with pytest.raises(gpu.Error) as caught:
        kit.single(kernel, *args)
    return caught.value


def test_bounds_of_partial_indices():
    error = failure("v = a[3]\n    v[0] = 1", matrix())
    assert isinstance(error, IndexError)
    assert "index 3 is out of bounds for axis 0 of array 'a' with shape (3, 4)" in str(error)
    error = failure("a[1][4] = 1", matrix())
    assert "index 4 is out of bounds for axis 0 of array 'a[...]' with shape (4,)" in str(error)
    error = failure("a.T[-5] = 1", matrix())
    assert "index -5 is out of bounds for axis 0 of array 'a.T' with shape (4, 3)" in str(error)
    error = failure("a[1:, 7] = 1", matrix())
    assert "index 7 is out of bounds for axis 1" in str(error)


def test_a_step_of_zero():
    error = failure("a[::b] = 1", vector(), 0)
    assert error.code == "ZERO_STEP"
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("body", "args", "text"),
    [
        ("a[1:5] = b", (vector(), vector(3)), "3 elements along axis 0 of an array cannot be stored in 4"),
        ("a[:] = b", (matrix(), vector(3)), "3 elements along axis 0 of an array cannot be stored in 4"),
        ("a[:] += b", (matrix(), np.zeros((2, 4))), "2 elements along axis 0 of an array cannot be stored in 3"),
        ("a[5:5] = b", (vector(), vector(3)), "3 elements along axis 0 of an array cannot be stored in 0"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(body, args, text):
    error = failure(body, *args)
    assert error.code == "STORE_SHAPE"
    assert isinstance(error, gpu.KernelValueError)
    assert text in str(error)


def test_an_overlap_that_no_order_serves():
    error = failure("a[1:6] = a[7:2:-1]", vector())
    assert error.code == "STORE_OVERLAP"
    assert isinstance(error, ValueError)


def test_arrays_without_axes(device):
    source = (
        "def kernel(a, b):\n    b[0] = a[()]\n    b[1] = a.ndim\n    b[2] = a.size\n    a[()] += 1\n"
        "    v = a[...]\n    v[...] = v[()] * 2\n    v += 0.5\n    w = a[None]\n    w[0] += 10\n"
    )
    a, b = np.array(3.0), np.zeros(3)
    kernel = kit.kernel(source)
    kit.single(kernel, a, b)
    assert a[()] == 18.5
    assert b.tolist() == [3, 0, 1]
    on_device = gpu.to_device(np.array(3.0))
    assert (on_device.shape, on_device.ndim, on_device.size) == ((), 0, 1)
    kit.single(kernel, on_device, b)
    assert on_device.copy_to_host() == 18.5
    assert on_device[()] == 18.5
    on_device[...] = 4
    assert on_device.reshape(1).copy_to_host().tolist() == [4]
    assert gpu.zeros((), dtype=np.int32).copy_to_host().shape == ()
    with pytest.raises(TypeError, match="unsized"):
        len(on_device)
    assert kernel.ptx("float64[], float64[:]")


@pytest.mark.parametrize("rank", range(9))
def test_every_rank(rank):
    shape = (2, 3, 1, 2, 1, 2, 1, 2)[:rank]
    for order in "CF":
        a = np.array(np.arange(int(np.prod(shape)), dtype="int32").reshape(shape), order=order)
        agree(
            "a += 1\na.T[...] *= 2\na[..., None][..., 0] -= 1"
            if rank < 8
            else "a += 1\na.T[...] *= 2",
            a,
        )
