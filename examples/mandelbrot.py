"""A picture of the Mandelbrot set, one thread per pixel, written as a PPM file.

mandelbrot.py [width [file]]
"""

import sys
from pathlib import Path

import gpu
import numpy as np

ROUNDS = 100


@gpu.jit(fma=False)  # NumPy rounds every product
def mandelbrot(rounds, left, top, size):
    x, y = gpu.grid(2)
    height, width = rounds.shape
    if x >= width or y >= height:
        return
    real, imaginary = left + gpu.float64(x) * size, top - gpu.float64(y) * size
    a = b = gpu.float64(0)
    n = 0
    while n < ROUNDS and a * a + b * b <= 4:
        a, b = a * a - b * b + real, 2 * a * b + imaginary
        n += 1
    rounds[y, x] = n


def expected(width: int, height: int, left: float, top: float, size: float) -> np.ndarray:
    real = (left + np.arange(width) * size)[None, :]
    imaginary = (top - np.arange(height) * size)[:, None]
    a, b = np.zeros((height, width)), np.zeros((height, width))
    rounds = np.zeros((height, width), np.int32)
    for _ in range(ROUNDS):
        inside = a * a + b * b <= 4
        a, b = (
            np.where(inside, a * a - b * b + real, a),
            np.where(inside, 2 * a * b + imaginary, b),
        )
        rounds += inside
    return rounds


def save(rounds: np.ndarray, path: Path) -> None:
    shade = (255 * np.sqrt(rounds / ROUNDS)).astype(np.uint8)
    picture = np.stack([shade, shade // 2, 255 - shade], axis=-1)
    picture[rounds == ROUNDS] = 0
    height, width = rounds.shape
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + picture.tobytes())


def main() -> int:
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 480
    path = Path(sys.argv[2] if len(sys.argv) > 2 else "mandelbrot.ppm")
    height = width * 3 // 4
    view = -2.2, 1.2, 3.2 / width

    on_device = gpu.device_array((height, width), gpu.int32)
    mandelbrot[((width + 15) // 16, (height + 15) // 16), (16, 16)](on_device, *view)
    rounds = on_device.copy_to_host()
    save(rounds, path)

    print(f"{path}: {width} x {height} pixels, {np.mean(rounds == ROUNDS):.1%} in the set")
    if not np.array_equal(rounds, expected(width, height, *view)):
        print("the picture is wrong", file=sys.stderr)
        return 1
    print("correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
