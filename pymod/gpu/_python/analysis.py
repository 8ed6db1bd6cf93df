"""Which sums contract with which products, read off the bytecode.

The rule of docs/semantics.md, section "fma", speaks of the program: a product is the value of an
expression `p * q` of the same function that reaches the sum without passing a join. Running code
cannot see joins, so the function's bytecode is walked once beforehand: each stack entry and local
variable holds the one instruction or constant that it can come from, or nothing if there are
several. The operand of a sum that can only come from one multiplication is a product.

Also from here: which operands are constants (they do not contract, and must fit a typed integer),
which exponents are written in the program, which variables may be read without a value, and where
`~` is applied to what Python itself makes a bool.
"""

from __future__ import annotations

import dis
import operator
import sys
from dataclasses import dataclass, field
from functools import lru_cache

from gpu._python import operations
from gpu._python.rewrite import COMPARE_TO_BOOL, number_in
from gpu._python.scalars import Scalar, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

    Sites = dict[int, "Operand"]
    State = tuple[list, list]  # the stack, the variables


@dataclass(frozen=True)
class Operand:
    """What is known of the operands of one BINARY_OP."""

    left_product: bool = False
    right_product: bool = False
    left_constant: bool = False
    right_constant: bool = False
    exponent: int | float | None = None  # the right operand, if it is written in the program


@dataclass
class Facts:
    """What is known of a code object."""

    sites: Sites = field(default_factory=dict)  # of BINARY_OP instructions, by offset
    inversions: set[int] = field(default_factory=set)  # offsets of `~` of a bool of Python's own
    zeros: set[int] = field(default_factory=set)  # variables that may be read without a value


@dataclass(frozen=True)
class Product:
    """The result of the multiplication at this offset."""

    offset: int


@dataclass(frozen=True)
class Unbound:
    """No value on some path (`maybe`), or on any."""

    maybe: bool = False


@dataclass(frozen=True)
class HostBool:
    """A bool that an instruction makes without asking the number: `not`, `is`, `in`."""


@dataclass(frozen=True, eq=False)
class Constant:
    """The same value each time. `written`: a literal or a name, not computed from them."""

    value: Any
    written: bool = True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return False
        a, b = self.value, other.value
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return type(a) is type(b) and repr(a.value) == repr(b.value)
        return a is b


# Instructions that leave nothing on the stack; the others leave one value, but for those of `step`.
LEAVE_NOTHING = ("POP_", "STORE_", "DELETE_", "JUMP", "RETURN_", "END_", "RAISE_", "LIST_EXTEND",
                 "NOP", "RESUME", "CACHE", "PRECALL", "KW_NAMES", "MAKE_CELL", "COPY_FREE_VARS",
                 "NOT_TAKEN", "EXTENDED_ARG", "SET_UPDATE", "DICT_", "LIST_APPEND")  # fmt: skip
HOST_BOOLS = ("UNARY_NOT", "IS_OP", "CONTAINS_OP", "TO_BOOL")
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
OPERATORS = {
    getattr(operator, prefix + name): symbol
    for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("pow", "**"))
    for prefix in ("", "i")
}
FOLDED_FLOATS = ("+", "-", "*", "/")


JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


