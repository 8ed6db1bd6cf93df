"""Names, attributes and objects that a kernel cannot use."""

import logging

import gpu

logger = logging.getLogger(__name__)
table = {"a": 1}


class Config:
    @property
    def computed(self):
        return 1


config = Config()


# kernel(float32[:])
def unknown_name(x):
    x[0] = undefined_name  # error: UNKNOWN_NAME name 'undefined_name' is not defined


# kernel(float32[:])
def unknown_attribute(x):
    x[0] = gpu.no_such_thing  # error: UNKNOWN_ATTRIBUTE no attribute 'no_such_thing'


# kernel(float32[:])
def unknown_array_attribute(x):
    x[0] = x.length  # error: NO_ATTRIBUTE no attribute 'length'


# kernel(float32[:])
def host_object(x):
    x[0] = table["a"]  # error: HOST_OBJECT dict


# kernel(float32[:])
def property_of_an_instance(x):
    x[0] = config.computed  # error: DYNAMIC_ATTRIBUTE 'computed'


# kernel(int, float32[:])
def undefined_on_every_path(n, x):
    if n > 0:
        x[0] = m  # error: UNDEFINED_VARIABLE variable 'm' is used before it has a value
    m = 1.0
    x[1] = m


# kernel(float32[:])
def unknown_math(x):
    import_free = gpu.threadIdx.w  # error: UNKNOWN_ATTRIBUTE no attribute 'w'
    x[0] = import_free


# kernel(int, float32[:])
def undefined_before_its_loop(n, x):
    x[0] = total + n  # error: UNDEFINED_VARIABLE variable 'total'
    total = 1.0


# kernel(float32[:])
def host_function(x):
    x[0] = len(logger.handlers)  # error: ARGUMENT_TYPE argument 1 of len cannot be list


# kernel(float32[:])
def host_method(x):
    logger.info("text")  # error: NYI_CONSTRUCT a device function with **kwargs


# kernel(float32[:])
def unknown_attribute_of_an_instance(x):
    x[0] = config.missing  # error: UNKNOWN_ATTRIBUTE no attribute 'missing'
