"""PTX of a broad set of kernels assembles: statements, functions, operators on every type, all of math."""

import sys
from pathlib import Path

import gpu
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "exec"))

import kit
import test_arrays
import test_builtins
import test_closures
import test_flow
import test_functions
import test_indices
import test_iteration
import test_math
import test_operators
import test_statements
import test_tuples
import test_views
from oracle import TYPES, NoResult, result_type

pytestmark = needs_ptxas


def type_of(argument) -> str:
    """The signature's type of an argument of test_flow."""
    if isinstance(argument, list):
        return "float64[:]" if any(isinstance(v, float) for v in argument) else "int64[:]"
    return "float" if isinstance(argument, float) else "int"


FLOW = {case[0].__name__: (case[0], ", ".join(map(type_of, case[1:]))) for case in test_flow.CASES}


@pytest.mark.parametrize("name", FLOW)
def test_flow_kernels(name, tmp_path):
    function, signature = FLOW[name]
    for arch in ("sm_75", "sm_120"):
        assemble(gpu.jit(function).ptx(signature, arch=arch), arch, tmp_path)


def view_type(argument) -> str:
    """The signature's type of an argument of test_views, without what is known of its layout."""
    if not hasattr(argument, "dtype"):
        return "int"
    return f"{argument.dtype}[{', '.join(':' * argument.ndim)}]"


@pytest.mark.parametrize("name", test_views.BODIES)
def test_view_kernels(name, tmp_path):
    signature = ", ".join(map(view_type, test_views.BODIES[name][1:]))
    for arch, dense in (("sm_75", False), ("sm_90", True)):
        types = signature.replace(":]", "::1]") if dense else signature
        assemble(kit.kernel(test_views.text(name)).ptx(types, arch=arch), arch, tmp_path)


def python_kernels() -> dict:
    """Loops, tuples, builtins and statements: functions with the arguments that their tests give."""
    out = test_iteration.out()
    cases = [(*case, out) for case in (*test_iteration.UNIFORM, *test_iteration.MIXED)]
    cases += [(*case, out) for case in test_builtins.CASES if case[0] is not test_builtins.sums]
    cases += [(test_builtins.modular, *[test_builtins.Y] * 4), (test_iteration.range_ends, out)]
    arrays = {"x": test_tuples.X, "y": test_tuples.Y, "o": out}
    for function in (*test_tuples.CASES, *test_statements.CASES):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        cases.append((function, *[arrays[name] for name in names]))
    return {case[0].__name__: case for case in cases}


PYTHON = python_kernels()


@pytest.mark.parametrize("name", PYTHON)
def test_python_kernels(name, tmp_path):
    function, *arguments = PYTHON[name]
    for arch in ("sm_75", "sm_90"):
        text = gpu.jit(function).ptx(", ".join(map(view_type, arguments)), arch=arch)
        assemble(text, arch, tmp_path)


def operator_kernel(a: str) -> tuple[str, str]:
    """Every operator of a type with some others, conversions to all types."""
    lines, arguments, row = ["    i = gpu.grid(1)", f"    a = {kit.read(a, 'x[i]')}"], [], 0
    for n, b in enumerate(
        ("bool", "int", "uint8", "int32", "uint64", "float", "float32", "float64")
    ):
        lines.append(f"    b{n} = {kit.read(b, f'y{n}[i]')}")
        arguments.append(f"{kit.source_dtype(b)}[:]")
        for op in test_operators.OPERATORS:
            try:
                result_type(op, a, b)
            except NoResult:
                continue
            lines.append(f"    out[{row}, i] = {test_operators.expression(op, 'a', f'b{n}')}")
            row += 1
    for kind in TYPES:
        lines.append(
            f"    out[{row}, i] = {kind if kind in ('bool', 'int', 'float') else 'gpu.' + kind}(a)"
        )
        row += 1
    names = ", ".join(f"y{n}" for n in range(len(arguments)))
    signature = f"{kit.source_dtype(a)}[:], {', '.join(arguments)}, float64[:, :]"
    return f"def kernel(x, {names}, out):\n" + "\n".join(lines) + "\n", signature


