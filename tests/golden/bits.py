# Functions of bits are one instruction or a few, at the width of their argument.
# RUN: %gpujit ptx %s:bits "int64[::1]" --arch sm_75 | FileCheck %s
# RUN: %gpujit ptx %s:wide "int64[::1]" --arch sm_75 | FileCheck %s --check-prefix=WIDE
# RUN: %gpujit ptx %s:numbers "float32[::1], float64[::1]" --arch sm_75 | FileCheck %s --check-prefix=NUMBERS
# RUN: %gpujit ptx %s:lanes "int64[::1]" --arch sm_75 | FileCheck %s --check-prefix=LANES
import gpu


@gpu.jit
def bits(out):
    x, y = gpu.uint32(out[0]), gpu.uint32(out[1])
    out[0] = gpu.popc(x)
    out[1] = gpu.clz(x)
    out[2] = gpu.ffs(x)
    out[3] = gpu.brev(x)
    out[4] = gpu.byte_perm(x, y, 0x5410)
    out[5] = gpu.byte_perm(x, y, y)
    out[6] = gpu.funnelshift_l(x, y, 3)
    out[7] = gpu.funnelshift_r(x, y, y)


# CHECK: popc.b32
# CHECK: clz.b32
# CHECK: neg.s32
# CHECK-NEXT: and.b32
# CHECK-NEXT: clz.b32
# CHECK-NEXT: sub.s32
# CHECK: brev.b32
# CHECK: prmt.b32 {{.*}}, 0x5410U;
# CHECK: and.b32 {{.*}}, 30583;
# CHECK: prmt.b32
# CHECK: shf.l.wrap.b32
# CHECK: shf.r.wrap.b32


@gpu.jit
def wide(out):
    x = gpu.uint64(out[0])
    out[0] = gpu.popc(x)
    out[1] = gpu.clz(x)
    out[2] = gpu.brev(x)


# WIDE: popc.b64
# WIDE: clz.b64
# WIDE: brev.b64


@gpu.jit
def numbers(x, y):
    x[0] = gpu.rsqrt(x[0])
    x[1] = gpu.selp(x[1] > 0, x[2], x[3])
    x[2] = gpu.fma(x[1], x[2], x[3])
    y[0] = gpu.rsqrt(y[0])


# NUMBERS: rsqrt.approx.f32
# NUMBERS-DAG: selp
# NUMBERS-DAG: fma.rn.f32
# NUMBERS-DAG: rsqrt.approx.f64


@gpu.jit
def lanes(out):
    out[0] = gpu.laneid
    out[1] = gpu.lanemask_lt()
    out[2] = gpu.lanemask_le()
    out[3] = gpu.lanemask_eq()
    out[4] = gpu.lanemask_ge()
    out[5] = gpu.lanemask_gt()
    out[6] = gpu.warpsize
    out[7] = gpu.smid


# LANES: mov.u32 {{.*}}, %laneid;
# LANES: %lanemask_lt;
# LANES: %lanemask_le;
# LANES: %lanemask_eq;
# LANES: %lanemask_ge;
# LANES: %lanemask_gt;
# LANES: st.global.b64 {{.*}}, 32;
# LANES: %smid;
