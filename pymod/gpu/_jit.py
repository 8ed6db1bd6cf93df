"""The decorator: options as people write them to options as the compiler has them."""

from __future__ import annotations

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FUNCTION = type(lambda: None)

# What to do with what is no function but holds one.
INSTEAD = {
    "staticmethod": ": write @staticmethod above @gpu.jit",
    "classmethod": ": a kernel has no class to be called with, write @staticmethod above @gpu.jit",
    "method": ": a kernel has no self, write a function",
    "partial": ": give the arguments when the kernel is launched",
    "_lru_cache_wrapper": ": leave the cache away, kernels return nothing",
}

# Spellings of numba whose meaning is ours anyway: LLVM decides what is inlined, nothing falls back
# to Python, and the GIL is not held.
NUMBA_OURS = ("inline", "forceinline", "nopython", "nogil")

# Those that are accepted without effect, with what there is instead.
NUMBA_IGNORED = {
    "abi": "functions have one way to be called",
    "abi_info": "functions keep their names",
    "bind": "a kernel is loaded when it is first launched",
    "boundscheck": "check=True checks indices, and more",
    "extensions": "arrays of other libraries are taken as they are",
    "error_model": "divisions by zero give infinity or 0, and check=True raises",
    "fastcache": "what was compiled is found by types in any case",
    "lto": "functions are compiled together with their kernel in any case",
    "shared_memory_carveout": "the driver divides the memory of a multiprocessor",
    "parallel": "what runs in parallel is the threads of a launch",
}


def jit(
    function: Any = None,
    /,
    *,
    signature: Any = None,
    check: bool = False,
    debug: bool = False,
    lineinfo: bool = False,
    fastmath: bool = False,
    fma: bool = True,
    float: Any = None,
    ftz: bool = False,
    prec_div: bool = True,
    prec_sqrt: bool = True,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, int] | None = None,
    opt_level: int | None = None,
    cache: bool = True,
    **others: Any,
) -> Any:
    """Makes a kernel of a function: @jit, @jit(options), @jit("int, float32[:]").

    signature      a text or a list of texts: the only types that launches may have
    check          raise what Python or NumPy would: IndexError, OverflowError and more
    debug          check and lineinfo
    lineinfo       line tables for profilers and debuggers
    fastmath       the next four at their fastest (float32)
    fma            contract a * b + c to one rounding
    float          what Python's floats compute in: gpu.float64, the default, or gpu.float32
    ftz            denormals are zero
    prec_div       division is correctly rounded, else within 2 ulp
    prec_sqrt      square roots are correctly rounded, else within 3 ulp
    max_registers  registers that a thread may use
    launch_bounds  threads per block, or (threads per block, blocks per multiprocessor)
    opt_level      0 to 3, of LLVM and of the driver
    cache          kept on disk for other processes; compiled once per signature either way
    """
    if isinstance(function, (str, list, tuple, _gpujit.DType)):
        if signature is not None:
            raise _fail("signature", "is given twice")
        function, signature = None, function
    for name in ("func_or_sig", "argtypes"):  # names that it has or had in numba
        if name in others and signature is None:
            signature = others.pop(name)
    options = _options(others)
    if check or debug:
        options["check"] = 1
    if lineinfo or debug:
        options |= {"lineinfo": 1, "jit_line_info": 1}
    if not fma:
        options |= {"fma": 0, "jit_fma": 0}
    if ftz or fastmath:
        options |= {"ftz": 1, "jit_ftz": 1}
    if float is not None:
        options["single"] = _single(float)
    if not prec_div or fastmath:
        options |= {"approx_div": 1, "jit_prec_div": 0}
    if not prec_sqrt or fastmath:
        options |= {"approx_sqrt": 1, "jit_prec_sqrt": 0}
    if not cache:
        options["cache"] = 0
    if max_registers is not None:
        options["max_registers"] = _int("max_registers", max_registers)
    if opt_level is not None:
        options |= _opt_level(opt_level)
    if launch_bounds is not None:
        bounds = launch_bounds if isinstance(launch_bounds, tuple) else (launch_bounds,)
        if not 1 <= len(bounds) <= 2:
            raise _fail("launch_bounds", "takes threads, or (threads, blocks)")
        for name, value in zip(("max_threads", "min_blocks"), bounds, strict=False):
            options[name] = _int("launch_bounds", value)
    signatures = _signatures(signature)

    def decorate(function: Callable[..., Any]) -> _gpujit.Kernel[...]:
        function = getattr(function, "py_func", function)
        if not isinstance(function, FUNCTION):
            kind = type(function).__name__
            instead = INSTEAD.get(kind, "")
            raise _gpujit.ArgumentTypeError(
                f"gpu.jit needs a Python function, not '{kind}'{instead}"
            )
        return _gpujit.Kernel(function, signatures, options)

    return decorate if function is None else decorate(function)


