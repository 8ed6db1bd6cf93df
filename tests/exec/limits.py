"""Tests that the python device's limits fail, by file and name (docs/python-device.md)."""

JOIN = "at a join a number keeps its own type until its next partner"
COPY = "an array that is assigned to a view is copied first"

TUPLE = "an index outside a tuple is Python's own error, which does not say the index"
KEPT = "the exception is made at once, where its class is still there"

SAME = "Python's tuples take a number that is the same object as equal, NaN too"
CLASS = "it runs the operators that a class defines"
COMPILES = "it compiles nothing"
SIZE = "its values are Python's own, of any size that memory holds"

LIMITS = {
    "test_methods.test_classes_with_operators_of_their_own": CLASS,
    "test_methods.test_methods_made_anew_compile_once": COMPILES,
    "test_classes.test_joins": JOIN,
    "test_random.test_expressions": JOIN,
    "test_random.test_programs": JOIN,
    "test_builtins.test_isinstance_of_joined_types": JOIN,
    "test_builtins.test_isinstance_of_a_type_that_rises_around_a_loop": JOIN,
    "test_flow.test_a_value_converts_once_from_its_assignment_to_each_reader": JOIN,
    "test_flow.test_only_a_float_joins_uint64_with_signed_integers": JOIN,
    "test_operators.test_conditional_expressions_join": JOIN,
    "test_numbers.test_tuples_join_by_element": JOIN,
    "test_numbers.test_returns_join": JOIN,
    "test_check.test_an_int_that_is_kept_meets_the_typed_one": JOIN,
    "test_check.test_joins_that_truncate": JOIN,
    "test_raise.test_class_that_is_gone": KEPT,
    "test_large_values.test_doubling": SIZE,
    "test_large_values.test_repetition": SIZE,
    "test_arrays.test_bounds_of_tuples_and_of_huge_indices": TUPLE,
    "test_const.test_later_writes_are_not_seen_and_warned_of_once": COMPILES,
    "test_const.test_too_large": COMPILES,
    "test_iteration.test_elements_that_are_of_one_type_in_the_end": JOIN,
    "test_iteration.test_what_is_uniform_in_the_end_is_a_loop": JOIN,
    "test_iteration.test_rounds_are_written_out_from_the_outside": JOIN,
    "test_local.test_a_recursive_function_cannot_hand_its_array_on": COMPILES,
    "test_local.test_more_than_a_thread_has": SIZE,
    "test_shared.test_more_than_a_block_can_have": SIZE,
    "test_tuples.test_nan_in_tuples": SAME,
    "test_views.test_an_overlap_that_no_order_serves": COPY,
}
