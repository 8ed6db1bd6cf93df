"""The command line: what it prints, and the exit codes that scripts rely on."""

import subprocess
import sys

import gpu
import pytest

SOURCE = """
import dataclasses
import gpu
from neighbour import two

@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = two * a * x[i] + y[i]

@gpu.jit("float32[:]")
def declared(x):
    x[0] = 1.0

def plain(x):
    x[gpu.threadIdx.x] = 1.0

class Inside:
    @gpu.jit
    def kernel(x):
        x[0] = 2.0

@dataclasses.dataclass
class Point:
    x: int

@gpu.jit
def wrong(x):
    x[0, 0] = 1.0

number = 3
assert __name__ != "__main__"
if __name__ == "__main__":
    raise SystemExit("the file was run as a script")
"""
SIGNATURE = "int, float32, float32[:], float32[::1]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "kernels.py").write_text(SOURCE)
    (folder / "neighbour.py").write_text("two = 2\n")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "raises.py").write_text("1 / 0\n")
    (folder / "leaves.py").write_text("raise SystemExit(7)\n")
    (folder / "talks.py").write_text("print('a word')\ndef f(x):\n    x[0] = 1\n")
    package = folder / "package" / "inner"
    package.mkdir(parents=True)
    for where in (package.parent, package):
        (where / "__init__.py").write_text("")
    (package.parent / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    (package / "kernels.py").write_text(
        "from ..helper import double\ndef f(x):\n    x[0] = double(x[1])\n"
    )
    return folder


@pytest.fixture
def gpujit(folder):
    def run(*args):
        done = subprocess.run(
            [sys.executable, "-m", "gpu", *args], capture_output=True, text=True, cwd=folder
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_ptx(gpujit):
    code, out, err = gpujit("ptx", "kernels.py:saxpy", SIGNATURE, "--arch", "sm_90")
    assert (code, err) == (0, "")
    assert ".target sm_90" in out and ".visible .entry saxpy(" in out
    code, out, _ = gpujit("ptx", "kernels.py:saxpy", SIGNATURE, "--arch=80")
    assert code == 0 and ".target sm_80" in out
    code, out, _ = gpujit("ptx", "kernels.py:saxpy", SIGNATURE)
    assert code == 0 and f".target {gpu.default_arch()}" in out


def test_ptx_of_the_python_method(gpujit, folder):
    _, out, _ = gpujit("ptx", "kernels.py:plain", "float32[:]", "--arch", "sm_75")
    scope = {"gpu": gpu}
    exec("def plain(x):\n    x[gpu.threadIdx.x] = 1.0\n", scope)
    assert out == gpu.jit(scope["plain"]).ptx("float32[:]", arch="sm_75")


def test_a_declared_signature(gpujit):
    code, out, _ = gpujit("ptx", "kernels.py:declared")
    assert code == 0 and ".entry declared(" in out
    code, out, err = gpujit("ptx", "kernels.py:saxpy")
    assert (code, out) == (2, "") and "give a signature for saxpy" in err


def test_nested_functions(gpujit):
    assert gpujit("ptx", "kernels.py:Inside.kernel", "int64[:]")[0] == 0


def test_other_texts(gpujit):
    code, out, _ = gpujit("llvm", "kernels.py:saxpy", SIGNATURE, "--arch", "sm_90")
    assert code == 0 and "define " in out and "nvptx64" in out
    code, out, _ = gpujit("llvm", "kernels.py:saxpy", SIGNATURE, "--arch", "host")
    assert code == 0 and "define " in out and "nvptx64" not in out
    texts = [gpujit("ir", "kernels.py:saxpy", SIGNATURE, "--stage", stage) for stage in
             ("ssa", "typed", "core", "opt")]  # fmt: skip
    assert all(code == 0 and "saxpy" in out for code, out, _ in texts)
    assert len({out for _, out, _ in texts}) >= 3
    assert gpujit("ir", "kernels.py:saxpy", SIGNATURE)[1] == texts[2][1]
    code, out, _ = gpujit("bytecode", "kernels.py:saxpy")
    assert code == 0 and "saxpy" in out


def test_output(gpujit, folder):
    code, out, _ = gpujit("ptx", "kernels.py:declared", "--output", "out.ptx")
    assert (code, out) == (0, "")
    assert ".entry declared(" in (folder / "out.ptx").read_text()
    code, _, err = gpujit("ptx", "kernels.py:declared", "-o", "no/such/folder")
    assert code == 2 and "cannot be written" in err


def test_errors_of_the_function(gpujit, folder):
    code, out, err = gpujit("ptx", "kernels.py:wrong", "float32[:]")
    assert (code, out) == (1, "")
    assert "1-dimensional array is indexed with 2" in err
    assert "x[0, 0] = 1.0" in err and "^" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["ptx", "nowhere.py:f", "int"], "no file nowhere.py"),
        (["ptx", "kernels.py:nothing", "int"], "kernels.py has no 'nothing'; functions there: "),
        (["ptx", "kernels.py:number", "int"], "'number' in kernels.py is no function but 'int'"),
        (["ptx", "kernels.py", "int"], "is not FILE:FUNCTION"),
        (["ptx", "broken.py:f", "int"], "broken.py cannot be imported"),
        (["ptx", "raises.py:f", "int"], "raises.py cannot be imported: division by zero"),
        (["ptx", "leaves.py:f", "int"], "leaves.py ends the program when imported: exit(7)"),
        (["ptx", "kernels.py:plain.x", "int"], "kernels.py has no 'plain.x'"),
        (["ptx", "kernels.py:Inside.x", "int"], "no 'Inside.x'; functions there: kernel"),
        (["ptx", "kernels.py:plain", "flaot32[:]"], 'signature "flaot32[:]"'),
        (["ptx", "kernels.py:plain", "int, int"], "takes 1 argument, 2 given"),
        (["ptx", "kernels.py:plain", "int[:]", "--arch", "sm_1"], "unknown architecture 'sm_1'"),
        (["ptx"], "usage"),
        (["what"], "usage"),
        ([], "usage"),
        (["ptx", "kernels.py:plain", "int", "--colour"], "usage"),
    ],
)
def test_usage(gpujit, args, text):
    code, out, err = gpujit(*args)
    assert (code, out) == (2, "")
    assert text in err


