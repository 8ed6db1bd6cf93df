"""y = a * x + y: compile, launch, copy back, compare with NumPy.

saxpy.py [numbers]
"""

import sys

import gpu
import numpy as np


@gpu.jit
def saxpy(n, a, x, y):
    i = gpu.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(1)
    x = rng.standard_normal(n, dtype=np.float32)
    y = rng.standard_normal(n, dtype=np.float32)

    x_device = gpu.to_device(x)
    y_device = gpu.to_device(y)
    saxpy[(n + 255) // 256, 256](n, 2.0, x_device, y_device)
    result = y_device.copy_to_host()

    expected = np.float32(2.0) * x + y
    # The compiled kernel rounds a * x + y once, NumPy twice.
    error = np.max(np.abs(result - expected))
    largest = np.max(np.abs(expected))
    print(f"device: {gpu.get_current_device().name}")
    print(f"saxpy of {n} numbers: largest difference from NumPy {error:.2e}")
    if not error <= 1e-6 * largest:
        print("saxpy is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
