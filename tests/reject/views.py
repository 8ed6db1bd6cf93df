"""Views, slices and assignment to them."""

import gpu


# kernel(float32[:, :])
def too_many_indices(x):
    x[0, :, 1] = 1.0  # error: RANK_MISMATCH a 2-dimensional array is indexed with 3


# kernel(float32[:, :])
def two_ellipses(x):
    x[..., 0, ...] = 1.0  # error: INDEX_RESTS write : for one axis


# kernel(float32[:], float32)
def float_bound(x, n):
    y = x[: n / 2]  # error: SLICE_BOUND write int(...) around it
    y[0] = 1.0


# kernel(float32[:])
def tuple_as_a_bound(x):
    y = x[(1, 2) :]  # error: SLICE_BOUND a slice is start:stop:step of integers
    y[0] = 1.0


# kernel(float32[:])
def step_zero(x):
    y = x[::0]  # error: SLICE_STEP a step is positive, or negative to go backwards
    y[0] = 1.0


# kernel(float32[:])
def step_zero_by_call(x):
    x[slice(1, 5, 0)] = 1.0  # error: SLICE_STEP cannot be 0


# kernel(float32[:], bool)
def mask(x, m):
    x[m] = 1.0  # error: INDEX_TYPE NumPy takes a bool as a mask


# kernel(float32[:])
def comparison_as_a_mask(x):
    x[x[0] > 0] = 1.0  # error: INDEX_TYPE test it with if


# kernel(float32[:], bool[:])
def mask_of_elements(x, m):
    x[m] = 1.0  # error: INDEX_TYPE a kernel has no masks


# kernel(float32[:], int32[:])
def array_of_indices(x, at):
    x[at] = 1.0  # error: INDEX_TYPE one element at a time


# kernel(float32[:, :])
def nested_index(x):
    x[(0, 1), 0] = 1.0  # error: INDEX_TYPE indices of several axes stand side by side


# kernel(float32[:])
def range_as_an_index(x):
    x[range(3)] = 1.0  # error: INDEX_TYPE write a slice


# kernel(float32[:])
def text_as_an_index(x):
    x["first"] = 1.0  # error: INDEX_TYPE an index is an integer, a slice, ... or None


# kernel(float32[:, :, :, :, :, :, :])
def too_many_new_axes(x):
    y = x[None, None]  # error: VIEW_RANK this view would have more than 8 axes
    y[...] = 1.0


# kernel(float32[:, :], float32[:, :])
def store_of_more_axes(x, y):
    x[0] = y  # error: STORE_RANK take a part with as many axes


# kernel(float32[:], float32[:])
def array_in_an_element(x, y):
    x[0] = y  # error: CANNOT_STORE store an element: give one index per axis


# kernel(float32[:])
def text_in_a_view(x):
    x[1:3] = "no"  # error: CANNOT_STORE make texts on the host


# kernel(float32[:], float32[:])
def sum_of_views(x, y):
    x[:] = x[:] + y  # error: BAD_OPERANDS index the array


# kernel(float32[:, :], float32[:, :])
def more_axes_in_place(x, y):
    row = x[0]
    row += y  # error: STORE_RANK cannot be stored in a view of 1 axes


# kernel(float32[:])
def bits_of_floats_in_place(x):
    x[1:3] |= 1  # error: BAD_OPERANDS '|' is not defined for float32 and int


# kernel(uint64[:])
def signs_in_place(x):
    x[1:3] += gpu.int64(1)  # error: MIXED_SIGNS cast one operand


# kernel(float32[:], int)
def views_that_cannot_meet(x, n):
    y = x[1:]
    if n:
        y = x[None]
    y[...] = 1.0  # error: CANNOT_MEET 'y' is float32[:] on one path


# kernel(float32[:])
def attribute_of_a_slice(x):
    s = slice(1, 3)
    x[s.length] = 1.0  # error: NO_ATTRIBUTE a slice in a kernel has start, stop and step


# kernel(float32[:], int)
def bound_that_is_None_or_not(x, n):
    s = slice(n, None)
    if n:
        s = slice(None, n)
    x[0] = s.start  # error: CANNOT_MEET 'start' is None on one path and int on another


# kernel(float32[:])
def sum_of_an_array(x):
    x[0] = x[1:].sum()  # error: NO_ATTRIBUTE write a loop that adds


# kernel(float32[:])
def copy_of_an_array(x):
    y = x.copy()  # error: NO_ATTRIBUTE write b[...] = a
    y[0] = 1.0


# kernel(float32[:, :])
def reshape_of_an_array(x):
    x.reshape(-1)[0] = 1.0  # error: NO_ATTRIBUTE reshape before the launch


# kernel(float32[:])
def fill_of_an_array(x):
    x.fill(0)  # error: NO_ATTRIBUTE write x[...] = value


# kernel(float32[:, :])
def atomic_on_a_row(x):
    gpu.atomic.add(x, 0, 1.0)  # error: RANK_MISMATCH give an integer for each axis


# kernel(float32[:])
def returned_view(x):
    return x[1:]  # error: KERNEL_RETURNS store the result in an array argument


# kernel(float32[:])
def truth_of_a_view(x):
    if x[1:]:  # error: NO_TRUTH compare its size
        x[0] = 1.0
