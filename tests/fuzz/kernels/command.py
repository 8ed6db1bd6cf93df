"""python -m kernels: random kernels on the device of GPUJIT_DEVICE and on the python device.

    python -m kernels --first 0 --count 2000 --jobs 2     many: one line of counts and seeds
    python -m kernels --seed 4711                         one: its text, its reference, what differs

Run in tests/fuzz. A kernel that never ends or kills its process is reported by its seed, and the
others go on. The first few that differ are then made smaller and printed. SIGINT or SIGTERM ends it
early, with the counts so far. Exit status 1: something differed.
"""

import argparse
import os
import signal
import sys
import time

from .explicit import explicit
from .generate import generate
from .pool import Pool
from .run import failure

STOPPING = (signal.SIGINT, signal.SIGTERM)
WORDS = ("same", "skipped", "differs", "hangs", "died")


def stop(number: int, frame: object) -> None:
    """Once: whoever sends a signal to the group, too, sends it twice."""
    for other in STOPPING:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt


def many(first: int, count: int, jobs: int, shown: int, limit: float) -> int:
    start = time.monotonic()
    pool = Pool(jobs, limit)
    found: dict[str, list[int]] = {word: [] for word in WORDS}
    try:
        for seed, word, text in pool.checked(first, count):
            found[word].append(seed)
            if text:
                print(f"seed {seed} {word}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        shown = 0
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN if shown == 0 else signal.SIG_DFL)
    counts = ", ".join(f"{len(found[word])} {word}" for word in WORDS if found[word])
    done = sum(map(len, found.values()))
    line = f"{done} kernels from seed {first}: {counts}, {time.monotonic() - start:.0f} s"
    for word in WORDS[2:]:
        if found[word]:
            line += f"; {word}: {' '.join(map(str, sorted(found[word])))}"
    print(line, flush=True)
    for seed in sorted(found["differs"])[:shown]:
        print(f"seed {seed}:\n{pool.reduced(seed)}", flush=True)
    pool.close()
    return 1 if any(found[word] for word in WORDS[2:]) or not found["same"] else 0


def one(seed: int) -> int:
    case = generate(seed)
    print(case.source)
    print(explicit(case.source, case.params, case.check)[0])
    print(f"launch={case.launch} {case.options}")
    for name, value in case.data.items():
        print(name, value.tolist() if hasattr(value, "tolist") else repr(value))
    sys.stdout.flush()
    found = failure(case)
    print(found or "the same")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--shown", type=int, default=3, help="how many to make smaller and print")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one kernel")
    parser.add_argument("--seed", type=int, help="only this one, with everything about it")
    args = parser.parse_args()
    for number in STOPPING:
        signal.signal(number, stop)
    if args.seed is not None:
        return one(args.seed)
    return many(args.first, args.count, args.jobs, args.shown, args.limit)
