"""Arrays of gpu in torch's caching allocator, so that both libraries share one pool.

    python examples/torch_memory.py [elements]

Needs torch. Where torch has no GPU the arrays stay in the pool of gpu.
"""

import sys

import gpu
import numpy as np
import torch


@gpu.jit
def axpy(a, x, y):
    i = gpu.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def share_memory() -> bool:
    if gpu.device().kind != "cuda" or not torch.cuda.is_available():
        return False
    gpu.memory.set_allocator(
        lambda nbytes, device, stream: torch.cuda.caching_allocator_alloc(nbytes, device, stream),
        lambda address, nbytes, device, stream: torch.cuda.caching_allocator_delete(address),
    )
    return True


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    shared = share_memory()
    before = torch.cuda.memory_allocated() if shared else 0
    x = gpu.to_device(np.ones(n, np.float32))
    if shared:
        print("torch counts", torch.cuda.memory_allocated() - before, "bytes of ours")

    y = torch.zeros(n, device="cuda" if gpu.device().kind == "cuda" else "cpu")
    for _ in range(10):
        axpy[(n + 255) // 256, 256](0.5, x, y)
    gpu.synchronize()
    gpu.memory.set_allocator(None)
    if not bool((y == 5).all()):
        print("the sums are wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
