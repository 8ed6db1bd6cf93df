"""PTX of float16 and bfloat16: assembles everywhere, takes the target's own instructions where it has
them, and rounds as it must."""

import re
import sys
from pathlib import Path

import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "exec"))

import kit

HALVES = {"float16": "f16", "bfloat16": "bf16"}
EXPRESSIONS = (
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a ** b", "a ** 3", "a ** -2", "-a", "abs(a)",
    "min(a, b)", "max(a, b)", "max(a, 0.0)", "min(a, -0.0)", "max(a, 0)", "a * b + c", "a * b - c",
    "c - a * b", "a * 0.5 + c * 0.25", "a < b", "a == b", "a != c", "not a", "a or b", "a if n else 0.5",
    "math.fma(a, b, c)", "math.sqrt(a)", "math.floor(a)", "math.ulp(a)", "math.nextafter(a, b)",
    "math.copysign(a, b)", "math.exp(a)", "math.hypot(a, b)", "math.ldexp(a, n)", "math.isnan(a)",
    "math.frexp(a)[1]", "math.modf(a)[0]", "int(a)", "bool(a)", "float(a)", "round(a)", "round(a, 1)",
    "gpu.float16(a)", "gpu.bfloat16(a)", "gpu.float32(a)", "gpu.float64(a)", "gpu.int8(a)",
    "gpu.uint64(a)", "a + n", "a * w", "K(n)", "K(gpu.uint64(n))", "K(gpu.uint8(n))", "K(w)",
    "K(gpu.float32(w) * gpu.float32(b))", "K(n > 3)",
)  # fmt: skip


def kernel_of(half: str, *expressions: str, **options):
    lines = ["def kernel(x, y, z, w, n, out):", "    i = gpu.grid(1)",
             "    a, b, c = x[i], y[i], z[i]"]  # fmt: skip
    lines += [f"    out[{k}, i] = {text}".replace("K(", f"gpu.{half}(")
              for k, text in enumerate(expressions)]  # fmt: skip
    return kit.kernel("\n".join(lines) + "\n", **options)


def text_of(kernel, half: str, arch: str, out: str | None = None) -> str:
    arrays = ", ".join([f"{half}[::1]"] * 3)
    return kernel.ptx(f"{arrays}, float, int, {out or half}[:, ::1]", arch=arch)


@needs_ptxas
@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("half", HALVES)
def test_assembles(half, fma, tmp_path):
    kernel = kernel_of(half, *EXPRESSIONS, fma=fma)
    for arch in ARCHITECTURES:
        for out in (half, "float64", "int32"):
            assemble(text_of(kernel, half, arch, out), arch, tmp_path)


@needs_ptxas
@pytest.mark.parametrize("half", HALVES)
def test_fast_math_assembles(half, tmp_path):
    kernel = kernel_of(half, *EXPRESSIONS, fastmath=True)
    for arch in ARCHITECTURES:
        assemble(text_of(kernel, half, arch), arch, tmp_path)


@needs_ptxas
@pytest.mark.parametrize("half", HALVES)
def test_arguments_assemble(half, tmp_path):
    """As scalars, as results of functions that stay calls, in tuples."""
    source = (
        "def fact(a, n):\n    if n <= 1:\n        return a\n    return a * fact(a, n - 1)\n"
        "def both(a, b):\n    return a + b, a - b\n"
        "def kernel(a, n, out):\n    p, q = both(a, fact(a, n))\n    out[0] = p\n    out[1] = q\n"
    )
    for arch in ARCHITECTURES:
        assemble(kit.kernel(source).ptx(f"{half}, int, {half}[:]", arch=arch), arch, tmp_path)


def words(text: str, suffix: str) -> set[str]:
    """The instructions on the type, without their conversions."""
    found = re.findall(rf"^\s+(?:@\S+ )?(\w[\w.]*\.{suffix})\s", text, re.MULTILINE)
    return {word for word in found if not word.startswith("cvt")}


@pytest.mark.parametrize(
    ("half", "arch"), [("float16", "sm_75"), ("float16", "sm_90"), ("bfloat16", "sm_90")]
)
def test_own_instructions(half, arch):
    suffix = HALVES[half]
    for text, instruction in (("a + b", "add.rn"), ("a - b", "sub.rn"), ("a * b", "mul.rn"),
                              ("a * b + c", "fma.rn"), ("math.fma(a, b, c)", "fma.rn")):  # fmt: skip
        ptx = text_of(kernel_of(half, text), half, arch)
        assert words(ptx, suffix) == {f"{instruction}.{suffix}"}, ptx
        assert "cvt." not in ptx.replace("cvt.u64.u32", ""), ptx


def test_products_are_not_fused_by_the_assembler():
    """Every sum and product has its rounding written down; without it ptxas may contract."""
    for half, suffix in HALVES.items():
        for arch in ARCHITECTURES:
            ptx = text_of(kernel_of(half, "a * b + c", "c - a * b", fma=False), half, arch)
            found = re.findall(rf"\b((?:add|sub|mul|fma)[\w.]*\.(?:{suffix}|f32|f64))\b", ptx)
            assert found and all(".rn." in word for word in found), ptx


def test_bfloat16_before_sm_80_is_integers():
    kernel = kernel_of("bfloat16", *EXPRESSIONS)
    assert "bf16" not in text_of(kernel, "bfloat16", "sm_75")
    assert "fma.rn.bf16" in text_of(kernel, "bfloat16", "sm_80")


def test_doubles_are_rounded_once():
    """float64 to float16 is one instruction; to bfloat16 the float32 between is rounded to odd."""
    ptx = text_of(kernel_of("float16", "K(w)"), "float16", "sm_75")
    assert "cvt.rn.f16.f64" in ptx and "cvt.rn.f32.f64" not in ptx
    ptx = text_of(kernel_of("bfloat16", "K(w)"), "bfloat16", "sm_90")
    assert "cvt.rn.f32.f64" in ptx and "setp.lt.f64" in ptx and "cvt.rn.bf16.f32" in ptx
