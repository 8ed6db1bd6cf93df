"""Python's objects as kernels see them: numbers, arrays, functions, modules.

What a kernel names is replaced when it is looked up, so that later definitions count, as they do in
Python. A function that a kernel calls runs with rewritten constants and these names.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import math
import operator
import sys
from functools import cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType

from gpu import _gpujit
from gpu._python import functions, mathematics, namespace, numpy_names, operations
from gpu._python.analysis import analyse
from gpu._python.arrays import Array, Constant
from gpu._python.context import context
from gpu._python.rewrite import rewrite, zeroed
from gpu._python.scalars import TYPES, Int, Scalar, lift
from gpu._python.types import AbstractType, Limits, RecordType, TypeObject, type_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# Modules that kernels may call for debugging; they and what they define stay as they are.
HOST_MODULES = (sys.stdlib_module_names - {"math", "operator", "cmath", "enum"}) | {
    "IPython", "ipdb", "pudb", "debugpy", "pydevd", "pytest", "_pytest",
}  # fmt: skip
AS_THEY_ARE = (str, bytes, type(None), type(...), type(NotImplemented), BaseException, CodeType)


def _replacements() -> dict[int, tuple[Any, Any]]:
    """id of an object of the host -> (the object, what kernels have instead)."""
    pairs = [(getattr(builtins, name), new) for name, new in functions.FUNCTIONS.items()]
    pairs += [(getattr(math, name), new) for name, new in mathematics.FUNCTIONS.items()
              if hasattr(math, name)]  # fmt: skip
    pairs += [(getattr(operator, name), new) for name, new in functions.LOGIC.items()]
    return {id(old): (old, new) for old, new in pairs}


REPLACED = _replacements()
MODULES: dict[str, dict[str, Any]] = {"math": {**mathematics.FUNCTIONS, **mathematics.NUMBERS}}


def numpy_type(x: Any) -> TypeObject | None:
    """The type that a class or a dtype of NumPy, or one of ours, stands for."""
    np = sys.modules.get("numpy")
    if isinstance(x, _gpujit.DType):
        return type_object(TYPES[x.name])
    if np is None or not (isinstance(x, np.dtype) or (isinstance(x, type) and x.__module__ in
                          ("numpy", "ml_dtypes") and hasattr(x, "dtype"))):  # fmt: skip
        return None
    try:
        dtype = np.dtype(x)
        return RecordType(dtype) if dtype.names is not None else type_object(TYPES[dtype.name])
    except (TypeError, KeyError):
        return None


def number(x: Any) -> Any:
    """A number from outside: integers are int (uint64 typed), floats of 64 bits weak."""
    if isinstance(x, enum.Flag):
        x = x.value  # flags compute as numbers
    if isinstance(x, enum.Enum) and not isinstance(x, (int, float)):
        return NotImplemented
    lifted = lift(x)
    np = sys.modules.get("numpy")
    if lifted is not NotImplemented or np is None or not isinstance(x, np.generic):
        return lifted
    name = x.dtype.name
    if x.dtype.kind == "b":
        return TYPES["bool"](bool(x))
    if x.dtype.kind in "iu":
        return TYPES["uint64" if name == "uint64" else "int"](int(x))
    return TYPES[name](float(x)) if name in TYPES else NotImplemented


class Objects:
    """The replaced objects of one launch, each made once."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}
        self.builtins = {**vars(builtins), **exceptions(), **functions.FUNCTIONS}
        self.builtins["__import__"] = self.imported

    def value(self, x: Any, name: str = "") -> Any:
        """What kernels have in the place of x."""
        if isinstance(x, (Scalar, Array, TypeObject, AbstractType, Limits, *AS_THEY_ARE)):
            return x
        found = number(x)
        if found is not NotImplemented:
            return found
        if id(x) in REPLACED:
            return REPLACED[id(x)][1]
        if isinstance(x, _gpujit.Intrinsic):
            return namespace.find(x.__gpu_path__)
        if id(x) not in self.made:
            self.made[id(x)] = x, self.make(x, name)
        return self.made[id(x)][1]

    def make(self, x: Any, name: str) -> Any:
        if isinstance(x, tuple):
            elements = [self.value(e, name) for e in x]
            return type(x)._make(elements) if hasattr(x, "_make") else tuple(elements)
        np = sys.modules.get("numpy")
        if np is not None and isinstance(x, np.ndarray):
            return Constant(x, name, read_only=True)
        if isinstance(x, _gpujit.Array):
            base, dtype = memory_of(x)
            return Array(base, name, dtype=dtype)
        if isinstance(x, _gpujit.Kernel):
            return self.value(x.py_func)
        found = numpy_names.replaced(x) or numpy_type(x)
        if found is not None:
            return found
        if isinstance(x, FunctionType):
            return x if host_owned(x) else self.function(x)
        if isinstance(x, MethodType):
            return MethodType(self.value(x.__func__), self.value(x.__self__))
        if isinstance(x, functools.partial):
            keywords = {k: self.value(v) for k, v in x.keywords.items()}
            return functools.partial(self.value(x.func), *map(self.value, x.args), **keywords)
        if isinstance(x, ModuleType):
            return x if x.__name__.partition(".")[0] in HOST_MODULES else Proxy(x, self)
        if isinstance(x, type) and issubclass(x, BaseException):
            return maker(x)
        if isinstance(x, (BuiltinFunctionType, type)) and host_owned(x):
            return x
        return Proxy(x, self)

    def function(self, f: Any) -> Any:
        """f with the constants and names of kernels."""
        names = Globals(f.__globals__, self)
        cells = tuple(CellType() for _ in f.__closure__ or ())
        code = f.__code__
        new = FunctionType(code, names, f.__name__, None, cells)
        self.made[id(f)] = f, new  # before its cells are filled: it may be in them
        free = {}
        for name, cell, old in zip(code.co_freevars, cells, f.__closure__ or (), strict=True):
            try:
                cell.cell_contents = free[name] = self.value(old.cell_contents, name)
            except ValueError:
                continue  # not assigned yet
        new.__code__, n_zeros = self.code(code, names, free)
        new.__defaults__ = (*self.value(f.__defaults__ or ()), *[Int(0)] * n_zeros)
        new.__kwdefaults__ = f.__kwdefaults__ and {
            k: self.value(v) for k, v in f.__kwdefaults__.items()
        }
        new.__qualname__, new.__doc__ = f.__qualname__, f.__doc__
        return new

    def code(self, code: CodeType, names: Globals, free: dict[str, Any]) -> tuple[CodeType, int]:
        """The rewritten code, and how many parameters it has more."""
        facts = analyse(code, names.known, free)
        new = rewrite(code, facts, lambda inner: self.code(inner, names, {})[0])
        n_zeros = 0 if context.check else zeroed(code, facts.zeros)
        if n_zeros:
            new = new.replace(co_argcount=code.co_argcount + n_zeros)
        context.sites[id(new)] = facts.sites
        self.made[id(new)] = new, new  # alive as long as its id is known
        return new, n_zeros

    def imported(self, name: str, *args: Any) -> Any:
        """An import statement in a kernel."""
        return self.value(builtins.__import__(name, *args))


