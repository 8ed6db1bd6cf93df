"""Functions that kernels define: nested ones, lambdas, what they share with their makers."""

import gpu
import kit
import numpy as np
import pytest

N = 16


def run(function, *args, n=N, dtype=np.float64):
    """What the kernel writes to its first argument, one element a thread."""
    y = np.zeros(n, dtype)
    kit.launch(gpu.jit(function), n, y, *args)
    return y.tolist()


def in_python(function, *args, n=N, dtype=np.float64):
    """The same, computed by the function itself with gpu.grid replaced."""
    y = np.zeros(n, dtype)
    for i in range(n):
        names = {**function.__globals__, "gpu": Grid(i)}
        copy = type(function)(function.__code__, names, None, function.__defaults__,
                              function.__closure__)  # fmt: skip
        copy(y, *args)
    return y.tolist()


class Grid:
    """gpu, as far as these kernels know it."""

    def __init__(self, i):
        self.grid = lambda n: i


def make_adder(k):
    return lambda x: x + k


def make_power(base):
    def power(n):
        result = 1
        for _ in range(n):
            result *= base
        return result

    return power


def compose(f, g):
    return lambda x: f(g(x))


def twice(f, x):
    return f(f(x))


def pair(a):
    def scale(x, by=a * 2):
        return x * by

    return scale, lambda x: x - a


def defaults(y, k):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def f(a, b=2, *, c=k + i):
            return a * 100 + b * 10 + c

        y[i] = f(1) + f(1, 3) + f(2, c=i) + f(b=i, a=2)


def annotated(y, k):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def f(a: int, b: "float" = 2, *, c: np.ndarray = 3) -> list[int]:
            d: int = a + b
            return d * c + k

        y[i] = f(i)


