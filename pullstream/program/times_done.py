"""Counting the times that are done: they have arrived at the sinks, and are complete there."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

from pullstream.engine.sidecar.location import FEW, Claim, Location, note_arrivals
from pullstream.resuming.consequences import may_come
from pullstream.timely import BEGINNING, Antichain


class TimesDone:
    """Remembers the times that have arrived at the sinks, and counts the complete ones on request."""

    def __init__(
        self, sinks: Sequence[Location], in_flight: Iterable[Claim], soon: Callable[[Callable[[], object]], None]
    ) -> None:
        self._sinks = sinks
        ports = {port for sink in sinks for port in sink.ports}
        under_way = (claim.times for claim in in_flight if claim.port in ports and claim.live)
        self._under_way: set[Hashable] = set(chain.from_iterable(under_way))
        self._done = 0
        self._most = FEW
        self._soon = soon
        note_arrivals(ports, self._arrived)

    def _arrived(self, time: Hashable) -> None:
        self._under_way.add(time)
        if len(self._under_way) > self._most:
            # Otherwise the set could only grow, because `count` may never be called.
            self._most = 2 * len(self._under_way)
            self._soon(self.count)

    def count(self) -> int:
        """The number of times done so far."""
        if self._under_way:
            done: Collection[Hashable] = self._under_way
            for sink in self._sinks:
                done = _complete(done, sink.frontier)
            self._done += len(done)
            self._under_way.difference_update(list(done))
            self._most = max(FEW, 2 * len(self._under_way))
        return self._done


def _complete(times: Collection[Hashable], frontier: Antichain[Any]) -> Collection[Hashable]:
    """The given times that a frontier has passed."""
    least = frontier.elements
    if not least:
        return times
    if len(least) == 1 and least[0] is not BEGINNING:
        # There may be thousands since the last count.
        try:
            return [time for time in times if not least[0] <= time]
        except TypeError:
            pass
    # Nothing at a time of another kind arrives at this sink.
    return [time for time in times if not may_come(frontier, time, unlike=False)]
