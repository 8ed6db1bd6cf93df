"""Heat that spreads over a plate with a hot disc, in small steps; pictures of it are PGM files.

heat.py [size [steps [folder]]]
"""

import sys
from pathlib import Path

import gpu
import numpy as np

RATE = np.float32(0.2)
PICTURES = 4


@gpu.jit(fma=False)  # NumPy rounds every product
def spread(now, then):
    x, y = gpu.grid(2)
    height, width = now.shape
    if x < width and y < height:
        here = now[y, x]
        if 0 < x < width - 1 and 0 < y < height - 1:
            around = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1]
            here += RATE * (around - 4 * here)
        then[y, x] = here


def reference(now: np.ndarray) -> np.ndarray:
    then, here = now.copy(), now[1:-1, 1:-1]
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    then[1:-1, 1:-1] = here + RATE * (around - 4 * here)
    return then


def save(plate: np.ndarray, path: Path) -> None:
    height, width = plate.shape
    shades = (255 * plate).clip(0, 255).astype(np.uint8)
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + shades.tobytes())


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else ".")
    y, x = np.mgrid[0:n, 0:n] / n - 0.5
    plate = (x * x + y * y < 0.04).astype(np.float32)

    now, then = gpu.to_device(plate), gpu.device_array((n, n), gpu.float32)
    grid = ((n + 15) // 16, (n + 15) // 16)
    for k in range(steps + 1):
        if k * PICTURES // max(steps, 1) != (k - 1) * PICTURES // max(steps, 1):
            save(now.copy_to_host(), folder / f"heat{k:05d}.pgm")
        if k < steps:
            spread[grid, (16, 16)](now, then)
            now, then = then, now
            plate = reference(plate)
    result = now.copy_to_host()

    print(f"{n} x {n} plate after {steps} steps: {result.min():.4f} to {result.max():.4f}")
    if not np.array_equal(result, plate):
        print("the heat is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
