"""The consequences of a time: all times of the sinks at which its effects appear.

A frontier tells when the *first* effect of a time may arrive, along the least of all paths. A commit or a journal needs
to know that *every* effect has arrived. So this file follows every path to the last time at which a value still
matters: for a sliding window, the last window that the value is in.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import total_ordering
from typing import Any, Final, final

import attrs
from typing_extensions import override

from pullstream.engine.sidecar.frontiers import Frontiers
from pullstream.engine.sidecar.location import Ending, Location, reachable
from pullstream.engine.sidecar.waiting import Watch
from pullstream.engine.traits import Carries
from pullstream.timely import Antichain, Summary, TimelyError


@final
@total_ordering
class Last:
    """The time after all others; as a component, the last one within an outer time.

    >>> (3, 10**9) <= (3, LAST), (4, 0) <= (3, LAST)
    (True, False)
    """

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    @override
    def __eq__(self, other: object) -> bool:
        return other is self

    @override
    def __hash__(self) -> int:
        return 0x6C617374

    @override
    def __repr__(self) -> str:
        return "LAST"


LAST: Final = Last()

_CARRYING = (Carries.MEMORY, Carries.LOST)


SinkFrontiers = Sequence[Antichain[Any]]
"""Frontiers known for one sink; a time that one of them excludes will not arrive."""


def may_come(frontier: Antichain[Any], time: Hashable, *, unlike: bool) -> bool:
    """Whether a time may still arrive, given a frontier; `unlike` is the answer if its times are of another domain."""
    try:
        return frontier.less_equal(time)
    except TimelyError:
        return unlike


def past(frontiers: SinkFrontiers, time: Hashable) -> bool:
    """Whether a time can no longer arrive at a sink."""
    return any(not may_come(frontier, time, unlike=True) for frontier in frontiers)


@attrs.frozen(eq=False)
class Consequence:
    """The consequences of a time at one sink."""

    sink: Location
    times: Sequence[Hashable]
    tells: bool
    """False if a module on the way makes its own times: then all has arrived only when the sink's stream ends."""

    def complete(self, frontiers: SinkFrontiers) -> bool:
        """Whether all consequences have arrived, given the frontiers of the sink."""
        if any(not frontier.elements for frontier in frontiers):
            return True
        return self.tells and all(past(frontiers, time) for time in self.times)


class Consequences:
    """The paths from every place of a run to its sinks."""

    def __init__(self, locations: Sequence[Location], sinks: Iterable[Location]) -> None:
        self._sinks = set(sinks)
        self._below: dict[Location, list[tuple[Location, int]]] = {location: [] for location in locations}
        for location in locations:
            for number, upstream in enumerate(location.upstreams):
                self._below[upstream].append((location, number))

    def from_output(self, location: Location, time: Hashable) -> list[Consequence]:
        """The consequences of anything that leaves a module at a time."""
        return self._follow([(location, time)], [])

    def from_input(self, location: Location, number: int, time: Hashable) -> list[Consequence]:
        """The consequences of anything that arrives at an input of a module at a time."""
        return self._follow(*self._through(location, number, time))

    def below(self, location: Location) -> list[Location]:
        """The modules downstream of another, in order."""
        below = self._anything_below([location])
        return sorted(below.keys() - {location}, key=lambda below: below.node)

    def carrying(self, location: Location) -> list[Location]:
        """The modules downstream that carry something from a time to later ones, as state or in a later window.

        When a time is complete at the sinks, the data that such a module keeps of it has not arrived there. With a
        journal, the data is saved, or its values are replayed.
        """
        return [below for below in self.below(location) if below.traits.carries in _CARRYING or below.traits.later]

    def sinks_below(self, location: Location) -> list[Location]:
        """The sinks downstream of a module, itself included."""
        below = self._anything_below([location])
        return [sink for sink in self._sinks if sink in below]

    def strangers(self, location: Location, time: Hashable) -> list[Location]:
        """The modules downstream that make their own times: nothing is known of `time` after them."""
        found: list[Location] = []
        self._follow([(location, time)], found)
        return list(dict.fromkeys(found))

    def _follow(self, starts: Iterable[tuple[Location, Hashable]], cut: list[Location]) -> list[Consequence]:
        """Follow every path from some times; modules on these paths that make their own times are added to `cut`."""

        def steps(here: tuple[Location, Hashable]) -> Iterator[tuple[Location, Hashable]]:
            location, time = here
            for below, number in self._below[location]:
                further, lost = self._through(below, number, time)
                cut.extend(lost)
                yield from further

        times: dict[Location, list[Hashable]] = {}
        for location, time in reachable(starts, steps):
            if location in self._sinks:
                times.setdefault(location, []).append(time)
        unknown = self._anything_below(cut)
        return [
            Consequence(sink, times.get(sink, []), sink not in unknown)
            for sink in self._sinks
            if sink in times or sink in unknown
        ]

    @staticmethod
    def _through(
        location: Location, number: int, time: Hashable
    ) -> tuple[list[tuple[Location, Hashable]], list[Location]]:
        """Follow a time from an input to the output: the times there, or the module itself if none follows from it."""
        try:
            if location.traits.lasting is not None:
                return [(location, later) for later in location.traits.lasting(number, time)], []
            if number >= len(location.summaries):
                return [(location, time)], []
            row = location.summaries[number]
            summaries = (row,) if isinstance(row, Summary) else row
            later = [(location, summary.results_in(time)) for summary in summaries]
        except (TimelyError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            # The function of times has no result for this time.
            return [], [location]
        return [step for step in later if step[1] is not None], [] if summaries else [location]

    def _anything_below(self, locations: Iterable[Location]) -> dict[Location, None]:
        return reachable(locations, lambda here: (below for below, _ in self._below[here]))


def fulfilled(consequences: Sequence[Consequence], now: Frontiers) -> bool:
    """Whether all consequences of a time are complete at the outputs of their sinks."""
    return bool(consequences) and all(each.complete([_frontier(each.sink, now)]) for each in consequences)


def fulfilment(location: Location, time: Hashable, consequences: Consequences, check: Callable[[], object]) -> Watch:
    """A wait until everything that a time leads to is complete at the outputs of all sinks, or can never be.

    `check` is called before each look at that. An exception of it ends the wait.
    """

    def met(now: Frontiers) -> bool:
        check()
        # Followed at every look, because a module on the way may be known only after the wait has begun.
        known = consequences.from_output(location, time)
        ends = (each.sink.ending for each in known)
        return fulfilled(known, now) or any(end in (Ending.FAILED, Ending.ABANDONED) for end in ends)

    return Watch(
        location,
        [sink.output for sink in consequences.sinks_below(location)],
        met,
        lambda: f"waits until everything that {time!r} leads to is complete",
        wanted=[(each.sink.output, time) for each in consequences.from_output(location, time) for time in each.times],
    )


def _frontier(sink: Location, now: Frontiers) -> Antichain[Any]:
    if sink.ending is Ending.RUNNING:
        return now.frontier(sink.output)
    return sink.frontier
