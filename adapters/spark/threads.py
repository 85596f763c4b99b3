"""Calls that wait for Spark, each in a thread that nobody else's can take the place of."""

from collections.abc import Callable
from typing import TypeVarTuple

import trio
from typing_extensions import TypeVar

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def in_thread(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call `function(*args)` in a thread; a cancelled wait leaves it behind.

    Not of the number that trio allows by default: when that is in use by calls that wait for Spark, or by anybody's
    that hang, there must still be a thread for the call that cancels them.
    """
    return await trio.to_thread.run_sync(function, *args, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
