"""GPUJIT_DEVICE=python as a device: pdb, exceptions, host arrays and arrays of ours."""

import os
import subprocess
import sys
import textwrap

import pytest


def run(text: str, tmp_path, *, stdin: str = "") -> tuple[int, str, str]:
    """A program on the python device."""
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(text))
    environment = {**os.environ, "GPUJIT_DEVICE": "python", "PYTHONBREAKPOINT": "pdb.set_trace"}
    done = subprocess.run([sys.executable, str(file)], input=stdin, capture_output=True, text=True,
                          env=environment, timeout=60)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


PROGRAM = """
    import numpy as np, gpu{imports}

    def scale(v):
        w = v * 2
        return w

    @gpu.jit
    def kernel(x, out):
        i = gpu.grid(1)
        if i == 2:
            {stop}
        out[i] = scale(x[i]) + 1

    x = np.arange(4, dtype=np.float32)
    out = np.zeros(4)
    kernel[1, 4](x, out)
    print("out", out.tolist())
"""


@pytest.mark.parametrize(("imports", "stop"), [("", "breakpoint()"), (", pdb", "pdb.set_trace()")])
def test_pdb_stops_in_a_kernel(imports, stop, tmp_path):
    stdin = "p i\np x[i] * 10\ntbreak scale\nc\nw\np v\nn\np w\nr\nc\n"
    code, out, err = run(PROGRAM.format(imports=imports, stop=stop), tmp_path, stdin=stdin)
    assert code == 0, err
    assert "out [1.0, 3.0, 5.0, 7.0]" in out
    assert "program.py(" in out and ")kernel()" in out
    assert "(Pdb) 2\n" in out and "20.0" in out
    assert "scale(v)" in out or ")scale()" in out
    assert "out[i] = scale(x[i]) + 1" in out


def test_quitting_the_debugger_ends_the_program(tmp_path):
    code, out, err = run(PROGRAM.format(imports="", stop="breakpoint()"), tmp_path, stdin="q\n")
    assert "out [" not in out


def test_a_debugger_may_change_a_variable(tmp_path):
    stdin = "!i = i - 2\nc\n"
    code, out, err = run(PROGRAM.format(imports="", stop="breakpoint()"), tmp_path, stdin=stdin)
    assert code == 0, err
    assert "out [1.0, 3.0, 0.0, 7.0]" in out


WAITS = """
    import numpy as np, gpu

    @gpu.jit
    def kernel(x, out):
        i = gpu.threadIdx.x
        tile = gpu.shared.array(4, gpu.float32)
        if i == 1:
            breakpoint()
        tile[i] = x[i]
        gpu.syncthreads()
        out[i] = tile[3 - i] + 1

    x = np.arange(4, dtype=np.float32)
    out = np.zeros(4)
    kernel[1, 4](x, out)
    print("out", out.tolist())
"""


def test_pdb_steps_over_a_barrier(tmp_path):
    stdin = "n\nn\nn\np i, tile[3]\nc\n"
    code, out, err = run(WAITS, tmp_path, stdin=stdin)
    assert code == 0, err
    assert "out[i] = tile[3 - i] + 1" in out
    assert "(Pdb) (1, np.float32(3.0))" in out
    assert "out [4.0, 3.0, 2.0, 1.0]" in out


def test_looking_often_at_one_place_lets_no_others_run(tmp_path):
    stdin = "p x[0]\n" * 60 + "p out[3]\nc\n"
    code, out, err = run(WAITS.replace("gpu.syncthreads()", "pass"), tmp_path, stdin=stdin)
    assert code == 0, err
    assert out.count("np.float32(0.0)") == 60
    assert "(Pdb) np.float64(0.0)" in out


def test_quitting_the_debugger_in_another_os_thread(tmp_path):
    code, out, err = run(WAITS, tmp_path, stdin="n\nq\n")
    assert code != 0 and "BdbQuit" in err
    assert "out [" not in out


def test_what_a_device_is(tmp_path):
    code, out, err = run(
        """
        import numpy as np, gpu
        d = gpu.device()
        print(d.kind)

        @gpu.jit
        def kernel(x, n=3, *, step=1):
            x[gpu.grid(1)] += n * step

        a = gpu.to_device(np.ones(4, np.int32))
        kernel[2, 2](a)
        kernel[2, 2](a, step=10)
        print(a.copy_to_host().tolist(), gpu.full(2, 7).copy_to_host().tolist())
        print("st.global" in kernel.ptx("int32[:], int, int", "sm_75"))
        for call in (lambda: kernel(a), lambda: kernel[1, 1](), lambda: kernel[1, 5000](a),
                     lambda: kernel[1, 1](a, [1]), lambda: kernel[1, 1](a, 2**64)):
            try:
                call()
            except gpu.Error as e:
                print(type(e).__name__)
        kernel[3, 2](a)
        try:
            gpu.synchronize()
        except IndexError as e:
            print(e.thread, e.block, e.kernel, e.lineno, str(e).splitlines()[0])
        gpu.synchronize()
        print(a.copy_to_host().tolist())
        """,
        tmp_path,
    )
    assert code == 0, err
    assert out.splitlines() == [
        "python", "[34, 34, 34, 34] [7, 7]", "True", "LaunchError", "ArgumentTypeError",
        "LaunchError", "ArgumentTypeError", "ArgumentOverflowError",
        "(0, 0, 0) (2, 0, 0) kernel 8 "
        "index 4 is out of bounds for axis 0 of array 'x' with shape (4,)",
        "[37, 37, 37, 37]",
    ]  # fmt: skip


def test_nothing_of_it_is_imported_elsewhere():
    code = "import sys, gpu; print([m for m in sys.modules if m.startswith('gpu._python')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert out.stdout == "[]\n"
