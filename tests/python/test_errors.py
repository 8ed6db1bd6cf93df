"""Exceptions: classes from the table, the text with place and caret, faults of running kernels."""

import builtins
import re
from pathlib import Path

import gpu
import numpy as np
import pytest

TABLE = (Path(__file__).parents[2] / "support" / "errors.def").read_text()
CLASSES = re.findall(r'^SP_ERROR_CLASS\(\w+, "(\w+)", "(\w*)"\)', TABLE, re.MULTILINE)


def test_the_table_was_found():
    assert len(CLASSES) > 10


@pytest.mark.parametrize(("name", "builtin"), CLASSES)
def test_classes(name, builtin):
    error = getattr(gpu, name)
    assert issubclass(error, gpu.Error) and error.__module__ == "gpu"
    if builtin:
        assert issubclass(error, getattr(builtins, builtin))


def test_a_compile_error_shows_its_line(device):
    @gpu.jit
    def wrong(x):
        y = x[0, 1]  # the line
        x[0] = y

    with pytest.raises(gpu.TypingError) as caught:
        wrong[1, 1](gpu.zeros(3))
    error = caught.value
    lines = Path(__file__).read_text().splitlines()
    assert error.code == "RANK_MISMATCH"
    assert error.filename == __file__
    assert lines[error.lineno - 1].endswith("# the line")
    text = str(error).splitlines()
    assert "1-dimensional array is indexed with 2" in text[0]
    assert f'File "{__file__}", line {error.lineno}, in ' in text[1]
    at = text[2].index("x[0, 1]")
    assert text[3][at:].rstrip() == "^~~~~~~"
    assert lines[error.lineno - 1][error.offset :].startswith("x[0, 1]")


def test_the_error_comes_again(device):
    @gpu.jit
    def wrong(x):
        x[0] = undefined_name  # noqa: F821

    for _ in range(3):
        with pytest.raises(NameError, match="undefined_name") as caught:
            wrong[1, 1](gpu.zeros(3))
        assert caught.value.code == "UNKNOWN_NAME"


@gpu.jit
def touch(x, i):
    x[i] = 1.0


def test_out_of_bounds_is_raised_by_the_next_wait():
    x = gpu.zeros(3)

    def copy():
        x.copy_to_host()

    for wait in (gpu.synchronize, copy, gpu.default_stream().synchronize):
        touch[1, 1](x, 5)
        with pytest.raises(IndexError) as caught:
            wait()
        assert isinstance(caught.value, gpu.KernelIndexError)
        assert "index 5 is out of bounds" in str(caught.value)
        assert "array 'x' with shape (3,)" in str(caught.value)
        assert caught.value.filename == __file__
        gpu.synchronize()


def test_out_of_bounds_with_check(device):
    kernel = gpu.jit(check=True)(touch)
    x = gpu.zeros(3)
    kernel[1, 1](x, -4)
    with pytest.raises(gpu.KernelIndexError, match="index -4"):
        gpu.synchronize()
    kernel[1, 1](x, -3)
    assert x.copy_to_host().tolist() == [1.0, 0.0, 0.0]


def test_out_of_bounds_in_a_host_array():
    x = np.zeros(3)
    with pytest.raises(IndexError):
        touch[1, 1](x, 3)
    touch[1, 1](x, 2)
    assert x.tolist() == [0.0, 0.0, 1.0]


def test_a_fault_outlives_the_array():
    """Freeing the memory waits for the kernel; what that finds is raised by the next wait."""
    touch[1, 1](gpu.zeros(3), 7)
    with pytest.raises(IndexError, match="index 7"):
        gpu.synchronize()
    gpu.synchronize()


def test_the_namespace_on_the_host():
    for use in (
        lambda: gpu.grid(1),
        lambda: gpu.threadIdx.x + 1,
        lambda: 1 + gpu.threadIdx.x,
        lambda: gpu.blockIdx.x * gpu.blockDim.x,
        lambda: int(gpu.threadIdx.y),
        lambda: [1, 2][gpu.threadIdx.y],
        lambda: gpu.threadIdx.x < 3,
        lambda: -gpu.gridDim.x,
        lambda: gpu.atomic.add([0], 0, 1),
        lambda: gpu.atomic(1),
    ):
        with pytest.raises(gpu.LaunchError, match="only works in a kernel"):
            use()
    assert repr(gpu.threadIdx.x) == "<gpu.threadIdx.x, for kernels>"
    with pytest.raises(AttributeError, match=r"gpu\.threadIdx has no attribute 'w'"):
        gpu.threadIdx.w  # noqa: B018
    assert gpu.grid == gpu.grid and gpu.grid != gpu.gridsize


def test_a_file_that_was_changed_since(tmp_path):
    source = "import gpu\n@gpu.jit\ndef f(x):\n    x[0] = somewhere_else_entirely\n"
    file = tmp_path / "changed.py"
    file.write_text("# a\n# b\n# c\n# d\n# e\n")
    scope = {}
    exec(compile(source, str(file), "exec"), scope)
    with pytest.raises(gpu.UndefinedError) as caught:
        scope["f"].ptx("float32[:]")
    assert "line 4" in str(caught.value)
    assert "# d" not in str(caught.value) and "^" not in str(caught.value)
