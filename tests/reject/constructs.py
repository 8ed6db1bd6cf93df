"""Python that kernels do not have (yet): the message names the construct, not the opcode."""


# kernel(float32[:])
def try_block(x):
    try:  # error: NYI_CONSTRUCT 'try'
        x[0] = 1.0
    except ValueError:
        x[0] = 2.0


# kernel(float32[:])
def with_block(x):
    with x:  # error: NYI_CONSTRUCT 'with'
        x[0] = 1.0


# kernel(float32[:])
def list_display(x):
    x[0] = [1.0, x[0]][0]  # error: NYI_CONSTRUCT list


# kernel(float32[:])
def dict_display(x):
    x[0] = {1: x[0]}[1]  # error: NYI_CONSTRUCT dict


# kernel(float32[:])
def formatted_string(x):
    x[0] = f"{x[0]}"  # error: NYI_CONSTRUCT f-string


# kernel(float32[:])
def generator(x):
    yield x[0]  # error: NYI_CONSTRUCT generator


# kernel(float32[:])
def imported(x):
    import math  # error: NYI_CONSTRUCT import

    x[0] = math.pi
