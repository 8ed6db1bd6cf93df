"""Operations of a warp that were given what lanes cannot exchange, and masks that are none."""

# The comment of a line stays on it.
# fmt: off
import gpu


# kernel(float32[:])
# hint: a mask has a bit per lane: 0xffffffff is the whole warp, gpu.activemask() who is here
def a_mask_that_is_a_float(x):
    x[0] = gpu.shfl_sync(1.5, x[0], 1)  # error: ARGUMENT_TYPE argument 1 of gpu.shfl_sync cannot be float


# kernel(float32[:])
# hint: a mask has a bit per lane: 0xffffffff is the whole warp, gpu.activemask() who is here
def a_mask_without_lanes(x):
    x[0] = gpu.reduce_max_sync(0, x[0])  # error: ARGUMENT_TYPE argument 1 of gpu.reduce_max_sync cannot be 0


# kernel(float32[:])
# hint: a mask has a bit per lane: 0xffffffff is the whole warp, gpu.activemask() who is here
def a_mask_that_is_too_wide(x):
    x[0] = gpu.ballot_sync(0x1ffffffff, 1)  # error: ARGUMENT_TYPE argument 1 of gpu.ballot_sync cannot be 8589934591


# kernel(float32[:])
# hint: a mask has a bit per lane: 0xffffffff is the whole warp, gpu.activemask() who is here
def a_mask_that_is_a_truth_value(x):
    x[0] = gpu.any_sync(True, 1)  # error: ARGUMENT_TYPE argument 1 of gpu.any_sync cannot be bool


# kernel(float32[:])
# hint: give an element: x[i]
def an_array_shuffled(x):
    x[0] = gpu.shfl_up_sync(-1, x, 1)[0]  # error: ARGUMENT_TYPE argument 2 of gpu.shfl_up_sync cannot be float32[:]


# kernel(float32[:])
def an_array_in_a_tuple_shuffled(x):
    a, b = gpu.shfl_up_sync(-1, (1, x), 1)  # error: ARGUMENT_TYPE argument 2 of gpu.shfl_up_sync cannot be tuple(int, float32[:])


# kernel(float32[:])
# hint: an integer is needed
def half_a_lane(x):
    x[0] = gpu.shfl_down_sync(-1, x[0], x[1])  # error: ARGUMENT_TYPE argument 3 of gpu.shfl_down_sync cannot be float32


# kernel(float32[:])
# hint: a warp is cut into groups of 2, 4, 8, 16 or 32 lanes
def groups_of_three(x):
    x[0] = gpu.shfl_xor_sync(-1, x[0], 1, 3)  # error: ARGUMENT_TYPE argument 4 of gpu.shfl_xor_sync cannot be 3


# kernel(float32[:])
# hint: a warp is cut into groups of 2, 4, 8, 16 or 32 lanes
def groups_by_name(x):
    x[0] = gpu.shfl_sync(-1, x[0], 1, width=64)  # error: ARGUMENT_TYPE argument 4 of gpu.shfl_sync cannot be 64


# kernel(int64[:])
# hint: write 2, 4, 8, 16 or 32
def groups_of_run_time(x):
    x[0] = gpu.shfl_sync(-1, x[0], 1, x[1])  # error: NEEDS_CONSTANT the width of a shuffle must be a constant


# kernel(float32[:])
def too_few_arguments(x):
    x[0] = gpu.shfl_sync(-1, x[0])  # error: ARGUMENT_COUNT gpu.shfl_sync takes 3 to 4 arguments, 2 given


# kernel(float32[:])
# hint: all_sync(mask, predicate): whether it is true for all lanes of the mask.
def a_vote_without_a_mask(x):
    x[0] = gpu.all_sync(x[0] > 0)  # error: ARGUMENT_COUNT gpu.all_sync takes 2 arguments, 1 given


# kernel(float32[:])
# hint: the predicate is a number: x[i] > 0
def a_vote_on_an_array(x):
    x[0] = gpu.eq_sync(-1, x)  # error: ARGUMENT_TYPE argument 2 of gpu.eq_sync cannot be float32[:]


# kernel(float32[:])
def an_array_matched(x):
    x[0] = gpu.match_any_sync(-1, x)  # error: ARGUMENT_TYPE argument 2 of gpu.match_any_sync cannot be float32[:]


# kernel(float32[:])
# hint: an integer is needed
def bits_of_floats(x):
    x[0] = gpu.reduce_and_sync(-1, x[0])  # error: ARGUMENT_TYPE argument 2 of gpu.reduce_and_sync cannot be float32


# kernel(float32[:])
def a_sum_of_tuples(x):
    x[0] = gpu.reduce_add_sync(-1, (x[0], x[1]))  # error: ARGUMENT_TYPE argument 2 of gpu.reduce_add_sync cannot be tuple(float32, float32)


# kernel(float32[:])
# hint: operations of a warp name the lanes that take part: gpu.shfl_down_sync(mask, ...)
def the_old_shuffle(x):
    x[0] = gpu.shfl_down(x[0], 1)  # error: UNKNOWN_ATTRIBUTE 'gpu' has no attribute 'shfl_down'


# kernel(float32[:])
# hint: operations of a warp name the lanes that take part: gpu.ballot_sync(mask, ...)
def the_old_vote(x):
    x[0] = gpu.ballot(x[0] > 0)  # error: UNKNOWN_ATTRIBUTE 'gpu' has no attribute 'ballot'


# kernel(float32[:])
# hint: operations of a warp name the lanes that take part: gpu.reduce_add_sync(mask, ...)
def no_mask(x):
    x[0] = gpu.reduce_add(x[0])  # error: UNKNOWN_ATTRIBUTE 'gpu' has no attribute 'reduce_add'


# kernel(float32[:])
# hint: a number of nanoseconds is needed: write int(...)
def a_fraction_of_a_nanosecond(x):
    gpu.nanosleep(x[0])  # error: ARGUMENT_TYPE argument 1 of gpu.nanosleep cannot be float32


# kernel(float32[:])
def a_clock_with_an_argument(x):
    x[0] = gpu.clock64(1)  # error: ARGUMENT_COUNT gpu.clock64 takes 0 arguments, 1 given
