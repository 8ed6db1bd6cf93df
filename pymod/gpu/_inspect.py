"""Methods of kernels by the names that Numba's have; kernel_python.def lists them."""

from __future__ import annotations

import sys

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    from typing import Any

NUMBERS = (
    "regs_per_thread",
    "shared_mem_per_block",
    "local_mem_per_thread",
    "const_mem_size",
    "max_threads_per_block",
)


class Overload:
    """What is compiled for one signature. On the CPU device it has no registers: 0."""

    def __init__(self, kernel: Any, signature: str, numbers: tuple[int, ...]) -> None:
        self._kernel = kernel
        self.signature = signature
        for name, number in zip(NUMBERS, numbers, strict=True):
            setattr(self, name, number)

    def inspect_asm(self) -> str:
        return self._kernel.ptx(self.signature)

    def inspect_llvm(self) -> str:
        return self._kernel.llvm(self.signature)

    def __repr__(self) -> str:
        return f"<{self._kernel.__name__}({self.signature})>"


def overloads(kernel: Any) -> dict[str, Overload]:
    return {row[0]: Overload(kernel, row[0], row[1:]) for row in kernel._numbers()}


def _one(signature: Any) -> str:
    from gpu._jit import _signatures

    texts = _signatures(signature)
    if len(texts) != 1:
        raise _gpujit.ArgumentError(f"one signature is needed, not {len(texts)}")
    return texts[0]


def _each(kernel: Any, signature: Any, make: Any) -> Any:
    """make(signature), or a dict of it for all that are compiled."""
    if signature is not None:
        return make(_one(signature))
    return {text: make(text) for text in kernel.signatures}


def inspect_asm(kernel: Any, signature: Any = None) -> Any:
    return _each(kernel, signature, kernel.ptx)


def inspect_llvm(kernel: Any, signature: Any = None) -> Any:
    return _each(kernel, signature, kernel.llvm)


def inspect_types(kernel: Any, file: Any = None) -> None:
    for text in kernel.signatures:
        print(f"{kernel.__name__}({text})", file=file or sys.stdout)
        print(kernel.ir("typed", text), file=file or sys.stdout)


def inspect_sass(kernel: Any, signature: Any = None) -> Any:
    raise _gpujit.UnsupportedError(
        "gpujit has no disassembler; write kernel.ptx(signature, arch) to a file and give it to"
        " ptxas and cuobjdump -sass of NVIDIA's toolkit"
    )


def _number(kernel: Any, signature: Any, name: str) -> Any:
    if signature is None:
        return {text: getattr(one, name) for text, one in overloads(kernel).items()}
    (made,) = overloads(kernel.specialize(_one(signature))).values()
    return getattr(made, name)


def get_regs_per_thread(kernel: Any, signature: Any = None) -> Any:
    return _number(kernel, signature, "regs_per_thread")


def get_shared_mem_per_block(kernel: Any, signature: Any = None) -> Any:
    return _number(kernel, signature, "shared_mem_per_block")


def get_local_mem_per_thread(kernel: Any, signature: Any = None) -> Any:
    return _number(kernel, signature, "local_mem_per_thread")


def get_const_mem_size(kernel: Any, signature: Any = None) -> Any:
    return _number(kernel, signature, "const_mem_size")


def get_max_threads_per_block(kernel: Any, signature: Any = None) -> Any:
    return _number(kernel, signature, "max_threads_per_block")
