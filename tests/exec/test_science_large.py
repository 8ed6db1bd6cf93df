"""Programs of many arguments and many lines: a chemistry solver of 60 arguments, and a module of a
thousand lines as generators of code write them. Against NumPy and plain Python."""

import math
import random

import gpu as cuda
import numpy as np
import pytest
from kit import function

# --- A reaction network: one argument per species and rate, 60 in all -----------------------------

SPECIES = [f"n{i}" for i in range(20)]
RATES = [f"k{i}" for i in range(30)]
OUT = ["heat", "cool", "steps", "failed"]
SCALARS = ["n", "dt", "most", "tolerance", "temperature", "density"]


def network_text() -> str:
    """Explicit steps of their own length for each cell; every rate moves one species into another."""
    lines = [f"def network({', '.join([*SPECIES, *RATES, *OUT, *SCALARS])}):"]
    add = lines.append
    add("    i = gpu.grid(1)")
    add("    if i >= n:")
    add("        return")
    for s in SPECIES:
        add(f"    a_{s} = {s}[i]")
    add("    t, count = 0.0, 0")
    add("    hot = math.exp(-1.0 / temperature[i])")
    add("    while t < dt and count < most:")
    for j, rate in enumerate(RATES):
        a, b = SPECIES[j % 20], SPECIES[(j * 7 + 3) % 20]
        add(f"        r{j} = {rate}[i] * hot * a_{a} * (density + a_{b})")
    for s, name in enumerate(SPECIES):
        terms = [f"- r{j}" for j in range(30) if j % 20 == s]
        terms += [f"+ r{j}" for j in range(30) if (j * 11 + 5) % 20 == s]
        add(f"        d_{name} = 0.0 {' '.join(terms)}")
    add("        h = dt - t")
    for s in SPECIES:
        add(f"        if d_{s} < 0.0:")
        add(f"            h = min(h, tolerance * (a_{s} + 1e-3) / -d_{s})")
    for s in SPECIES:
        add(f"        a_{s} += h * d_{s}")
    add(f"        heat[i] += h * ({' + '.join(f'r{j}' for j in range(0, 30, 2))})")
    add(f"        cool[i] += h * ({' + '.join(f'r{j}' for j in range(1, 30, 2))})")
    add("        t += h")
    add("        count += 1")
    for s in SPECIES:
        add(f"    {s}[i] = a_{s}")
    add("    steps[i] = count")
    add("    if t < dt:")
    add("        failed[i] = True")
    return "\n".join(lines) + "\n"


def network_twin(state, rates, temperature, dt, most, tolerance, density):
    """The same for one cell, by matrices."""
    a, t, count, heat, cool = state.copy(), 0.0, 0, 0.0, 0.0
    j = np.arange(30)
    source, with_, target = j % 20, (j * 7 + 3) % 20, (j * 11 + 5) % 20
    while t < dt and count < most:
        r = rates * math.exp(-1.0 / temperature) * a[source] * (density + a[with_])
        d = np.zeros(20)
        np.subtract.at(d, source, r)
        np.add.at(d, target, r)
        falling = d < 0
        h = min(dt - t, (tolerance * (a + 1e-3) / np.where(falling, -d, 1))[falling].min())
        a += h * d
        heat, cool, t, count = heat + h * r[::2].sum(), cool + h * r[1::2].sum(), t + h, count + 1
    return a, heat, cool, count, t < dt


def test_sixty_arguments():
    kernel = cuda.jit(function(network_text(), "network"))
    rng = np.random.default_rng(2)
    n, dt, most, tolerance, density = 10, 0.5, 60, 0.1, 0.5
    species = [rng.random(n) for _ in SPECIES]
    rates = [rng.random(n) * 3 for _ in RATES]
    temperature = 0.5 + rng.random(n)
    heat, cool, steps, failed = np.zeros(n), np.zeros(n), np.zeros(n, np.int32), np.zeros(n, bool)
    before = np.array(species)
    kernel[1, 32](*species, *rates, heat, cool, steps, failed, n, dt, most, tolerance, temperature,
                  density)  # fmt: skip
    after = np.array(species)
    assert not np.allclose(after, before)
    for i in range(n):
        a, warm, cold, count, short = network_twin(
            before[:, i], np.array(rates)[:, i], temperature[i], dt, most, tolerance, density
        )
        assert np.allclose(after[:, i], a, rtol=1e-9)
        assert np.isclose(heat[i], warm) and np.isclose(cool[i], cold)
        assert steps[i] == count and failed[i] == short
    assert np.allclose(after.sum(0), before.sum(0))  # nothing is lost


# --- A module of a thousand lines: fifty device functions that call each other --------------------


def module_text(seed: int, n_functions: int) -> str:
    """Whole numbers alone, so that plain Python computes the same."""
    pick = random.Random(seed)
    lines = []
    for f in range(n_functions):
        lines.append(f"def f{f}(a, b, table):")
        names = ["a", "b"]
        for v in range(8):
            x, y = pick.choice(names), pick.choice(names)
            op = pick.choice(["+", "-", "^", "&", "|"])
            lines.append(f"    v{v} = ({x} {op} {y}) % {pick.randint(50, 5000)}")
            names.append(f"v{v}")
        x, y = pick.choice(names), pick.choice(names)
        lines.append(f"    if {x} > {y}:")
        lines.append(f"        v0 += table[{x} % len(table)]")
        lines.append(f"    elif {x} % 3 == 1:")
        lines.append("        v0 -= b // 2")
        lines.append("    for k in range(v1 % 4):")
        lines.append(f"        v2 = (v2 * 3 + k + {pick.choice(names)}) % 997")
        if f:
            lines.append(f"    v3 += f{pick.randrange(max(0, f - 3), f)}(v2, v0 % 100, table)")
        lines.append("    lo, hi = (v0, v3) if v0 < v3 else (v3, v0)")
        lines.append("    return (lo * 31 + hi * 17 + v7) % 100003")
        lines.append("")
    lines.append("def kernel(x, table, out):")
    lines.append("    i = gpu.grid(1)")
    lines.append("    if i < x.size:")
    lines.append("        total = 0")
    for f in range(n_functions):
        lines.append(f"        total += f{f}(x[i], total % 1000, table)")
    lines.append("        out[i] = total")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_module_of_a_thousand_lines(seed):
    text = module_text(seed, 48)
    assert text.count("\n") > 900
    plain = function(text)
    x = np.arange(0, 2000, 97)
    table = np.random.default_rng(seed).integers(0, 1000, 37)
    out = np.zeros(len(x), np.int64)
    cuda.jit(plain)[1, 32](x, table, out)
    names, numbers = plain.__globals__, table.tolist()
    for value, got in zip(x.tolist(), out.tolist(), strict=True):
        total = 0
        for f in range(48):
            total += names[f"f{f}"](value, total % 1000, numbers)
        assert got == total
