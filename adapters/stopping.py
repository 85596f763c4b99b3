"""Driver calls in threads: a cancellation leaves them running or, with a function for that, stops them."""

import threading
from collections.abc import Callable
from typing import TypeVarTuple, cast

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
    turn, finished = threading.Lock(), threading.Event()

    def working() -> T | None:
        if not turn.acquire(blocking=False):
            # Cancelled before this thread began.
            return None
        try:
            return work(*arguments)
        finally:
            finished.set()

    def stopping() -> None:
        while not finished.wait(0.05):
            cancel()

    try:
        return cast("T", await in_thread(working))
    except trio.Cancelled:
        if not turn.acquire(blocking=False):
            with trio.CancelScope(shield=True):
                await in_thread(stopping)
        raise
