"""What to write instead: the texts here are those of hints."""

import enum
import math
import random
from collections import namedtuple

import gpu
import numpy as np
from numpy import mean

numbers = [1, 2, 3]
table = np.array(["a", "b"])


class Colour(enum.Enum):
    RED = 1
    HALF = 0.5


class Config:
    @property
    def computed(self):
        return 1


config = Config()
config.settings = 1
Pair = namedtuple("Pair", ["first", "second"])


# kernel(float32[:])
def misspelt(x):
    x[gpu.gird(1)] = 0.0  # error: UNKNOWN_ATTRIBUTE did you mean gpu.grid?


# kernel(float32[:])
def unlike_any_of_math(x):
    x[0] = math.foo(x[0])  # error: UNKNOWN_ATTRIBUTE in kernels math has acos acosh asin


# kernel(float32[:])
def of_math_but_not_here(x):
    x[0] = math.perm(5)  # error: NYI_CONSTRUCT write a loop that multiplies


# kernel(float32[:])
def no_result(x):
    x[0] = gpu.void(1)  # error: NYI_CONSTRUCT it stands for "no result" in signatures


# kernel(float32[:])
def not_of_the_object(x):
    x[0] = config.first  # error: UNKNOWN_ATTRIBUTE set it before the kernel is launched


# kernel(float32[:])
def nearly_of_the_object(x):
    x[0] = config.setings  # error: UNKNOWN_ATTRIBUTE did you mean settings?


# kernel(float32[:])
def attribute_of_a_tuple(x):
    t = (1, 2)
    x[0] = t.first  # error: NO_ATTRIBUTE the elements of a tuple are t[0], t[1] and so on


# kernel(float32[:])
def append_to_a_tuple(x):
    t = (1, 2)
    t.append(3)  # error: NO_ATTRIBUTE a tuple cannot be changed: make a new one


# kernel(float32[:])
def index_of_a_tuple(x):
    t = (1, 2)
    x[0] = t.index(2)  # error: NO_ATTRIBUTE write a loop over its elements


# kernel(float32[:])
def not_a_field(x):
    x[0] = Pair(1, 2).third  # error: NO_ATTRIBUTE its fields are first second


# kernel(float32[:])
def call_of_a_tuple(x):
    t = (1, 2)
    x[0] = t(0)  # error: NOT_CALLABLE its elements are read with []


# kernel(float32[:])
def call_of_an_array(x):
    x[0] = x(0)  # error: NOT_CALLABLE its elements are read with []


# kernel(float32[:])
def call_of_a_module(x):
    x[0] = math(1.0)  # error: NOT_CALLABLE call one of its functions: math.name(...)


# kernel(float32[:])
def call_of_a_text(x):
    t = "text"
    x[0] = t()  # error: NOT_CALLABLE a kernel calls functions, number types


# kernel(float32[:])
def absolute_tuple(x):
    t = (1, 2)
    x[0] = abs(t)  # error: ARGUMENT_TYPE give one of its elements: t[0]


# kernel(float32[:])
def negative_tuple(x):
    t = (1, 2)
    t = -t  # error: BAD_OPERAND give one of its elements: t[0]


# kernel(float32[:])
def cast_of_a_tuple(x):
    t = (1, 2)
    x[0] = int(t)  # error: ARGUMENT_TYPE cast one of its elements: int(t[0])


# kernel(float32[:])
def beyond_a_tuple(x):
    t = (1, 2)
    x[0] = t[2]  # error: TUPLE_INDEX its indices are 0 to 1, or -2 to -1 from the end


# kernel(float32[:])
def before_a_tuple(x):
    t = (1, 2)
    x[0] = t[-3]  # error: TUPLE_INDEX its indices are 0 to 1


# kernel(float32[:])
def of_an_empty_tuple(x):
    t = ()
    x[0] = t[0]  # error: TUPLE_INDEX it is empty


# kernel(float32[:])
def attribute_of_a_range(x):
    r = range(3)
    x[0] = r.size  # error: NO_ATTRIBUTE a range has start, stop and step


# kernel(float32[:])
def text_without_utf8(x):
    raise ValueError("\udc80")  # error: NOT_CARRIED a text of lone surrogates has no UTF-8


