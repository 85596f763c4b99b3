"""Values of which no time is known."""

from collections.abc import Hashable
from types import CoroutineType
from typing import Any

from pullstream.engine.sidecar.location import no_place_in_an_order
from pullstream.errors import CapabilityError


def known(time: Hashable, value: Any) -> None:
    """Refuse a value whose time is None, NaN, or a coroutine.

    Raises:
        TypeError: the function that computes times has returned none.
        CapabilityError: the time has no place in an order.
    """
    if time is None:
        raise TypeError(f"{value!r} has no time: the function that computes times returned None")
    if isinstance(time, CoroutineType):
        time.close()
        raise TypeError(
            f"{value!r} has no time: the function that computes times gave a coroutine, which nobody awaits here; use "
            f"map_async first"
        )
    if time != time:  # noqa: PLR0124 - NaN alone is not equal to itself
        raise CapabilityError(f"{value!r} is at {time!r}. {no_place_in_an_order(time)} (R12)", time)
