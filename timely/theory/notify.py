"""Notifications: ask to be told when a time is complete, perhaps with the right to speak afterwards.

After 000 the requests are a *set*: asking twice is asking once. After Naiad a request may be a pair: wait for one
time (the requirement), be able to send at a later one (the capability).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from ..antichain import Antichain
from ..errors import CapabilityError
from ..order import has_sort_key, less_equal, minimal, sort_key
from .capability import Capability


@attrs.frozen(eq=False)
class Notification:
    """A time that is complete, and the capability held since it was asked for, if any; the receiver drops it."""

    time: Any
    capability: Capability | None = None


class Notificator:
    """Pending requests at one node.

    >>> notificator = Notificator()
    >>> for time in (5, 3, 3, 8):
    ...     notificator.request(time)
    >>> [notification.time for notification in notificator.ready(Antichain([6]))]
    [3, 5]
    >>> notificator.pending
    [8]
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[Any, Any], Capability | None] = {}

    def request(self, time: Any, capability: Capability | None = None) -> None:
        """Ask to be told when `time` is complete; a capability is taken over until then.

        Asking again for the same pair changes nothing (the second capability is dropped).

        Raises:
            CapabilityError: the capability lies before the time waited for, so that the time would wait for itself.
        """
        held = None if capability is None else capability.time
        if capability is not None and not less_equal(time, held):
            raise CapabilityError(
                f"waiting for {time!r} while holding {capability!r} waits for itself: "
                "downgrade the capability to that time or later first",
            )
        key = (time, held)
        if key not in self._requests:
            self._requests[key] = capability
        elif capability is not None and capability is not self._requests[key]:
            capability.drop()

    @property
    def pending(self) -> list[Any]:
        """The times waited for, each once, in order of the requests."""
        return list(dict.fromkeys(time for time, _ in self._requests))

    def ready(self, frontier: Antichain[Any]) -> Iterator[Notification]:
        """Deliver what is complete at `frontier` (that of the node's inputs), least first.

        A request made while one is being handled joins the rest, so no delivery is ever followed by an earlier one
        that was ready with it.
        """
        while True:
            complete = [time for time, _ in self._requests if not frontier.less_equal(time)]
            if not complete:
                return
            time = _least(complete)
            key = next(key for key in self._requests if key[0] == time)
            yield Notification(time, self._requests.pop(key))

    def drop(self) -> None:
        """Forget all requests, dropping their capabilities."""
        for capability in self._requests.values():
            if capability is not None:
                capability.drop()
        self._requests.clear()


def _least(times: list[Any]) -> Any:
    if all(map(has_sort_key, times)):
        return min(times, key=sort_key)
    return minimal(times)[0]
