"""Operands, indices and joins without a type."""

import gpu


# kernel(float32[:])
def operands(x):
    x[0] = x + "text"  # error: BAD_OPERANDS '+' is not defined for


# kernel(float32[:])
def shift_of_a_float(x):
    x[0] = x[0] << 1  # error: BAD_OPERANDS '<<' is not defined for float32


# kernel(float32[:])
def inverted_float(x):
    x[0] = ~x[0]  # error: BAD_OPERAND '~' is not defined for float32


# kernel(uint64[:], int64[:])
def signs(x, y):
    x[0] = x[0] + gpu.int64(y[0])  # error: MIXED_SIGNS no common integer type


# kernel(int, float32[:])
def join(n, x):
    if n > 0:
        value = 1.0
    else:
        value = (1, 2)
    x[0] = value  # error: CANNOT_MEET 'value'


# kernel(int64[:])
def tuple_index_of_64_bits(x):
    x[0] = (1, 2, 3)[18446744073709551615]  # error: TUPLE_INDEX is outside a tuple of 3 elements


# kernel(float32[:, :])
def rank(x):
    x[0, 0, 0] = 1.0  # error: RANK_MISMATCH a 2-dimensional array is indexed with 3


# kernel(float32[:])
def rank_of_one(x):
    x[0, 0] = 1.0  # error: RANK_MISMATCH a 1-dimensional array is indexed with 2


# kernel(float32[:])
def float_index(x):
    x[0.5] = 1.0  # error: INDEX_TYPE an index must be an integer


# kernel(int, float32[:])
def number_indexed(n, x):
    x[0] = n[0]  # error: NOT_INDEXABLE cannot be indexed


# kernel(float32[:])
def tuple_index(x):
    pair = (1.0, 2.0)
    x[0] = pair[2]  # error: TUPLE_INDEX index 2 is outside a tuple of 2


# kernel(float32[:])
def tuple_change(x):
    pair = (1.0, 2.0)
    pair[0] = x[0]  # error: TUPLE_ASSIGN a tuple cannot be changed


# kernel(float32[:])
def stored_tuple(x):
    x[0] = (1.0, 2.0)  # error: CANNOT_STORE cannot be stored in an array of float32


# kernel(float32[:])
def unpacked(x):
    a, b = (1.0, 2.0, 3.0)  # error: UNPACK_COUNT 2 values are needed to unpack, 3 are there
    x[0] = a + b


# kernel(int, float32[:])
def loop_over_a_number(n, x):
    for i in n:  # error: NOT_ITERABLE 'for' cannot go over
        x[i] = 1.0


# kernel(float32[:])
def truth_of_an_array(x):
    if x:  # error: NO_TRUTH has no truth value
        x[0] = 1.0


# kernel(float32[:])
def constant_too_large(x):
    x[0] = gpu.uint8(x[0]) + 300  # error: CONSTANT_TOO_LARGE the constant 300 does not fit uint8


# kernel(int, float32[:])
def growing_tuple(n, x):
    t = (1.0,)
    for _ in range(n):
        t = (t, 1.0)  # error: CANNOT_MEET grows in a loop
    x[0] = t[0]


# kernel(float32[:])
def kernel_with_a_result(x):
    return x[0]  # error: KERNEL_RETURNS a kernel cannot return float32


# kernel(uint64[:], int64[:])
def signs_of_min(x, y):
    x[0] = min(x[0], gpu.int32(y[0]))  # error: MIXED_SIGNS no common integer type


# kernel(int, uint64[:])
def signs_that_meet(n, x):
    if n > 0:
        v = x[0]
    else:
        v = gpu.int8(n)
    x[1] = v  # error: CANNOT_MEET uint64 on one path and int8 on another


# kernel(float32[:])
def matrix_product(x):
    x[0] = x[0] @ x[1]  # error: BAD_OPERANDS element by element


# kernel(float32[:])
def and_of_floats(x):
    x[0] = x[0] & 1  # error: BAD_OPERANDS '&' is not defined for float32 and int