def _options(others: dict[str, Any]) -> dict[str, int]:
    """Numba's spellings."""
    options: dict[str, int] = {}
    for name, value in others.items():
        if name == "opt":
            level = 3 if value is True else 0 if value is False else value
            options |= _opt_level(level)
        elif name == "device":
            options["device"] = int(bool(value))
        elif name == "link":
            if value:
                raise _fail("link", "is not supported yet: write the function in Python")
        elif name in NUMBA_IGNORED:
            if value:
                _gpujit._warn_option(name, NUMBA_IGNORED[name])
        elif name not in NUMBA_OURS:
            raise _fail(name, _unknown(name))
    return options


def _single(value: Any) -> int:
    """Whether Python's floats are float32: from a dtype of ours or of NumPy's, or its name."""
    name = value if isinstance(value, str) else getattr(value, "__name__", None)
    name = name or getattr(value, "name", None) or repr(value)
    if name not in ("float", "float32", "float64"):
        raise _fail("float", f"must be gpu.float32 or gpu.float64, not {name}")
    return int(name == "float32")


def _unknown(name: str) -> str:
    """What to say of an option that is none: the nearest one, and all."""
    import difflib  # here alone: it is slow to import

    names = list(jit.__kwdefaults__ or ())
    near = difflib.get_close_matches(name, names, 1)
    instead = f"did you mean {near[0]}? There" if near else "there"
    return f"is not known; {instead} are {', '.join(names[:-1])} and {names[-1]}"


def _opt_level(value: Any) -> dict[str, int]:
    """The driver's levels go to 4, its default."""
    level = _int("opt_level", value)
    return {"opt_level": level, "jit_opt_level": level if 0 <= level < 3 else 4}


def _int(name: str, value: Any) -> int:
    try:
        return int(value.__index__())
    except AttributeError:
        raise _fail(name, f"must be an int, not {type(value).__name__}") from None


def _fail(name: str, reason: str) -> _gpujit.ArgumentError:
    return _gpujit.ArgumentError(f"option '{name}': {reason}")


class Void:
    """The result of kernels in signatures: gpu.void(gpu.int32, gpu.float32[:])."""

    def __call__(self, *types: Any) -> str:
        return _signature("void", types)

    def __repr__(self) -> str:
        return "gpu.void"

    def __reduce__(self) -> str:
        return "void"  # the one of the module gpu


void = Void()


def _signature(result: Any, types: tuple) -> str:
    """The text of a signature with a result."""
    return f"{_type_text(result)}({', '.join(map(_type_text, types))})"


def _is_type(one: Any) -> bool:
    """Whether it is one type, not a signature."""
    return not isinstance(one, str) or not any(c in one.partition("[")[0] for c in ",(")


def _signatures(signature: Any) -> tuple[str, ...]:
    """The texts of: a text, a tuple of types, a list of these."""
    if signature is None:
        return ()
    if isinstance(signature, tuple) and all(map(_is_type, signature)):
        signature = [signature]  # one, as its types
    if not isinstance(signature, (list, tuple)):
        signature = [signature]
    texts = []
    for one in signature:
        if isinstance(one, (tuple, list)):  # one signature as its types
            one = ", ".join(map(_type_text, one))
        texts.append(_type_text(one))
    return tuple(texts)


def _type_text(one: Any) -> str:
    """A type as signatures write it: ours, NumPy's, Python's, a text, a tuple of such."""
    if isinstance(one, (tuple, list)):
        return f"({', '.join(map(_type_text, one))},)"
    if isinstance(one, str):
        return one
    if isinstance(one, type):
        return one.__name__.rstrip("_")
    if getattr(one, "names", None):  # of a structured dtype
        return _gpujit._elem_text(one)
    if isinstance(one, _gpujit.DType) or type(one).__module__.partition(".")[0] == "numpy":
        return str(one)
    raise _fail("signature", f"{one!r} is no type; write gpu.float32, gpu.float32[:], or a text")
