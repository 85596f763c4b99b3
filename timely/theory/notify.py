"""Notifications: a node requests to be notified when a time is complete, optionally keeping the right to send then.

As in 000, the requests are a *set*: requesting twice is the same as requesting once. As in Naiad, a request may be a
pair: the time to wait for (the requirement), and a later time to send at (the capability).
"""

from collections.abc import Iterator
from typing import Any

import attrs

from ..antichain import Antichain
from ..errors import CapabilityError
from ..order import less_equal, minimal
from .capability import Capability


@attrs.frozen(eq=False)
class Notification:
    """A complete time, and the capability held since the request, if any. The receiver must drop it."""

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
        """Request a notification for when `time` is complete. A capability, if given, is held until then.

        Requesting the same pair again changes nothing; the second capability is dropped.

        Raises:
            CapabilityError: the capability is not at or after `time`, so that the request would wait for itself.
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
        """The requested times, each once, in order of request."""
        return list(dict.fromkeys(time for time, _ in self._requests))

    def ready(self, frontier: Antichain[Any]) -> Iterator[Notification]:
        """Deliver the requests that are complete at `frontier`, the frontier of the node's inputs; least time first.

        A request made while another is being handled is included. No delivery is therefore followed by an earlier one
        that was ready at the same time.
        """
        while True:
            complete = [time for time, _ in self._requests if not frontier.less_equal(time)]
            if not complete:
                return
            time = minimal(complete)[0]
            key = next(key for key in self._requests if key[0] == time)
            yield Notification(time, self._requests.pop(key))

    def drop(self) -> None:
        """Forget all requests and drop their capabilities."""
        for capability in self._requests.values():
            if capability is not None:
                capability.drop()
        self._requests.clear()
