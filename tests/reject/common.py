"""The mistakes that people make most, each with everything that they are told."""

# The comment of a line stays on it.
# fmt: off
import math
import random
import sys
import time

import gpu
import numpy as np

numbers = [1, 2, 3]
lookup = {"a": 1}
table = np.arange(4)
counter = 0


generator = random.Random(1)


def scaled(v, by=1.0):
    return v * by


def no_result(v):
    v + 1


def endless(n):
    return endless(n - 1)


@gpu.jit
def other(x):
    x[0] = 1.0


# kernel(float32[:])
# hint: use a tuple instead, or an array that is passed to the kernel
def a_list(x):
    x[0] = [1.0, x[0]][0]  # error: NYI_CONSTRUCT a list cannot be used in a kernel


# kernel(float32[:])
# hint: use tuples, or arrays that are passed to the kernel
def a_dict(x):
    x[0] = {1: x[0]}[1]  # error: NYI_CONSTRUCT a dict cannot be used in a kernel


# kernel(float32[:])
# hint: use a tuple instead
def a_set(x):
    x[0] = len({1, 2})  # error: NYI_CONSTRUCT a set cannot be used in a kernel


# kernel(float32[:])
# hint: write a for loop that stores or sums up each value
def a_comprehension(x):
    x[0] = [v * 2 for v in x][0]  # error: NYI_CONSTRUCT a list comprehension cannot be used in a kernel


# kernel(float32[:])
# hint: write a for loop that sums up or compares each value
def a_generator_expression(x):
    x[0] = max(v for v in x)  # error: NYI_CONSTRUCT a generator expression cannot be used in a kernel


# kernel(float32[:])
# hint: write the values to an array instead
def a_generator(x):  # error: NYI_CONSTRUCT yield (a generator) cannot be used in a kernel
    yield x[0]


# kernel(int, float32[:])
# hint: arrays, tuples and ranges have a length
def text_of_a_number(n, x):
    x[0] = len(str(n))  # error: ARGUMENT_TYPE argument 1 of len cannot be str


# kernel(float32[:])
# hint: a kernel computes with numbers: make texts on the host
def a_string_method(x):
    name = "total".upper()  # error: NO_ATTRIBUTE str has no attribute 'upper'
    x[0] = len(name)


# kernel(float32[:])
# hint: a kernel computes with numbers: make texts on the host
def a_stored_text(x):
    x[0] = "text"  # error: CANNOT_STORE str cannot be stored in an array of float32


# kernel(float32[:])
# hint: a kernel computes with numbers: make texts on the host
def joined_texts(x):
    x[0] = x[0] + "a"  # error: BAD_OPERANDS '+' is not defined for float32 and str


# kernel(float32[:])
# hint: write a loop over the elements
def an_unsupported_numpy_function(x):
    x[0] = np.dot(x, x)  # error: NYI_CONSTRUCT 'numpy.dot' cannot be used in a kernel


# kernel(float32[:])
# hint: make arrays on the host and pass them to the kernel; small tables are tuples
def a_new_numpy_array(x):
    t = np.zeros(4)  # error: NYI_CONSTRUCT 'numpy.zeros' cannot be used in a kernel
    x[0] = t[0]


# kernel(float32[:])
# hint: make random numbers on the host and pass an array
def numpys_random_numbers(x):
    x[0] = np.random.rand()  # error: NYI_CONSTRUCT 'numpy.random' cannot be used in a kernel


# kernel(float32[:])
# hint: make random numbers on the host and pass an array
def pythons_random_numbers(x):
    x[0] = random.random()  # error: HOST_OBJECT 'random.random' of type 'builtin_function_or_method' lives on the host and cannot be used in a kernel


# kernel(float32[:])
# hint: measure on the host, with gpu.synchronize() before each reading of the clock
def the_clock(x):
    x[0] = time.time()  # error: HOST_OBJECT 'time.time' of type 'builtin_function_or_method' lives on the host and cannot be used in a kernel


# kernel(float32[:, :])
# hint: give at most 2 indices, one per axis
def too_many_indices(a):
    a[0, 1, 2] = 1.0  # error: RANK_MISMATCH a 2-dimensional array is indexed with 3 indices


# kernel(float32[:, :], float32[:])
# hint: store an element: give one index per axis
def too_few_indices(a, x):
    x[0] = a[0]  # error: CANNOT_STORE float32[:] cannot be stored in an array of float32


# kernel(float32[:])
# hint: it has one axis: write a[i]
def two_indices_of_one_axis(x):
    x[0, 0] = 1.0  # error: RANK_MISMATCH a 1-dimensional array is indexed with 2 indices


