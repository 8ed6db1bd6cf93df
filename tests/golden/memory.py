# Shared, local and constant arrays lie in their own state spaces; above 48 KiB shared arrays are what the launch adds.
# RUN: %gpujit ptx %s:tile "float32[::1], float32[::1]" --arch sm_75 | FileCheck %s --check-prefix=TILE
# RUN: %gpujit ir %s:tile "float32[::1], float32[::1]" --stage core | FileCheck %s --check-prefix=CORE
# RUN: %gpujit ptx %s:large "float32[::1], int" --arch sm_80 | FileCheck %s --check-prefix=LARGE
# RUN: %gpujit ptx %s:added "float32[::1], int" --arch sm_90 | FileCheck %s --check-prefix=ADDED
# RUN: %gpujit ptx %s:own "float32[::1], int, int" --arch sm_90 | FileCheck %s --check-prefix=OWN
# RUN: %gpujit ptx %s:table "float32[::1], int" --arch sm_90 | FileCheck %s --check-prefix=TABLE
# RUN: %gpujit ptx %s:long_table "float32[::1], int" --arch sm_90 | FileCheck %s --check-prefix=LONG
import gpu
import numpy as np

TABLE = np.array([1.5, -2.0, 0.25, 8.0], "float32")
TABLE.flags.writeable = False
LONG = np.arange(20_000, dtype="float32")
LONG.flags.writeable = False


@gpu.jit
def tile(x, out):
    t = gpu.shared.array((8, 33), gpu.float32)
    unused = gpu.shared.array(1000, gpu.float64)
    i = gpu.threadIdx.x
    t[3, i] = x[i]
    gpu.syncthreads()
    out[i] = t[3, 31 - i]


# TILE: .shared .align 16 .b8 t_$_s0[1056];
# TILE-NOT: .shared
# TILE: st.shared.b32
# TILE: bar{{(rier)?}}.sync
# TILE: ld.shared.b32

# CORE: static 0 shared "t" 1056 align(4)
# CORE-NEXT: static 1 shared "unused" 8000 align(4)
# CORE: static ptr.shared 0


@gpu.jit
def large(out, i):
    a = gpu.shared.array((64, 64), gpu.float64)
    b = gpu.shared.array(8192, gpu.float32, alignment=128)
    a[i, i] = i
    b[i] = i
    gpu.syncthreads()
    out[0] = a[0, i] + b[i + 1]


# LARGE: .extern .shared .align 128 .b8 gpujit_shared[];
# LARGE-NOT: .shared .align
# LARGE: add.s64 {{.*}}, 32768;


@gpu.jit(check=True)
def added(out, n):
    everything = gpu.shared.array(0, gpu.float32)
    part = gpu.shared.dynamic((n, 2), gpu.float32)
    part[n - 1, 1] = n
    gpu.syncthreads()
    out[0] = everything[0] + len(everything)


# ADDED: .extern .shared .align 16 .b8 gpujit_shared[];
# ADDED: %dynamic_smem_size
# ADDED: st.shared.b32
# ADDED: ld.shared.b32


@gpu.jit
def own(out, i, j):
    mine = gpu.local.array(100, gpu.float32)
    mine[i] = i
    mine[j] = j
    out[0] = mine[i]


# OWN: .local .align 16 .b8 __local_depot0[400];
# OWN: st.local.b32
# OWN: ld.local.b32


@gpu.jit
def table(out, i):
    out[0] = TABLE[i]


# TABLE: .const .align 16 .b8 TABLE_$_s0[16] = {0, 0, 192, 63, 0, 0, 0, 192, 0, 0, 128, 62, 0, 0, 0, 65};
# TABLE: ld.const.b32


@gpu.jit
def long_table(out, i):
    out[0] = LONG[i]


# LONG: .global .align 16 .b8 LONG_$_s0[80000]
# LONG: ld.global{{.*}}.b32
