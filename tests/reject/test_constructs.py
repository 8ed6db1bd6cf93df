"""Every kind of statement and expression of Python, alone and in each other's places.

A kernel that has one either works, and then does what Python does, or is refused with an error of its
own: never an internal one, never without a line of the kernel.
"""

import ast
import faulthandler
import itertools
import linecache
import math
import sys
import warnings

import gpu
import numpy as np
import pytest

# Groups, what only older versions make, and the nodes of other kinds of program.
ABSTRACT = {
    "AST", "stmt", "expr", "mod", "expr_context", "boolop", "operator", "unaryop", "cmpop", "excepthandler",
    "pattern", "type_ignore", "type_param", "slice", "Param", "AugLoad", "AugStore", "Num", "Str", "Bytes",
    "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite", "Interactive", "Expression", "FunctionType",
    "TypeIgnore", "Module",
}  # fmt: skip

STATEMENTS = """
pass
---
y = n
x[0] = y
---
y = z = n + 1
x[0], x[1] = y, z
---
y: int = n
x[0] = y
---
y: int
x[0] = n
---
x[0] += n; x[1] -= n; x[2] *= n; x[3] /= n
---
y = n; y //= 2; y %= 5; y **= 2; y <<= 1; y >>= 1; y |= 8; y &= 13; y ^= 3
x[0] = y
---
y = n
y @= n
---
del n
---
y = n; x[0] = y
del y
---
del x[0]
---
del x.size
---
return
---
return n
---
return None
---
for i in range(n):
    x[i] = i
---
for i in range(n):
    if i == 1:
        continue
    if i == 2:
        break
    x[i] = i
else:
    x[3] = 7
---
for i in (1, 2.5, True):
    x[0] += i
---
for i in x:
    x[0] += i
---
for i, v in enumerate(x):
    x[i] = v + i
---
for x[0] in range(n):
    x[1] += 1
---
while n > 0:
    n -= 1
    x[n] = n
else:
    x[3] = 5
---
while True:
    n += 1
    if n > 20:
        break
x[0] = n
---
if n > 2:
    x[0] = 1
elif n:
    x[0] = 2
else:
    x[0] = 3
---
if n > 2 and not n == 5 or n != 3 and n <= 4 and n >= 1:
    x[0] = 1
---
with x:
    x[0] = 1
---
with open("f") as f, x as g:
    x[0] = 1
---
try:
    x[0] = 1
except ValueError as error:
    x[0] = 2
else:
    x[1] = 3
finally:
    x[2] = 4
---
try:
    x[0] = 1
except* ValueError:
    x[0] = 2
---
try:
    x[0] = 1
finally:
    x[1] = 2
---
raise ValueError
---
raise ValueError("text")
---
raise ValueError("text") from None
---
if n > 100:
    raise ValueError
x[0] = 2
---
raise
---
raise n
---
assert n > 2
x[0] = 1
---
assert n > 2, "text"
x[0] = 1
---
assert n > 2, n
x[0] = 1
---
assert (n, "always true")
x[0] = 1
---
import math
x[0] = math.pi
---
import os.path as path
---
from math import pi, e as euler
x[0] = pi
---
from . import other
---
global counter
counter = n
---
global counter
counter += n
---
global counter
del counter
---
y = n
def inner():
    nonlocal y
    y = 3
inner()
x[0] = y
---
def inner(a, /, b=2, *c, d=3, **e):
    return a + b + d
x[0] = inner(n)
---
def inner(a):
    return a + n
x[0] = inner(1)
---
def inner():
    yield 1
x[0] = next(inner())
---
@abs
def inner(a):
    return a
x[0] = inner(1)
---
async def inner():
    await n
---
class Inner:
    a = 1
x[0] = Inner.a
---
class Inner(int, metaclass=type):
    def method(self):
        return super().real
x[0] = Inner(1).method()
---
"a string"
n
x[0]
n + 1
---
print(n)
---
match n:
    case 1:
        x[0] = 1
    case 3 | 4:
        x[0] = 2
    case _:
        x[0] = 3
---
match n:
    case None:
        x[0] = 1
    case True:
        x[0] = 2
    case other if other > 2:
        x[0] = other
---
match n, 2:
    case [a, 2]:
        x[0] = a
---
match (1, 2, 3):
    case [first, *rest]:
        x[0] = first
---
match n:
    case {"a": b, **others}:
        x[0] = 1
---
match n:
    case int(real=r):
        x[0] = 1
    case str():
        x[0] = 2
---
match n:
    case (1 | 2) as y:
        x[0] = y
    case -1.5:
        x[0] = 2
---
first, *rest = (n, 2, 3)
x[0] = first
---
[a, b] = n, 2
x[0] = a + b
---
(a, b), c = (n, 2), 3
x[0] = a + b + c
---
x[0], x[1] = x[1], x[0]
---
x[0:2] = 3
---
x[:] = x[::-1]
---
x.size = 4
---
x.a.b = 4
---
n.real = 4
---
t = (1, 2)
t[0] = 3
---
a = b
---
if n > 100:
    a = 1
x[0] = a
"""