# kernel(float32[:])
def misspelt_type(x):
    x[0] = gpu.flaot32(2)  # error: UNKNOWN_ATTRIBUTE did you mean gpu.float32?


# kernel(float32[:])
def other_case(x):
    x[gpu.threadidx.x] = 0.0  # error: UNKNOWN_ATTRIBUTE did you mean gpu.threadIdx?


# kernel(float32[:])
def misspelt_math(x):
    x[0] = math.sine(x[0])  # error: UNKNOWN_ATTRIBUTE did you mean math.sin?


# kernel(float32[:])
def not_there(x):
    gpu.atomic.wobble(x, 0, 1.0)  # error: UNKNOWN_ATTRIBUTE in kernels gpu.atomic has add


# kernel(float32[:])
def of_the_host(x):
    x[0] = gpu.synchronize()  # error: NYI_CONSTRUCT it is for the host


# kernel(float32[:])
def namespace_as_index(x):
    i = gpu.threadIdx
    x[i] = 0.0  # error: INDEX_TYPE write gpu.threadIdx.x, gpu.threadIdx.y or gpu.threadIdx.z


# kernel(float32[:])
def index_of_an_element(x):
    x[0][1] = 0.0  # error: NOT_INDEXABLE elements of several axes are written a[i, j]


# kernel(float32[:])
def unpacked_number(x):
    i, j = gpu.grid(1)  # error: NOT_UNPACKABLE only a tuple has parts
    x[i] = j


# kernel(float32[:])
def identity_of_members(x):
    m = Colour.RED if x[0] > 0 else Colour.HALF
    if m is Colour.HALF:  # error: BAD_OPERANDS values have no identity
        x[0] = 0.0


# kernel(float32[:])
def numpy_function(x):
    x[0] = np.median(x)  # error: NYI_CONSTRUCT write a loop over the elements


# kernel(float32[:])
def numpy_function_imported(x):
    x[0] = mean(x)  # error: HOST_OBJECT write a loop over the elements


# kernel(float32[:])
def numpy_array(x):
    t = np.zeros(4)  # error: NYI_CONSTRUCT make arrays on the host
    x[0] = t[0]


# kernel(float32[:])
def function_in_c(x):
    x[0] = random.random()  # error: HOST_OBJECT make random numbers on the host


# kernel(float32[:])
def class_called(x):
    x[0] = Config().a  # error: HOST_OBJECT a kernel makes no objects


# kernel(float32[:])
def global_list(x):
    x[0] = numbers[0]  # error: HOST_OBJECT make it a tuple


# kernel(float32[:])
def global_array(x):
    x[0] = table[0]  # error: HOST_OBJECT pass the array to the kernel as an argument


# kernel(float32[:])
def computed_attribute(x):
    x[0] = config.computed  # error: DYNAMIC_ATTRIBUTE read it on the host


# kernel(float32[:])
def array_of_the_host(x):
    tile = gpu.zeros_like(x)  # error: NYI_CONSTRUCT arrays that a kernel makes are gpu.shared.array
    x[0] = tile[0]


# kernel(float32[:])
def atomic_of_other_languages(x):
    gpu.atomicAdd(x, 0, 1)  # error: UNKNOWN_ATTRIBUTE write gpu.atomic.add(array, index, value)


# kernel(float32[:])
def group_of_a_block(x):
    gpu.cg.this_thread_block().sync()  # error: UNKNOWN_ATTRIBUTE wait in gpu.syncthreads()


# kernel(float32[:])
def grid_that_is_not_called(x):
    grid = gpu.cg.this_grid
    grid.sync()  # error: NO_ATTRIBUTE it is a function: write () behind it


# kernel(float32[:])
def shared_zeros(x):
    tile = gpu.shared.zeros(32, np.float32)  # error: UNKNOWN_ATTRIBUTE no values at first
    x[0] = tile[0]


# kernel(float32[:])
def unlike_any_of_gpu(x):
    gpu.frobnicate(x)  # error: UNKNOWN_ATTRIBUTE docs/reference.md list what kernels have of gpu


# kernel(float32[:])
def indices_by_number(x):
    x[gpu.threadIdx[0]] = 1  # error: NOT_INDEXABLE write gpu.threadIdx.x, gpu.threadIdx.y or


# kernel(float32[:])
def module_as_an_index(x):
    x[math] = 1  # error: INDEX_TYPE write math.name
