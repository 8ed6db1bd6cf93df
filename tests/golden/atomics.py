# An atomic whose result is unused becomes a reduction; targets get what they have.
# RUN: %gpujit ptx %s:count "int32[::1], int32[::1]" --arch sm_75 | FileCheck %s
# RUN: %gpujit ptx %s:total "float64[::1], float64[::1]" --arch sm_75 | FileCheck %s --check-prefix=F64
# RUN: %gpujit ptx %s:histogram "uint8[::1], int32[::1]" --arch sm_90 | FileCheck %s --check-prefix=SHARED
# RUN: %gpujit ptx %s:watched "int32[::1], int32[::1]" --arch sm_90 | FileCheck %s --check-prefix=WATCHED
# RUN: %gpujit ptx %s:half "bfloat16[::1]" --arch sm_90 | FileCheck %s --check-prefix=SM90
# RUN: %gpujit ptx %s:half "bfloat16[::1]" --arch sm_80 | FileCheck %s --check-prefix=SM80
# RUN: %gpujit ptx %s:flag "uint8[::1]" --arch sm_75 | FileCheck %s --check-prefix=FLAG
# RUN: %gpujit ir %s:back "uint16[::1], float16[::1]" | FileCheck %s --check-prefix=IR
import gpu


@gpu.jit
def count(x, bins):
    i = gpu.grid(1)
    if i < x.size:
        gpu.atomic.add(bins, x[i], 1)


@gpu.jit
def total(x, out):
    i = gpu.grid(1)
    if i < x.size:
        out[1] = gpu.atomic.add(out, 0, x[i])


# CHECK: .target sm_75
# CHECK: {{red|atom}}{{.*}}.global.add.{{[us]}}32
# F64: atom{{.*}}.global.add.f64


@gpu.jit
def histogram(x, bins):
    mine = gpu.shared.array(256, gpu.int32)
    t = gpu.threadIdx.x
    mine[t] = 0
    gpu.syncthreads()
    for i in range(gpu.grid(1), x.size, gpu.gridsize(1)):
        gpu.atomic.add(mine, x[i], 1)
    gpu.syncthreads()
    gpu.atomic.add(bins, t, mine[t])


# Between the load and the atomic there is the address, nothing else.
# SHARED: bar.sync
# SHARED: ld.global{{.*}}8
# SHARED-NEXT: mul.wide.u32
# SHARED-NEXT: add.s64
# SHARED-NEXT: atom.shared.add.u32 {{.*}}, 1;
# SHARED: bar.sync
# SHARED: atom.global.add.u32


@gpu.jit
def watched(x, out):
    out[0] = x[0]
    gpu.atomic.max(x, 0, 5)
    out[1] = x[0]


# What atomics write is no constant data: both loads are there, and none goes through the cache for it.
# WATCHED-NOT: .nc
# WATCHED: ld.global.b32
# WATCHED: atom.global.max.s32
# WATCHED: ld.global.b32
# WATCHED-NOT: .nc


@gpu.jit
def half(x):
    gpu.atomic.add(x, 1, 0.5)


# SM90: atom.global.add.noftz.bf16
# SM80: ld.relaxed.gpu.global.b32
# SM80: atom.relaxed.gpu.global.cas.b32


@gpu.jit
def back(x, f):
    gpu.atomic.sub(x, 0, 5)
    gpu.atomic.nanmin(f, 1, f[0])
    gpu.atomic.cas(x, 0, 65536 + 3, -1)


# Subtraction is the addition of the negated operand; operands convert as by a store.
# IR: const i16 -5
# IR: const i16 3
# IR: const i16 -1
# IR: atomic i16 add
# IR: atomic f16 fminnum
# IR: cas i16


@gpu.jit
def flag(o):
    raised = gpu.shared.array(1, gpu.uint8)
    raised[0] = 3
    gpu.atomic.exch(raised, 0, 5)
    o[0] = raised[0]


# A byte alone has a word of its own, and what is read afterwards is read from memory.
# FLAG: .shared .align {{[0-9]+}} .b8 raised_$_s0[4];
# FLAG: st.shared.b8 {{.*}}, 3;
# FLAG: atom.relaxed.gpu.shared.cas.b32
# FLAG: ld.shared.b8
# FLAG: st.global.b8
