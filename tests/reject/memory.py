"""Arrays that a kernel makes: what they cannot be."""

import gpu
import numpy as np

HALF = 0.5
TABLE = np.arange(4, dtype="float32")
TABLE.flags.writeable = False
NAMES = np.array(["a", "b"])


# kernel(int, float32[:])
def shared_of_a_run_time_size(n, x):
    tile = gpu.shared.array(n, gpu.float32)  # error: NEEDS_CONSTANT gpu.shared.dynamic(
    x[0] = tile[0]


# kernel(int, float32[:])
def shared_with_a_run_time_axis(n, x):
    tile = gpu.shared.array((4, n), gpu.float32)  # error: NEEDS_CONSTANT kernel[grid, block
    x[0] = tile[0, 0]


# kernel(int, float32[:])
def local_of_a_run_time_size(n, x):
    mine = gpu.local.array(n, gpu.float32)  # error: NEEDS_CONSTANT the largest size that is needed
    x[0] = mine[0]


# kernel(float32[:])
def local_of_an_argument_shape(x):
    mine = gpu.local.array(x.shape, gpu.float32)  # error: NEEDS_CONSTANT the shape of
    x[0] = mine[0]


# kernel(float32[:])
def float_extent(x):
    mine = gpu.local.array(7 / 2, gpu.float32)  # error: ARGUMENT_TYPE an extent is an integer
    x[0] = mine[0]


# kernel(float32[:])
def text_shape(x):
    mine = gpu.local.array("4", gpu.float32)  # error: ARGUMENT_TYPE a tuple of integers
    x[0] = mine[0]


# kernel(float32[:])
def negative_extent(x):
    mine = gpu.local.array((2, -3), gpu.float32)  # error: ARRAY_SHAPE cannot have the shape (2, -3)
    x[0] = mine[0, 0]


# kernel(float32[:])
def negative_size(x):
    tile = gpu.shared.array(-1, gpu.float32)  # error: ARRAY_SHAPE an integer of 0 or more
    x[0] = tile[0]


# kernel(float32[:])
def dynamic_of_two_axes(x):
    tile = gpu.shared.array((0, 4), gpu.float32)  # error: ARRAY_SHAPE gpu.shared.dynamic
    x[0] = tile[0, 0]


# kernel(float32[:])
def nine_axes(x):
    mine = gpu.local.array((1,) * 9, gpu.float32)  # error: VIEW_RANK more than 8 axes
    x[0] = mine.size


# kernel(float32[:])
def huge_local(x):
    mine = gpu.local.array((1024, 1024), gpu.float32)  # error: ARRAY_SIZE 4194304 bytes; at most
    x[0] = mine[0, 0]


# kernel(float32[:])
def huge_shared(x):
    tile = gpu.shared.array((2**40, 2**40), gpu.float32)  # error: ARRAY_SIZE use smaller tiles
    x[0] = tile[0, 0]


# kernel(float32[:])
def no_type(x):
    tile = gpu.shared.array(16)  # error: ARGUMENT_MISSING argument 'dtype' of gpu.shared.array
    x[0] = tile[0]


# kernel(float32[:])
def no_shape(x):
    tile = gpu.local.array(dtype=gpu.float32)  # error: ARGUMENT_MISSING argument 'shape'
    x[0] = tile[0]


# kernel(float32[:])
def number_as_a_type(x):
    tile = gpu.shared.array(16, HALF)  # error: ARGUMENT_TYPE give a number type
    x[0] = tile[0]


# kernel(float32[:])
def unknown_type(x):
    tile = gpu.shared.array(16, "single!")  # error: ARGUMENT_TYPE give a number type
    x[0] = tile[0]


# kernel(float32[:])
def wrong_keyword(x):
    tile = gpu.shared.array(16, gpu.float32, align=16)  # error: ARGUMENT_NAME 'align'
    x[0] = tile[0]


# kernel(float32[:])
def odd_alignment(x):
    tile = gpu.shared.array(16, gpu.float32, alignment=12)  # error: ARGUMENT_TYPE a power of two
    x[0] = tile[0]


# kernel(int, float32[:])
def run_time_alignment(n, x):
    tile = gpu.local.array(16, gpu.float32, n)  # error: NEEDS_CONSTANT the alignment
    x[0] = tile[0]


# kernel(float32[:])
def like_an_argument(x):
    table = gpu.const.array_like(x)  # error: ARGUMENT_TYPE a global or closure variable
    x[0] = table[0]


# kernel(bool, float32[:])
def two_spaces(c, x):
    a = gpu.shared.array(4, np.float32)
    if c:
        a = gpu.local.array(4, np.float32)
    x[0] = a[0]  # error: CANNOT_MEET an array is in one memory


# kernel(float32[:])
def store_to_constant_data(x):
    TABLE[0] = x[0]  # error: READ_ONLY it is constant data


# kernel(float32[:])
def sum_into_constant_data(x):
    row = TABLE[1:]
    row += x[0]  # error: READ_ONLY it is constant data


# kernel(float32[:])
def store_through_array_like(x):
    gpu.const.array_like(TABLE)[:2] = 0  # error: READ_ONLY float32[::1] (constant)


# kernel(float32[:])
def atomic_on_constant_data(x):
    gpu.atomic.add(TABLE, 0, 1)  # error: READ_ONLY pass the array to the kernel


# kernel(float32[:])
def array_of_texts(x):
    x[0] = NAMES[0]  # error: HOST_OBJECT bool, int8 to uint64


# kernel(bool, float32[:])
def constant_or_shared(c, x):
    t = TABLE if c else gpu.shared.array(4, np.float32)
    x[0] = t[0]  # error: CANNOT_MEET (constant) on one path


# kernel(float64[:])
def spaces_that_change_places(x):
    a, b = x, gpu.shared.array(8, np.float64)
    for _ in range(4):
        a, b = b, a
    x[0] = a[0]  # error: CANNOT_MEET 'a' is float64[:] on one path and float64[::1] (shared) on


# kernel(float64[:])
def like_nothing(x):
    table = gpu.const.array_like()  # error: ARGUMENT_MISSING argument 'ary' of gpu.const.array_like
    x[0] = table[0]