# Statements that only some versions of Python have.
RECENT_STATEMENTS = """
type Alias = int
x[0] = 1
---
def inner[T, *Ts, **P](a: T) -> T:
    return a
x[0] = inner(n)
---
class Inner[T]:
    pass
---
y = t"{n} and {x[0]!r:>3}"
---
try:
    x[0] = 1
except ValueError, TypeError:
    x[0] = 2
"""

EXPRESSIONS = """
n and 2
n or 2
not n
(w := n)
n + 1
n - 1.5
n * x[1]
n / 2
n // 2
n % 2
n ** 2
n << 1
n >> 1
n | 1
n & 1
n ^ 1
n @ n
-n
+n
~n
(lambda v: v + 1)
(lambda: n)()
(1 if n else 2)
{1: n}
{**{}}
{1, n}
[i for i in range(n)]
[i for i in range(n) if i for j in x]
{i for i in range(n)}
{i: i for i in range(n)}
(i for i in range(n))
(yield n)
(yield)
(yield from x)
(await n)
[i async for i in x]
n < 4
1 < n < 4
n == 3
n != 3
n <= 3
n >= 3 > 1
n is None
n is not None
x is x
n in (1, 2, 3)
n not in (1, 2)
n in x
abs(n)
abs(n, n)
abs(x=n)
abs(*x)
abs(**{})
max(n, 2)
min((n, 2))
len(x)
len(n)
range(n)
range(1.5)
sum(x)
sorted(x)
str(n)
int(n)
int("3")
float(n)
bool(x[0])
isinstance(n, int)
type(n)
getattr(x, "size")
print(n)
open("f")
input()
super()
helper(n)
helper(n, 1)
helper(b=n)
helper
unknown
x.sum()
x.copy()
x.append(1)
n.bit_length()
"text".upper()
"text %d" % n
"a" "b"
"a" + "b"
f"{n}"
f"{n!r:>{n}} and {x[0]=}"
1
1.5
1e400
1j
True
None
...
"s"
b"s"
10 ** 30
9223372036854775808
99999999999999999999999
x.size
x.shape
x.shape[0]
x.dtype
x.T
x.flat
x.no_such
x
x[0]
x[-1]
x[0, 0]
x[0][0]
x[1.5]
x["a"]
x[None]
x[...]
x[n, ...]
x[0:1]
x[::2]
x[n:]
x[True]
x[x]
x[:, 0]
(n, 1)
(n, 1)[0]
(n, 1)[n]
(*(1, 2), n)
()
[]
[n]
[n, 1][0]
[*x, 1]
n
math
math.pi
math.sin
math.sin(n)
math.no_such
math.floor(x[0])
gpu
gpu.grid(1)
gpu.grid(n)
gpu.threadIdx
gpu.threadIdx.x
gpu.no_such
gpu.float32
gpu.float32(n)
gpu.atomic.add(x, 0, 1)
gpu.zeros(3)
np
np.sin
np.sin(n)
np.zeros(3)
np.dot(x, x)
np.float64(n)
np.random.rand()
np.pi
table
array
text
ValueError
ValueError("a")
int
object()
kernel
kernel(x, n)
Instance
Instance.method(n)
__name__
__debug__
NotImplemented
"""

