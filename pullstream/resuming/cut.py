"""Cuts: the frontiers of all sinks, which determine which times are done elsewhere."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from pullstream.engine.sidecar.location import NOTHING, Location
from pullstream.resuming.consequences import Consequence, Consequences, SinkFrontiers, past
from pullstream.timely import Antichain, TimelyError


def merged(before: SinkFrontiers, now: Antichain[Any]) -> SinkFrontiers:
    """The known frontiers of a sink together with its present one, without those that exclude less."""
    try:
        rest = [frontier for frontier in before if not frontier <= now]
    except TimelyError:
        rest = list(before)
    if any(frontier >= now for frontier in rest):
        return rest
    return [*rest, now]


class Cut:
    """The frontiers of all sinks, and a test of which times are done at other locations because of them."""

    def __init__(self, consequences: Consequences, sinks: Mapping[Location, SinkFrontiers]) -> None:
        self._consequences = consequences
        self._sinks = sinks

    def output_done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that follows from a time at a module's output is complete."""
        return self._complete(self._consequences.from_output(location, time))

    def input_done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that follows from a time at a module's inputs, or output if it has none, is complete."""
        if location in self._sinks:
            return past(self._sinks[location], time)
        if not location.upstreams:
            return self.output_done(location, time)
        return all(
            self._complete(self._consequences.from_input(location, port, time))
            for port in range(len(location.upstreams))
        )

    def over(self, location: Location) -> bool:
        """Whether the streams of all sinks downstream of a module have ended."""
        return all(
            any(not each.elements for each in self._sinks[sink]) for sink in self._consequences.sinks_below(location)
        )

    def _complete(self, consequences: Sequence[Consequence]) -> bool:
        return bool(consequences) and all(each.complete(self._sinks[each.sink]) for each in consequences)


def remembered(test: Callable[[Hashable], bool]) -> Callable[[Hashable], bool]:
    """The same test, remembering the answer for the last time."""
    last: Hashable = NOTHING
    answer = False

    def tested(time: Hashable) -> bool:
        nonlocal last, answer
        if time is not last and time != last:
            answer, last = test(time), time
        return answer

    return tested
