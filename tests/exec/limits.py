"""Tests that the python device's limits fail, by name, with the reason (docs/python-device.md)."""

JOIN = "at a join a number keeps its own type until its next partner"
COPY = "an array that is assigned to a view is copied first"

TUPLE = "an index outside a tuple is Python's own error, which does not say the index"
KEPT = "the exception is made at once, where its class is still there"

UFUNC = "it has only the functions of NumPy that are operators or functions of math"
CLASS = "it runs the operators that a class defines"
COMPILES = "it compiles nothing"

LIMITS = {
    "test_starred_ufunc": UFUNC,
    "test_classes_with_operators_of_their_own": CLASS,
    "test_methods_made_anew_compile_once": COMPILES,
    "test_conditional_expressions_join": JOIN,
    "test_tuples_join_by_element": JOIN,
    "test_returns_join": JOIN,
    "test_joins_that_truncate": JOIN,
    "test_class_that_is_gone": KEPT,
    "test_bounds_of_tuples_and_of_huge_indices": TUPLE,
    "test_an_overlap_that_no_order_serves": COPY,
}
