"""Cuts, which say what is done: times from which everything that can be reached at every sink is complete."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from pullstream.engine.sidecar.consequences import Consequence, Consequences, may_come
from pullstream.engine.sidecar.location import NOTHING, Location
from pullstream.timely import Antichain, TimelyError

Frontiers = Sequence[Antichain[Any]]
"""Accounts of what may still come at a sink: what one of them excludes does not."""


def merged(before: Frontiers, now: Antichain[Any]) -> Frontiers:
    """The accounts of a sink that two runs have together."""
    try:
        rest = [frontier for frontier in before if not frontier <= now]
    except TimelyError:
        rest = list(before)
    if any(frontier >= now for frontier in rest):
        return rest
    return [*rest, now]


class Cut:
    """Frontiers of all sinks, and what they mean elsewhere."""

    def __init__(self, consequences: Consequences, sinks: Mapping[Location, Frontiers]) -> None:
        self._consequences = consequences
        self._sinks = sinks

    def output_done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that comes of a time at a module's output is complete."""
        return self._complete(self._consequences.from_output(location, time))

    def input_done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that comes of a time at a module's inputs, or at its output if it has none, is."""
        if location in self._sinks:
            return self._past(location, time)
        if not location.upstreams:
            return self.output_done(location, time)
        return all(
            self._complete(self._consequences.from_input(location, port, time))
            for port in range(len(location.upstreams))
        )

    def over(self, location: Location) -> bool:
        """Whether all sinks below a module have come to their end."""
        return all(
            any(not each.elements for each in self._sinks[sink]) for sink in self._consequences.sinks_below(location)
        )

    def _past(self, sink: Location, time: Hashable) -> bool:
        return any(not may_come(frontier, time, unlike=True) for frontier in self._sinks[sink])

    def _complete(self, consequences: Sequence[Consequence]) -> bool:
        return bool(consequences) and all(
            all(self._past(each.sink, time) for time in each.times)
            and (each.tells or any(not frontier.elements for frontier in self._sinks[each.sink]))
            for each in consequences
        )


def remembered(test: Callable[[Hashable], bool]) -> Callable[[Hashable], bool]:
    """The same test, which answers at once for the time it was asked for last."""
    last: Hashable = NOTHING
    answer = False

    def tested(time: Hashable) -> bool:
        nonlocal last, answer
        if time is not last and time != last:
            answer, last = test(time), time
        return answer

    return tested
