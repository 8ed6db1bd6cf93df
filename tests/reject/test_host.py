"""What is wrong before a kernel runs: configurations, arguments, signatures, architectures, options."""

import gpu
import numpy as np
import pytest


@gpu.jit
def add(n, x):
    i = gpu.grid(1)
    if i < n:
        x[i] += 1


@gpu.jit
def reads(x, out):
    out[0] = x[0]


def expect(kind, code: str, *parts: str):
    """An error of the class and code whose text holds the parts."""

    class Expected:
        def __enter__(self):
            self.raises = pytest.raises(kind)
            self.caught = self.raises.__enter__()
            return self

        def __exit__(self, *info):
            done = self.raises.__exit__(*info)
            error = self.caught.value
            assert isinstance(error, gpu.Error)
            assert error.code == code, str(error)
            for part in parts:
                assert part in str(error), f"{part!r} is not in: {error}"
            return done

    return Expected()


X = np.zeros(4)


def test_without_a_configuration():
    with expect(gpu.LaunchError, "NO_CONFIGURATION", "add[grid, block](...)"):
        add(3, X)


@pytest.mark.parametrize("configuration, text", [
    ((0, 32), "0"), ((1, 0), "0"), ((-1, 32), "negative"), ((1.5, 32), "float"), ((1, "32"), "str"), ((1, None), "None"),
    (((1, 2, 3, 4), 32), "4"), (((), 32), ""), ((1,), "block"), (1, "block"), ((1, 1, 0, 0, 0), "too many"),
    ((1, (2, True, 1.0)), "float"),
], ids=str)  # fmt: skip
def test_bad_configurations(configuration, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        add[configuration](3, X)
    assert isinstance(caught.value, gpu.Error)
    assert text in str(caught.value)


def test_limits_with_their_numbers():
    with expect(ValueError, "GRID_LIMIT", "2048", "1024"):
        add[1, 2048](3, X)
    with expect(ValueError, "BLOCK_THREADS", "1056", "1024"):
        add[1, (33, 32)](3, X)
    with expect(ValueError, "GRID_LIMIT", str(2**31), str(2**31 - 1)):
        add[2**31, 32](3, X)
    with expect(ValueError, "GRID_LIMIT", "65536", "65535"):
        add[(1, 65536), 32](3, X)
    with pytest.raises(ValueError):
        add[1, (1, 1, 65)](3, X)
    with expect(ValueError, "SHARED_LIMIT", str(2**40)):
        add[1, 32, None, 2**40](3, X)


def test_argument_counts():
    with expect(TypeError, "CALL_COUNT", "add() takes", "1 given"):
        add[1, 32](3)
    with expect(TypeError, "CALL_COUNT", "3 given"):
        add[1, 32](3, X, X)
    with pytest.raises(TypeError, match="m"):
        add[1, 32](n=3, m=4)
    with pytest.raises(TypeError, match="'n'"):
        add[1, 32](3, X, n=3)


@pytest.mark.parametrize(
    "value", ["text", None, [1, 2], {1: 2}, object(), 1j, np.complex64(1)], ids=str
)
def test_arguments_of_the_host(value):
    with pytest.raises(gpu.Error) as caught:
        add[1, 32](3, value)
    assert "x" in str(caught.value)


@pytest.mark.parametrize(
    "dtype", ["complex128", "longdouble", "U3", "datetime64[s]", "object", ">f4"]
)
def test_arrays_of_other_dtypes(dtype):
    with pytest.raises(TypeError) as caught:
        add[1, 32](3, np.zeros(3, dtype))
    assert isinstance(caught.value, gpu.Error) and caught.value.code == "BAD_ARRAY"
    assert "'x'" in str(caught.value)


def test_too_large_an_int():
    with expect(OverflowError, "CALL_OVERFLOW", "'n'", "64 bits"):
        add[1, 32](2**63, X)
    with expect(OverflowError, "CALL_OVERFLOW"):
        add[1, 32](-(2**63) - 1, X)


def test_read_only_arrays():
    x = np.zeros(3)
    x.flags.writeable = False
    out = np.ones(1)
    reads[1, 1](x, out)
    gpu.synchronize()
    assert out[0] == 0
    with expect(TypeError, "CALL_ARGUMENT", "read-only"):
        add[1, 32](3, x)


@pytest.mark.parametrize("signature, text", [
    ("int, flaot32[:]", "flaot32"), ("int, float32[", "expected"), ("int, float32[:]]", ""), (",int", "type"),
    ("int float32[:]", ""), ("int, float32[:, ::2]", "::1"), ("int, float32[::1, ::1]", "second"), ("$", "$"),
    ("int, float32[:,:,:,:,:,:,:,:,:]", "dimensions"), ("int, complex", "complex"),
])  # fmt: skip
def test_bad_signatures(signature, text):
    with expect(ValueError, "BAD_SIGNATURE", text):
        add.ptx(signature)


def test_a_signature_with_another_count():
    with pytest.raises((TypeError, ValueError)) as caught:
        add.ptx("int")
    assert isinstance(caught.value, gpu.Error)
    assert "add" in str(caught.value)


@pytest.mark.parametrize("arch", ["sm_1", "sm_999", "gfx90a", "", "sm_", "ninety"])
def test_unknown_architectures(arch):
    with expect(ValueError, "BAD_TARGET", "sm_90"):
        add.ptx("int, float32[:]", arch=arch)


def test_a_keyword_that_is_no_parameter():
    with expect(TypeError, "CALL_ARGUMENT", "there is no such parameter; did you mean 'count'?"):
        gpu.jit(lambda count: None)[1, 32](cuont=3)


def test_unknown_options():
    with pytest.raises(ValueError, match="did you mean lineinfo"):
        gpu.jit(line_info=True)
    with pytest.raises(ValueError, match="'fasttmath'"):
        gpu.jit(fasttmath=True)(lambda x: None)
    with pytest.raises(ValueError, match="opt_level"):
        gpu.jit(opt_level=7)(lambda x: None)
    with pytest.raises(TypeError):
        gpu.jit(3)


def test_unknown_stages():
    with pytest.raises(ValueError):
        add.ir("no such stage", "int, float32[:]")


def test_declared_signatures_bind_launches():
    kernel = gpu.jit("int, float32[:]")(add.py_func)
    kernel[1, 32](3, np.zeros(3, "float32"))
    with pytest.raises(TypeError):
        kernel[1, 32](3, np.zeros(3, "int8"))
    with pytest.raises(TypeError):
        kernel[1, 32](3, np.zeros((3, 3), "float32"))


def test_a_compile_error_shows_what_where_why_and_what_instead():
    def wrong(x):
        x[0] = [1.0, 2.0]

    with pytest.raises(gpu.UnsupportedError) as caught:
        gpu.jit(wrong).ptx("float32[:]")
    text = str(caught.value)
    line = wrong.__code__.co_firstlineno + 1
    for part in (
        __file__,
        f"line {line}",
        "x[0] = [1.0, 2.0]",
        "^",
        "a list cannot be used in a kernel",
        "tuple instead",
    ):
        assert part in text, text
    assert isinstance(caught.value, NotImplementedError)


def test_an_error_in_a_device_function_names_the_way_there():
    def inner(a):
        return a << 1

    def outer(x):
        x[0] = inner(x[0])

    with pytest.raises(TypeError) as caught:
        gpu.jit(outer).ptx("float32[:]")
    text = str(caught.value)
    assert "return a << 1" in text
    assert "outer" in text and "x[0] = inner(x[0])" in text


def test_errors_without_source():
    scope = {}
    exec(compile("def k(x):\n    x[0] = unknown\n", "<nowhere>", "exec"), scope)
    with pytest.raises(NameError) as caught:
        gpu.jit(scope["k"]).ptx("float32[:]")
    assert "k" in str(caught.value) and "line 2" in str(caught.value)


def test_a_kernel_with_a_star_parameter():
    def kernel(x, **rest):
        x[0] = 1.0

    with expect(gpu.UnsupportedError, "NYI_CONSTRUCT", "a parameter with **", "one by one"):
        gpu.jit(kernel).ptx("float32[:], float32[:]")
    with expect(gpu.UnsupportedError, "NYI_CONSTRUCT", "a parameter with **"):
        gpu.jit(kernel)[1, 1](X, X)
