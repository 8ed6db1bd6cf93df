# Operations of a warp are one instruction on 32 bits, two on 64, and one on what was extended from 32.
# RUN: %gpujit ptx %s:shuffles "int64[::1], int32[::1], float64[::1], float32[::1]" --arch sm_75 | FileCheck %s --check-prefix=SHFL
# RUN: %gpujit ptx %s:votes "int32[::1]" --arch sm_75 | FileCheck %s --check-prefix=VOTE
# RUN: %gpujit ptx %s:reductions "int32[::1], int64[::1]" --arch sm_80 | FileCheck %s --check-prefix=REDUX
# RUN: %gpujit ptx %s:reductions "int32[::1], int64[::1]" --arch sm_75 | FileCheck %s --check-prefix=OLD
# RUN: %gpujit ptx %s:time "int64[::1]" --arch sm_75 | FileCheck %s --check-prefix=TIME
# RUN: %gpujit ir %s:votes "int32[::1]" --stage core | FileCheck %s --check-prefix=CORE
import gpu

ALL = 0xFFFFFFFF


@gpu.jit
def shuffles(wide, narrow, double, single):
    i = gpu.threadIdx.x
    single[i] = gpu.shfl_sync(ALL, single[i], 3)
    double[i] = gpu.shfl_up_sync(ALL, double[i], 1)
    wide[i] = gpu.shfl_down_sync(ALL, narrow[i], 2, 16)
    narrow[i] = gpu.shfl_xor_sync(gpu.activemask(), gpu.uint8(narrow[i]), 4)


# SHFL: shfl.sync.idx.b32 {{.*}}, 3, 31, -1;
# SHFL-COUNT-2: shfl.sync.up.b32 {{.*}}, 1, 0, -1;
# SHFL-NOT: shfl
# SHFL: shfl.sync.down.b32 {{.*}}, 2, 4127, -1;
# SHFL-NOT: shfl
# SHFL: activemask.b32
# SHFL: shfl.sync.bfly.b32 {{.*}}, 4, 31, %r
# SHFL-NOT: shfl


@gpu.jit
def votes(x):
    i = gpu.threadIdx.x
    v = x[i]
    x[i] = gpu.all_sync(ALL, v) + gpu.any_sync(ALL, v) + gpu.eq_sync(ALL, v)
    x[i] += gpu.ballot_sync(ALL, v > 2)
    x[i] += gpu.match_any_sync(ALL, gpu.int32(v))
    mask, same = gpu.match_all_sync(ALL, v)
    x[i] += mask + same


# VOTE: vote.sync.all.pred
# VOTE: vote.sync.any.pred
# VOTE: vote.sync.uni.pred
# VOTE: vote.sync.ballot.b32
# VOTE: match.any.sync.b32
# VOTE: match.all.sync.b64

# CORE: module core
# CORE: effect i1 gpu.all_sync
# CORE: effect i32 gpu.ballot_sync
# CORE: effect i32 gpu.match_any_sync


@gpu.jit
def reductions(x, y):
    i = gpu.threadIdx.x
    x[i] = gpu.reduce_add_sync(ALL, gpu.uint32(x[i]))
    x[i] = gpu.reduce_min_sync(ALL, x[i])
    x[i] = gpu.reduce_max_sync(ALL, gpu.uint32(x[i]))
    y[i] = gpu.reduce_add_sync(ALL, y[i])
    y[i] = gpu.reduce_xor_sync(ALL, y[i])


# REDUX-NOT: shfl
# REDUX: redux.sync.add.s32
# REDUX: redux.sync.min.s32
# REDUX: redux.sync.max.u32
# REDUX-COUNT-3: redux.sync.add.s32
# REDUX-NOT: redux.sync.add
# REDUX-COUNT-2: redux.sync.xor.b32
# REDUX-NOT: redux

# OLD-NOT: redux
# OLD: vote.sync.ballot.b32
# OLD-COUNT-5: shfl.sync.bfly.b32
# OLD-NOT: redux


@gpu.jit
def time(out):
    start = gpu.clock()
    gpu.nanosleep(200)
    out[0] = gpu.clock() - start
    out[1] = gpu.clock64()
    out[2] = gpu.clock64()
    out[3] = gpu.globaltimer()


# TIME: %clock;
# TIME: nanosleep.u32 200;
# TIME: %clock;
# TIME-COUNT-2: %clock64;
# TIME: %globaltimer;
