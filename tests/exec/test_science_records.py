"""Programs over structured arrays: the simulation of a liquid-argon detector, from tracks to the
pulses of its pixels, and a tracker of particles with records in records. Against NumPy."""

import math
from types import ModuleType

import gpu as cuda
import numpy as np
from gpu import float64
from kit import launch

# Constants as programs keep them: attributes of a module.
detector = ModuleType("detector")
detector.drift_velocity = 0.1648
detector.lifetime = 2.2e3
detector.pixel = 0.4
detector.planes = ((-10.0, 10.0, 0.0, 30.0), (12.0, 32.0, 0.0, 30.0))  # x0, x1, z0, z1
detector.diffusion = (4.0e-3, 8.8e-3)
detector.BOX, detector.BIRKS = 1, 2
detector.ticks, detector.tick = 40, 5.0

TRACK = np.dtype(
    [
        ("event", "u4"), ("id", "i4"), ("pdg", "i4"), ("pixel_plane", "i4"),
        ("x_start", "f4"), ("y_start", "f4"), ("z_start", "f4"),
        ("x_end", "f4"), ("y_end", "f4"), ("z_end", "f4"),
        ("x", "f4"), ("y", "f4"), ("z", "f4"), ("t", "f4"),
        ("dx", "f4"), ("dE", "f4"), ("dEdx", "f4"),
        ("n_electrons", "f8"), ("long_diff", "f4"), ("tran_diff", "f4"), ("active", "?"),
    ]
)  # fmt: skip


@cuda.jit
def quench(tracks, mode):
    itrk = cuda.grid(1)
    if itrk < tracks.shape[0]:
        dEdx = tracks[itrk]["dEdx"]
        if mode == detector.BOX:
            xi = 0.2 * dEdx / 0.69
            recombined = max(0.0, math.log(0.93 + xi) / xi)
        elif mode == detector.BIRKS:
            recombined = 0.8 / (1.0 + 0.0486 * dEdx / 0.69)
        else:
            raise ValueError("the recombination is BOX or BIRKS", mode)
        tracks[itrk]["n_electrons"] = recombined * tracks[itrk]["dE"] * 4.237e4


@cuda.jit(device=True)
def plane_of(track):
    for i, (x0, x1, z0, z1) in enumerate(detector.planes):
        if x0 <= track.x <= x1 and z0 <= track.z <= z1:
            return i
    return -1


@cuda.jit
def drift(tracks):
    itrk = cuda.grid(1)
    if itrk >= tracks.shape[0]:
        return
    track = tracks[itrk]
    track.pixel_plane = plane_of(track)
    if track.pixel_plane < 0:
        track.active = False
        return
    distance = abs(track.z - 0.25)
    time = distance / detector.drift_velocity
    track["n_electrons"] *= math.exp(-time / detector.lifetime)
    track["long_diff"] = math.sqrt(2 * detector.diffusion[0] * time)
    track["tran_diff"] = math.sqrt(2 * detector.diffusion[1] * time)
    track["t"] += time
    track.active = True


@cuda.jit
def induce(tracks, pixels, signals, total):
    """A block per pixel, a thread per tick; tracks by tiles in shared memory."""
    pixel, tick = cuda.blockIdx.x, cuda.threadIdx.x
    tile = cuda.shared.array(16, TRACK)
    charge = float64(0.0)
    for first in range(0, tracks.shape[0], 16):
        n = min(16, tracks.shape[0] - first)
        if tick < n:
            tile[tick] = tracks[first + tick]
        cuda.syncthreads()
        for k in range(n):
            track = tile[k]
            if not track.active or track.pixel_plane != pixels[pixel].plane:
                continue
            wide = track.tran_diff + detector.pixel
            rx = (track.x - pixels[pixel].centre[0]) / wide
            ry = (track.y - pixels[pixel].centre[1]) / wide
            rt = (track.t - detector.tick * tick) / (track.long_diff * 50 + detector.tick)
            charge += track.n_electrons * math.exp(-0.5 * (rx * rx + ry * ry + rt * rt))
        cuda.syncthreads()
    signals[pixel, tick] = charge
    cuda.atomic.add(total, pixel, charge)


PIXEL = np.dtype([("plane", "i2"), ("centre", "f8", 2)], align=True)


def tracks_of(n):
    rng = np.random.default_rng(6)
    tracks = np.zeros(n, TRACK)
    tracks["event"], tracks["id"] = 2**31 + 5, np.arange(n)
    tracks["x"], tracks["y"] = rng.uniform(-12, 34, n), rng.uniform(0, 4, n)
    tracks["z"] = rng.uniform(-2, 32, n)
    tracks["dE"], tracks["dEdx"] = rng.random(n), 1 + rng.random(n)
    tracks["t"] = rng.random(n)
    return tracks


