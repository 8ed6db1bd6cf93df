# A whole small kernel, stage by stage.
# RUN: %gpujit bytecode %s:saxpy | FileCheck %s --check-prefix=CODE
# RUN: %gpujit ir %s:saxpy "int, float32, float32[:], float32[::1]" --stage ssa | FileCheck %s --check-prefix=SSA
# RUN: %gpujit ir %s:saxpy "int, float32, float32[:], float32[::1]" --stage typed | FileCheck %s --check-prefix=TYPED
# RUN: %gpujit ir %s:saxpy "int, float32, float32[:], float32[::1]" --stage opt | FileCheck %s --check-prefix=OPT
# RUN: %gpujit ptx %s:saxpy "int, float32, float32[:], float32[::1]" --arch sm_90 | FileCheck %s --check-prefix=PTX
import gpu


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


# CODE: code saxpy
# CODE: global gpu
# CODE: attr grid
# CODE: cmp <
# CODE: if_false
# CODE: setitem
# CODE: return

# SSA: module py
# SSA: func @0 "saxpy"
# SSA: [[N:%[0-9]+]] = param 0
# SSA: [[A:%[0-9]+]] = param 1
# SSA: [[X:%[0-9]+]] = param 2
# SSA: [[Y:%[0-9]+]] = param 3
# SSA: [[GRID:%[0-9]+]] = const intrin gpu.grid
# SSA: [[I:%[0-9]+]] = call [[GRID]]
# SSA: [[INSIDE:%[0-9]+]] = cmp "<" [[I]], [[N]]
# SSA: br [[INSIDE]], b1, b2
# SSA: [[XI:%[0-9]+]] = item [[X]], [[I]]
# SSA: [[PRODUCT:%[0-9]+]] = bin "*" [[A]], [[XI]]
# SSA: [[YI:%[0-9]+]] = item [[Y]], [[I]]
# SSA: [[SUM:%[0-9]+]] = bin "+" [[PRODUCT]], [[YI]]
# SSA: setitem [[Y]], [[I]], [[SUM]]

# TYPED: saxpy(n: int, a: float32, x: float32[:], y: float32[::1]) -> None
# TYPED: call: int
# TYPED: cmp: bool
# TYPED: item: float32
# TYPED: bin: float32

# x has a stride of its own, y's elements are neighbours and its address is computed once.
# OPT: module core
# OPT: kernel (i64 "n", f32 "a", ptr.global "x", i64 "x.shape0", i64 "x.stride0", ptr.global "y", i64 "y.shape0")
# OPT: icmp i1 slt
# OPT: mul i64
# OPT: [[AX:%[0-9]+]] = ptradd ptr.global
# OPT: load f32 align(2) [[AX]]
# OPT: [[AY:%[0-9]+]] = ptradd ptr.global
# OPT: load f32 align(2) [[AY]]
# OPT-NOT: ptradd
# OPT: [[SUM:%[0-9]+]] = fma f32
# OPT: store align(2) [[AY]], [[SUM]]

# PTX: .version 7.8
# PTX: .target sm_90
# PTX: .visible .entry saxpy(
# PTX: mul.wide.u32
# PTX-COUNT-2: ld.global.b32
# PTX: fma.rn.f32
# PTX: st.global.b32
