"""Calls that wait for Spark, each in a thread outside trio's limit."""

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
