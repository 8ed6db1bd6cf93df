"""Odd control flow: each kernel run by CPython, the python device and the suite's device."""

# Kernels may be as odd as programs are.
# ruff: noqa: B007, B020, F634

import pytest
from odd import Cases, floats, ints, out

CASES = Cases()
case = CASES.add


@case(ints(3, -1, 4, 0, 5, 9, -2, 6), out(8))
def for_else_in_both_branches(x, o):
    for i in range(len(x)):
        if x[i] > 2:
            for j in range(i):
                if x[j] < 0:
                    o[i] = j
                    break
            else:
                o[i] = 100 + i
        else:
            k = 0
            while k < len(x):
                k += 1
                if x[k - 1] == 9:
                    continue
                if x[k - 1] == 6:
                    break
            else:
                k = -k
            o[i] = k


@case(ints(1, 2, 3, 5, 8, 13), out(4))
def else_after_continue_only(x, o):
    n = 0
    for v in x:
        if v % 2:
            continue
        n += v
    else:
        n *= 10
    o[0] = n
    for v in x:
        if v > 6:
            break
        n = n + v if v & 1 else n - v
    else:
        n = -1
    o[1] = n
    o[2] = v


def find(m, want):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            k = 0
            while True:
                if m[i, j] == want + k:
                    return i, j, k
                k += 1
                if k > 2:
                    break
        else:
            if i == 1:
                return -1, i, -1
    return -2, -2, -2


@case(ints(9, 8, 7, 6, 5, 4).reshape(2, 3), ints(7, 4, 5, 100, 3), out(5, 3))
def returns_out_of_three_loops(m, w, o):
    for k, want in enumerate(w):
        i, j, n = find(m, want)
        o[k, 0], o[k, 1], o[k, 2] = i, j, n