RECENT_EXPRESSIONS = """
t"{n}"
t"{n!r:>{n}}"
"""

PLACES = """
x[0] = @
y = @
@
if @: x[0] = 1
while @: break
for i in @: x[0] = i
for i, j in @: x[0] = i
x[@] = 1
x[0, @] = 1
x[0:@] = 1
x[0] += @
x[1] = n; x[0] = x[@]
return @
x[0] = abs(@)
x[0] = len(@)
x[0] = min(@, 1)
x[0] = max(*@)
x[0] = helper(@)
x[0] = helper(1, b=@)
x[0] = helper(**@)
x[0] = math.sqrt(@)
x[0] = gpu.float32(@)
x[gpu.grid(@)] = 1
x[0] = int(@)
x[0] = bool(@)
x[0] = isinstance(@, int)
x[0] = isinstance(n, @)
for i in range(@): x[0] += 1
for i in reversed(@): x[0] += 1
for i, j in zip(@, x): x[0] += 1
x[0] = (@)()
x[0] = (@)(n)
x[0] = (@).a
x[0] = (@).real
x[0] = (@)[0]
x[0] = (@)[n]
x[0] = (@)[0:1]
(@)[0] = 1
(@).a = 1
a, b = @
a, *b = @
x[0] = -(@)
x[0] = ~(@)
x[0] = not (@)
x[0] = (@) + 1
x[0] = 1.5 * (@)
x[0] = (@) << 1
x[0] = (@) ** (@)
x[0] = (@) @ (@)
x[0] = (@) < 1
x[0] = (@) == (@)
x[0] = (@) is None
x[0] = n in (@)
x[0] = (@) in (1, 2)
x[0] = (@) and 1
x[0] = 1 if (@) else 2
x[0] = (@) if n > 2 else 1
y = (@) if n > 2 else 1; x[0] = 1
x[0] = (@, 1)[1]
x[0] = (@, 1)[n]
assert @
assert n, @
raise @
with @: x[0] = 1
del (@)
print(@)
x[0] = f"{@}"
def inner(a=@): return a
f = lambda: (@); x[0] = f()
y: int = @
for i in range(2): y = @
x[0] = sum(v for v in @)
match @:\n        case 1: x[0] = 2\n        case (a, b): x[0] = 3\n        case None: x[0] = 4
"""


# Where the number rules (docs/semantics.md) give something else than Python and NumPy: ~ of a bool, negative
# exponents at run time, uint64 to int, also as the bound of a range.
OTHER_RULES = (
    "x[0] = ~(",
    ") ** (",
    "int(9223372036854775808)",
    "x[0:9223372036854775808]",
    "range(9",
)


def helper(a, b=1):
    return a + b


class Instance:
    field = 3

    def method(self):
        return self


def names():
    return {
        "gpu": gpu, "math": math, "np": np, "helper": helper, "Instance": Instance(), "counter": 1,
        "table": {"a": 1}, "array": np.arange(4), "text": "text", "__name__": "constructs",
    }  # fmt: skip


_numbers = itertools.count()


def function(body):
    """The function with this body, or None if it is no Python of this version."""
    lines = body.splitlines()
    awaits = any(word in body for word in ("await", "async for", "async with"))
    head = "async def kernel(x, n):" if awaits and "async def" not in body else "def kernel(x, n):"
    source = "\n".join([head, *("    " + line for line in lines)]) + "\n"
    file = f"<construct {next(_numbers)}>"
    scope = names()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CPython's own remarks on nonsense
            exec(compile(source, file, "exec"), scope)
    except SyntaxError:
        return None
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return scope["kernel"]


def values():
    return np.array([1.0, 2.0, 3.0, 4.0])


def in_python(body):
    """What the array holds after Python ran the body, or None if Python cannot run it."""
    x = values()
    if "gpu." in body or any(rule in body for rule in OTHER_RULES):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(body)(x, 3)
    except Exception:
        return None
    return x if result is None else None


