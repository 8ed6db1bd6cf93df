"""Runs the threads of a launch, one at a time.

Threads run one after another, block after block. One that has to wait, for others at a barrier or
for a change in memory, keeps the OS thread that it runs on, and another OS thread goes on with the
rest: so there are as many of them as threads that wait, and a kernel whose threads do not wait runs
on the OS thread that launched it alone. What runs next depends on nothing but the program:

1. threads that may run: those of a meeting that is over, then those that have not started,
2. those that spin, in turns,
3. those of the next block. When spinning leads to nothing, the next block starts earlier.

An OS thread that has no thread to run sleeps until it is given one.
"""

from __future__ import annotations

import bdb
import contextvars
import ctypes
import threading
from collections import Counter, deque

from gpu._python import operations
from gpu._python.context import context
from gpu._python.failure import describe
from gpu._python.threads import (
    ALL_LANES,
    PATIENCE,
    Block,
    Cancelled,
    Grid,
    Meeting,
    Place,
    State,
    Thread,
    kernel_frame,
    places,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpu._python.threads import Group, Size, Warp

STACK_B = 2 << 20  # enough for Python's own limit of recursion
STARTING = threading.Lock()  # the size is the process's: one launch at a time changes it
MOST_WAITING = 16384  # threads of a grid whose threads all wait: each has an OS thread
QUIET = 16  # reads that show nothing new until others run
KEPT = 64  # reads that are remembered
STOPPED = (State.SPINS, State.MEETS, State.MEETS_GRID, State.GATHERS)


class Carrier:
    """An OS thread. It runs while its lock is open; all but one of a launch sleep."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.thread: Thread | None = None  # that it is given
        self.lock = threading.Lock()
        self.lock.acquire()
        self.ident = threading.get_ident()
        self.system: threading.Thread | None = None  # None: the one that launched

    def start(self) -> None:
        """A new OS thread, which sleeps."""
        values, copied = dict(vars(context)), contextvars.copy_context()

        def main() -> None:
            self.lock.acquire()
            self.ident = threading.get_ident()
            vars(context).update(values)
            copied.run(self.scheduler.serve, self)

        with STARTING:
            old = threading.stack_size(STACK_B)
            try:
                self.system = threading.Thread(target=main, name="gpu kernel", daemon=True)
                self.system.start()
            finally:
                threading.stack_size(old)

    def sleep(self) -> None:
        """Until it is woken."""
        self.lock.acquire()

    def wake(self) -> None:
        self.scheduler.running = self
        if self.lock.locked():
            self.lock.release()


class Scheduler:
    """The state of one launch."""

    def __init__(self, name: str, grid: Size, block: Size, body: Callable[[], None]) -> None:
        self.name, self.block_size, self.body = name, block, body
        self.places = places(grid)
        self.n_blocks = self.n_blocks_left = grid[0] * grid[1] * grid[2]  # left: not started
        self.block_threads = block[0] * block[1] * block[2]
        self.grid = Grid(self.n_blocks * self.block_threads)
        self.ready: deque[Thread] = deque()
        self.spinning: deque[Thread] = deque()
        self.n_turns = 0  # of spinning threads, since one has ended or a block has started
        self.main = Carrier(self)
        self.carriers: list[Carrier] = []  # the others
        self.idle: list[Carrier] = []
        self.running = self.main
        self.first: BaseException | None = None  # that a thread raised
        self.stop: BaseException | None = None  # what ends the launch at once
        self.fatal_error: BaseException | None = None
        self.over = self.ending = False

    def run(self) -> BaseException | None:
        """All threads; the exception of the first one that raised."""
        try:
            self.serve(self.main)
        except KeyboardInterrupt as error:
            self.interrupt(error)
        self.end()
        if self.stop is not None:
            raise self.stop
        return self.first

    # --- OS threads ---

    def serve(self, carrier: Carrier) -> None:
        """Runs threads on the carrier until the launch is over."""
        try:
            while not self.over:
                thread, carrier.thread = carrier.thread, None
                thread = thread or self.next()
                if thread is None:
                    self.over = True
                elif thread.carrier is None:
                    thread.carrier = carrier
                    self.execute(thread)
                else:
                    self.idle.append(carrier)
                    thread.carrier.wake()
                    carrier.sleep()
        finally:
            if carrier is not self.main and not self.ending:
                self.main.wake()

    def interrupt(self, error: BaseException) -> None:
        """Ctrl-C, which comes to the main thread alone, wherever that is, ends the launch."""
        self.stop, self.over = error, True
        while self.running is not self.main and not self.main.lock.acquire(timeout=0.5):
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in(ctypes.c_ulong(self.running.ident), ctypes.py_object(Cancelled))

    def end(self) -> None:
        """Ends the OS threads one by one, with what they still run."""
        self.over = self.ending = True
        for carrier in self.carriers:
            carrier.wake()
            if carrier.system and carrier.system.ident:
                carrier.system.join()

    def give(self, thread: Thread) -> None:
        """Wakes an OS thread for the thread; the one that runs now has to sleep."""
        carrier = thread.carrier
        if carrier is None:
            carrier = self.idle.pop() if self.idle else self.start_carrier()
            carrier.thread = thread
        carrier.wake()

    def start_carrier(self) -> Carrier:
        carrier = Carrier(self)
        self.carriers.append(carrier)
        try:
            carrier.start()
        except RuntimeError as error:
            message = (f"worker threads cannot be started: {error}; {len(self.carriers)} are "
                       "needed, one for each thread that waits")  # fmt: skip
            raise self.give_up(operations.error("DeviceError", message, "THREADS_FAILED")) from None
        return carrier

    def check_grid(self) -> None:
        """Whether all threads of the grid can wait at the same time."""
        at_once = MOST_WAITING // self.block_threads
        if self.n_blocks > at_once:
            message = (f"the {self.n_blocks} blocks of this kernel wait for each other; of such "
                       f"blocks this device runs {at_once} at the same time\n  Hint: launch at "
                       f"most {at_once} blocks and let each thread work on several elements: "
                       "for i in range(gpu.grid(1), n, gpu.gridsize(1))")  # fmt: skip
            raise self.give_up(operations.error("LaunchError", message, "GRID_WAITS"))

    def give_up(self, error: BaseException) -> BaseException:
        """Ends the launch with the error; what the thread that found it has to raise."""
        self.stop, self.over = error, True
        return Cancelled()

    # --- Threads ---

    def execute(self, thread: Thread) -> None:
        """The thread from its start to its end."""
        context.block, context.thread = thread.block.index, thread.index
        context.running = thread
        try:
            self.body()
        except Cancelled:
            pass
        except KeyboardInterrupt as error:
            self.interrupt(error)
        except bdb.BdbQuit as error:
            self.stop, self.over = error, True
        except BaseException as error:
            self.over = error is self.fatal_error
            if self.first is None:
                self.first = describe(error, self.name, thread.block.index, thread.index)
        if not self.over:
            self.ended(thread)

    def next(self) -> Thread | None:
        """The thread that runs next."""
        while True:
            if self.n_turns > QUIET + 2 * len(self.spinning):
                self.begin_block()
            if self.ready:
                return self.ready.popleft()
            if self.spinning:
                thread = self.spinning.popleft()
                self.set_state(thread, State.READY)
                return thread
            if not self.begin_block():
                return None

    def begin_block(self) -> bool:
        self.n_turns = 0
        if not self.n_blocks_left:
            return False
        self.n_blocks_left -= 1
        self.ready.extend(Block(next(self.places), self.block_size, self).threads)
        return True

    def pause(self, thread: Thread) -> None:
        """Lets others run until it is the thread's turn again."""
        other = self.next()
        if other is not thread:
            assert other is not None, "a thread waits, and none can run"
            carrier = self.running
            self.give(other)
            carrier.sleep()
        if self.over:
            raise Cancelled
        if thread.error is not None:
            raise thread.error

    def set_state(self, thread: Thread, state: State) -> None:
        block, warp, old = thread.block, thread.warp, thread.state
        thread.state = state
        warp.n_stopped += (state in STOPPED) - (old in STOPPED)
        block.n_meeting += (state is State.MEETS) - (old is State.MEETS)
        block.n_meeting_grid += (state is State.MEETS_GRID) - (old is State.MEETS_GRID)

    def ended(self, thread: Thread) -> None:
        """It counts as arrived wherever others wait."""
        block, warp = thread.block, thread.warp
        self.set_state(thread, State.ENDED)
        thread.carrier = None
        thread.memory.clear()
        warp.left &= ~(1 << thread.lane)
        self.n_turns = 0
        for group in (warp, block, self.grid):
            group.n_left -= 1
            for key in list(group.meetings):
                self.close_if_full(group, key)
        self.settle(thread)
        if not block.n_left:
            block.threads, block.warps = [], []  # they know the block

    def wait(self, thread: Thread, state: State) -> Any:
        """Until another thread, or what this one has started, makes it ready."""
        self.set_state(thread, state)
        self.settle(thread)
        self.pause(thread)
        answer, thread.answer = thread.answer, None
        return answer

    def make_ready(self, threads: list[Thread]) -> None:
        """They run before what has not started, in the order of threads."""
        for thread in threads:
            self.set_state(thread, State.READY)
        order = sorted(threads, key=lambda t: (t.block.index[::-1], t.number), reverse=True)
        self.ready.extendleft(order)

    def settle(self, thread: Thread) -> None:
        """Looks whether the threads of its warp and of its block wait for nothing that can come."""
        block, warp = thread.block, thread.warp
        if warp.gathering and warp.n_stopped == warp.n_left:
            self.gathered(warp)
        if block.n_meeting and block.n_meeting + block.n_meeting_grid == block.n_left:
            self.fail(block)

    # --- Meetings ---

    def meet(
        self,
        thread: Thread,
        group: Group,
        name: str,
        value: Any,
        answer: Callable[[dict], dict],
        key: int = ALL_LANES,
    ) -> Any:
        """Brings a value to the meeting of the group's threads; what the thread gets there."""
        thread.place = Place(kernel_frame().f_lineno, name)
        meeting = group.meetings.get(key)
        if meeting is None:
            meeting = group.meetings[key] = Meeting(thread.place, answer)
        elif meeting.place.name != name:
            code, message = group.kinds
            message = message.format(thread.block.index) + f": {meeting.place} and {thread.place}"
            raise self.fatal(message, code)
        meeting.brought[thread] = value
        if len(meeting.brought) == group.expected(key) == 1:
            del group.meetings[key]
            return answer(meeting.brought)[thread]
        self.set_state(thread, group.state)
        if not self.close_if_full(group, key):
            self.settle(thread)
        self.pause(thread)
        result, thread.answer = thread.answer, None
        return result

    def close_if_full(self, group: Group, key: int) -> bool:
        meeting = group.meetings[key]
        if len(meeting.brought) != group.expected(key):
            return False
        del group.meetings[key]
        threads = sorted(meeting.brought, key=lambda t: t.number)
        answers = meeting.answer({t: meeting.brought[t] for t in threads})
        for thread in threads:
            thread.answer = answers[thread]
        self.make_ready(threads)
        return True

    def gather(self, thread: Thread, site: Any) -> int:
        """The lanes that come to the site before the rest of the warp stops."""
        thread.warp.gathering.setdefault(site, []).append(thread)
        return self.wait(thread, State.GATHERS)

    def gathered(self, warp: Warp) -> None:
        threads = warp.gathering.pop(next(iter(warp.gathering)))
        for thread in threads:
            thread.answer = sum(1 << t.lane for t in threads)
        self.make_ready(threads)

    def fatal(self, message: str, code: str) -> BaseException:
        """An error of threads that wait for each other; it stops the launch."""
        self.fatal_error = operations.error("KernelError", message, code)
        return self.fatal_error

    def fail(self, block: Block) -> None:
        """No thread of the block can go on: one of them says so."""
        waiting = [t for t in block.threads if t.place and t.state is not State.ENDED]
        counts = sorted(Counter(t.place for t in waiting).items())
        wait = [f"{n} {'waits' if n == 1 else 'wait'} in {place}" for place, n in counts]
        n_ended = len(block.threads) - block.n_left
        message = (f"block {block.index} cannot go on: of {len(block.threads)} threads "
                   f"{', '.join(wait)}, {n_ended} {'has' if n_ended == 1 else 'have'} ended\n  "
                   "Hint: all threads of a block that have not ended must come to the same "
                   "barrier, and all lanes of a mask to the same operation")  # fmt: skip
        first = next(t for t in waiting if t.place == counts[0][0])
        first.error = self.fatal(message, "DEADLOCK")
        self.make_ready([first])

    # --- Loops that wait for memory ---

    def look(self, thread: Thread, key: Any, value: Any) -> None:
        """Has read a value there. A thread that sees nothing new lets others run."""
        if self.over:
            raise Cancelled
        thread.patience -= 1
        if thread.seen.get(key) == value:
            thread.quiet += 1
            if thread.quiet < QUIET and thread.patience > 0:
                return
        else:
            thread.quiet = 0
            if len(thread.seen) > KEPT:
                thread.seen.clear()
            thread.seen[key] = value
            if thread.patience > 0:
                return
        self.let_others_run(thread)

    def let_others_run(self, thread: Thread) -> None:
        thread.quiet = 0
        thread.patience = PATIENCE
        if not (self.ready or self.spinning or self.n_blocks_left):
            return
        if id(kernel_frame().f_code) not in context.sites:
            return  # a debugger reads, not the kernel
        self.n_turns += 1
        self.spinning.append(thread)
        self.wait(thread, State.SPINS)
