"""Python that kernels do not have (yet): the message names the construct, not the opcode."""


# kernel(float32[:])
def try_block(x):
    try:  # error: NYI_CONSTRUCT a try statement
        x[0] = 1.0
    except ValueError:
        x[0] = 2.0


# kernel(float32[:])
def with_block(x):
    with x:  # error: NYI_CONSTRUCT a with statement
        x[0] = 1.0


# kernel(float32[:])
def list_display(x):
    x[0] = [1.0, x[0]][0]  # error: NYI_CONSTRUCT list


# kernel(float32[:])
def dict_display(x):
    x[0] = {1: x[0]}[1]  # error: NYI_CONSTRUCT dict


# kernel(float32[:])
def formatted_string(x):
    x[0] = f"{x[0]}"  # error: CANNOT_STORE str


# kernel(float32[:])
def generator(x):  # error: NYI_CONSTRUCT generator
    yield x[0]


# kernel(float32[:])
def imported(x):
    import math  # error: NYI_CONSTRUCT import

    x[0] = math.pi


# kernel(float32[:])
def set_display(x):
    x[0] = len({1, 2})  # error: NYI_CONSTRUCT a set


# kernel(float32[:])
def list_comprehension(x):
    x[0] = [i for i in range(3)][0]  # error: NYI_CONSTRUCT a list comprehension


# kernel(float32[:])
def dict_comprehension(x):
    x[0] = {i: i for i in range(3)}[0]  # error: NYI_CONSTRUCT a dict comprehension


# kernel(float32[:])
def set_comprehension(x):
    x[0] = len({i for i in range(3)})  # error: NYI_CONSTRUCT a set comprehension


# kernel(float32[:])
def generator_expression(x):
    x[0] = max(i for i in range(3))  # error: NYI_CONSTRUCT a generator expression


# kernel(float32[:])
def raised(x):
    if x[0] > 0:
        raise  # error: NYI_CONSTRUCT raise without an exception


# kernel(float32[:])
def raised_from(x):
    if x[0] > 0:
        raise ValueError("positive") from KeyError()  # error: NYI_CONSTRUCT raise ... from
    x[0] = 1.0


# kernel(float32[:])
def nested_class(x):
    class Inside:  # error: NYI_CONSTRUCT a class definition
        pass

    x[0] = Inside()


# kernel(float32[:])
def starred_call(x):
    x[0] = max(*x)  # error: NOT_UNPACKABLE only a tuple gives arguments


# kernel(float32[:])
def starred_call_with_too_many(x):
    args = (1.0, 2.0)
    x[0] = abs(*args)  # error: ARGUMENT_COUNT abs takes 1 argument, 2 given


counter = 0


# kernel(float32[:])
def assigned_global(x):
    global counter
    counter = 1  # error: NYI_CONSTRUCT assignment to a global variable
    x[0] = counter


# kernel(float32[:])


# kernel(float32[:])
def deleted_element(x):
    del x[0]  # error: NYI_CONSTRUCT a del statement


# kernel(float32[:])
def assigned_attribute(x):
    x.size = 3  # error: NYI_CONSTRUCT assignment to an attribute


# kernel(float32[:])
async def coroutine(x):  # error: NYI_CONSTRUCT async
    x[0] = 1.0


# kernel(float32[:])
def complex_number(x):
    x[0] = 1j  # error: NYI_TYPE type complex


def star_helper(**values):
    return values["a"]


# kernel(float32[:])
def star_helper_called(x):
    x[0] = star_helper(a=1.0)  # error: NYI_CONSTRUCT a device function with **kwargs


# kernel(float32[:])
def printed(x):
    print(x)  # error: ARGUMENT_TYPE argument 1 of print cannot be float32[:]


# kernel(float32[:])
def text_result(x):
    x[0] = "text"  # error: CANNOT_STORE cannot be stored in an array of float32


# kernel(float32[:])
def none_result(x):
    x[0] = None  # error: CANNOT_STORE None


# kernel(float32[:])


# kernel(float32[:])
def many_names(x):
    x[0] = named(  # error: NYI_CONSTRUCT a call with more than 15 keyword arguments
        a=x[0], b=x[0], c=x[0], d=x[0], e=x[0], f=x[0], g=x[0], h=x[0],
        i=x[0], j=x[0], k=x[0], l=x[0], m=x[0], n=x[0], o=x[0], p=x[0],
    )  # fmt: skip


def named(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p):  # noqa: E741
    return a + p


# kernel(float32[:], int)
def raised_number(x, i):
    if i > 3:
        raise i  # error: NOT_EXCEPTION int cannot be raised


# kernel(float32[:])
def raised_text(x):
    raise "bad"  # error: NOT_EXCEPTION str cannot be raised


# kernel(float32[:])
def raised_array(x):
    raise ValueError(x)  # error: NOT_CARRIED float32[:] cannot be part of a message


# kernel(float32[:])
def raised_keyword(x):
    raise ImportError("m", name="x")  # error: NYI_CONSTRUCT a keyword argument of an exception


# kernel(float32[:, :, :, :, :, :])
def raised_many(x):
    raise ValueError(x.shape, x.shape, x.shape)  # error: TOO_MANY_VALUES 18 numbers; at most 16


# kernel(float32[:], int)
def asserted_in_try(x, i):
    try:  # error: NYI_CONSTRUCT a try statement
        assert i > 0
        x[0] = 1.0
    except AssertionError:
        x[0] = 0.0


# kernel(float32[:], int)
def raised_choice(x, i):
    text = "small"
    if i > 3:
        text = f"{i} is large"
    raise ValueError(text)  # error: CANNOT_MEET 'text' is str on one path


# kernel(float32[:], int)
def shown_text(x, i):
    x[i] = len(f"{i}")  # error: ARGUMENT_TYPE cannot be str
