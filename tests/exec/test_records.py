"""Records: arrays with a structured dtype, their fields, copies and comparison.

By name, `r["x"]`, a kernel is a plain Python function of NumPy's arrays too, which says what it must
leave; attributes are another way to write the same.
"""

import os

import gpu
import kit
import numpy as np
import pytest

POINT = np.dtype([("id", "i4"), ("x", "f4"), ("pos", "f4", (3,))])
PACKED = np.dtype([("tag", "i1"), ("value", "f8"), ("half", "f2"), ("ok", "?")])
ALIGNED = np.dtype([("tag", "u1"), ("value", "f8"), ("grid", "i2", (2, 3))], align=True)
NESTED = np.dtype([("n", "u2"), ("at", PACKED), ("both", POINT, (2,))])
ODD = np.dtype(
    {"names": ["b", "a b"], "formats": ["<f4", "<i8"], "offsets": [9, 16], "itemsize": 29}
)
DTYPES = {"point": POINT, "packed": PACKED, "aligned": ALIGNED, "nested": NESTED, "odd": ODD}


def filled(dtype: np.dtype, n: int) -> np.ndarray:
    """Records with another number in every place."""
    made, at = np.zeros(n, dtype), 1

    def fill(array: np.ndarray) -> None:
        nonlocal at
        for name in array.dtype.names:
            part = array[name]
            if part.dtype.names is not None:
                fill(part)
            else:
                part[...] = np.arange(at, at + part.size).reshape(part.shape) % 100
                at += part.size

    fill(made)
    return made


def agree(source: str, *args: np.ndarray, **names: object) -> None:
    function = kit.function(source, **names)
    expected = [a.copy() for a in args]
    function(*expected)
    kit.single(gpu.jit(function), *args)
    for want, have in zip(expected, args, strict=True):
        assert np.array_equal(want, have), f"{source}\n{have}\nexpected {want}"


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_records_are_copied(dtype):
    agree("def kernel(a, b):\n for i in range(a.size):\n  b[i] = a[a.size - 1 - i]", filled(dtype, 5),
          np.zeros(5, dtype))  # fmt: skip


def test_fields_are_read_and_written_by_name():
    source = """
def kernel(a, out):
    for i in range(a.size):
        r = a[i]
        r["x"] = r["x"] * 2 + r["id"]
        r["pos"][1] = i
        r["id"] += 3
        out[i] = r["x"] + a["x"][i] + a["pos"][i, 2] + r["pos"][0]
"""
    agree(source, filled(POINT, 4), np.zeros(4))


def test_fields_of_every_place_and_width():
    source = """
def kernel(a, out):
    for i in range(a.size):
        r = a[i]
        out[i] = r["tag"] + r["value"] + r["half"]
        r["half"] = r["tag"]
        r["ok"] = not r["ok"]
        r["tag"] = -r["tag"]
        r["value"] = r["value"] + 0.5
"""
    agree(source, filled(PACKED, 6), np.zeros(6))


def test_nested_records_and_arrays_of_records_in_records():
    source = """
def kernel(a, out):
    for i in range(a.size):
        r = a[i]
        inner = r["at"]
        inner["value"] = inner["value"] + r["n"]
        for k in range(2):
            r["both"][k]["x"] = k + inner["tag"]
            r["both"]["pos"][k, 1] = 7 + k
        out[i] = inner["value"] + r["both"][1]["pos"][2]
        a[i]["at"] = a[0]["at"]
        r["both"][0] = r["both"][1]
"""
    agree(source, filled(NESTED, 3), np.zeros(3))


def test_names_that_are_no_words_and_gaps_between_fields():
    agree("def kernel(a):\n for i in range(a.size):\n  a[i]['a b'] = a[i]['b'] + a[i]['a b']",
          filled(ODD, 4))  # fmt: skip


def test_array_fields_and_whole_fields_are_views():
    source = """
def kernel(a):
    a["x"] = 5
    a["pos"][:, 0] = a["x"]
    a[1]["pos"] += 2
    a[2]["pos"] = a[1]["pos"]
    a[1:]["id"] = a["id"][:3]
"""
    agree(source, filled(POINT, 4))


