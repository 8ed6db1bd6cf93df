# Globals, closures and defaults are constants; dead sides are never typed, and disappear.
# RUN: %gpujit ir %s:scaled "float32[::1]" --stage opt | FileCheck %s
# RUN: %gpujit ptx %s:scaled "float32[::1]" | FileCheck %s --check-prefix=PTX
import gpu

SCALE = 3
DEBUG = False


def times(value, factor=2):
    return value * factor


def make(offset):
    @gpu.jit
    def kernel(x):
        i = gpu.grid(1)
        if DEBUG:
            x[i] = "never typed" + 1
        if i < x.size:
            x[i] = times(SCALE) + offset

    return kernel


scaled = make(offset=4)

# CHECK-NOT: add f32
# CHECK: const f32 10.0
# CHECK: store

# PTX: .visible .entry
# PTX-NOT: ld.global
# 10.0 by its bits
# PTX: st.global.b32 {{.*}}, 1092616192;
