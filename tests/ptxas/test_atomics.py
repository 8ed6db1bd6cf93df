"""PTX of every atomic operation assembles; what the hardware has is one instruction, without a use a reduction."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from assemble import ARCHITECTURES, FOLDERS, assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "exec"))

import kit
from atomics import CASES, NUMBERS, is_one_instruction

pytestmark = needs_ptxas
NVDISASM = shutil.which("nvdisasm", path=os.pathsep.join([*FOLDERS, os.environ["PATH"]]))

OPERATIONS: dict[str, list[str]] = {}
for name, dtype in CASES:
    OPERATIONS.setdefault(dtype, []).append(name)


def every(dtype: str, used: bool) -> str:
    """All operations of a type in global, shared and local memory."""
    name = dtype if dtype != "bool" else "bool_"
    lines = ["def kernel(x, v, o):", "    i = gpu.grid(1)"]
    lines += [
        f"    s = gpu.shared.array(32, gpu.{name})",
        f"    m = gpu.local.array(4, gpu.{name})",
    ]
    lines += ["    s[i % 32] = x[i]", "    m[i % 4] = x[i + 1]", "    gpu.syncthreads()"]
    calls = [f"{op}({{}}, i % 4, v[{k}])" for k, op in enumerate(OPERATIONS[dtype])]
    calls += ["cas({}, i % 3, v[1], v[i])", "compare_and_swap({}, v[i], v[2])"]
    for n, call in enumerate(calls):
        for k, array in enumerate("xsm"):
            result = f"o[{3 * n + k}, i] = " if used else ""
            lines.append(f"    {result}gpu.atomic.{call.format(array)}")
    lines += ["    gpu.syncthreads()", "    o[-1, i] = s[i % 31]", "    o[-2, i] = m[i % 3]"]
    return "\n".join(lines) + "\n"


# architecture, whether results are used, options
WAYS = [(arch, True, {}) for arch in ARCHITECTURES]
WAYS += [
    ("sm_75", False, {}),
    ("sm_75", True, {"opt_level": 0}),
    ("sm_90", True, {"fastmath": True}),
]


@pytest.mark.parametrize("dtype", OPERATIONS)
def test_every_operation(dtype, tmp_path):
    signature = f"{dtype}[::1], {dtype}[::1], {dtype}[:, ::1]"
    for arch, used, options in WAYS:
        assemble(
            kit.kernel(every(dtype, used), **options).ptx(signature, arch=arch), arch, tmp_path
        )


def ptx_of(op: str, dtype: str, arch: str) -> str:
    value = "float" if "float" in dtype else "int"
    more = ", v" if op == "cas" else ""
    source = f"def kernel(x, i, v):\n    gpu.atomic.{op}(x, i, v{more})\n"
    return kit.kernel(source).ptx(f"{dtype}[::1], int, {value}", arch=arch)


ONE = [(op, t) for op, t in [*CASES, *(("cas", t) for t in NUMBERS)] if is_one_instruction(op, t)]


@pytest.mark.parametrize(("op", "dtype"), ONE)
def test_one_instruction(op, dtype):
    text = ptx_of(op, dtype, "sm_75")
    assert len(re.findall(r"\batom\.", text)) == 1
    assert "$L" not in text
    assert ".sys" not in text


@pytest.mark.skipif(NVDISASM is None, reason="no nvdisasm")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize(("op", "dtype"), [c for c in ONE if c[0] not in ("exch", "cas")])
def test_unused_results_make_reductions(op, dtype, arch, tmp_path):
    assemble(ptx_of(op, dtype, arch), arch, tmp_path)
    command = [NVDISASM, "-c", str(tmp_path / "kernel.cubin")]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r"\bREDG?\.E", listing)
    assert "ATOM" not in listing


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool"])
def test_words_around_bytes_are_aligned(dtype):
    """Two low bits of the address are cleared before the word is touched."""
    text = ptx_of("exch", dtype, "sm_75")
    assert re.search(r"and\.b64 \s*%rd\d+, %rd\d+, -4;", text)
    assert len(re.findall(r"ld\.relaxed\.gpu\.global\.b32", text)) == 1
    assert len(re.findall(r"atom\.relaxed\.gpu\.global\.cas\.b32", text)) == 1
    assert not re.search(r"(ld|st)\.global", text)
