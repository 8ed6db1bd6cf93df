"""Which type a random kernel's values have: the rules of numbers, on types alone.

A type is the name of a scalar ("bool", "int", "int8" to "uint64", "float", "float16", "bfloat16",
"float32", "float64"), a tuple of types, an Array or a Function. What has no type raises NoType.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
HALVES = ("float16", "bfloat16")
TYPED_FLOATS = (*HALVES, "float32", "float64")
SCALARS = ("bool", "int", *INTS, "float", *TYPED_FLOATS)
KIND = {"bool": 0, "int": 1} | dict.fromkeys(INTS, 1) | dict.fromkeys(("float", *TYPED_FLOATS), 2)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Array:
    dtype: str
    rank: int


@dataclass(frozen=True)
class Function:
    """A lambda or a nested function without joins, or a function of the module by its name."""

    text: str
    names: tuple[tuple[str, Type], ...] = ()  # what it uses of its maker's variables


Type = str | tuple | Array | Function


class NoType(Exception):
    """The program is none: an operator is not defined for its operands."""


def bits(kind: str) -> int:
    return 64 if kind == "int" else int(kind.lstrip("uint"))


def is_float(kind: Type) -> bool:
    return KIND.get(kind, 0) == 2 if isinstance(kind, str) else False


def scalar(kind: Type) -> str:
    if not isinstance(kind, str):
        raise NoType(f"{kind} is no number")
    return kind


def wider_int(a: str, b: str) -> str:
    """NumPy's type for two typed integers."""
    if a[0] == b[0]:
        return max(a, b, key=bits)
    unsigned, signed = (a, b) if a[0] == "u" else (b, a)
    if bits(unsigned) < bits(signed):
        return signed
    if unsigned == "uint64":
        raise NoType("uint64 with a signed integer")
    return f"int{2 * bits(unsigned)}"


def wider_float(a: str, b: str) -> str:
    if a == b:
        return a
    if {a, b} == set(HALVES):
        return "float32"
    order = ("float", *TYPED_FLOATS)
    return max(a, b, key=order.index)


def common(*kinds: str) -> str:
    """What numbers of these types compute as: the highest kind, its widest typed member."""
    highest = max(KIND[k] for k in kinds)
    members = sorted({k for k in kinds if KIND[k] == highest})
    if highest == 2:
        return reduce(wider_float, members)
    typed = [k for k in members if k in INTS]
    return reduce(wider_int, typed) if typed else members[-1]


def join(*kinds: Type) -> Type:
    """Where variables of these types meet."""
    if all(isinstance(k, tuple) for k in kinds):
        if len({len(k) for k in kinds}) != 1:
            raise NoType("tuples of different lengths meet")
        return tuple(join(*parts) for parts in zip(*kinds, strict=True))
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    return common(*map(scalar, kinds))


MIXED = "mixed"  # uint64 met signed integers: no type unless a float joins


class Several(str):
    """The type of a variable that was assigned on several paths, until it is read: the string is
    what its readers see, `members` are the types that its value may have."""

    __slots__ = ("members",)
    members: frozenset[str]


def members(kind: str) -> frozenset[str]:
    return kind.members if isinstance(kind, Several) else frozenset((kind,))


def meet(*kinds: Type) -> Type:
    """join() of what is not read yet: the value keeps its own type."""
    if all(isinstance(k, tuple) for k in kinds):
        if len({len(k) for k in kinds}) != 1:
            raise NoType("tuples of different lengths meet")
        elements = tuple(meet(*parts) for parts in zip(*kinds, strict=True))
        if MIXED in elements:
            raise NoType("uint64 with a signed integer in a tuple")
        return elements
    if not isinstance(kinds[0], str):
        return join(*kinds)
    every = frozenset().union(*(members(scalar(kind)) for kind in kinds))
    if len(every) == 1:
        return next(iter(every))
    try:
        several = Several(common(*every))
    except NoType:
        several = Several(MIXED)
    several.members = every
    return several


def is_read(kind: Type) -> bool:
    """Whether the value has the type that its readers see."""
    if isinstance(kind, tuple):
        return all(map(is_read, kind))
    return not isinstance(kind, Several)


def seen(kind: Type) -> Type:
    """What readers of the value see."""
    if isinstance(kind, tuple):
        return tuple(map(seen, kind))
    if kind == MIXED:
        raise NoType("uint64 with a signed integer")
    return str(kind) if isinstance(kind, str) else kind


def exactly(kind: Type) -> object:
    """A key that also tells types apart that only readers take for the same."""
    if isinstance(kind, tuple):
        return tuple(map(exactly, kind))
    return (str(kind), members(kind)) if isinstance(kind, str) else kind


def arithmetic_int(a: str, b: str) -> str:
    """bool counts as int, a typed integer wins over int."""
    typed = [k for k in (a, b) if k in INTS]
    return reduce(wider_int, typed) if typed else "int"


def binary(op: str, a: Type, b: Type) -> Type:
    if op == "+" and isinstance(a, tuple) and isinstance(b, tuple):
        return a + b
    a, b = scalar(a), scalar(b)
    floats = is_float(a) or is_float(b)
    if op in COMPARISONS:
        return "bool"
    if op == "/" and not floats:
        return "float"
    if op in ("<<", ">>", "&", "|", "^") and floats:
        raise NoType(f"{op} of floats")
    if floats:
        return common(*(k for k in (a, b) if is_float(k)))
    if op in ("<<", ">>", "**"):
        return "int" if a == "bool" else a
    if op in ("&", "|", "^") and a == b == "bool":
        return "bool"
    return arithmetic_int(a, b)


def unary(op: str, a: Type) -> str:
    a = scalar(a)
    if op == "not":
        return "bool"
    if op == "~" and is_float(a):
        raise NoType("~ of a float")
    return "int" if a == "bool" and op != "~" else a


def number_from(kind: Type) -> str:
    """What NumPy's functions that keep the type give: bool counts as int."""
    return unary("+", kind)


def float_from(*kinds: Type) -> str:
    """What functions of floats give: a typed float, or float for integers of any kind."""
    floats = [k for k in map(scalar, kinds) if is_float(k)]
    return common(*floats) if floats else "float"


def is_a(kind: Type, name: str) -> bool:
    """isinstance(x, name) for an x of the type."""
    if isinstance(kind, tuple) or name == "tuple":
        return isinstance(kind, tuple) and name == "tuple"
    group = {
        "int": ("bool", "int"),
        "float": ("float", "float64"),
        "bool": ("bool",),
        "np.integer": INTS,
        "np.floating": TYPED_FLOATS,
    }
    return kind in group.get(name, (name.partition(".")[2],))


def element(dtype: str) -> str:
    """What reading an element of an array gives."""
    return "int" if dtype in INTS and dtype != "uint64" else dtype
