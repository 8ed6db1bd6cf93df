"""Functions that kernels define, and calls with stars."""


# kernel(float32[:], int)
def chosen_at_run_time(x, n):
    if n > 3:
        f = lambda v: v
    else:
        f = lambda v: v + 1
    x[0] = f(x[0])  # error: CANNOT_MEET 'f' is function


# kernel(float32[:])
def counter_outlives(x):
    def make():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        return bump  # error: NYI_CONSTRUCT a function that outlives variables

    x[0] = make()()


# kernel(float32[:])
def function_left_outside(x):
    f = None

    def outer():
        nonlocal f
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        bump()
        f = bump  # error: CANNOT_MEET 'f' is None
        return n

    x[0] = outer()


# kernel(float32[:])
def never_given(x):
    def f():
        return k  # error: UNDEFINED_VARIABLE 'k' is used before

    x[0] = f()
    if x is None:
        k = 1


# kernel(float32[:])
def two_types(x):
    v = 1

    def change():
        nonlocal v
        v = (1, 2)  # error: CANNOT_MEET 'v' is int

    change()
    x[0] = v


# kernel(float32[:])
def missing_keyword(x):
    def f(a, *, b):
        return a + b

    x[0] = f(1)  # error: ARGUMENT_MISSING 'b'


# kernel(float32[:])
def one_too_many(x):
    f = lambda a, b=2: a + b
    x[0] = f(1, 2, 3)  # error: ARGUMENT_COUNT 1 to 2 arguments


# kernel(float32[:])
def too_few_for_star(x):
    f = lambda a, b, *c: a + b
    x[0] = f(1)  # error: ARGUMENT_COUNT 2 or more arguments


# kernel(float32[:])
def star_of_a_number(x):
    f = lambda a: a
    x[0] = f(*x[0])  # error: NOT_UNPACKABLE float32


# kernel(float32[:])
def two_stars(x):
    f = lambda a: a
    d = 1
    x[0] = f(**d)  # error: NYI_CONSTRUCT a call with *arguments or **arguments


# kernel(float32[:])
def generator_inside(x):
    def f():  # error: NYI_CONSTRUCT yield
        yield 1

    x[0] = f()


# kernel(float32[:])
def dict_as_value(x):
    d = {"a": 1}  # error: NYI_CONSTRUCT a dict
    x[0] = d["a"]