def test_detector_simulation():
    n = 40
    tracks, twin = tracks_of(n), tracks_of(n)
    launch(quench, n, tracks, detector.BOX, ulps=64)
    xi = 0.2 * twin["dEdx"].astype(float) / 0.69
    twin["n_electrons"] = np.log(0.93 + xi) / xi * twin["dE"] * 4.237e4
    assert np.allclose(tracks["n_electrons"], twin["n_electrons"], rtol=1e-5)

    launch(drift, n, tracks, ulps=64)
    plane = np.full(n, -1)
    for i, (x0, x1, z0, z1) in enumerate(detector.planes):
        plane[(plane < 0) & (twin["x"] >= x0) & (twin["x"] <= x1) & (twin["z"] >= z0)
              & (twin["z"] <= z1)] = i  # fmt: skip
    inside = plane >= 0
    assert 5 < inside.sum() < n
    time = np.where(inside, abs(twin["z"] - 0.25) / detector.drift_velocity, 0)
    twin["n_electrons"] *= np.exp(-time / detector.lifetime)
    twin["long_diff"] = np.sqrt(2 * detector.diffusion[0] * time)
    twin["tran_diff"] = np.sqrt(2 * detector.diffusion[1] * time)
    twin["t"] += time
    twin["active"], twin["pixel_plane"] = inside, plane
    for name in TRACK.names:
        assert np.allclose(tracks[name], twin[name], rtol=1e-4), name

    pixels = np.zeros(6, PIXEL)
    pixels["plane"] = [0, 0, 0, 1, 1, 1]
    pixels["centre"] = [(-5, 1), (0, 2), (5, 3), (15, 1), (20, 2), (25, 3)]
    signals, total = np.zeros((6, detector.ticks)), np.zeros(6)
    induce[6, detector.ticks](tracks, pixels, signals, total)
    expected = np.zeros_like(signals)
    for p, pixel in enumerate(pixels):
        for tick in range(detector.ticks):
            wide = twin["tran_diff"] + detector.pixel
            r2 = ((twin["x"] - pixel["centre"][0]) / wide) ** 2
            r2 += ((twin["y"] - pixel["centre"][1]) / wide) ** 2
            r2 += ((twin["t"] - detector.tick * tick)
                   / (twin["long_diff"] * 50 + detector.tick)) ** 2  # fmt: skip
            here = inside & (plane == pixel["plane"])
            expected[p, tick] = (twin["n_electrons"] * np.exp(-0.5 * r2))[here].sum()
    assert expected.max() > 1
    assert np.allclose(signals, expected, rtol=1e-3, atol=1e-6)
    assert np.allclose(total, signals.sum(1))


def test_an_unknown_recombination_is_raised():
    try:
        quench[1, 32](tracks_of(3), 7)
        cuda.synchronize()
    except ValueError as error:
        assert error.args == ("the recombination is BOX or BIRKS", 7)
    else:
        raise AssertionError("no error")


# --- Particles with records in records ------------------------------------------------------------

STATE = np.dtype([("position", "f8", 3), ("momentum", "f8", 3)])
PARTICLE = np.dtype([("id", "i4"), ("charge", "f4"), ("now", STATE), ("hits", "u2", (2, 4))])


@cuda.jit(device=True)
def turn(state, angle):
    px, py = state.momentum[0], state.momentum[1]
    c, s = math.cos(angle), math.sin(angle)
    state.momentum[0] = c * px - s * py
    state.momentum[1] = s * px + c * py


@cuda.jit
def track(particles, history, n_steps, field, h):
    i = cuda.grid(1)
    if i >= len(particles):
        return
    p = particles[i]
    for step in range(n_steps):
        turn(p.now, p.charge * field * h)
        for axis in range(3):
            p.now.position[axis] += h * p.now.momentum[axis]
        history[step, i] = p.now
        sector = int(p.now.position[0] > 0) + 2 * int(p.now.position[1] > 0)
        p.hits[step % 2, sector] += 1


def test_records_in_records():
    rng = np.random.default_rng(10)
    n, steps, field, h = 9, 12, 1.5, 0.2
    particles = np.zeros(n, PARTICLE)
    particles["charge"] = rng.choice([-1, 0, 1], n)
    particles["now"]["position"] = rng.normal(size=(n, 3))
    particles["now"]["momentum"] = rng.normal(size=(n, 3))
    position, momentum = (particles["now"][name].copy() for name in STATE.names)
    hits = np.zeros((n, 2, 4), int)
    history = np.zeros((steps, n), STATE)
    launch(track, n, particles, history, steps, field, h, ulps=16)
    angle = particles["charge"].astype(float) * field * h
    for step in range(steps):
        px, py = momentum[:, 0].copy(), momentum[:, 1].copy()
        momentum[:, 0] = np.cos(angle) * px - np.sin(angle) * py
        momentum[:, 1] = np.sin(angle) * px + np.cos(angle) * py
        position += h * momentum
        assert np.allclose(history[step]["position"], position, rtol=1e-5, atol=1e-6)
        assert np.allclose(history[step]["momentum"], momentum, rtol=1e-5, atol=1e-6)
        hits[np.arange(n), step % 2, (position[:, 0] > 0) + 2 * (position[:, 1] > 0)] += 1
    assert np.array_equal(particles["hits"], hits)
    assert np.array_equal(particles["now"], history[-1])
