"""Iterators, tuples and builtins used as they cannot be in a kernel."""

import math

import gpu
import numpy as np


# kernel(float32[:])
def iterator_twice(x):
    pairs = enumerate(x)  # noqa
    for i, v in pairs:  # error: NYI_CONSTRUCT an iterator that is kept or used twice
        x[i] = v
    for i, v in pairs:
        x[i] = v


# kernel(float32[:])
def iterator_made_outside(x):
    pairs = zip(x, x)
    for k in range(2):
        for a, b in pairs:  # error: NYI_CONSTRUCT make it where it is used
            x[k] = a + b


# kernel(float32[:], int)
def loop_over_a_number(x, n):
    for i in n:  # error: NOT_ITERABLE write for i in range(...)
        x[i] = 1


# kernel(float32[:])
def loop_over_text(x):
    for c in "abc":  # error: NOT_ITERABLE a kernel knows no characters
        x[0] = 1


# kernel(float32[:])
def reversed_enumerate(x):
    for i, v in reversed(enumerate(x)):  # error: ARGUMENT_TYPE reverse what the iterator goes over
        x[i] = v


# kernel(float32[:], float)
def enumerate_from_a_float(x, start):
    for i, v in enumerate(x, start):  # error: ARGUMENT_TYPE an integer is needed
        x[0] = v


# kernel(float32[:])
def zip_strict(x):
    for a, b in zip(x, x, strict=True):  # error: NYI_CONSTRUCT the argument 'strict'
        x[0] = a + b


# kernel(float32[:], int)
def unroll_a_variable_range(x, n):
    for k in gpu.unroll(range(n)):  # error: NEEDS_CONSTANT a range that is unrolled
        x[k] = 1


# kernel(float32[:])
def unroll_too_much(x):
    for k in gpu.unroll(range(100000)):  # error: TOO_MANY_ROUNDS a loop of 100000 rounds
        x[k] = 1


# kernel(float32[:])
def too_many_rounds(x):
    for v in (1, 2.5) * 1000:  # error: TOO_MANY_ROUNDS a loop of 2000 rounds
        x[0] = v


# kernel(float32[:])
def unroll_an_array(x):
    for v in gpu.unroll(x):  # error: ARGUMENT_TYPE tuples and constant ranges can be unrolled
        x[0] = v


# kernel(float32[:])
def range_of_step_0(x):
    for k in range(1, 5, 0):  # error: ARGUMENT_TYPE a range with a step of 0 never ends
        x[k] = 1


# kernel(float32[:])
def membership_of_an_array(x):
    if 1.0 in x:  # error: BAD_OPERANDS compare with each element in a loop
        x[0] = 1


# kernel(float32[:], int)
def membership_of_a_number(x, n):
    if 1 in n:  # error: BAD_OPERANDS 'in' looks into tuples, ranges and strings
        x[0] = 1


# kernel(float32[:])
def order_of_objects(x):
    if (x[0], None) < (1.0, 2):  # error: BAD_OPERANDS '<' is not defined for
        x[0] = 1


# kernel(float32[:], int)
def repeated_tuple(x, n):
    t = (x[0], 2.0) * n  # error: NEEDS_CONSTANT the factor of a tuple
    x[1] = t[0]


# kernel(float32[:])
def tuple_plus_number(x):
    t = (x[0], 2.0) + 1  # error: BAD_OPERANDS '+' is not defined for tuple(float32, float) and int
    x[1] = t[0]


# kernel(float32[:])
def slice_by_floats(x):
    t = (1, 2, 3)[:2.0]  # error: SLICE_BOUND must be an integer or None, not float
    x[1] = t[0]


# kernel(float32[:])
def slice_step_0(x):
    t = (1, 2, 3)[::0]  # error: SLICE_STEP the step of a slice cannot be 0
    x[1] = t[0]


# kernel(float32[:], int)
def slice_by_a_variable(x, n):
    t = (1, 2, 3)[n:]  # error: NEEDS_CONSTANT a bound of a tuple's slice
    x[1] = t[0]


# kernel(float32[:])
def star_takes_too_few(x):
    a, b, c, *d = (1, 2)  # error: UNPACK_COUNT 3 values are needed to unpack, 2 are there
    x[0] = a + b + c


# kernel(float32[:])
def unpacked_array_with_a_star(x):
    a, *b = x  # error: NOT_UNPACKABLE take the elements by index
    x[0] = a