@case(ints(27, 7, 97, 1), out(4, 2))
def while_with_walrus(x, o):
    for i in range(4):
        n = x[i]
        steps = 0
        while (n := n // 2 if n % 2 == 0 else 3 * n + 1) != 1 and (steps := steps + 1) < 60:
            pass
        o[i, 0], o[i, 1] = n, steps


@case(ints(4, 0, 7, 0, 2), out(3))
def walrus_in_odd_places(x, o):
    total = 0
    if (a := x[0]) and not (b := x[1]):
        total += a * 10 + b
    total += (c := x[2]) + c * (d := c - 1) + d
    o[(i := 1)] = (total := total + 1)
    o[i + 1] = total if (e := total % 7) > 3 else -e
    o[0] = (lambda y: (z := y + 1) * z)(e)


def classify(n):
    match n:
        case 0 | 1 | 2:
            return 1
        case -1 | -2:
            return 2
        case 3 if n % 2 == 0:
            return 99
        case (4 | 5) as m if m > 4:
            return m * 10
        case 9223372036854775807:
            return 3
        case other if other < -100:
            return other + 1
        case _:
            return 4


@case(ints(0, 1, 2, 3, 4, 5, -1, -2, -3, 2**63 - 1, -(2**63), -101), out(12))
def match_on_integers(x, o):
    for i in range(len(x)):
        o[i] = classify(x[i])


@case(ints(0, 1, 2, 3, 4, 5), out(6))
def match_in_a_loop_with_break(x, o):
    total = 0
    for i, v in enumerate(x):
        match v:
            case 1:
                continue
            case 4:
                break
            case 0 | 3:
                total += 100
            case k:
                total += k
        o[i] = total
    else:
        total = -1
    o[5] = total


@case(floats(0.0, -0.0, 1.5, -2.25, float("nan"), 3.0), out(6))
def match_on_floats(x, o):
    for i in range(6):
        match x[i]:
            case 0.0:
                o[i] = 1
            case 1.5 | -2.25:
                o[i] = 2
            case 3:
                o[i] = 3
            case _:
                o[i] = 4


@case(ints(0, 1, 5), out(3, 2), python=False, expect=[2, 3, 1, 3, 1, 3])
def match_on_bools_and_none(x, o):
    for i in range(3):
        match x[i] > 0:
            case True:
                o[i, 0] = 1
            case False:
                o[i, 0] = 2
        match None:
            case None:
                o[i, 1] = 3
            case _:
                o[i, 1] = 4


@case(ints(3, 4, 0, -4), out(4), python=False, expect=[1, 10, 20, 30])
def match_on_tuples(x, o):
    for i in range(4):
        match (x[i] > 0, x[i] % 2):
            case (True, 1):
                o[i] = 1
            case (True, r):
                o[i] = 10 + r
            case (False, 0) if x[i] == 0:
                o[i] = 20
            case (a, b):
                o[i] = 30 + b
                if a:
                    o[i] = -1


@case(ints(5, 1, 4, 2, 3), out(5))
def match_with_a_star(x, o):
    t = (x[0], x[1], x[2], x[3], x[4])
    match t:
        case (first, *middle, 3):
            o[0], o[1] = first, len(middle)
            o[2] = middle[0] * 100 + middle[-1]
        case _:
            o[0] = -1
    match t:
        case (5, 1, *_):
            o[3] = 7
    match t[:2]:
        case (_, _, _):
            o[4] = 1
        case [a, b]:
            o[4] = a - b


@case(ints(1, 2, 3, 4, 5, 6, 7), out(7))
def nested_match(x, o):
    for i in range(7):
        match x[i] % 3:
            case 0:
                match x[i]:
                    case 3:
                        r = 1
                    case _:
                        r = 2
            case 1:
                r = 3 if x[i] > 4 else 4
            case _:
                r = x[i]
        o[i] = r


@case(ints(10, 3, 0), out(6))
def nonlocal_in_loops(x, o):
    total = 0
    calls = 0

    def add(k):
        nonlocal total, calls
        calls += 1
        if k % 2:
            return
        total += k
        for _ in range(2):
            if k == 4:
                break
            total += 1

    for i in range(x[0]):
        add(i)
        if total > 25:
            break
    o[0], o[1], o[2] = total, calls, i
    while calls < 20:
        add(calls)
    o[3], o[4] = total, calls


@case(ints(5, 2), out(4))
def nonlocal_two_levels(x, o):
    state = x[0]

    def outer(n):
        nonlocal state
        local = n

        def inner(m):
            nonlocal state, local
            state += m
            local *= 2
            return local

        for i in range(n):
            state += inner(i)
        return local

    o[0] = outer(x[1])
    o[1] = state
    o[2] = outer(3)
    o[3] = state


@case(ints(6, 4, 9, 2, 7), out(5))
def function_that_is_redefined_in_a_branch(x, o):
    for i in range(5):
        if x[i] > 5:

            def f(v):
                return v * 2

            r = f(x[i])
        else:

            def f(v):
                return v + 100

            r = f(x[i])
        o[i] = r


@case(ints(12, 18, 35, 64), out(4))
def loops_that_never_come_round(x, o):
    for i in range(4):
        while True:
            n = x[i]
            if n % 5 == 0:
                break
            for _ in range(1000):
                if n % 2 == 0:
                    n //= 2
                else:
                    break
            break
        o[i] = n


@case(ints(3, 1, 2), out(6))
def return_in_the_middle(x, o):
    def stop(n):
        while True:
            n += 1
            if n > 10:
                return n
            if n % 4 == 0:
                n += 5
                continue
            if n < 0:
                return -1

    for i in range(3):
        o[i] = stop(x[i] * 3)
    if o[0] == o[1]:
        return
    o[3] = 1
    if o[0] > 0:
        o[4] = 2
        return
    o[5] = 3


@case(out(8))
def deep_breaks_with_flags(o):
    found = False
    n = 0
    for a in range(2, 30):
        for b in range(a, 30):
            for c in range(b, 45):
                n += 1
                if a * a + b * b < c * c:
                    break
                if a * a + b * b == c * c and a + b + c == 60:
                    found = True
                    break
            if found:
                break
        if found:
            break
    o[0], o[1], o[2], o[3], o[4] = a, b, c, n, found


@case(ints(7, -3, 0, 2), out(4, 4))
def and_or_as_statements(x, o):
    for i in range(4):
        v = x[i]
        w = v and v - 2 or 50
        o[i, 0] = w
        o[i, 1] = not v or not w
        o[i, 2] = (v > 0 and w < 10) or (v < -1 and 5) or 0
        o[i, 3] = v if v else w if w > 40 else -1


@case(ints(1, 5, 10, 50), out(4))
def chained_comparisons_with_calls(x, o):
    calls = 0

    def get(k):
        nonlocal calls
        calls += 1
        return x[k]

    o[0] = get(0) < get(1) < get(2) < get(3)
    o[1] = calls
    o[2] = get(3) < get(2) < get(1)
    o[3] = calls


@case(ints(4, 8), out(6))
def del_and_assign_again(x, o):
    a = x[0]
    o[0] = a
    del a
    a = 2.5
    o[1] = a * 2
    for i in range(3):
        b = i * 10
        o[2] += b
        del b
    b = x[1]
    o[3] = b


@case(ints(2, 3, 5, 7, 11), out(5))
def loop_variable_is_an_attribute_of_all(x, o):
    i = 100
    for i in range(0):
        o[0] = 5
    o[0] = i
    for i in range(5, 0, -2):
        for i in range(i, i + 2):
            o[1] += i
        o[2] += i
    o[3] = i
    for o[4] in range(7):
        pass


@case(ints(2, 3, 5, 7, 11, 13), out(3, 2))
def targets_of_all_kinds(x, o):
    for o[0, 0], (o[1, 1], *rest) in ((x[0], (x[1], x[2])), (x[3], (x[4], x[5]))):
        o[2, 0] += rest[0]
    i = 0
    i, o[i, 1] = 1, 9
    o[i, 0] = i = 2
    o[2, 1] = i


@case(ints(0, 1, 2, 3), out(4))
def pass_and_constants_as_conditions(x, o):
    if 0:
        o[0] = 1
    elif "":
        o[0] = 2
    elif ():
        o[0] = 3
    elif None:
        o[0] = 4
    elif (0,):
        o[0] = 5
    while 0:
        o[1] = 1
    else:
        o[1] = 2
    while 1:
        if x[2]:
            break
    if x[1] and ...:
        o[2] = 6
    o[3] = 1 if "a" else 0


@case(ints(100, 7), out(3))
def a_state_machine(x, o):
    state, n, steps = 0, x[0], 0
    while state != 3:
        steps += 1
        if state == 0:
            if n > 50:
                n -= x[1]
            else:
                state = 1
        elif state == 1:
            n = n * 2 if n % 3 else n - 1
            state = 2 if n > 60 else 0
        elif state == 2:
            state = 3 if steps > 20 else 0
            continue
        if steps > 100:
            break
    else:
        o[2] = 1
    o[0], o[1] = n, steps


@case(ints(10, 4), out(11))
def permutations_in_place(x, o):
    n = x[1]
    p = (0, 1, 2, 3)
    count = 0
    total = 0
    while True:
        count += 1
        total = (total * 31 + p[0] * 64 + p[1] * 16 + p[2] * 4 + p[3]) % 1000003
        a, b, c, d = p
        if c < d:
            p = (a, b, d, c)
        elif b < c or b < d:
            if b < d:
                p = (a, d, b, c) if b < d and d <= c else (a, d, c, b) if d < c else (a, d, b, c)
            else:
                p = (a, c, d, b)
        elif a < 3 and count < 24:
            p = (a + 1, 0, 1, 2)
        else:
            break
        if count > 40:
            break
    o[0], o[1], o[2] = count, total, n
    for i, v in enumerate(p):
        o[3 + i] = v


@case(ints(3, 1, 4, 1, 5, 9, 2, 6), out(8))
def insertion_sort_with_while_and(x, o):
    for i in range(len(x)):
        o[i] = x[i]
    for i in range(1, len(o)):
        v, j = o[i], i - 1
        while j >= 0 and o[j] > v:
            o[j + 1] = o[j]
            j -= 1
        o[j + 1] = v


@case(ints(5, 3, 8, 1, 9, 2, 7), out(7))
def quicksort_with_a_stack(x, o):
    o[:] = x
    low, high = (0, 0, 0, 0, 0, 0, 0, 0), (6, 0, 0, 0, 0, 0, 0, 0)
    top = 1
    while top:
        top -= 1
        a, b = low[top], high[top]
        if a >= b:
            continue
        p, i = o[b], a
        for j in range(a, b):
            if o[j] < p:
                o[i], o[j] = o[j], o[i]
                i += 1
        o[i], o[b] = o[b], o[i]
        low, high = put(low, top, a), put(high, top, i - 1)
        low, high = put(low, top + 1, i + 1), put(high, top + 1, b)
        top += 2


def put(t, k, v):
    a, b, c, d, e, f, g, h = t
    return (
        v if k == 0 else a, v if k == 1 else b, v if k == 2 else c, v if k == 3 else d,
        v if k == 4 else e, v if k == 5 else f, v if k == 6 else g, v if k == 7 else h,
    )  # fmt: skip


@case(out(6))
def ranges_as_values(o):
    r = range(10, -10, -3)
    s = r
    for k in (0, 1, 2):
        for v in s:
            if v == 1 + k:
                break
            o[k] += v
        else:
            o[k] = -o[k]
        s = range(k, k * 5, 2)
    o[3] = len(r)
    o[4] = r[-1] + r[2]
    o[5] = (-5 in r) * 10 + (4 in r) + (5 not in r) * 100


@case(ints(2, 0, 3), out(3))
def range_with_step_from_data(x, o):
    for k in range(3):
        for i in range(0, 10, x[k] - 5):
            o[k] += i
        for i in range(10, 0, x[k] - 5):
            o[k] += i


@pytest.mark.parametrize("name", CASES)
def test_agrees(name):
    CASES.test(name)