@lru_cache(maxsize=256)
def instructions_of(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int], set[int]]:
    """The instructions, their numbers by offset, and those that are jumped to."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    index = {i.offset: k for k, i in enumerate(instructions)}
    return instructions, index, {index[i.argval] for i in instructions if i.opcode in JUMPS}


class Walk:
    """The states where ways meet in one code object, and what follows from them."""

    def __init__(self, code: CodeType, lookup: Callable[[str], Any], free: dict[str, Any]) -> None:
        self.instructions, self.index, self.targets = instructions_of(code)
        self.lookup, self.free = lookup, free
        n_args = code.co_argcount + code.co_kwonlyargcount
        n_args += bool(code.co_flags & 4) + bool(code.co_flags & 8)
        self.consts = code.co_consts
        unset = [Unbound()] * (code.co_nlocals - n_args)
        cells = [None] * (len(code.co_cellvars) + len(code.co_freevars))
        self.entry: State = ([], [None] * n_args + unset + cells)
        self.edges: dict[int, dict[int, State]] = {0: {-1: self.entry}}  # target, source -> state
        self.facts = Facts()

    def run(self) -> Facts:
        work = [0]
        while work:
            for source, target, state in self.flow(work.pop()):
                sources = self.edges.setdefault(target, {})
                if sources.get(source) != state:
                    sources[source] = state
                    work.append(target)
        self.facts = Facts()  # of the final states only
        for k in self.edges:
            for _ in self.flow(k):
                pass
        return self.facts

    def state(self, k: int) -> State:
        """Before the instruction: what the ways to it have in common."""
        first, *others = self.edges[k].values()
        stack, variables = list(first[0]), list(first[1])
        for other in others:
            stack = [join(a, b) for a, b in zip(stack, other[0], strict=False)]
            variables = [join(a, b) for a, b in zip(variables, other[1], strict=True)]
        return stack, variables

    def flow(self, k: int) -> Iterator[tuple[int, int, State]]:
        """From the instruction to where other ways come in: each such way on, with its state."""
        stack, variables = self.state(k)
        while True:
            instruction = self.instructions[k]
            name = instruction.opname
            if instruction.opcode in JUMPS:
                effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=True)
                jumped = stack[: len(stack) + effect] + [None] * effect
                yield k, self.index[instruction.argval], (jumped, list(variables))
                if name in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
                    return
            if name in ENDS or k + 1 == len(self.instructions):
                return
            self.step(instruction, stack, variables)
            k += 1
            if k in self.targets:
                yield k - 1, k, (stack, variables)
                return

    def step(self, instruction: dis.Instruction, stack: list, variables: list) -> None:
        """What the instruction does to the stack and the variables."""
        name, arg = instruction.opname, instruction.arg
        if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            value = arg if name == "LOAD_SMALL_INT" else self.consts[arg]
            stack.append(Constant(literal(value)))
        elif name == "LOAD_COMMON_CONSTANT":
            value = number_in(instruction.opcode, arg)
            stack.append(None if value is None else Constant(literal(value)))
        elif name in ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR"):
            clears = name.endswith("CLEAR")
            stack.append(variables[arg] if clears else self.read(variables, arg))
            if clears:
                variables[arg] = Unbound()
        elif name.startswith("LOAD_FAST_") and "LOAD_FAST" in name[10:]:
            stack += [self.read(variables, arg >> 4), self.read(variables, arg & 15)]
        elif name == "STORE_FAST":
            variables[arg] = stack.pop()
        elif name == "STORE_FAST_LOAD_FAST":
            variables[arg >> 4] = stack.pop()
            stack.append(self.read(variables, arg & 15))
        elif name == "STORE_FAST_STORE_FAST":
            variables[arg >> 4] = stack.pop()
            variables[arg & 15] = stack.pop()
        elif name == "DELETE_FAST":
            variables[arg] = Unbound()
        elif name == "COPY":
            stack.append(stack[-arg])
        elif name == "SWAP":
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
        elif name == "BINARY_OP":
            right, left = stack.pop(), stack.pop()
            stack.append(
                self.binary(instruction.offset, instruction.argrepr.rstrip("="), left, right)
            )
        elif name == "UNARY_INVERT":
            if stack.pop() == HostBool():
                self.facts.inversions.add(instruction.offset)
                stack.append(HostBool())
            else:
                stack.append(None)
        elif name == "UNARY_NEGATIVE":
            stack.append(self.negative(stack.pop()))
        elif name in ("LOAD_GLOBAL", "LOAD_NAME") and not arg & (name == "LOAD_GLOBAL"):
            stack.append(self.named(self.lookup, instruction.argval))
        elif name == "LOAD_DEREF":
            stack.append(self.named(self.free.__getitem__, instruction.argval))
        elif name == "LOAD_ATTR" and not (sys.version_info >= (3, 12) and arg & 1):
            stack.append(self.attribute(stack.pop(), instruction.argval))
        elif name in ("PRECALL", "CALL"):
            self.call(instruction, stack)
        elif name == "LOAD_GLOBAL":
            stack += [None, self.named(self.lookup, instruction.argval)]
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            stack += [None, self.attribute(stack.pop(), instruction.argval)]
        else:
            self.other(instruction, stack)

    def call(self, instruction: dis.Instruction, stack: list) -> None:
        """A function of `operator` is the operator; it runs in PRECALL or CALL."""
        n_args = instruction.arg or 0
        callee = [x.value for x in stack[-n_args - 2 : len(stack) - n_args] if type(x) is Constant]
        symbol = OPERATORS.get(callee[0]) if callee and callable(callee[0]) else None
        result = None
        if symbol and n_args == 2:
            result = self.binary(instruction.offset, symbol, stack[-2], stack[-1])
        if instruction.opname == "CALL":
            del stack[-n_args - 2 :]
            stack.append(result)

    def other(self, instruction: dis.Instruction, stack: list) -> None:
        """By the stack effect alone."""
        effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        left = 0 if instruction.opname.startswith(LEAVE_NOTHING) else 1
        if instruction.opname.startswith("UNPACK_"):
            left = effect + 1
        left = max(left, effect)
        popped = left - effect
        if popped:
            del stack[-popped:]
        stack += [None] * left
        compares = instruction.opname == "COMPARE_OP" and sys.version_info >= (3, 13)
        if instruction.opname in HOST_BOOLS or (compares and instruction.arg & COMPARE_TO_BOOL):
            stack[-1] = HostBool()

    def read(self, variables: list, index: int) -> Any:
        if isinstance(variables[index], Unbound):
            self.facts.zeros.add(index)
            return None
        return variables[index]

    def binary(self, offset: int, symbol: str, left: Any, right: Any) -> Any:
        constants = [isinstance(x, Constant) and isinstance(x.value, Scalar) for x in (left, right)]
        exponent = None
        if constants[1] and right.written and not right.value.typed:
            exponent = right.value.value
        self.facts.sites[offset] = Operand(
            isinstance(left, Product), isinstance(right, Product), *constants, exponent
        )
        if all(constants):
            folded = fold(symbol, left.value, right.value)
            if folded is not None:
                return folded
        return Product(offset) if symbol == "*" else None

    def negative(self, operand: Any) -> Any:
        if isinstance(operand, Constant) and isinstance(operand.value, Scalar):
            return Constant(-operand.value, written=False)
        return None

    def named(self, lookup: Callable[[str], Any], name: str) -> Any:
        try:
            return Constant(lookup(name))
        except Exception:
            return None

    def attribute(self, owner: Any, name: str) -> Any:
        """Of a module or another constant object, not of the thread's own indices."""
        if isinstance(owner, Constant) and getattr(type(owner.value), "constant_attributes", False):
            varies = getattr(type(owner.value), "varies", None)
            if varies and varies(owner.value, name):
                return None
            return self.named(lambda n: getattr(owner.value, n), name)
        return None


def fold(symbol: str, a: Scalar, b: Scalar) -> Constant | None:
    """Constants that are computed before the kernel runs: weak numbers, no float powers."""
    if a.typed or b.typed:
        return None
    if (a.kind == 2 or b.kind == 2 or symbol == "/") and symbol not in FOLDED_FLOATS:
        return None
    try:
        return Constant(operations.binary(symbol, a, b, sys._getframe()), written=False)
    except Exception:
        return None


def join(a: Any, b: Any) -> Any:
    """What an entry can come from where two paths meet."""
    if a == b:
        return a
    return Unbound(maybe=True) if isinstance(a, Unbound) or isinstance(b, Unbound) else None


def analyse(code: CodeType, lookup: Callable[[str], Any], free: dict[str, Any]) -> Facts:
    """What is known of a code object.

    `lookup` gives a global name's value, `free` those of the cells that are known.
    """
    return Walk(code, lookup, free).run()