def test_attributes_are_fields():
    @gpu.jit
    def kernel(a, out):
        for r in a:
            r.x += r.id
            r.pos[0] = r.x
        out[0] = a.x[1] + a[2].pos[0]
        out[1] = a.size

    a, out = filled(POINT, 3), np.zeros(2)
    want = a["x"] + a["id"]
    kit.single(kernel, a, out)
    assert np.array_equal(a["x"], want) and np.array_equal(a["pos"][:, 0], want)
    assert out.tolist() == [want[1] + want[2], 3]


def test_tuples_are_stored_as_records():
    agree("def kernel(a):\n a[1] = (-4, 2.5, 0.5, True)\n", filled(PACKED, 2))


def test_records_are_equal_if_their_fields_are():
    source = """
def kernel(a, b, out):
    for i in range(a.size):
        out[i] = a[i] == b[i]
        out[i] += 2 * (a[i] != b[i])
"""
    a = filled(POINT, 4)
    b = a.copy()
    b["x"][1] += 1
    b["pos"][2, 2] += 1
    b["id"][3] += 1
    out = np.zeros(4, "int32")
    kit.single(kit.kernel(source), a, b, out)
    assert out.tolist() == [1, 2, 2, 2]


def test_shared_and_local_arrays_of_records():
    source = """
def kernel(a):
    i = gpu.threadIdx.x
    tile, own = gpu.shared.array(8, POINT), gpu.local.array((2, 2), PACKED)
    tile[i] = a[i]
    own[1, 0]["value"] = i + 0.5
    gpu.syncthreads()
    a[i] = tile[7 - i]
    a[i]["x"] = own[1, 0]["value"]
"""
    a = filled(POINT, 8)
    want = a[::-1].copy()
    want["x"] = np.arange(8) + 0.5
    kit.kernel(source, names={"POINT": POINT, "PACKED": PACKED})[1, 8](a)
    assert np.array_equal(a, want)


def test_records_pass_through_device_functions():
    source = """
def best(a, b):
    return a if a["x"] > b["x"] else b

def move(r, by):
    r["pos"][0] += by

def kernel(a, out):
    r = a[0]
    for i in range(1, a.size):
        r = best(r, a[i])
    move(r, 10)
    out[0] = r["id"]
"""
    agree(source, filled(POINT, 5), np.zeros(1))


def test_records_are_arguments_by_value():
    source = """
def kernel(p, q, a, out):
    out[0] = p.x + p["pos"][1] + q.value + q.tag
    p.x = 99
    out[1] = p.x
    a[0] = p
"""
    p, q, a = filled(POINT, 2), filled(PACKED, 1), filled(POINT, 1)
    out, want = np.zeros(2), p.copy()
    kernel = kit.kernel(source)
    kernel[1, 1](p[1], q[0], a, out)
    total = p["x"][1] + p["pos"][1, 1] + q["value"][0] + q["tag"][0]
    assert np.array_equal(p, want)
    assert out.tolist() == [total, 99]
    want["x"][1] = 99
    assert a[0] == want[1]
    kernel[1, 1](p.view(np.recarray)[0], q[0], a, out)
    assert a[0]["id"] == p["id"][0]


def test_declared_signatures_tell_records_apart():
    point = "record(id: int32, x: float32, pos: float32[3])"
    packed = "record(tag: int8, value: float64, half: float16, ok: bool)"
    source = "def kernel(a, r):\n a[0] = r\n a[1] = a[0]"
    kernel = kit.kernel(source, signature=[f"{point}[:], {point}", f"{packed}[:], {packed}"])
    for dtype in (POINT, PACKED, POINT):
        a, r = np.zeros(2, dtype), filled(dtype, 3)[2]
        kernel[1, 1](a, r)
        assert a[0] == r and a[1] == r
    with pytest.raises(TypeError):
        kernel[1, 1](np.zeros(2, ALIGNED), filled(ALIGNED, 1)[0])