def late(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        x = i
        f = lambda a: a * 100 + x  # noqa: E731
        first = f(1)
        x = i * 2
        y[i] = first * 10000 + f(2)


def late_in_loop(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        s = 0
        f = lambda: 7  # noqa: E731
        for j in range(4):
            g = lambda a, j=j: a * j  # noqa: E731
            h = lambda a: a * j  # noqa: E731, B023
            s += g(10) + h(1000)
        y[i] = s + f() + h(1)


def by_value_in_loop(y, n):
    i = gpu.grid(1)
    if i < y.shape[0]:
        s = 0
        for j in range(n):

            def add(a, b=j):
                return a + b + i

            s += add(1)
        y[i] = s


def parameter_cell(y, k):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def f():
            return k * 2

        k = k + i
        y[i] = f()


def counter(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        n = 0
        total = 0.5

        def bump(by):
            nonlocal n, total
            n += by
            total += n
            return n

        a = bump(i)
        b = bump(2)
        y[i] = a * 1000 + b * 100 + n * 10 + total


def counter_in_loop(y, m):
    i = gpu.grid(1)
    if i < y.shape[0]:
        n = 0

        def bump():
            nonlocal n
            n += i
            return n > 20

        for _ in range(m):
            if bump():
                break
        y[i] = n


def nonlocal_through(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        n = i

        def outer():
            def inner():
                nonlocal n
                n = n * 3 + 1

            inner()
            inner()

        outer()
        y[i] = n


def factorial(y):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def fact(n):
            return 1 if n < 2 else n * fact(n - 1)

        y[i] = fact(i)


def recursion_with_values(y, k):
    i = gpu.grid(1)
    if i < y.shape[0]:
        step = k + 1

        def walk(n, acc):
            if n <= 0:
                return acc
            return walk(n - step, acc + n * i)

        y[i] = walk(20, 0.5)


def even_odd(y):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def even(n):
            return True if n == 0 else odd(n - 1)

        def odd(n):
            return False if n == 0 else even(n - 1)

        y[i] = even(i)


def recursion_counts(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        calls = 0

        def fib(n):
            nonlocal calls
            calls += 1
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        f = fib(i % 8)
        y[i] = f * 1000 + calls


def returned(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        add, cube = make_adder(i), make_power(3)
        scale, minus = pair(i + 1)
        both = compose(add, minus)
        y[i] = add(1) + cube(3) + scale(2) + minus(100) + both(5) + compose(both, cube)(2)


def passed(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        k = i * 2

        def f(x):
            return x * 2 + k

        y[i] = twice(f, 3) + twice(lambda x: x - i, 10) + twice(make_adder(k), 1)


def in_tuples(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        k = i + 1
        fs = (lambda x: x + k, make_adder(2), make_power(k))
        f, g, h = fs
        y[i] = f(1) + g(2) + h(2) + fs[0](10) + len(fs)


def three_deep(y):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def a(x):
            def b(z):
                def c(w):
                    return x * 100 + z * 10 + w + i

                return c(z + 1) + x

            return b(x + 1) + b(2)

        y[i] = a(i)


def chosen(y, flag):
    i = gpu.grid(1)
    if i < y.shape[0]:
        if flag is None:  # noqa: SIM108
            f = lambda x: x + 1  # noqa: E731
        else:
            f = lambda x: x * flag  # noqa: E731
        y[i] = f(i)


def same_maker(y):
    """One definition, two sets of values: they meet."""
    i = gpu.grid(1)
    if i < y.shape[0]:
        f = make_adder(i) if i % 2 else make_adder(i * 10)
        y[i] = f(1)


def array_inside(y, x):
    i = gpu.grid(1)
    if i < y.shape[0]:

        def put(j, v):
            x[j] = v
            y[j] += v

        put(i, i * 2)
        y[i] += x[i]


def shared_array(y, x):
    """The shared variable holds an array; the launch must know that it is written."""
    i = gpu.grid(1)
    if i < y.shape[0]:
        to = x

        def put(v):
            to[i] = v

        put(5)
        to = y
        put(i * 3)


def immediate(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        y[i] = (lambda a, b: a * b)(i, 3) + (lambda: 4)()


def shared_mixed(y):
    """The types of all assignments meet, as those of any variable."""
    i = gpu.grid(1)
    if i < y.shape[0]:
        v = 1

        def set_half():
            nonlocal v
            v = v + 0.5

        set_half()
        set_half()
        y[i] = v


def shared_tuple(y):
    i = gpu.grid(1)
    if i < y.shape[0]:
        t = (i, 0.5, True)

        def turn():
            nonlocal t
            a, b, c = t
            t = (a + 1, b * 2, not c)

        turn()
        turn()
        turn()
        y[i] = t[0] * 100 + t[1] + t[2]


NO_ARGUMENTS = [late, late_in_loop, counter, nonlocal_through, factorial, even_odd,
                recursion_counts, returned, passed, in_tuples, three_deep, same_maker, immediate,
                shared_mixed, shared_tuple]  # fmt: skip


@pytest.mark.parametrize("function", NO_ARGUMENTS, ids=lambda f: f.__name__)
def test_as_python(function):
    assert run(function) == in_python(function)


WITH_NUMBER = [defaults, annotated, by_value_in_loop, parameter_cell, counter_in_loop,
               recursion_with_values, chosen]  # fmt: skip


@pytest.mark.parametrize("number", [0, 3, 7])
@pytest.mark.parametrize("function", WITH_NUMBER, ids=lambda f: f.__name__)
def test_as_python_with_a_number(function, number):
    assert run(function, number) == in_python(function, number)


def test_chosen_by_what_is_known():
    assert run(chosen, None) == [i + 1 for i in range(N)]
    assert run(chosen, 4) == [i * 4 for i in range(N)]


def test_arrays_are_written_through_closures():
    x = np.zeros(N)
    assert run(array_inside, x) == [i * 2 * 2.0 for i in range(N)]
    assert x.tolist() == [i * 2.0 for i in range(N)]


def test_arrays_in_shared_variables_count_as_written():
    x = np.zeros(N)
    assert run(shared_array, x) == [i * 3.0 for i in range(N)]
    assert x.tolist() == [5.0] * N


def test_float32_stays_single():
    def kernel(y, x):
        i = gpu.grid(1)
        if i < y.shape[0]:
            k = 0.1
            half = lambda v: v * k  # noqa: E731
            y[i] = half(x[i])

    x = np.linspace(0, 7, N, dtype=np.float32)
    y = np.zeros(N, np.float32)
    kit.launch(gpu.jit(kernel), N, y, x)
    assert y.tolist() == (x * np.float32(0.1)).tolist()
    assert ".f64" not in gpu.jit(kernel).ptx("float32[:], float32[:]", arch="sm_75")


def test_closures_leave_nothing_behind():
    """Variables that functions share are registers once the functions are inlined."""
    text = gpu.jit(counter_in_loop).ptx("float64[:], int", arch="sm_75")
    assert ".local" not in text and "call" not in text


def test_made_by_exec():
    text = """
def kernel(y, k):
    i = gpu.grid(1)
    if i < y.shape[0]:
        def f(x, *, by=k):
            def g():
                return x * by
            return g
        y[i] = f(i)() + (lambda *a: len(a))(1, 2, 3)
"""
    y = np.zeros(N)
    kit.launch(kit.kernel(text), N, y, 5)
    assert y.tolist() == [i * 5.0 + 3 for i in range(N)]


def test_a_kernel_that_is_a_closure_defines_closures():
    k = 3

    def kernel(y):
        i = gpu.grid(1)
        if i < y.shape[0]:
            j = i * k
            y[i] = (lambda x: x + j + k)(1)

    assert run(kernel) == [1 + i * 3.0 + 3 for i in range(N)]
    k = 5
    assert run(kernel) == [1 + i * 5.0 + 5 for i in range(N)]


@pytest.mark.parametrize("function", NO_ARGUMENTS, ids=lambda f: f.__name__)
def test_the_devices_agree(function):
    kit.agree(function, (np.zeros(N),), block=N)
