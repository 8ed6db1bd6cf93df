"""PTX of warp operations, bits and clocks assembles for every architecture, on every type."""

import sys
from pathlib import Path

import gpu
import pytest
from assemble import ARCHITECTURES, assemble, needs_ptxas

sys.path.insert(0, str(Path(__file__).parent.parent / "exec"))

import kit

pytestmark = needs_ptxas

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int", "bool"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float"]
BITS = ["popc", "clz", "ffs", "brev"]


def text(kind: str) -> str:
    """One kernel with every operation that takes the type, under a constant and another mask."""
    value = f"gpu.{kind}(x[i])" if kind not in ("int", "float", "bool") else f"{kind}(x[i])"
    lines = ["def kernel(x, out, m):", "    i = gpu.threadIdx.x", f"    v = {value}"]
    calls = [f"gpu.shfl_{how}sync({{}}, v, 3)" for how in ("", "up_", "down_", "xor_")]
    calls += ["gpu.shfl_down_sync({}, v, i, 8)", "gpu.match_any_sync({}, v)"]
    calls += [f"gpu.{name}_sync({{}}, v)" for name in ("all", "any", "eq", "ballot")]
    calls += ["gpu.match_all_sync({}, v)[1]"]
    names = ["add", "min", "max"] + (["and", "or", "xor"] if kind in INTEGERS else [])
    calls += [f"gpu.reduce_{name}_sync({{}}, v)" for name in names]
    if kind in INTEGERS[:8]:
        calls += [f"gpu.{name}(v)" for name in BITS]
        calls += ["gpu.funnelshift_l(v, v, i)", "gpu.funnelshift_r(v, v, 3)"]
    if kind in ("int32", "uint32"):
        calls += ["gpu.byte_perm(v, 1, i)"]
    if kind in FLOATS:
        calls += ["gpu.rsqrt(v)", "gpu.selp(i > 3, v, 1)"]
    for k, call in enumerate(calls):
        for mask in ("0xffffffff", "m") if "{}" in call else ("",):
            lines.append(f"    out[{k}] += {call.format(mask)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", INTEGERS + FLOATS)
def test_every_type(kind, tmp_path):
    stored = {"int": "int32", "float": "float64", "bool": "int64"}.get(kind, kind)
    kernel = kit.kernel(text(kind))
    for arch in ARCHITECTURES:
        ptx = kernel.ptx(f"{stored}[::1], float64[::1], uint32", arch=arch)
        assemble(ptx, arch, tmp_path)
        if kind in INTEGERS:
            assert ("redux.sync" in ptx) == (arch != "sm_75")


def test_lanes_and_clocks(tmp_path):
    def kernel(out):
        here = gpu.activemask()
        out[0] = gpu.laneid + gpu.smid + gpu.warpsize
        out[1] = gpu.lanemask_lt() | gpu.lanemask_le() | gpu.lanemask_eq()
        out[2] = gpu.lanemask_ge() | gpu.lanemask_gt() | here
        gpu.nanosleep(out[3])
        out[4] = gpu.clock() + gpu.clock64() + gpu.globaltimer()

    for arch in ARCHITECTURES:
        assemble(gpu.jit(kernel).ptx("int64[::1]", arch=arch), arch, tmp_path)
