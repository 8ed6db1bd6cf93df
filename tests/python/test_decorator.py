"""@gpu.jit: signatures as texts and as types, and options of numba's."""

import subprocess
import sys
import warnings

import gpu
import numpy as np
import pytest


def kernel(a, x):
    x[0] = a


def add(a, b):
    return a + b


@pytest.mark.parametrize("signature, declared", [
    (gpu.void(gpu.int32, gpu.float32[:]), "void(int32, float32[:])"),
    ((gpu.int32, gpu.float32[:]), "int32, float32[:]"),
    (("int32", "float32[:]"), "int32, float32[:]"),
    ((np.int32, gpu.float32[::1]), "int32, float32[::1]"),
    ((np.dtype("i4"), "f4[:]"), "int32, f4[:]"),
    ([gpu.void(gpu.int32, gpu.float32[:, ::1])], "void(int32, float32[:, ::1])"),
    ("none(i4, f4[:])", "none(i4, f4[:])"),
    (((gpu.int32, gpu.float32), gpu.float32[:]), "(int32, float32,), float32[:]"),
    (gpu.void((int, float), gpu.uint8[::1, :]), "void((int, float,), uint8[::1, :])"),
], ids=str)  # fmt: skip
def test_signatures_of_types(signature, declared):
    assert gpu.jit(signature)(kernel).declared == (declared,)


def test_a_signature_of_types_is_what_launches_take():
    compiled = gpu.jit([gpu.void(gpu.int32, gpu.float32[::1]), (gpu.float32, gpu.float64[:])])(
        kernel
    )
    for dtype, value in (("float32", 3), ("float64", 2.5)):
        x = np.zeros(2, dtype)
        compiled[1, 1](value, x)
        gpu.synchronize()
        assert x[0] == value
    with pytest.raises(
        TypeError, match=r"declared: \(int32, float32\[::1\]\) and \(float32, float64"
    ):
        compiled[1, 1](1, np.zeros(2, "int8"))


def test_signatures_of_device_functions_are_read_and_not_needed():
    signatures = [gpu.float32(gpu.float32, gpu.float32), "int32(int32, int32)", "float32[:](f4, f4)",
                  "(int32, int32)(int32, int32)", "int32, int32"]  # fmt: skip
    double = gpu.jit(signatures, device=True)(add)
    assert double.declared[0] == "float32(float32, float32)"
    x = np.zeros(1)

    @gpu.jit
    def calls(x):
        x[0] = double(0.5, 2)

    calls[1, 1](x)
    gpu.synchronize()
    assert x[0] == 2.5
    assert gpu.float32(1.5) == np.float32(1.5) and gpu.int8("7") == 7  # a number is no type


@pytest.mark.parametrize("signature, device, match", [
    ("int32, flaot32[:]", False, r"unknown type 'flaot32' \(at character 8\)"),
    ("int32, flaot32[:]", True, r"unknown type 'flaot32' \(at character 8\)"),
    ("float32(int32, f4[:]", True, r"'\)' expected \(at character 21\)"),
    ("float32(int32, f4[:])", False, r"a kernel returns nothing, not 'float32' \(at character 1\)"),
    ("int32", False, "1 type for the 2 parameters of 'kernel'"),
    ("int32", True, "1 type for the 2 parameters of 'kernel'"),
    ("int32, f4[:], f4[:]", False, "3 types for the 2 parameters of 'kernel'"),
    ((gpu.int32,), False, "1 type for the 2 parameters"),
    (gpu.void(), False, "0 types for the 2 parameters"),
    (["i4, f4[:]", "i4, f4[:, ::1, :]"], False, "'::1' must be the first or the last dimension"),
    ([3], False, "3 is no type; write gpu.float32"),
    ((gpu.int32, object), False, "unknown type 'object'"),
], ids=str)  # fmt: skip
def test_wrong_signatures(signature, device, match):
    with pytest.raises(ValueError, match=match) as caught:
        gpu.jit(signature, device=device)(kernel)
    assert isinstance(caught.value, gpu.Error)


def test_signatures_count_defaults_and_star_arguments():
    def star(x, *rest, k=1):
        x[0] = len(rest) + k

    assert gpu.jit("f8[:], int, int, int")(star).declared
    with pytest.raises(
        ValueError, match=r"1 type for the 2 parameters of 'star' and its \*arguments"
    ):
        gpu.jit("f8[:]")(star)


# --- Options of numba's: the warning IGNORED_OPTION -------------------------------------------------


@pytest.mark.parametrize("option, instead", [("lto", "compiled together"), ("fastcache", "by types"), ("parallel", "threads"),
                                             ("boundscheck", "check=True"), ("bind", "launched")])  # fmt: skip
def test_options_without_effect_warn(option, instead):
    with pytest.warns(
        gpu.OptionWarning, match=f"option '{option}' has no effect: .*{instead}"
    ) as found:
        gpu.jit(**{option: True})(kernel)
    assert len(found) == 1 and found[0].filename == __file__
    assert issubclass(gpu.OptionWarning, gpu.Warning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gpu.jit(**{option: False})(kernel)


def test_options_whose_meaning_is_ours_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gpu.jit(device=True, inline=True, forceinline=True, nopython=True, nogil=True, cache=True)(
            add
        )
        with pytest.raises(gpu.OptionWarning):
            gpu.jit(lto=True)


def test_an_option_warns_once_per_place():
    text = (
        "import gpu\nfor k in range(3):\n    gpu.jit(lto=True)(lambda x: None)\ngpu.jit(lto=True)\n"
    )
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stderr.count("OptionWarning") == 2