# kernel(int, float32[:])
# hint: write int(...) around it, or // for /
def a_float_as_index(n, x):
    x[n / 2] = 1.0  # error: INDEX_TYPE an index must be an integer, not float


# kernel(float32[:])
# hint: write gpu.threadIdx.x, gpu.threadIdx.y or gpu.threadIdx.z
def a_namespace_as_index(x):
    x[gpu.threadIdx] = 1.0  # error: INDEX_TYPE an index must be an integer, not module gpu.threadIdx


# kernel(float32[:])
# hint: store the result in an array argument
def a_returned_value(x):
    return x[0] * 2  # error: KERNEL_RETURNS a kernel cannot return float32


# kernel(float32[:])
# hint: build a new tuple, as in t = (v, t[1])
def a_changed_tuple(x):
    pair = (1.0, 2.0)
    pair[0] = x[0]  # error: TUPLE_ASSIGN a tuple cannot be changed


# kernel(float32[:])
# hint: define it before the first launch, or pass it as an argument
def an_undefined_name(x):
    x[0] = weight  # error: UNKNOWN_NAME name 'weight' is not defined


# kernel(float32[:])
# hint: did you mean scaled?
def a_misspelt_function(x):
    x[0] = scalled(x[0])  # error: UNKNOWN_NAME name 'scalled' is not defined


# kernel(int, float32[:])
# hint: did you mean total?
def a_misspelt_variable(n, x):
    total = n * 2
    x[0] = totl  # error: UNKNOWN_NAME name 'totl' is not defined


# kernel(float32[:])
# hint: did you mean gpu.grid?
def a_misspelt_intrinsic(x):
    x[gpu.gird(1)] = 0.0  # error: UNKNOWN_ATTRIBUTE 'gpu' has no attribute 'gird'


# kernel(float32[:])
# hint: did you mean shape?
def a_misspelt_attribute(x):
    x[0] = x.shpe[0]  # error: NO_ATTRIBUTE float32[:] has no attribute 'shpe'


# kernel(float32[:])
# hint: did you mean by?
def a_misspelt_keyword(x):
    x[0] = scaled(x[0], byy=2.0)  # error: ARGUMENT_NAME scaled has no argument 'byy'


# kernel(int, float32[:])
# hint: give it a value on every path that leads here
def a_variable_without_a_value(n, x):
    if n > 0:
        x[0] = m  # error: UNDEFINED_VARIABLE variable 'm' is used before it has a value
    m = 1.0
    x[1] = m


# kernel(float32[:])
# hint: it is a number: leave the () away, or rename the variable if it hides a function
def a_hidden_builtin(x):
    max = x[0]
    x[0] = max(x[1], 2.0)  # error: NOT_CALLABLE float32 cannot be called


# kernel(float32[:])
# hint: write a name for each value; *rest takes several
def too_many_to_unpack(x):
    a, b = 1.0, 2.0, 3.0  # error: UNPACK_COUNT 2 values are needed to unpack, 3 are there


# kernel(float32[:])
# hint: write a loop that compares key(x)
def an_unsupported_keyword(x):
    x[0] = max(x[0], x[1], key=abs)  # error: NYI_CONSTRUCT the argument 'key' cannot be used in a kernel


# kernel(float32[:])
# hint: its arguments are v by
def too_many_arguments(x):
    x[0] = scaled(x[0], 1.0, 2.0)  # error: ARGUMENT_COUNT scaled takes 1 to 2 arguments, 3 given


# kernel(int, float32[:])
# hint: use two variables, or convert both to one type
def an_array_or_a_number(n, x):
    y = x if n > 0 else 1.0
    x[0] = y  # error: CANNOT_MEET a value is float32[:] on one path and float on another


# kernel(int, float32[:])
# hint: a tuple keeps its length and its element types; a tuple that grows in a loop has no type
def tuples_of_two_lengths(n, x):
    if n > 0:
        t = (1, 2)
    else:
        t = (1, 2, 3)
    x[0] = t[0]  # error: CANNOT_MEET 't' is tuple(int, int) on one path and tuple(int, int, int) on another


# kernel(float32[:])
# hint: test the condition with 'if' instead
def a_try(x):
    try:  # error: NYI_CONSTRUCT a try statement cannot be used in a kernel
        x[0] = 1.0
    except ValueError:
        x[0] = 2.0


# kernel(float32[:])
# hint: write what it does before and after its block
def a_with(x):
    with gpu:  # error: NYI_CONSTRUCT a with statement cannot be used in a kernel
        x[0] = 1.0


