"""Processes that check seeds, none of which can stop the others.

Each worker has a pipe. It says which seed it begins with and what came out; one that says nothing
for too long is killed, one that dies is missed, and a new one goes on behind that seed. Workers
are replaced after some seeds, so that what compiled kernels leave behind stays small.
"""

import multiprocessing
import multiprocessing.connection
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

from .generate import generate
from .reduce import reduce
from .run import NoProgram, failure
from .types import NoType

CHUNK = 25
LIFE = 1000  # seeds of a worker
REDUCING = 20  # seconds
Result = tuple[int, str, str]  # seed, a word, what to print
Look = Callable[[int], tuple[str, str]]


def check(seed: int) -> tuple[str, str]:
    """("same" | "skipped" | "differs", what to print)."""
    try:
        found = failure(generate(seed))
    except (NoProgram, NoType):
        return "skipped", ""
    except Exception:
        return "differs", traceback.format_exc()
    return ("differs", found) if found else ("same", "")


def smaller(seed: int) -> str:
    """A kernel that differs, reduced for some seconds, and how."""
    case = generate(seed)
    try:
        small = reduce(case, failure, until=time.monotonic() + REDUCING)
        found = failure(small)
    except Exception:
        small, found = case, ""
    return f"{small.source}launch={small.launch} {small.options}\n{found}"


def work(pipe: Connection, look: Look) -> None:
    """Seeds to check come as a range, one to reduce as a number."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's, which ends the workers
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if isinstance(task, int):
            pipe.send(smaller(task))
            continue
        for seed in task:
            pipe.send(seed)
            pipe.send((seed, *look(seed)))
        pipe.send(None)


class Worker:
    """A process and what it has left to do."""

    def __init__(self, look: Look) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, look), daemon=True)
        self.process.start()
        other.close()
        self.todo = range(0)
        self.done = 0
        self.heard = time.monotonic()

    def give(self, seeds: range) -> None:
        self.todo, self.heard = seeds, time.monotonic()
        self.pipe.send(seeds)

    def results(self) -> Iterator[Result]:
        """What it has said. EOFError: it died."""
        while self.pipe.poll():
            said = self.pipe.recv()
            self.heard = time.monotonic()
            if said is None:
                self.todo = range(0)
            elif isinstance(said, int):
                self.todo = range(said, self.todo.stop)
            else:
                self.done += 1
                self.todo = range(said[0] + 1, self.todo.stop)
                yield said

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    def __init__(self, jobs: int, limit: float, look: Look = check) -> None:
        self.limit, self.look = limit, look
        self.workers = [self.worker() for _ in range(jobs)]

    def worker(self) -> Worker:
        return Worker(self.look)

    def checked(self, first: int, count: int) -> Iterator[Result]:
        """The result of each seed, as they come."""
        end = first + count
        chunks = [range(k, min(k + CHUNK, end)) for k in range(first, end, CHUNK)][::-1]
        left = count
        for worker in self.workers:
            if chunks:
                worker.give(chunks.pop())
        while left:
            ready = multiprocessing.connection.wait([w.pipe for w in self.workers], timeout=1)
            for k, worker in enumerate(self.workers):
                lost = ""
                try:
                    for result in worker.results() if worker.pipe in ready else ():
                        left -= 1
                        yield result
                except (EOFError, ConnectionResetError):
                    lost = "died"
                if worker.todo and time.monotonic() - worker.heard > self.limit:
                    lost = "hangs"
                if lost and worker.todo:
                    left -= 1
                    yield worker.todo[0], lost, f"{lost}\n"
                    if len(worker.todo) > 1:
                        chunks.append(worker.todo[1:])
                if lost or (not worker.todo and worker.done >= LIFE):
                    worker.stop()
                    worker = self.workers[k] = self.worker()
                if not worker.todo and chunks:
                    worker.give(chunks.pop())

    def reduced(self, seed: int) -> str:
        """The text of one that differs, smaller if that is done in time."""
        worker = self.workers[0]
        try:
            worker.pipe.send(seed)
            while worker.pipe.poll(REDUCING + self.limit):
                said = worker.pipe.recv()
                if isinstance(said, str):  # and not the end of its seeds
                    return said
        except (EOFError, OSError):
            pass
        worker.stop()
        self.workers[0] = self.worker()
        return generate(seed).source

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
