"""Number types as compile-time values, their limits, and the methods of numbers, against NumPy."""

import gpu
import kit
import numpy as np
import pytest

FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOAT_LIMITS = ["eps", "epsneg", "max", "min", "tiny", "smallest_normal", "smallest_subnormal", "resolution", "bits",
                "nmant", "precision", "nexp", "iexp", "machep", "minexp", "maxexp", "negep"]  # fmt: skip


@pytest.mark.parametrize("kind", FLOATS)
def test_limits_of_floats(kind):
    lines = [f"    out[{i}] = np.finfo(np.{kind}).{name}\n" for i, name in enumerate(FLOAT_LIMITS)]
    # Typed as NumPy types it: a half times a single is a single, a half times a weak number a half.
    source = (
        f"def kernel(x, out):\n{''.join(lines)}    out[17] = np.finfo(np.{kind}).eps * 0.1\n"
        "    out[18] = np.finfo(x.dtype).max\n"
    )
    out = np.zeros(19)
    kit.single(kit.kernel(source), np.zeros(1, kind), out)
    info = np.finfo(kind)
    assert out[:17].tolist() == [float(getattr(info, name)) for name in FLOAT_LIMITS]
    assert out[17:].tolist() == [float(info.eps * 0.1), float(info.max)]


@pytest.mark.parametrize("kind", INTS)
def test_limits_of_integers(kind):
    source = (
        f"def kernel(x, out):\n    out[0] = np.iinfo(np.{kind}).max\n    out[1] = np.iinfo(x.dtype).min\n"
        f"    out[2] = np.iinfo(np.{kind}).bits\n"
    )
    out = np.zeros(3, kind)
    kit.single(kit.kernel(source), np.zeros(1, kind), out)
    info = np.iinfo(kind)
    assert out.tolist() == [info.max, info.min, info.bits]


def test_limits_made_on_the_host():
    from numpy import finfo

    names = {"info": np.finfo(np.float32), "ints": np.iinfo(np.int16), "finfo": finfo}
    source = (
        "def kernel(out):\n    out[0] = info.eps\n    out[1] = info.tiny\n    out[2] = ints.max + 1\n"
        "    out[3] = finfo('f2').max\n    out[4] = finfo(float).eps\n    out[5] = info.dtype == np.float32\n"
    )
    out = np.zeros(6)
    kit.single(kit.kernel(source, names=names), out)
    expected = [np.finfo("f4").eps, np.finfo("f4").tiny, 2**15, 65504, np.finfo(float).eps, 1]
    assert out.tolist() == [float(v) for v in expected]


@pytest.mark.parametrize("kind", [*FLOATS, *INTS, "bool"])
def test_dtypes(kind):
    source = (
        f"def kernel(x, out):\n    t = x.dtype\n    out[0] = t == np.{kind}\n    out[1] = t == '{kind}'\n"
        f"    out[2] = np.dtype('{kind}') == t\n    out[3] = t.itemsize\n    out[4] = t.kind == '{np.dtype(kind).kind}'\n"
        f"    out[5] = t.name == '{kind}'\n    out[6] = t != np.{'int8' if kind != 'int8' else 'int16'}\n"
        f"    out[7] = t == np.{'float32' if kind != 'float32' else 'float64'}\n    out[8] = np.dtype(np.{kind}).str == '{np.dtype(kind).str}'\n"
        "    out[9] = t.type(1)\n    out[10] = t == float\n    out[11] = t == bool\n"
    )
    out = np.zeros(12)
    kit.single(kit.kernel(source), np.zeros(1, kind), out)
    dtype = np.dtype(kind)
    assert out.tolist() == [
        1,
        1,
        1,
        dtype.itemsize,
        1,
        1,
        1,
        0,
        1,
        1,
        kind == "float64",
        kind == "bool",
    ]