# kernel(float32[:])
# hint: define the class outside the function
def a_class(x):
    class Inside:  # error: NYI_CONSTRUCT a class definition cannot be used in a kernel
        pass

    x[0] = Inside()


# kernel(float32[:])
# hint: import the module at the top of the file
def an_import(x):
    import math  # error: NYI_CONSTRUCT an import statement cannot be used in a kernel

    x[0] = math.pi


# kernel(float32[:])
# hint: write a loop that adds
def an_array_method(x):
    x[0] = x.sum()  # error: NO_ATTRIBUTE float32[:] has no attribute 'sum'


# kernel(float32[:])
# hint: a kernel makes no arrays: pass one and write b[...] = a
def an_array_copy(x):
    y = x.copy()  # error: NO_ATTRIBUTE float32[:] has no attribute 'copy'
    x[0] = y[0]


# kernel(float32[:])
# hint: an array keeps its size: make it large enough on the host and count what is used
def an_appended_element(x):
    x.append(1.0)  # error: NO_ATTRIBUTE float32[:] has no attribute 'append'


# kernel(int, float32[:])
# hint: write 1, 2 or 3
def dimensions_at_run_time(n, x):
    x[gpu.grid(n)] = 1.0  # error: NEEDS_CONSTANT the number of dimensions must be a constant


# kernel(float32[:])
# hint: write to an array that is passed to the kernel
def an_assigned_global(x):
    global counter
    counter = 1  # error: NYI_CONSTRUCT assignment to a global variable cannot be used in a kernel
    x[0] = counter


# kernel(float32[:])
# hint: leave it as it is: variables end with the function, elements stay
def a_deleted_element(x):
    del x[0]  # error: NYI_CONSTRUCT a del statement cannot be used in a kernel


# kernel(float32[:])
# hint: write a plain function
async def a_coroutine(x):  # error: NYI_CONSTRUCT async or await cannot be used in a kernel
    x[0] = 1.0


# kernel(float32[:])
# hint: read and write files on the host, pass arrays
def an_opened_file(x):
    f = open("numbers")  # error: NYI_CONSTRUCT the builtin 'open' cannot be used in a kernel
    x[0] = f.read()


# kernel(float32[:])
# hint: read on the host and pass the values as arguments
def a_prompt(x):
    x[0] = float(input())  # error: NYI_CONSTRUCT the builtin 'input' cannot be used in a kernel


# kernel(int, float32[:])
# hint: arrays, tuples and ranges have a length
def length_of_a_number(n, x):
    x[0] = len(n)  # error: ARGUMENT_TYPE argument 1 of len cannot be int


# kernel(float32[:], float32[:])
# hint: a kernel computes with elements: index the array, as in a[i]
def compared_arrays(x, y):
    if x == y:  # error: BAD_OPERANDS '==' is not defined for float32[:] and float32[:]
        x[0] = 1.0


# kernel(float32[:], float32[:])
# hint: a kernel computes with elements: index the array, as in a[i]
def added_arrays(x, y):
    z = x + y  # error: BAD_OPERANDS '+' is not defined for float32[:] and float32[:]


# kernel(float32[:], float32[:])
# hint: compare its size: x.size > 0
def arrays_with_and(x, y):
    if x and y:  # error: NO_TRUTH float32[:] has no truth value
        x[0] = 1.0


# kernel(float32[:])
# hint: compare its size: x.size > 0
def truth_of_an_array(x):
    if x:  # error: NO_TRUTH float32[:] has no truth value
        x[0] = 1.0


# kernel(float32[:])
# hint: an integer is needed: write int(...), or // for /
def a_float_range(x):
    for i in range(1.5):  # error: ARGUMENT_TYPE argument 1 of range cannot be float
        x[i] = 1.0


# kernel(int, float32[:])
# hint: write for i in range(...)
def a_loop_over_a_number(n, x):
    for i in n:  # error: NOT_ITERABLE 'for' cannot go over int
        x[i] = 1.0


# kernel(float32[:])
# hint: make it a tuple, or an array that is passed to the kernel
def a_global_list(x):
    x[0] = numbers[0]  # error: HOST_OBJECT 'numbers' of type 'list' lives on the host and cannot be used in a kernel


# kernel(float32[:])
# hint: use tuples, or arrays that are passed to the kernel
def a_global_dict(x):
    x[0] = lookup["a"]  # error: HOST_OBJECT 'lookup' of type 'dict' lives on the host and cannot be used in a kernel


# kernel(float32[:])
# hint: call it on the host and pass what it gives to the kernel
def a_method(x):
    x[0] = generator.random()  # error: NYI_CONSTRUCT the method 'random' of 'Random' cannot be used in a kernel


