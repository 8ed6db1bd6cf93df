# A kernel that does not print has no trace of it; one that does pays where it does: a call with the values.
# RUN: %gpujit ptx %s:quiet "int, float32[:]" --arch sm_80 | FileCheck %s --check-prefix=QUIET
# RUN: %gpujit ptx %s:loud "int, float32[:]" --arch sm_80 | FileCheck %s --check-prefix=LOUD
# RUN: %gpujit ir %s:loud "int, float32[:]" --stage core | FileCheck %s --check-prefix=CORE
# RUN: %gpujit ir %s:loud "int, float32[:]" --stage opt | FileCheck %s --check-prefix=OPT
# RUN: %gpujit ir %s:far "int" --stage opt | FileCheck %s --check-prefix=FAR
# RUN: %gpujit ptx %s:far "int" --arch sm_80 | FileCheck %s --check-prefix=FARPTX
import gpu


@gpu.jit
def quiet(n, x):
    i = gpu.grid(1)
    if i < n:
        x[i] += 1


@gpu.jit
def loud(n, x):
    i = gpu.grid(1)
    if i < n:
        print("x", i, f"{x[i]:.2f}", None, sep=", ")
        x[i] += 1


def countdown(n):
    if n == 0:
        return 0
    print(n, end="", flush=True)
    return 1 + countdown(n - 1)


@gpu.jit
def far(n):
    print(gpu.threadIdx)
    countdown(n)


# QUIET-NOT: gpujit_print
# QUIET: .visible .entry quiet(
# QUIET: quiet_param_3
# QUIET-NOT: quiet_param_4
# QUIET-NOT: gpujit_print
# QUIET-NOT: atom
# QUIET-NOT: call
# QUIET: ret;

# LOUD: .visible .entry loud(
# LOUD: loud_param_4
# LOUD: call.uni gpujit_print_2,
# LOUD: add.rn.f32
# LOUD: .func gpujit_print_2(
# LOUD: atom.{{.*}}global.add.u64
# LOUD: st.release.sys.global.b64

# CORE: site 0 NOT_PRINTED "J(S(s1:x)s2:, S(vint;)s2:, S(F(vfloat32;s3:.2f))s2:, S(n)s1:\x0a)" 2
# CORE: print site(0) %{{[0-9]+}}, %{{[0-9]+}}

# OPT: func @0 "loud" {{.*}} kernel may_print (

# FAR-DAG: NOT_PRINTED "J(S(t(vint;vint;vint;))s1:\x0a)" 3
# FAR-DAG: NOT_PRINTED "LJ(S(vint;)s0:)" 1
# FAR: func @0 {{.*}} kernel{{.*}} may_print
# FAR: func @1 {{.*}} may_print

# FARPTX-DAG: call.uni gpujit_print_3,
# FARPTX-DAG: call.uni gpujit_print_1,
