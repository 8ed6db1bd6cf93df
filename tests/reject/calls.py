"""Calls that do not fit what is called."""

import math

import gpu


def helper(a, b=1.0):
    return a + b


def endless(n):
    return endless(n - 1)


# kernel(float32[:])
def too_many_arguments(x):
    x[0] = helper(1.0, 2.0, 3.0)  # error: ARGUMENT_COUNT 3 given


# kernel(float32[:])
def missing_argument(x):
    x[0] = helper(b=2.0)  # error: ARGUMENT_MISSING argument 'a'


# kernel(float32[:])
def unknown_keyword(x):
    x[0] = helper(1.0, c=2.0)  # error: ARGUMENT_NAME no argument 'c'


# kernel(float32[:])
def argument_twice(x):
    x[0] = helper(1.0, a=2.0)  # error: ARGUMENT_TWICE argument 'a'


# kernel(float32[:])
def called_number(x):
    x[0] = x[0]()  # error: NOT_CALLABLE cannot be called


# kernel(float32[:])
def math_of_an_array(x):
    x[0] = math.sqrt(x)  # error: ARGUMENT_TYPE math.sqrt


# kernel(float32[:])
def math_arguments(x):
    x[0] = math.sqrt(x[0], 2.0)  # error: ARGUMENT_COUNT 2 given


# kernel(int, float32[:])
def dimensions_at_run_time(n, x):
    x[gpu.grid(n)] = 1.0  # error: NEEDS_CONSTANT must be a constant


# kernel(float32[:])
def no_such_range(x):
    for i in range(0.5, 3):  # error: ARGUMENT_TYPE range
        x[i] = 1.0


# kernel(float32[:])
def range_of_four(x):
    for i in range(1, 2, 3, 4):  # error: ARGUMENT_COUNT 4 given
        x[i] = 1.0


# kernel(float32[:])
def wrong_dimensions(x):
    x[gpu.grid(4)] = 1.0  # error: ARGUMENT_TYPE number of dimensions: 1, 2 or 3


# kernel(float32[:])
def called_special_register(x):
    x[gpu.threadIdx.x()] = 1.0  # error: NOT_CALLABLE leave the () away


# kernel(float32[:])
def length_of_a_number(x):
    x[0] = len(x[0])  # error: ARGUMENT_TYPE len


# kernel(int32[:])
def atomic_float_into_int(x):
    gpu.atomic.add(x, 0, 1.5)  # error: ARGUMENT_TYPE the array holds int32


# kernel(float32[:])
def atomic_index(x):
    gpu.atomic.add(x, (0, 1), 1.0)  # error: RANK_MISMATCH indexed with 2


# kernel(float32[:])
def unknown_keyword_of_math(x):
    x[0] = math.isclose(x[0], 1.0, tolerance=3)  # error: ARGUMENT_NAME no argument 'tolerance'


# kernel(float32[:])
def gcd_of_floats(x):
    x[0] = math.gcd(x[0], 4)  # error: ARGUMENT_TYPE math.gcd


# kernel(float32[:])
def recursion_without_an_end(x):
    x[0] = endless(3)  # error: NEVER_RETURNS 'endless'
