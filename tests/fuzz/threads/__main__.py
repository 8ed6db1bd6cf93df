"""python -m threads: random kernels whose threads talk, on the device and the python device.

    python -m threads --first 0 --count 300 --jobs 2
    python -m threads --seed 17

Run in tests/fuzz. The device is GPUJIT_DEVICE's.
"""

import argparse
import sys
import time

from kernels.pool import Pool

from .run import check


def many(first: int, count: int, jobs: int, shown: int, limit: float) -> int:
    start, pool = time.monotonic(), Pool(jobs, limit, check)
    found: dict[str, list[int]] = {}
    for seed, word, text in pool.checked(first, count):
        found.setdefault(word, []).append(seed)
        if word != "same" and sum(map(len, found.values())) - len(found.get("same", [])) <= shown:
            print(f"seed {seed}: {text}", flush=True)
    pool.close()
    counts = ", ".join(f"{len(seeds)} {word}" for word, seeds in sorted(found.items()))
    bad = sorted(seed for word, seeds in found.items() if word != "same" for seed in seeds)
    line = f"{count} kernels from seed {first}: {counts}, {time.monotonic() - start:.0f} s"
    print(line + (f"; look at {' '.join(map(str, bad))}" if bad else ""), flush=True)
    return 1 if bad or not found.get("same") else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m threads", description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=300, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--shown", type=int, default=3, help="how many to print")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one kernel")
    parser.add_argument("--seed", type=int, help="only this one")
    args = parser.parse_args()
    if args.seed is not None:
        word, text = check(args.seed)
        print(text or word)
        return word != "same"
    return many(args.first, args.count, args.jobs, args.shown, args.limit)


if __name__ == "__main__":
    sys.exit(main())
