"""The python device: a kernel's own bytecode, run by CPython over the numbers of kernels.

`run(function, grid, block, args)` runs a kernel thread by thread and changes the NumPy arrays among
the arguments. It is written for clarity, not speed, from the rules of docs/semantics.md alone, and
shares no code with the compiler, which is tested against it.
"""

from gpu._python.runner import run

__all__ = ["run"]
