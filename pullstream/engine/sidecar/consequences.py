"""What a time leads to: at which times of which sinks something shows of what is at a time, anywhere above them.

Frontiers say when the *first* of what a time leads to may come, and follow the least of all paths. Who must know that
*everything* has come (a commit, a journal) follows every path, and each to the last time at which it still matters: of
a sliding window that is the last window a value is in.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import attrs
from typing_extensions import override

from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.waiting import Waiter
from timely import Antichain, Summary, TimelyError, Tracker

if TYPE_CHECKING:
    from pullstream.engine.sidecar.progress import Progress


@final
class Last:
    """The time after every other; part of a time for which it stands, such as the last one within an outer time.

    >>> (3, 10**9) <= (3, LAST), (4, 0) <= (3, LAST)
    (True, False)
    """

    __slots__ = ()

    def __le__(self, other: object) -> bool:
        return other is self

    def __lt__(self, other: object) -> bool:
        return False

    def __ge__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return other is not self

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


@attrs.frozen(eq=False)
class Reached:
    """What a time leads to at one sink."""

    sink: Location
    times: Sequence[Hashable]
    tells: bool
    """False if something on the way gives times of its own: only at the sink's end is everything there."""

    def complete(self, frontier: Antichain[Any]) -> bool:
        """Whether all of it has come, where this is what may still come."""
        if not frontier.elements:
            return True
        try:
            return self.tells and not any(frontier.less_equal(time) for time in self.times)
        except TimelyError:
            return False


class Reach:
    """The ways from every place of a run to its sinks."""

    def __init__(self, locations: Sequence[Location], sinks: Iterable[Location]) -> None:
        self._sinks = set(sinks)
        self._below: dict[Location, list[tuple[Location, int]]] = {location: [] for location in locations}
        for location in locations:
            for number, upstream in enumerate(location.upstreams):
                self._below[upstream].append((location, number))

    def from_output(self, location: Location, time: Hashable) -> list[Reached]:
        """What comes of whatever leaves a module at a time."""
        return self._follow([(location, time)], [])

    def from_input(self, location: Location, number: int, time: Hashable) -> list[Reached]:
        """What comes of whatever comes to an input of a module at a time."""
        return self._follow(*self._through(location, number, time))

    def below(self, location: Location) -> list[Location]:
        """Every module that anything of another one can come to, in order."""
        below = self._anything_below([location]) - {location}
        return sorted(below, key=lambda below: below.node)

    def sinks_below(self, location: Location) -> list[Location]:
        """Every sink that anything at a module can come to."""
        below = self._anything_below([location])
        return [sink for sink in self._sinks if sink in below]

    def strangers(self, location: Location, time: Hashable) -> list[Location]:
        """The modules on the ways from there that give times of their own: behind them nothing is known of `time`."""
        found: list[Location] = []
        self._follow([(location, time)], found)
        return list(dict.fromkeys(found))

    def _follow(self, todo: list[tuple[Location, Hashable]], cut: list[Location]) -> list[Reached]:
        seen = set(todo)
        times: dict[Location, list[Hashable]] = {}
        for location, time in todo:
            if location in self._sinks:
                times.setdefault(location, []).append(time)
            for below, number in self._below[location]:
                further, lost = self._through(below, number, time)
                cut += lost
                for step in further:
                    if step not in seen:
                        seen.add(step)
                        todo.append(step)
        untold = self._anything_below(cut)
        return [
            Reached(sink, times.get(sink, []), sink not in untold)
            for sink in self._sinks
            if sink in times or sink in untold
        ]

    @staticmethod
    def _through(
        location: Location, number: int, time: Hashable
    ) -> tuple[list[tuple[Location, Hashable]], list[Location]]:
        """From an input to the output: the times there, or the module itself if no time there follows from this."""
        try:
            if location.traits.lasting is not None:
                return [(location, later) for later in location.traits.lasting(number, time)], []
            if number >= len(location.summaries):
                return [(location, time)], []
            row = location.summaries[number]
            summaries = (row,) if isinstance(row, Summary) else row
            later = [(location, summary.results_in(time)) for summary in summaries]
        except (TimelyError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            # A function of times that has no answer for this one.
            return [], [location]
        return [step for step in later if step[1] is not None], [] if summaries else [location]

    def _anything_below(self, locations: list[Location]) -> set[Location]:
        found = set(locations)
        todo = list(found)
        for location in todo:
            for below, _ in self._below[location]:
                if below not in found:
                    found.add(below)
                    todo.append(below)
        return found


class Fulfilled(Waiter):
    """Somebody who waits until everything that a time leads to is complete at the outputs of all sinks."""

    def __init__(self, progress: "Progress", location: Location, time: Hashable, reached: Sequence[Reached]) -> None:
        super().__init__([each.sink.output for each in reached], None, None, location, progress.signal())
        self._origin = time
        self._reached = reached

    @override
    def settled(self, tracker: Tracker) -> bool:
        return self.fulfilled(tracker) or any(
            each.sink.ending in (Ending.FAILED, Ending.ABANDONED) for each in self._reached
        )

    def fulfilled(self, tracker: Tracker) -> bool:
        """Whether it is."""
        return bool(self._reached) and all(each.complete(_frontier(each.sink, tracker)) for each in self._reached)

    @override
    def wanted(self) -> Iterator[tuple[int, Hashable]]:
        for each in self._reached:
            for time in each.times:
                yield each.sink.output, time

    @override
    def __str__(self) -> str:
        return f"{self.owner}, waits until everything that {self._origin!r} leads to is complete"


def _frontier(sink: Location, tracker: Tracker) -> Antichain[Any]:
    if sink.ending is Ending.RUNNING:
        return tracker.frontier(sink.output)
    return sink.frontier
