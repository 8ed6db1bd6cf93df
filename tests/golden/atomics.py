# An atomic whose result is unused becomes a reduction; targets get what they have.
# RUN: %gpujit ptx %s:count "int32[::1], int32[::1]" --arch sm_75 | FileCheck %s
# RUN: %gpujit ptx %s:total "float64[::1], float64[::1]" --arch sm_75 | FileCheck %s --check-prefix=F64
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