# kernel(float32[:], int)
def unpacked_range(x, n):
    a, b = range(n)  # error: NOT_UNPACKABLE its length must be a constant
    x[0] = a


# kernel(float32[:])
def tuple_of_an_array(x):
    t = tuple(x)  # error: ARGUMENT_TYPE a tuple's length is part of its type
    x[0] = t[0]


# kernel(float32[:], int)
def tuple_of_a_range(x, n):
    t = (1, *range(n))  # error: ARGUMENT_TYPE a tuple's length is part of its type
    x[0] = t[0]


# kernel(float32[:])
def list_on_the_way(x):
    t = [x[0], *(1, 2)]  # error: NYI_CONSTRUCT a list
    x[0] = t[0]


# kernel(float32[:])
def list_that_grows(x):
    t = []  # error: NYI_CONSTRUCT a list
    t.append(x[0])


# kernel(float32[:])
def changed_by_augmentation(x):
    t = (1, 2)
    t[0] += 1  # error: TUPLE_ASSIGN a tuple cannot be changed
    x[0] = t[0]


# kernel(float32[:], float32)
def loop_over_no_axis(x, y):
    for v in y:  # error: NOT_ITERABLE 'for' cannot go over float32
        x[0] = v


# kernel(float32[:])
def used_after_del(x):
    v = x[0]
    del v
    x[1] = v  # error: UNDEFINED_VARIABLE variable 'v' is used before it has a value


# kernel(float32[:])
def deleted_twice(x):
    v = x[0]
    del v
    del v  # error: UNDEFINED_VARIABLE variable 'v' is used before it has a value
    x[1] = 0


# kernel(float32[:])
def sum_of_pairs(x):
    x[0] = sum(((1, 2), (3, 4)))  # error: ARGUMENT_TYPE it takes numbers, or a tuple


# kernel(float32[:, :])
def sum_of_a_matrix(x):
    x[0, 0] = sum(x)  # error: ARGUMENT_TYPE an array of one dimension


# kernel(float32[:])
def max_by_a_key(x):
    x[0] = max(x, key=abs)  # error: NYI_CONSTRUCT the argument 'key'


# kernel(float32[:])
def max_of_two_or_default(x):
    x[0] = max(x[0], x[1], default=0)  # error: ARGUMENT_NAME 'default' is for one tuple


# kernel(float32[:])
def min_of_a_number(x):
    x[0] = min(x[0])  # error: ARGUMENT_TYPE it takes numbers, or a tuple, a range or an array


# kernel(float32[:])
def power_modulo_a_float(x):
    x[0] = pow(2, 3, 4.5)  # error: ARGUMENT_TYPE an integer is needed


# kernel(float32[:])
def divmod_of_an_array(x):
    q, r = divmod(x, 2)  # error: ARGUMENT_TYPE give an element: x[i]
    x[0] = q


# kernel(float32[:])
def instance_of_an_array_class(x):
    if isinstance(x, np.ndarray):  # error: NYI_CONSTRUCT 'numpy.ndarray' cannot be used
        x[0] = 1


# kernel(float32[:])
def instance_of_no_class(x):
    if isinstance(x, 3):  # error: ARGUMENT_TYPE an array has a dtype and an ndim
        x[0] = 1


# kernel(float32[:])
def numpy_family_called(x):
    x[0] = np.integer(3)  # error: NOT_CALLABLE it is a class of types


# kernel(float32[:], float32[:])
def identity_of_arrays(x, y):
    if x is y:  # error: BAD_OPERANDS values have no identity in a kernel
        x[0] = 1


# kernel(float32[:])
def hashed(x):
    x[0] = hash(3)  # error: NYI_CONSTRUCT the builtin 'hash'


# kernel(float32[:])
def functions_by_index(x):
    fs = (math.sin, math.cos)
    for k in range(2):
        x[k] = fs[k](x[k])  # error: NEEDS_CONSTANT the index of a tuple of different types


# kernel(float32[:])
def tuple_of_a_long_range(x):
    t = tuple(range(2000))  # error: NYI_CONSTRUCT a tuple of a range of more than 1024 numbers
    x[0] = t[3]


# kernel(uint64[:], int64[:])
def signs_of_three(x, y):
    x[0] = min(x[0], 1, gpu.int64(y[0]))  # error: MIXED_SIGNS uint64 and int64 have no common
