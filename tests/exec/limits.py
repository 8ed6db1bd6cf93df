"""Tests that the python device's limits fail, by file and name (docs/python-device.md)."""

JOIN = "at a join a number keeps its own type until its next partner"
COPY = "an array that is assigned to a view is copied first"

TUPLE = "an index outside a tuple is Python's own error, which does not say the index"
KEPT = "the exception is made at once, where its class is still there"

SAME = "Python's tuples take a number that is the same object as equal, NaN too"
CLASS = "it runs the operators that a class defines"
COMPILES = "it compiles nothing"
SIZE = "its values are Python's own, of any size that memory holds"
ATOMICS = "it has no atomics but add"

LIMITS = {
    "test_methods.test_classes_with_operators_of_their_own": CLASS,
    "test_methods.test_methods_made_anew_compile_once": COMPILES,
    "test_classes.test_joins": JOIN,
    "test_random.test_expressions": JOIN,
    "test_random.test_programs": JOIN,
    "test_builtins.test_isinstance_of_joined_types": JOIN,
    "test_builtins.test_isinstance_of_a_type_that_rises_around_a_loop": JOIN,
    "test_flow.test_what_only_meets_converts_once": JOIN,
    "test_operators.test_conditional_expressions_join": JOIN,
    "test_numbers.test_tuples_join_by_element": JOIN,
    "test_numbers.test_returns_join": JOIN,
    "test_check.test_joins_that_truncate": JOIN,
    "test_raise.test_class_that_is_gone": KEPT,
    "test_large_values.test_doubling": SIZE,
    "test_large_values.test_repetition": SIZE,
    "test_arrays.test_bounds_of_tuples_and_of_huge_indices": TUPLE,
    "test_tuples.test_nan_in_tuples": SAME,
    "test_views.test_an_overlap_that_no_order_serves": COPY,
    "test_atomics.test_every_operation": ATOMICS,
    "test_atomics.test_cas": ATOMICS,
    "test_atomics.test_bytes_that_are_neither_0_nor_1_are_true": ATOMICS,
    "test_atomics.test_index": ATOMICS,
    "test_atomics.test_the_first_element": ATOMICS,
    "test_atomics.test_views_and_functions": ATOMICS,
    "test_atomics.test_operands_convert_as_by_a_store": ATOMICS,
    "test_atomics.test_with_single_precision_floats": ATOMICS,
    "test_atomics.test_old_values_are_elements_that_were_read": ATOMICS,
    "test_atomics.test_plain_loads_see_atomics": ATOMICS,
    "test_atomics.test_indices_are_checked": ATOMICS,
    "test_atomics.test_the_first_element_of_nothing": ATOMICS,
    "test_atomics.test_operands_are_checked": ATOMICS,
    "test_atomics.test_read_only_arrays": ATOMICS,
    "test_atomics.test_arrays_that_only_atomics_write_come_back": ATOMICS,
    "test_atomics.test_a_ticket_decides": ATOMICS,
    "test_atomics.test_an_operation_of_ones_own": ATOMICS,
    "test_atomics.test_a_spin_lock": ATOMICS,
    "test_atomics.test_a_linked_list": ATOMICS,
}
