"""Methods, partial calls, objects that are called, and NamedTuples, used wrongly."""

# The comment of a line stays on it.
# fmt: off
import functools
from typing import NamedTuple


class Scaler:
    def __init__(self, by):
        self.by = by

    def times(self, v):
        return v * self.by

    def changed(self, v):
        self.by = v
        return v

    @property
    def twice(self):
        return 2 * self.by

    def above(self, v):
        return super().times(v)


class Plain:
    by = 2.0


scaler = Scaler(2.0)
plain = Plain()


def scaled_by(factor, v):
    return factor * v


half = functools.partial(scaled_by, 0.5)


class Box(NamedTuple):
    width: float
    height: float = 1.0

    def area(self):
        return self.width * self.height


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)


# kernel(float32[:])
def method_with_too_many(x):
    x[0] = scaler.times(x[0], 2.0)  # error: ARGUMENT_COUNT Scaler.times takes 2 arguments, 3 given


# kernel(float32[:])
def method_of_an_object_unknown(x):
    x[0] = scaler.tims(x[0])  # error: UNKNOWN_ATTRIBUTE 'Scaler' has no attribute 'tims'


# kernel(float32[:])
def partial_with_too_many(x):
    x[0] = half(x[0], 2.0)  # error: ARGUMENT_COUNT scaled_by takes 2 arguments, 3 given


# kernel(float32[:])
def partial_argument_twice(x):
    x[0] = half(factor=x[0])  # error: ARGUMENT_TWICE argument 'factor' of scaled_by is given twice


# kernel(float32[:])
def named_tuple_field_missing(x):
    p = Box()  # error: ARGUMENT_COUNT Box takes 1 to 2 arguments, 0 given
    x[0] = p.width


# kernel(float32[:])
def named_tuple_replaced(x):
    x[0] = Box(x[0])._replace(width=2.0).width  # error: NYI_CONSTRUCT make a new one: Box(...)


# kernel(float32[:])
def named_tuple_as_dict(x):
    x[0] = Box(x[0])._asdict()["width"]  # error: NYI_CONSTRUCT the method '_asdict' of 'Box'


# kernel(float32[:])
def named_tuple_field_unknown(x):
    x[0] = Box(x[0]).widht  # error: NO_ATTRIBUTE did you mean width?


# kernel(float32[:])
def named_tuple_with_operators(x):
    p = Vector(x[0], 1.0) + Vector(1.0, 2.0)  # error: NYI_CONSTRUCT an operator that the class 'Vector' defines
    x[0] = p.x


# kernel(float32[:])
def named_tuple_method_kept(x):
    method = (Box(x[0]).area, 1)[0]
    x[0] = method()  # error: NYI_CONSTRUCT a method that is not called where it is named


# kernel(float32[:])
def object_called(x):
    x[0] = plain(x[0])  # error: HOST_OBJECT 'plain' of type 'Plain' lives on the host


# kernel(float32[:])
def property_read(x):
    x[0] = scaler.twice  # error: DYNAMIC_ATTRIBUTE attribute 'twice' of 'Scaler' is computed by Python code


# kernel(float32[:])
def attribute_assigned(x):
    scaler.by = x[0]  # error: HOST_OBJECT 'scaler' of type 'Scaler'


# kernel(float32[:])
def field_assigned(x):
    p = Box(x[0])
    p.width = 2.0  # error: NYI_CONSTRUCT assignment to an attribute


# kernel(float32[:])
def named_tuple_of_wrong_field(x):
    x[0] = Box(x[0], depth=1.0).width  # error: ARGUMENT_NAME Box has no argument 'depth'


# kernel(float32[:])
def named_tuple_field_twice(x):
    x[0] = Box(x[0], width=1.0).width  # error: ARGUMENT_TWICE argument 'width' of Box is given twice


# kernel(float32[:])
def named_tuples_of_two_classes(x):
    p = Box(x[0]) if x[0] > 1.0 else Vector(x[0], 1.0)
    x[0] = p.width  # error: NO_ATTRIBUTE has no attribute 'width'
