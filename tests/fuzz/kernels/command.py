"""python -m kernels: random kernels on the device of GPUJIT_DEVICE and on the python device.

    python -m kernels --first 0 --count 2000 --jobs 2     many; each difference is printed, reduced
    python -m kernels --seed 4711                         one: its text, its reference, what differs

Run in tests/fuzz. A worker that dies names the seed that killed it. Exit status 1: something
differed.
"""

import argparse
import multiprocessing
import os
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from .explicit import explicit
from .generate import generate
from .reduce import reduce
from .run import NoProgram, failure
from .types import NoType

CHUNK = 100


def check(seed: int, shrink: bool) -> tuple[str, str]:
    """("same" | "skipped" | "differs", what to print)."""
    try:
        case = generate(seed)
        found = failure(case)
    except (NoProgram, NoType):
        return "skipped", ""
    except Exception:
        return "differs", f"seed {seed}: {traceback.format_exc()}"
    if found is None:
        return "same", ""
    small = reduce(case, failure) if shrink else case
    how = f"launch={case.launch} {case.options}"
    return "differs", f"seed {seed}: {found}\n{small.source}\n{how}\n{failure(small)}"


def work(task: tuple[int, int, bool, str]) -> dict[str, int]:
    """Seeds of one chunk; prints what differs, and leaves the seed at work in a file."""
    first, count, shrink, folder = task
    counts = {"same": 0, "skipped": 0, "differs": 0}
    warnings.simplefilter("ignore")
    for seed in range(first, first + count):
        with open(os.path.join(folder, str(first)), "w") as at:
            at.write(str(seed))
        result, text = check(seed, shrink)
        counts[result] += 1
        if text:
            print(text, flush=True)
    os.unlink(os.path.join(folder, str(first)))
    return counts


def many(first: int, count: int, jobs: int, shrink: bool) -> int:
    total = {"same": 0, "skipped": 0, "differs": 0}
    start = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        tasks = [(seed, min(CHUNK, first + count - seed), shrink, folder)
                 for seed in range(first, first + count, CHUNK)]  # fmt: skip
        try:
            with ProcessPoolExecutor(jobs, mp_context=context) as pool:
                for counts in pool.map(work, tasks):
                    for name, n in counts.items():
                        total[name] += n
        except BrokenProcessPool:
            for name in os.listdir(folder):
                with open(os.path.join(folder, name)) as at:
                    print(f"a worker died, perhaps at seed {at.read()}")
            return 1
    print(f"{total['same']} same, {total['skipped']} skipped, {total['differs']} differ, "
          f"{time.monotonic() - start:.0f} s")  # fmt: skip
    return 1 if total["differs"] or not total["same"] else 0


def one(seed: int) -> int:
    case = generate(seed)
    print(case.source)
    print(explicit(case.source, case.params, case.check)[0])
    print(f"launch={case.launch} {case.options}")
    for name, value in case.data.items():
        print(name, value.tolist() if hasattr(value, "tolist") else repr(value))
    found = failure(case)
    print(found or "the same")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--whole", action="store_true", help="show differing kernels as they are, not reduced"
    )
    parser.add_argument("--seed", type=int, help="only this one, with everything about it")
    args = parser.parse_args()
    if args.seed is not None:
        return one(args.seed)
    return many(args.first, args.count, args.jobs, not args.whole)