def test_a_cast_by_an_arrays_type():
    source = (
        "def cast(t, x):\n    return t(x)\n"
        "def kernel(x, small, out):\n    for i in range(x.size):\n        out[0, i] = small.dtype.type(x[i]) + 1\n"
        "        out[1, i] = cast(small.dtype.type, x[i])\n        out[2, i] = x[i].astype(small.dtype)\n"
        "        if small.dtype == np.uint8:\n            out[3, i] = 1\n        else:\n            out[3, i] = undefined\n"
    )
    x = np.array([255, 256, -1, 77])
    out = np.zeros((4, 4), "int64")
    kit.single(kit.kernel(source), x, np.zeros(1, "uint8"), out)
    with np.errstate(over="ignore"):
        assert out[0].tolist() == (x.astype("uint8") + np.uint8(1)).tolist()
    assert out[1].tolist() == out[2].tolist() == x.astype("uint8").tolist()
    assert out[3].all()


def test_methods_and_attributes_of_numbers():
    source = (
        "def kernel(f, d, i, out):\n    x = f[0]\n    n = i[0]\n    out[0] = x.real\n    out[1] = x.imag\n"
        "    out[2] = x.conjugate()\n    out[3] = x.item() * 0.1\n    out[4] = x.astype(np.float64) * 0.1\n"
        "    out[5] = x.astype('int16')\n    out[6] = x.view(np.uint32)\n    out[7] = np.uint32(1).view(np.float32)\n"
        "    out[8] = d[0].view(np.int64)\n    out[9] = x.is_integer()\n    out[10] = f[1].is_integer()\n"
        "    out[11] = f[2].is_integer()\n    out[12] = n.bit_count()\n    out[13] = n.bit_length()\n"
        "    out[14] = x.dtype == np.float32\n    out[15] = n.real + n.imag\n    out[16] = True.real\n"
        "    out[17] = (x + 1.5).astype(int) + (x.astype(float) - x.astype(np.float16))\n    out[18] = (2.0).is_integer()\n"
        "    out[19] = n.is_integer()\n"
    )
    f, d, i = np.array([0.1, 3.0, np.inf], "float32"), np.array([0.1]), np.array([-77])
    out = np.zeros(20)
    kit.single(kit.kernel(source), f, d, i, out)
    x = f[0]
    expected = [x, 0, x, float(x) * 0.1, np.float64(x) * 0.1, 0, x.view("uint32"), np.uint32(1).view("float32"),
                float(d[0].view("int64")), False, True, False, (-77).bit_count(), (-77).bit_length(), True, -77, 1,
                1 + (np.float64(x) - x.astype("float16")), True, True]  # fmt: skip
    expected[3] = float(np.float64(float(x)) * 0.1)
    assert out.tolist() == [float(v) for v in expected]


ERRORS = [
    ("x[0].foo", "NO_ATTRIBUTE", "numbers have real, imag"),
    ("np.finfo(np.int32).eps", "ARGUMENT_TYPE", "np.finfo(np.float32)"),
    ("np.iinfo(np.float32).max", "ARGUMENT_TYPE", "np.iinfo(np.int32)"),
    ("np.dtype('zz').itemsize", "ARGUMENT_TYPE", "np.dtype(np.float32)"),
    ("np.finfo(np.float32).foo", "UNKNOWN_ATTRIBUTE", "numpy.finfo.float32"),
    ("(5).dtype == np.int64", "NO_ATTRIBUTE", "a.dtype"),
    ("x[0].astype(3)", "ARGUMENT_TYPE", "give a number type"),
    ("x[0].view(np.int8)", "ARGUMENT_TYPE", "the same width"),
    ("x[0].bit_count()", "ARGUMENT_TYPE", "bits are defined for integers"),
    ("x.dtype.foo", "NO_ATTRIBUTE", "a number type has type, itemsize"),
    ("x[0].astype()", "ARGUMENT_COUNT", "number.astype"),
    ("same(x[0].astype)(np.int8)", "NYI_CONSTRUCT", "write x.astype(...)"),
]


@pytest.mark.parametrize(("expression", "code", "text"), ERRORS)
def test_errors(expression, code, text):
    source = f"def same(f):\n    return f\ndef kernel(x):\n    x[0] = {expression}\n"
    with pytest.raises(gpu.Error) as caught:
        kit.kernel(source).ptx("float64[:]")
    assert caught.value.code == code
    assert text in str(caught.value)
