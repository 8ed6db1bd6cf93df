# An integer never widens a float; weak floats take the type of typed ones they meet; floor division
# floors; float64 stays where it was asked for.
# RUN: %gpujit ptx %s:single "float32[::1], int" | FileCheck %s --check-prefix=SINGLE
# RUN: %gpujit ptx %s:double "float64[::1], int" | FileCheck %s --check-prefix=DOUBLE
# RUN: %gpujit ir %s:floored "int64[::1]" --stage core | FileCheck %s --check-prefix=FLOOR
import gpu


@gpu.jit
def single(x, n):
    x[0] = 2.0 * x[1] / n


@gpu.jit
def double(x, n):
    x[0] = 2.0 * x[1] / n


@gpu.jit
def floored(x):
    x[0] = x[1] // x[2]


# SINGLE-NOT: f64
# SINGLE: div.rn.f32
# SINGLE-NOT: f64
# DOUBLE: div.rn.f64

# FLOOR: sdiv i64
# FLOOR: store
