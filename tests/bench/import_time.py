"""Import of `gpu` over a bare interpreter: python tests/bench/import_time.py

Starts fresh interpreters in turn, with and without `import gpu`, and prints the medians and their
difference in milliseconds.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 21


def start(code: str) -> float:
    begin = time.perf_counter()
    subprocess.check_call([sys.executable, "-c", code])
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    bare, ours = [], []
    for _ in range(ROUNDS):
        bare.append(start("pass"))
        ours.append(start("import gpu"))
    base, with_gpu = statistics.median(bare), statistics.median(ours)
    print(f"bare {base:.1f} ms, with gpu {with_gpu:.1f} ms, difference {with_gpu - base:.1f} ms")


if __name__ == "__main__":
    main()