# kernel(float32[:])
# hint: store a number; a function without a return gives None
def a_function_without_a_result(x):
    x[0] = no_result(x[0])  # error: CANNOT_STORE None cannot be stored in an array of float32


# kernel(float32[:])
# hint: return a value on a path that does not call endless again
def recursion_without_an_end(x):
    x[0] = endless(3)  # error: NEVER_RETURNS the recursion of 'endless' never ends


# kernel(uint64[:], int64[:])
# hint: cast one operand, for example gpu.int64(...) or gpu.uint64(...)
def uint64_with_a_signed_cast(x, y):
    x[0] = x[0] + gpu.int64(y[0])  # error: MIXED_SIGNS uint64 and int64 have no common integer type


# kernel(float32[:])
# hint: write int(...) around the uint8 operand to compute in 64 bits
def a_constant_that_does_not_fit(x):
    x[0] = gpu.uint8(x[0]) + 300  # error: CONSTANT_TOO_LARGE the constant 300 does not fit uint8


# kernel(float32[:])
# hint: call it as a function: a kernel does not launch kernels
def a_launch_in_a_kernel(x):
    other[1, 1](x)  # error: NOT_INDEXABLE function other cannot be indexed


# kernel(float32[:])
# hint: bits are defined for integers: write int(...) around the float
def bits_of_a_float(x):
    x[0] = x[0] << 1  # error: BAD_OPERANDS '<<' is not defined for float32 and int


# kernel(float32[:, :])
# hint: multiply matrices element by element, in loops
def a_matrix_product(a):
    a[0, 0] = a[0, 0] @ a[0, 1]  # error: BAD_OPERANDS '@' is not defined for float32 and float32


# kernel(float32[:])
# hint: it is a number: leave the () away, or rename the variable if it hides a function
def a_number_called(x):
    x[gpu.threadIdx.x()] = 1.0  # error: NOT_CALLABLE int cannot be called


# kernel(float32[:])
# hint: print its elements: x[i], or copy it to the host and print it there
def a_printed_array(x):
    print("x", x)  # error: ARGUMENT_TYPE argument 2 of print cannot be float32[:]


# kernel(float32[:])
# hint: kernels print to sys.stdout: leave it out, and redirect that on the host
def print_to_a_file(x):
    print(x[0], file=sys.stderr)  # error: NYI_CONSTRUCT print with file= cannot be used in a kernel


# kernel(float32[:])
# hint: give a text or None
def print_with_a_number_between(x):
    print(x[0], x[1], sep=1)  # error: ARGUMENT_TYPE argument 'sep' of print cannot be int


# kernel(float32[:])
# hint: give a text or None
def print_with_a_number_at_the_end(x):
    print(x[0], end=x[1])  # error: ARGUMENT_TYPE argument 'end' of print cannot be float32


# kernel(float32[:])
def print_that_flushes_at_times(x):
    print(x[0], flush=x[1] > 0)  # error: NEEDS_CONSTANT 'flush' of print must be a constant


# kernel(float32[:])
# hint: write an f-string: f'{x:.3f}'
def print_by_format(x):
    print("{:.3f}".format(x[0]))  # error: NO_ATTRIBUTE str has no attribute 'format'


# kernel(float32[:])
def print_with_an_unknown_argument(x):
    print(x[0], separator="")  # error: ARGUMENT_NAME print has no argument 'separator'


# kernel(float32[:])
# hint: print what it gives, in a loop
def print_a_range(x):
    print(range(3))  # error: ARGUMENT_TYPE argument 1 of print cannot be range


# kernel(float32[:])
# hint: print its name: x.dtype.name
def print_a_dtype(x):
    print(x.dtype)  # error: ARGUMENT_TYPE argument 1 of print cannot be type float32


# kernel(float32[:])
# hint: use a tuple instead, or an array that is passed to the kernel
def print_a_list(x):
    print([x[0], x[1]])  # error: NYI_CONSTRUCT a list cannot be used in a kernel


# kernel(float32[:, :, :, :])
# hint: print them in two lines, or write them to an array
def print_too_much(x):
    print(x.shape * 8, x.strides * 8, 1)  # error: TOO_MANY_VALUES a line with 65 numbers; at most 64 are possible


# kernel(float32[:])
# hint: a kernel cannot choose between functions, dtypes or strings at run time: put the choice around the calls
def print_a_chosen_text(x):
    print("high" if x[0] > 1 else "low")  # error: CANNOT_MEET a value is str on one path and str on another
    x[0] = 0  # or some versions of Python print on each path
