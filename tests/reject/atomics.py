"""Wrong uses of gpu.atomic."""

import gpu
import numpy as np

TABLE = np.arange(4)


# kernel(float32[:])
def float_inc(x):
    gpu.atomic.inc(x, 0, 5)  # error: ARGUMENT_TYPE of gpu.atomic.inc cannot be float32


# kernel(float64[:])
def float_dec(x):
    gpu.atomic.dec(x, 0, 5)  # error: ARGUMENT_TYPE inc, dec, and_, or_ and xor work on integers


# kernel(float16[:])
def float_or(x):
    gpu.atomic.or_(x, 0, 1)  # error: ARGUMENT_TYPE of floats there are add, sub, min, max


# kernel(bool[:])
def bool_add(x):
    gpu.atomic.add(x, 0, True)  # error: ARGUMENT_TYPE elements of bool have and_, or_, xor, exch


# kernel(bool[:])
def bool_max(x):
    gpu.atomic.max(x, 0, True)  # error: ARGUMENT_TYPE to count, take an array of integers


# kernel(float32[:])
def element_for_array(x):
    gpu.atomic.add(x[0], 0, 1.0)  # error: ARGUMENT_TYPE the array itself comes first, then


# kernel(int)
def number_for_array(n):
    gpu.atomic.exch(n, 0, 1)  # error: ARGUMENT_TYPE argument 1 of gpu.atomic.exch cannot be int


# kernel(float32[:])
def tuple_for_array(x):
    gpu.atomic.add((x, x), 0, 1.0)  # error: ARGUMENT_TYPE argument 1 of gpu.atomic.add


# kernel(int32[:])
def float_exch(x):
    gpu.atomic.exch(x, 0, 1.0)  # error: ARGUMENT_TYPE the array holds int32: write int(...)


# kernel(uint8[:])
def float_compared(x):
    gpu.atomic.cas(x, 0, 1.0, 2)  # error: ARGUMENT_TYPE argument 3 of gpu.atomic.cas


# kernel(uint8[:])
def float_swapped(x):
    gpu.atomic.cas(x, 0, 1, 2.0)  # error: ARGUMENT_TYPE argument 4 of gpu.atomic.cas


# kernel(uint8[:])
def float_compared_first(x):
    gpu.atomic.compare_and_swap(x, 0.5, 2)  # error: ARGUMENT_TYPE argument 2 of gpu.atomic.compare


# kernel(bool[:])
def float_into_bool(x):
    gpu.atomic.exch(x, 0, 1.0)  # error: ARGUMENT_TYPE the array holds bool


# kernel(int32[:])
def value_is_an_array(x):
    gpu.atomic.add(x, 0, x)  # error: ARGUMENT_TYPE give an element: x[i]


# kernel(int32[:])
def value_is_text(x):
    gpu.atomic.add(x, 0, "1")  # error: ARGUMENT_TYPE argument 3 of gpu.atomic.add


# kernel(int32[:, :])
def missing_index(x):
    gpu.atomic.max(x, 1, 1)  # error: RANK_MISMATCH one element is meant here


# kernel(int32[:, :])
def slice_index(x):
    gpu.atomic.sub(x, (slice(0, 2), 0), 1)  # error: INDEX_TYPE give an integer for each axis


# kernel(int32[:])
def float_index(x):
    gpu.atomic.min(x, 0.5, 1)  # error: INDEX_TYPE float


# kernel(int32[:])
def index_of_rank_0(x):
    gpu.atomic.add(x, (), 1)  # error: RANK_MISMATCH one element is meant here


# kernel(int32[:])
def forgotten_index(x):
    gpu.atomic.add(x, 1)  # error: ARGUMENT_COUNT atomic.add(array, index, value)


# kernel(int32[:])
def forgotten_value(x):
    gpu.atomic.cas(x, 0, 1)  # error: ARGUMENT_COUNT atomic.cas(array, index, old, value)


# kernel(int32[:])
def index_of_the_first(x):
    gpu.atomic.compare_and_swap(x, 0, 1, 2)  # error: ARGUMENT_COUNT atomic.compare_and_swap(array


# kernel(int32[:])
def keyword(x):
    gpu.atomic.add(x, 0, value=1)  # error: ARGUMENT_NAME no argument 'value'


# kernel(int32[:])
def nothing(x):
    gpu.atomic.cas(x, 0, None, 1)  # error: ARGUMENT_TYPE a number is needed here


# kernel(int32[:])
def captured(x):
    gpu.atomic.add(TABLE, 0, x[0])  # error: READ_ONLY pass the array to the kernel, then it may


# kernel(int32[:])
def constant(x):
    table = gpu.const.array_like(TABLE)
    gpu.atomic.compare_and_swap(table, 0, 1)  # error: READ_ONLY changes an element


# kernel(int32[:])
def spaces_meet(x):
    y = x if x[0] else gpu.shared.array(4, gpu.int32)
    gpu.atomic.add(y, 0, 1)  # error: CANNOT_MEET on one path


# kernel(int32[:])
def misspelt(x):
    gpu.atomic.nan_max(x, 0, 1)  # error: UNKNOWN_ATTRIBUTE did you mean gpu.atomic.nanmax?


# kernel(int32[:])
def not_called(x):
    x[0] = gpu.atomic.add  # error: CANNOT_STORE gpu.atomic.add
