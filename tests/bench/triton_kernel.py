"""saxpy in Triton, for launch.py: a file of its own, because Triton reads a function's source."""

import triton
import triton.language as tl


@triton.jit
def saxpy(n, a, x, y, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(y + i, a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)