def test_only_the_text_goes_to_stdout(gpujit):
    code, out, err = gpujit("ptx", "talks.py:f", "float32[:]")
    assert (code, err) == (0, "a word\n") and out.startswith("//")


def test_files_of_a_package(gpujit):
    code, out, _ = gpujit("ptx", "package/inner/kernels.py:f", "float32[:]")
    assert code == 0 and ".entry f(" in out
    code, _, err = gpujit("ptx", "package/inner/kernels.py:g", "float32[:]")
    assert code == 2 and "functions there: f\n" in err


def test_the_signature_may_stand_behind_options(gpujit):
    signature = "float32[:]"
    before = gpujit("ir", "kernels.py:plain", signature, "--stage", "opt", "--arch", "sm_80")
    behind = gpujit("ir", "kernels.py:plain", "--stage", "opt", "--arch", "sm_80", signature)
    assert before == behind and before[0] == 0 and "module core" in before[1]
    code, _, err = gpujit("ir", "kernels.py:plain", "--stage", "opt", signature, "more")
    assert code == 2 and "unrecognized arguments: more" in err


def test_tracebacks_show_the_file_alone(gpujit):
    _, _, err = gpujit("ptx", "raises.py:f", "int")
    assert err.count("  File ") == 1 and "cli.py" not in err


@pytest.mark.parametrize(
    ("command", "codes", "text"),
    [
        ("{} | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}", "0", ""),
        ("{} | (exec <&-; sleep 0.3); echo ${{PIPESTATUS[0]}}", "0", ""),
        ("{} >&-; echo $? >&2", "", "stdout "),
        ("{} >/dev/full; echo $?", "2", "stdout cannot be written: No space left"),
    ],
)
def test_stdout_that_takes_nothing(folder, command, codes, text):
    line = f"{sys.executable} -m gpu ptx kernels.py:declared"
    done = subprocess.run(
        ["bash", "-c", command.format(line)], capture_output=True, text=True, cwd=folder
    )
    assert done.stdout.strip() == codes
    assert text in done.stderr and "Traceback" not in done.stderr
    if not text:
        assert done.stderr == ""


def test_no_bytecode_files_are_left(gpujit, folder):
    gpujit("bytecode", "kernels.py:saxpy")
    assert not list(folder.glob("__pycache__/kernels*"))


def test_info(gpujit):
    code, out, err = gpujit("info")
    assert (code, err) == (0, "")
    keys = [line.partition(":")[0] for line in out.splitlines()]
    assert {"gpujit", "python", "llvm", "libdevice"} <= set(keys)
    assert f"gpujit: {gpu.__version__}" in out
    if not gpu.is_available():
        assert "driver" in out and "hint" in out


def test_help_and_version(gpujit):
    assert gpujit("--version") == (0, f"gpujit {gpu.__version__}\n", "")
    code, out, _ = gpujit("--help")
    assert code == 0 and all(verb in out for verb in ("ptx", "ir", "llvm", "bytecode", "info"))
    assert "SIGNATURE" in gpujit("ptx", "--help")[1]


def test_texts_of_a_kernel_object():
    def f(x, n):
        x[0] = n

    kernel = gpu.jit(f)
    for method in (kernel.ptx, kernel.llvm, kernel.ir):
        with pytest.raises(gpu.ArgumentError, match="f was not compiled yet: give a signature"):
            method()
    assert ".entry " in kernel.ptx("float32[:], int")
    with pytest.raises(gpu.ArgumentTypeError, match="takes 2 arguments, 1 given"):
        kernel.ptx("float32[:]")
    kernel[1, 1](gpu.zeros(1, gpu.float32), 3)
    assert ".entry " in kernel.ptx()
    assert "define " in kernel.llvm() and "nvptx" not in kernel.llvm()
    assert "nvptx" in kernel.llvm(arch="sm_90")
    assert "f" in kernel.bytecode()
    for stage in ("ssa", "typed", "core", "opt"):
        assert kernel.ir(stage)
    with pytest.raises(gpu.ArgumentError, match="there are ssa, typed, core and opt"):
        kernel.ir("sass")
    with pytest.raises(gpu.ArgumentError, match="unknown architecture"):
        kernel.ptx("float32[:], int", arch="sm_12345")


def test_libdevice_that_is_not_there(folder, gpujit, monkeypatch):
    (folder / "sine.py").write_text("import math\ndef f(x):\n    x[0] = math.sin(x[1])\n")
    monkeypatch.setenv("GPUJIT_LIBDEVICE", "/nonexistent/libdevice.10.bc")
    code, out, err = gpujit("ptx", "sine.py:f", "float32[:]")
    assert (code, out) == (1, "")
    assert "'math.sin' needs NVIDIA's libdevice" in err and "/nonexistent" in err
    assert 'sine.py", line 3, in f' in err and "x[0] = math.sin(x[1])\n" in err and "^~~~" in err
    assert gpujit("ptx", "kernels.py:declared")[0] == 0  # who does not call it does not need it
