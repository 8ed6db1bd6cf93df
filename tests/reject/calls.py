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
