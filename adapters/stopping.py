"""Driver calls in threads: a cancellation leaves them running or, with a function for that, stops them."""

import threading
from collections.abc import Callable
from typing import TypeVarTuple

import trio
from typing_extensions import TypeVar

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def in_thread(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call `function(*args)` in a thread; a cancelled wait leaves the call running.

    The thread does not count against trio's default limit: if blocked calls use up that limit, there must still be a
    thread for the call that cancels them.
    """
    return await trio.to_thread.run_sync(function, *args, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))


async def stoppably(work: Callable[[*Ts], T], cancel: Callable[[], object], *arguments: *Ts) -> T:
    """Call a function in a thread; a cancellation calls `cancel`, and waits until the function has ended."""
    # If cancelled before the thread begins, the code below would wait for its end forever.
    await trio.lowlevel.checkpoint_if_cancelled()
    finished = threading.Event()

    def working() -> T:
        try:
            return work(*arguments)
        finally:
            finished.set()

    def stopping() -> None:
        while not finished.wait(0.05):
            cancel()

    try:
        return await in_thread(working)
    except trio.Cancelled:
        with trio.CancelScope(shield=True):
            await in_thread(stopping)
        raise
