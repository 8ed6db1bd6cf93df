"""Functions of bits whose arguments have no width, or the wrong one; warps and lanes."""

# The comment of a line stays on it.
# fmt: off
import gpu


# kernel(int32[:])
# hint: the width counts here: write gpu.uint32(...) or gpu.uint64(...)
def popc_of_an_int(x):
    x[0] = gpu.popc(x[1])  # error: ARGUMENT_TYPE argument 1 of gpu.popc cannot be int


# kernel(int32[:])
# hint: the width counts here: write gpu.uint32(...) or gpu.uint64(...)
def clz_of_a_constant(x):
    x[0] = gpu.clz(12)  # error: ARGUMENT_TYPE argument 1 of gpu.clz cannot be int


# kernel(int32[:], bool)
# hint: the width counts here: write gpu.uint32(...) or gpu.uint64(...)
def ffs_of_a_truth_value(x, b):
    x[0] = gpu.ffs(b)  # error: ARGUMENT_TYPE argument 1 of gpu.ffs cannot be bool


# kernel(float32[:])
# hint: an integer is needed: gpu.uint32(x) converts, x.view(np.uint32) has its bits
def brev_of_a_float(x):
    x[0] = gpu.brev(x[1])  # error: ARGUMENT_TYPE argument 1 of gpu.brev cannot be float32


# kernel(uint64[:])
# hint: give an element: x[i]
def popc_of_an_array(x):
    x[0] = gpu.popc(x)  # error: ARGUMENT_TYPE argument 1 of gpu.popc cannot be uint64[:]


# kernel(int32[:])
# hint: popc(x): one bits of a typed integer, an int.
def popc_of_two(x):
    x[0] = gpu.popc(gpu.uint8(1), 2)  # error: ARGUMENT_COUNT gpu.popc takes 1 argument, 2 given


# kernel(int32[:])
# hint: the width counts here: write gpu.uint32(...) or gpu.uint64(...)
def bytes_of_ints(x):
    x[0] = gpu.byte_perm(x[0], x[1], 0x3210)  # error: ARGUMENT_TYPE argument 1 of gpu.byte_perm cannot be int


# kernel(uint64[:])
# hint: it works on 32 bits: write gpu.uint32(...)
def bytes_of_eight(x):
    x[0] = gpu.byte_perm(x[0], x[1], 0x3210)  # error: ARGUMENT_TYPE argument 1 of gpu.byte_perm cannot be uint64


# kernel(uint64[:])
# hint: it works on 32 bits: write gpu.uint32(...)
def bytes_of_two(x):
    x[0] = gpu.byte_perm(1, gpu.uint16(2), 0x3210)  # error: ARGUMENT_TYPE argument 2 of gpu.byte_perm cannot be uint16


# kernel(int32[:])
# hint: both must be of one type: write gpu.uint32(...)
def bytes_of_two_types(x):
    x[0] = gpu.byte_perm(gpu.uint32(x[0]), gpu.int32(x[1]), 0)  # error: ARGUMENT_TYPE argument 2 of gpu.byte_perm cannot be int32


# kernel(int32[:], float32)
def bytes_by_a_float(x, s):
    x[0] = gpu.byte_perm(gpu.uint32(x[0]), 0, s)  # error: ARGUMENT_TYPE argument 3 of gpu.byte_perm cannot be float32


# kernel(int32[:])
# hint: both numbers have the type uint32 here
def bytes_of_a_large_constant(x):
    x[0] = gpu.byte_perm(gpu.uint32(x[0]), 1 << 33, 0)  # error: CONSTANT_TOO_LARGE the constant 8589934592 does not fit uint32


# kernel(int32[:])
def shift_of_ints(x):
    x[0] = gpu.funnelshift_l(x[0], 1, 2)  # error: ARGUMENT_TYPE argument 1 of gpu.funnelshift_l cannot be int


# kernel(int32[:])
# hint: funnelshift_r(low, high, n): the lower half of (high:low) >> n % width, of typed integers of one type.
def shift_by_nothing(x):
    x[0] = gpu.funnelshift_r(gpu.int8(1), 1)  # error: ARGUMENT_COUNT gpu.funnelshift_r takes 3 arguments, 2 given


# kernel(float32[:])
def root_of_an_array(x):
    x[0] = gpu.rsqrt(x)  # error: ARGUMENT_TYPE argument 1 of gpu.rsqrt cannot be float32[:]


# kernel(float32[:])
# hint: the condition is a number: x[i] > 0
def choice_by_an_array(x):
    x[0] = gpu.selp(x, 1, 2)  # error: ARGUMENT_TYPE argument 1 of gpu.selp cannot be float32[:]


# kernel(float32[:])
# hint: cast one argument, for example gpu.int64(...)
def choice_of_two_signs(x):
    x[0] = gpu.selp(x[0] > 0, gpu.uint64(1), gpu.int64(2))  # error: MIXED_SIGNS uint64 and int64 have no common integer type


# kernel(int32[:])
def a_called_attribute(x):
    x[0] = gpu.laneid()  # error: NOT_CALLABLE cannot be called


# kernel(int32[:])
def a_called_constant(x):
    x[0] = gpu.warpsize()  # error: NOT_CALLABLE cannot be called


# kernel(int32[:])
def a_mask_of_something(x):
    x[0] = gpu.lanemask_lt(3)  # error: ARGUMENT_COUNT gpu.lanemask_lt takes 0 arguments, 1 given
