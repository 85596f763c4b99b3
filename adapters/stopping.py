"""Calls in threads that a cancellation stops, for drivers with a function that cancels their work."""

import threading
from collections.abc import Callable
from typing import TypeVarTuple

import trio
from typing_extensions import TypeVar

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def stoppably(work: Callable[[*Ts], T], cancel: Callable[[], object], *arguments: *Ts) -> T:
    """Call a function in a thread; a cancellation stops it there, and waits until it has stopped."""
    # A cancellation before the thread begins would wait for its end forever.
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
        return await trio.to_thread.run_sync(working, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
    except trio.Cancelled:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(stopping, limiter=trio.CapacityLimiter(1))
        raise