def check_refused(error, made, body):
    shown = f"{body}\n{error}"
    assert not isinstance(error, gpu.InternalError), shown
    assert error.code != "BAD_CODE", shown
    last = len(body.splitlines()) + 1
    assert error.filename == made.__code__.co_filename, shown
    assert error.lineno is not None and 1 <= error.lineno <= last, shown
    assert linecache.getline(error.filename, error.lineno).strip() in str(error), shown


# Recursion in place of a loop without an end, which uses no stack.
ENDLESS = (
    "y = (kernel(x, n)) if n > 2 else 1; x[0] = 1",
    "for i in range(2): y = kernel(x, n)",
)


def tried(body, ptx=False):
    """None if the kernel works, else the code of the error. Both are checked; SyntaxErrors are ''."""
    made = function(body)
    if made is None or body in ENDLESS:
        return ""
    kernel = gpu.jit(made)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gpu.Warning)
            if ptx:
                kernel.ptx("float64[::1], int", arch="sm_80")
            x = values()
            kernel[1, 1](x, 3)
    except gpu.Error as error:
        if error.lineno is None and "block (" not in str(error):
            raise AssertionError(f"{body}\n{error}") from error
        check_refused(error, made, body) if error.filename == made.__code__.co_filename else None
        return error.code
    except Exception as error:
        # An exception of the kernel's own, as Python raises it.
        assert in_python(body) is None, f"{body}\n{error!r}"
        return type(error).__name__
    expected = in_python(body)
    if expected is not None:
        assert np.array_equal(x, expected), f"{body}\n{x} instead of {expected}"
    return None


def parts(text, separator):
    return [part.strip("\n") for part in text.strip().split(separator)]


STATEMENT_LIST = parts(STATEMENTS, "\n---\n")
RECENT_STATEMENT_LIST = parts(RECENT_STATEMENTS, "\n---\n")
EXPRESSION_LIST = parts(EXPRESSIONS, "\n")
PLACE_LIST = [place.replace("\\n        ", "\n    ") for place in parts(PLACES, "\n")]


@pytest.fixture(autouse=True)
def no_hang():
    faulthandler.dump_traceback_later(240, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def test_every_kind_is_here():
    made = set()
    recent = [*RECENT_STATEMENT_LIST, *("x[0] = " + e for e in parts(RECENT_EXPRESSIONS, "\n"))]
    sources = [*STATEMENT_LIST, *("x[0] = " + e for e in EXPRESSION_LIST), *recent]
    sources += ["async def f():\n    async for i in x: pass\n    async with x: pass"]
    for body in sources:
        text = "async def kernel(x, n):\n" + "\n".join("    " + line for line in body.splitlines())
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except SyntaxError:
            assert body in recent, body
            continue
        made |= {type(node).__name__ for node in nodes}
    kinds = {
        name
        for name, kind in vars(ast).items()
        if isinstance(kind, type)
        and issubclass(kind, ast.AST)
        and name not in ABSTRACT
        and name[0] != "_"
    }
    assert kinds - made == set()


@pytest.mark.parametrize("body", STATEMENT_LIST)
def test_statements(body):
    assert tried(body, ptx=True) != ""


@pytest.mark.parametrize("body", RECENT_STATEMENT_LIST)
def test_recent_statements(body):
    tried(body)


@pytest.mark.parametrize("body", ["async for i in x: x[0] = i", "async with x: x[0] = 1"])
def test_coroutines(body):
    assert tried(body) == "NYI_CONSTRUCT"


@pytest.mark.parametrize("expression", [*EXPRESSION_LIST, *parts(RECENT_EXPRESSIONS, "\n")])
def test_expressions_in_every_place(expression):
    # All on the oldest version; of the others, whose operations are the same, a share.
    step = 1 if sys.version_info < (3, 12) else 5
    for place in PLACE_LIST[len(expression) % step :: step]:
        is_deep = place.count("@") >= 3  # a @ of its own
        tried(
            place.replace("(@)" if is_deep else "@", f"({expression})" if is_deep else expression)
        )