@pytest.mark.parametrize("kind", TYPES)
def test_operators_of(kind, tmp_path):
    source, signature = operator_kernel(kind)
    kernel = kit.kernel(source)
    for arch in ("sm_75", "sm_100"):
        assemble(kernel.ptx(signature, arch=arch), arch, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_math_functions(dtype, tmp_path):
    """All of math in one kernel, for every architecture."""
    names = [*test_math.ONE, "isfinite", "isinf", "isnan", "floor", "ceil", "trunc"]
    lines = [f"    out[{k}, i] = math.{name}(x[i])" for k, name in enumerate(names)]
    two = [*test_math.TWO, "nextafter", "isclose"]
    lines += [
        f"    out[{k}, i] = math.{name}(x[i], y[i])" for k, name in enumerate(two, len(names))
    ]
    lines += ["    m, e = math.frexp(x[i])", "    out[60, i] = math.ldexp(m, e)",
              "    f, w = math.modf(x[i])", "    out[61, i] = f * w + math.fma(x[i], y[i], f)",
              "    out[62, i] = math.gcd(n, 12) + math.isqrt(n) + math.log(x[i], 3.0)",
              "    out[63, i] = math.hypot(x[i], y[i], 3.0) + round(x[i]) + round(x[i], 2)"]  # fmt: skip
    source = "def kernel(n, x, y, out):\n    i = gpu.grid(1)\n" + "\n".join(lines) + "\n"
    kernel = kit.kernel(source)
    for arch in ARCHITECTURES:
        text = kernel.ptx(f"int, {dtype}[:], {dtype}[:], {dtype}[:, ::1]", arch=arch)
        assemble(text, arch, tmp_path)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_elements(rank, tmp_path):
    for dtype in test_arrays.DTYPES:
        axes = ", ".join([":"] * rank)
        dense = ", ".join([":"] * (rank - 1) + ["::1"])
        signature = f"{dtype}[{axes}], {dtype}[{dense}], {dtype}[{axes}]"
        assemble(test_arrays.element_kernel(rank).ptx(signature, arch="sm_90"), "sm_90", tmp_path)


@pytest.mark.parametrize(
    "dtype",
    ["int32", "int64", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"],
)
def test_atomics(dtype, tmp_path):
    kernel = kit.kernel(test_indices.ADD.format(index="i % 7"))
    for arch in ARCHITECTURES:
        text = kernel.ptx(f"{dtype}[:], {dtype}[:], {dtype}[:]", arch=arch)
        assert "atom" in text
        assemble(text, arch, tmp_path)


def test_device_functions(tmp_path):
    source = (
        "def pick(n):\n    if n < 0:\n        return 0\n    for k in range(10):\n        if k * k > n:\n            return k\n"
        "    return -1.0\ndef pair(a, b=3):\n    return a // b, a % b\n"
        "def kernel(x, out):\n    i = gpu.grid(1)\n    q, r = pair(x[i])\n    out[i] = pick(q) + pick(r) + pick(x[i])\n"
    )
    for arch in ARCHITECTURES:
        assemble(kit.kernel(source).ptx("int32[:], float32[:]", arch=arch), arch, tmp_path)


def test_many_arguments(tmp_path):
    """Below and above 4,352 bytes of parameters, which need another PTX version."""
    for n in (40, 600):
        kernel = kit.kernel(test_functions.many_arguments(n))
        for arch in ("sm_75", "sm_90"):
            assemble(kernel.ptx("float64[:], " + ", ".join(["int"] * n), arch=arch), arch, tmp_path)


def test_recursion(tmp_path):
    source = (
        "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\n"
        "def kernel(x, out):\n    i = gpu.grid(1)\n    out[i] = fact(x[i])\n"
    )
    for arch in ARCHITECTURES:
        assemble(kit.kernel(source).ptx("int32[:], int64[:]", arch=arch), arch, tmp_path)


RAISING = """
def inner(i, x):
    if i > 3:
        raise ValueError(f"{i} of {x:.2f}", i, x, x > 1)
    return x * i

def main(n, x, out, q):
    i = gpu.grid(1)
    assert i < n, (i, n, x.shape)
    if n > 5:
        v = i
    out[i] = inner(i, x[i]) + v
    q[i] = (n * i - n // i << (i % n)) ** 2 + abs(-n) + int(x[i] / n) + i ** n
    q[i] += round(x[i])
"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("check", [False, True])
def test_exceptions(arch, check, tmp_path):
    kernel = kit.kernel(RAISING, "main", check=check)
    ptx = kernel.ptx("int, float32[:], float64[:], int8[:]", arch=arch)
    assert "gpujit_fault" in ptx and ("mul.hi.s64" in ptx) == check
    assemble(ptx, arch, tmp_path)


CLOSURES = (
    [(f, "float64[:]") for f in test_closures.NO_ARGUMENTS]
    + [(f, "float64[:], int") for f in test_closures.WITH_NUMBER]
    + [
        (f, "float64[:], float64[:]")
        for f in (test_closures.array_inside, test_closures.shared_array)
    ]
)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("case", CLOSURES, ids=lambda case: case[0].__name__)
def test_functions_of_kernels(case, arch, tmp_path):
    function, signature = case
    assemble(gpu.jit(function).ptx(signature, arch=arch), arch, tmp_path)