# kernel(float32[:])
def array_compared(x):
    x[0] = x > 0  # error: BAD_OPERANDS index the array


# kernel(float32[:])
def array_added(x):
    x[0] = x + 1  # error: BAD_OPERANDS index the array


# kernel(float32[:])
def array_stored(x):
    x[0] = x  # error: CANNOT_STORE cannot be stored


# kernel(int, float32[:])
def identity(n, x):
    x[0] = n is x.size  # error: BAD_OPERANDS write == or !=


# kernel(float32[:])
def huge_constant(x):
    x[0] = 123456789012345678901234567890  # error: CONSTANT_TOO_LARGE 64 bits


# kernel(int, float32[:])
def array_or_number(n, x):
    y = x if n > 0 else 1.0
    x[0] = y  # error: CANNOT_MEET float32[:] on one path


# kernel(int, float32[:], float64[:])
def arrays_that_differ(n, x, y):
    if n > 0:
        z = x
    else:
        z = y
    z[0] = 1.0  # error: CANNOT_MEET 'z'


# kernel(int, float32[:])
def tuples_that_differ(n, x):
    if n > 0:
        t = (1, 2)
    else:
        t = (1, 2, 3)
    x[0] = t[0]  # error: CANNOT_MEET 't'


# kernel(float32[:])
def unpacked_array(x):
    a, b = x  # error: NOT_UNPACKABLE by index
    x[0] = a + b


# kernel(float32[:])
def text_index(x):
    x["a"] = 1.0  # error: INDEX_TYPE an index must be an integer


# kernel(float32[:, :])
def float_among_indices(x):
    x[0, 1.5] = 1.0  # error: INDEX_TYPE an index must be an integer


# kernel(int, float32[:])
def tuple_index_at_run_time(n, x):
    t = ((1, 2), (3, 4, 5))
    x[0] = t[n][0]  # error: NEEDS_CONSTANT index


# kernel(int, float32[:])
def kernel_with_a_tuple(n, x):
    if n > 0:
        return
    return 1, 2  # error: KERNEL_RETURNS a kernel cannot return


# kernel(float32[:, :, :])
def rank_of_augmented(x):
    x[0, 0, 0, 0] += 1.0  # error: RANK_MISMATCH a 3-dimensional array is indexed with 4


# kernel(float32[:])
def least_of_different_tuples(x):
    x[0] = min((1, 2), (1,))[0]  # error: CANNOT_MEET the result of min is


# kernel(float32[:])
def least_of_a_tuple_and_a_number(x):
    x[0] = max((1, 2), 3)  # error: ARGUMENT_TYPE argument 1 of max cannot be


# kernel(float32[:], float64[:])
def arrays_that_change_places(x, y):
    while len(y) < 3:  # error: CANNOT_MEET float32[:] on one path and float64[:] on another
        x, y = y, x
    y[0] = 1


# kernel(float32[:], int64[:], bool[:])
def three_that_change_places(x, y, z):
    for _ in range(3):
        x, y, z = y, z, x
    z[0] = len(y)  # error: CANNOT_MEET 'y' is int64[:] on one path and bool[:] on another


# kernel(float32[:])
def numbers_that_change_places(x):
    a, b = gpu.uint64(1), gpu.int32(2)
    for _ in range(len(x)):
        a, b = b, a
    x[0] = a + 1  # error: CANNOT_MEET 'a' is uint64 on one path and int32 on another


# kernel(float32[:])
def a_number_and_an_array_change_places(x):
    def last(n):
        a, b = x, 1
        for _ in range(n):
            a, b = b, a
        return a  # error: CANNOT_MEET 'a' is float32[:] on one path and int on another

    x[0] = last(3)


# kernel(float32[:], int64[:], bool[:])
def conflict_within_a_branch(x, y, z):
    if x[0]:
        v = x if x[1] else y
        while x[2]:
            x[2] -= 1
    else:
        v = z
    x[0] = v[0]  # error: CANNOT_MEET float32[:] on one path and int64[:] on another