class Globals(dict):
    """The global names of a function, replaced when they are looked up."""

    def __init__(self, names: dict[str, Any], objects: Objects) -> None:
        hidden = {k: names[k] for k in ("__name__", "__file__", "__loader__", "__spec__",
                                        "__package__") if k in names}  # fmt: skip
        super().__init__(hidden, __builtins__=objects.builtins)
        self.names, self.objects = names, objects

    def __getitem__(self, name: str) -> Any:
        if name in self.names and name != "__builtins__":
            return self.objects.value(self.names[name], name)
        return super().__getitem__(name)

    def known(self, name: str) -> Any:
        """A global or a builtin, that is the same for all threads."""
        if namespace.varies(getattr(self.names.get(name), "__gpu_path__", "")):
            raise KeyError(name)
        try:
            return self[name]
        except KeyError:
            return self.objects.builtins[name]

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


class Proxy:
    """A module or an object of the host, whose attributes are replaced too."""

    constant_attributes = True

    def __init__(self, target: Any, objects: Objects) -> None:
        self._target, self._objects = target, objects

    def varies(self, name: str) -> bool:
        """Whether each thread has its own of the attribute."""
        target = self._target
        return isinstance(target, ModuleType) and namespace.varies(f"{target.__name__}.{name}")

    def __getattr__(self, name: str) -> Any:
        target = self._target
        if isinstance(target, ModuleType):
            if target.__name__ == "gpu" and namespace.has(f"gpu.{name}"):
                return namespace.find(f"gpu.{name}")
            replaced = MODULES.get(target.__name__, {})
            if name in replaced:
                return self._objects.value(replaced[name])
        found = getattr(target, name)
        if isinstance(found, MethodType):
            return MethodType(self._objects.value(found.__func__), self)
        return self._objects.value(found, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._target, type) and issubclass(self._target, tuple):
            return self._target(*args, **kwargs)  # a NamedTuple
        method = getattr(type(self._target), "__call__", None)  # noqa: B004
        if isinstance(method, FunctionType):
            return self._objects.value(method)(self, *args, **kwargs)
        message = f"{self._target!r} cannot be called"
        raise operations.error("TypingError", message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proxy) and other._target == self._target

    def __hash__(self) -> int:
        return hash(self._target)

    def __repr__(self) -> str:
        return repr(self._target)


