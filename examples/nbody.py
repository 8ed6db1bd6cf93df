"""Stars that attract each other. Each thread has one; blocks keep tiles of all in shared memory.

nbody.py [stars [steps]]
"""

import sys

import gpu
import numpy as np

TILE = 64
SOFT = 0.01  # keeps close stars from flying apart
STEP = 0.001


@gpu.jit
def accelerate(place, mass, speed):
    """speed += STEP * the attraction of all stars"""
    tile = gpu.shared.array((TILE, 4), gpu.float64)
    i, t = gpu.grid(1), gpu.threadIdx.x
    n = len(mass)
    here = i if i < n else 0  # threads without a star help to load
    px, py, pz = place[here, 0], place[here, 1], place[here, 2]
    ax = ay = az = gpu.float64(0)
    for first in range(0, n, TILE):
        if first + t < n:
            for axis in range(3):
                tile[t, axis] = place[first + t, axis]
            tile[t, 3] = mass[first + t]
        gpu.syncthreads()
        for k in range(min(TILE, n - first)):
            dx, dy, dz = tile[k, 0] - px, tile[k, 1] - py, tile[k, 2] - pz
            square = dx * dx + dy * dy + dz * dz + SOFT
            pull = tile[k, 3] / (square * np.sqrt(square))
            ax, ay, az = ax + dx * pull, ay + dy * pull, az + dz * pull
        gpu.syncthreads()
    if i < n:
        for axis, a in gpu.unroll(((0, ax), (1, ay), (2, az))):
            speed[i, axis] += a * STEP


@gpu.jit
def move(place, speed):
    i = gpu.grid(1)
    if i < len(place):
        for axis in range(3):
            place[i, axis] += speed[i, axis] * STEP


def reference(place: np.ndarray, mass: np.ndarray, speed: np.ndarray) -> None:
    d = place[None, :, :] - place[:, None, :]
    square = (d**2).sum(axis=-1) + SOFT
    speed += STEP * (d * (mass[None, :] / square**1.5)[:, :, None]).sum(axis=1)
    place += STEP * speed


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    rng = np.random.default_rng(1)
    place, speed = rng.normal(size=(n, 3)), rng.normal(scale=0.1, size=(n, 3))
    mass = rng.uniform(0.5, 1.5, n) / n

    on_device = [gpu.to_device(x) for x in (place, mass, speed)]
    blocks = (n + TILE - 1) // TILE
    for _ in range(steps):
        accelerate[blocks, TILE](*on_device)
        move[blocks, TILE](on_device[0], on_device[2])
        reference(place, mass, speed)
    error = np.max(np.abs(on_device[0].copy_to_host() - place))
    print(f"{n} stars, {steps} steps: largest difference from NumPy {error:.2e}")
    print("correct" if error < 1e-9 else "the stars are wrong")
    return 0 if error < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
