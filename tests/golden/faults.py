# A kernel that cannot raise has no fault: no parameter, no record, no branch. One that can pays where it does.
# RUN: %gpujit ptx %s:quiet "int, float32, float32[:], float32[:]" --arch sm_80 | FileCheck %s --check-prefix=QUIET
# RUN: %gpujit ptx %s:raising "int, float32, float32[:], float32[:]" --arch sm_80 | FileCheck %s --check-prefix=RAISING
# RUN: %gpujit ir %s:raising "int, float32, float32[:], float32[:]" --stage ssa | FileCheck %s --check-prefix=SSA
# RUN: %gpujit ir %s:raising "int, float32, float32[:], float32[:]" --stage core | FileCheck %s --check-prefix=CORE
# RUN: %gpujit ptx %s:checked "int, int, int64[:]" --arch sm_80 | FileCheck %s --check-prefix=UNCHECKED
# RUN: env GPUJIT_CHECK=1 %gpujit ptx %s:checked "int, int, int64[:]" --arch sm_80 | FileCheck %s --check-prefix=CHECKED
import gpu


@gpu.jit
def quiet(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@gpu.jit
def raising(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        if x[i] < 0:
            raise ValueError(f"negative {x[i]:.2f}", i)
        y[i] = a * x[i] + y[i]


@gpu.jit
def checked(a, b, out):
    out[0] = a * b


# QUIET-NOT: gpujit_fault
# QUIET: .visible .entry quiet(
# QUIET: quiet_param_7
# QUIET-NOT: quiet_param_8
# QUIET-NOT: gpujit_fault
# QUIET-NOT: atom
# QUIET-NOT: call
# QUIET: fma.rn.f32
# QUIET-NOT: exit
# QUIET: ret;

# RAISING: .visible .entry raising(
# RAISING: raising_param_8
# RAISING: fma.rn.f32
# RAISING: ret;
# RAISING: call.uni gpujit_fault_2,
# RAISING: exit;
# RAISING: .func gpujit_fault_2(
# RAISING: atom.relaxed.gpu.global.cas.b32
# RAISING: st.release.sys.global.b32

# SSA: [[CLASS:%[0-9]+]] = const exception "ValueError"
# SSA: [[NUMBER:%[0-9]+]] = text format
# SSA: [[TEXT:%[0-9]+]] = text join {{.*}}, [[NUMBER]]
# SSA: [[ERROR:%[0-9]+]] = call [[CLASS]], [[TEXT]]
# SSA: throw [[ERROR]]

# CORE: site 0 RAISED "e0:10:ValueError(J(s9:negative F(vfloat32;s3:.2f))vint;)" 2
# CORE: raise site(0) %{{[0-9]+}}, %{{[0-9]+}}

# UNCHECKED-NOT: gpujit_fault
# UNCHECKED: mul.lo.s64
# UNCHECKED-NOT: mul.hi

# CHECKED: .visible .entry checked(
# CHECKED: mul.hi.s64
# CHECKED: call.uni gpujit_fault_
