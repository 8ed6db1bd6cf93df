"""What streams do with the standard library: a thread for callbacks, futures, context managers."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Iterator

from gpu import _gpujit

TYPE_CHECKING = False  # typing itself would double the time of the import
if TYPE_CHECKING:
    import asyncio
    from typing import Any


def start_callbacks() -> None:
    """Starts the thread that calls what streams have posted."""
    thread = threading.Thread(target=_gpujit._run_callbacks, name="gpujit-callbacks", daemon=True)
    thread.start()
    atexit.unregister(_finish)
    atexit.register(_finish, thread)


def _finish(thread: threading.Thread) -> None:
    _gpujit._finish_callbacks()
    thread.join(timeout=5)


def async_done(stream: _gpujit.Stream) -> asyncio.Future[_gpujit.Stream]:
    """A future of the running loop that is done once everything in the stream is."""
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.create_future()
    event = stream.record()

    def finish() -> None:
        if future.done():  # cancelled
            return
        try:
            event.synchronize()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(stream)

    def callback(stream: _gpujit.Stream, status: int, arg: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(finish)

    stream.add_callback(callback)
    return future


@contextlib.contextmanager
def auto_synchronize(stream: _gpujit.Stream) -> Iterator[_gpujit.Stream]:
    """Waits for the stream at the end; an exception of the block goes before those of kernels."""
    try:
        yield stream
    except BaseException:
        with contextlib.suppress(_gpujit.Error):
            stream.synchronize()
        raise
    stream.synchronize()