def test_global_tables_of_records():
    table = filled(POINT, 3)
    agree("def kernel(out):\n for i in range(3):\n  out[i] = table[i]['x'] + table['pos'][i, 1]",
          np.zeros(3), table=table)  # fmt: skip


def test_strided_and_multi_dimensional_arrays():
    a = filled(PACKED, 12).reshape(3, 4)[::2, ::-1]
    source = """
def kernel(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j]["value"] += a[i, j]["tag"] + 10 * i
"""
    agree(source, a)


def test_device_arrays_have_structured_dtypes():
    a = filled(NESTED, 4)
    d = gpu.to_device(a)
    assert d.dtype == NESTED and d.itemsize == NESTED.itemsize
    assert np.array_equal(d.copy_to_host(), a)
    z = gpu.zeros(3, POINT)
    assert z.copy_to_host().tobytes() == bytes(3 * POINT.itemsize)
    z[1] = (4, 2.5, (1, 2, 3))
    assert z.copy_to_host()[1] == np.array((4, 2.5, (1, 2, 3)), POINT)
    kernel = kit.kernel("def kernel(z):\n z[0] = z[1]\n z[1]['id'] = 9")
    kit.single(kernel, z)
    assert z.copy_to_host()["id"].tolist() == [4, 9, 0]


def test_atomics_on_fields():
    source = "def kernel(a):\n gpu.atomic.add(a['id'], gpu.grid(1) % 3, 2)\n"
    a = filled(POINT, 3)
    want = a["id"] + [22, 22, 20]
    kit.kernel(source)[1, 32](a)
    assert np.array_equal(a["id"], want)


def test_records_do_not_leave_through_interfaces_without_them():
    a = gpu.to_device(filled(POINT, 2))
    with pytest.raises((BufferError, gpu.Error)):
        a.__dlpack__()
    with pytest.raises(BufferError):
        memoryview(a)
    assert np.array_equal(np.asarray(a), filled(POINT, 2))


def test_what_cannot_be_stored_or_found_is_an_error():
    a = filled(POINT, 2)
    with pytest.raises(gpu.TypingError, match="has no field 'y'") as caught:
        kit.single(kit.kernel("def kernel(a):\n a[0]['y'] = 1"), a)
    if gpu.device().kind == "cpu" and os.environ.get("GPUJIT_DEVICE") != "python":
        assert caught.value.code == "NO_FIELD"
    with pytest.raises(gpu.TypingError, match="cannot be stored"):
        kit.single(kit.kernel("def kernel(a):\n a[0] = 1"), a)
    for body in (
        "a[0]['x'] = POINT(3)",
        "a[0] += 1",
        "print(a[0] < a[1])",
        "gpu.atomic.add(a, 0, 1)",
    ):
        with pytest.raises(gpu.Error):
            kit.single(kit.kernel(f"def kernel(a):\n {body}", names={"POINT": POINT}), a)
    with pytest.raises(gpu.Error, match="a type that kernels"):
        kit.single(kit.kernel("def kernel(a):\n a[0] = 1"), np.zeros(2, [("x", "O")]))
    with pytest.raises(gpu.Error, match="cannot be stored in a gpu array"):
        gpu.zeros(2, POINT)[:] = filled(PACKED, 2)


def test_code_for_gpus():
    source = "def kernel(a, b):\n i = gpu.grid(1)\n b[i] = a[i]\n b[i].x = a[i].pos[1]"
    signature = "record(id: int32, x: float32, pos: float32[3])[::1]"
    text = kit.kernel(source).ptx(f"{signature}, {signature}", arch="sm_75")
    assert ".entry kernel" in text and "ld.global.b32" in text or "ld.global.u32" in text


@pytest.mark.parametrize("name", [" a", "1x", 'q"t', "a\\b", "x y", "é"])
def test_names_that_are_no_words(name):
    a = np.zeros(2, [(name, "<f8"), ("n", "<i4")])
    a[name], a["n"] = [3, 4], [5, 6]
    source = f"def kernel(a):\n for i in range(a.size):\n  a[i][{name!r}] += a[i]['n']"
    agree(source, a)
    assert a[name].tolist() == [8.0, 10.0]