def host_owned(x: Any) -> bool:
    """Whether a function or a class belongs to a module that stays as it is."""
    module = getattr(x, "__module__", None) or ""
    if isinstance(x, BuiltinFunctionType) and not module:  # a method
        module = type(x.__self__).__module__
    if module in ("_operator", "operator"):
        return True
    if module.startswith("gpu._python."):
        return True
    return module.partition(".")[0] in HOST_MODULES and module != "__main__"


def memory_of(array: Any) -> tuple[Any, str]:
    """The memory of an array of ours, as NumPy's, and the elements' type."""
    import ctypes

    import numpy as np

    name = getattr(array.dtype, "name", str(array.dtype))
    record = getattr(array.dtype, "names", None) is not None
    if name != "bfloat16" and not record:
        return np.asarray(memoryview(array)), name
    held = array.dtype if record else np.uint16
    spans = [s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True)]
    if 0 in array.shape:
        return np.zeros(array.shape, held), name
    low = array.address + sum(min(s, 0) for s in spans)
    high = array.address + sum(max(s, 0) for s in spans) + array.itemsize
    memory = (ctypes.c_char * (high - low)).from_address(low)
    base = np.ndarray(array.shape, held, memory, array.address - low, array.strides)
    return base, name


def maker(cls: type[BaseException]) -> type[BaseException]:
    """A class of exceptions that makes those of cls of what the host has for a kernel's numbers."""

    raised: list[BaseException] = []

    def new(_: type, *args: Any, **kwargs: Any) -> BaseException:
        if len(args) == 1 and any(args[0] is e for e in raised):
            return args[0]  # `raise cls` has made it, and wants one of this class
        try:
            made = cls(*host(args), **{k: host(v) for k, v in kwargs.items()})
        except Exception as error:
            message = f"'{cls.__name__}' was raised, but it cannot be made: {error}"
            raise operations.error("KernelError", message, "RAISED") from error
        raised[:] = [made] if not args and _raises(sys._getframe(1)) else []
        return made

    return type(cls)(cls.__name__, (cls,), {"__new__": new, "__module__": cls.__module__})


@cache
def exceptions() -> dict[str, type[BaseException]]:
    """The makers of Python's own exceptions."""
    return {
        name: maker(x)
        for name, x in vars(builtins).items()
        if isinstance(x, type) and issubclass(x, BaseException)
    }


def _raises(frame: FrameType) -> bool:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "RAISE_VARARGS"


def host(x: Any) -> Any:
    """Numbers of kernels as Python's and NumPy's."""
    if isinstance(x, Scalar):
        return x.host()
    return tuple(map(host, x)) if type(x) is tuple else x


__all__ = ["Objects"]
