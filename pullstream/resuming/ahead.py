"""Looking ahead: how far a source must advance before more is complete, if nothing else changes."""

from bisect import bisect_left
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.timely import TimelyError, Tracker

Pointstamps = Sequence[tuple[int, Hashable]]

FEW: Final = 16
"""The number of ticks to remember; the rows of one micro-batch mostly wait for fewer."""

_UNKNOWN: Final = (TimelyError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError)
"""Raised by functions of times that have no result for a time."""


class TimeScale(Protocol):
    """The steps in which a source advances through time, with their numbers, the ticks."""

    @property
    def last(self) -> int:
        """The last possible tick."""
        ...

    def time(self, tick: int) -> Hashable:
        """The least time that may still arrive when the source has reached a tick."""
        ...

    def tick(self, time: Any) -> int | None:
        """Approximately the first tick that is past a time; None for a time of another domain."""
        ...


Wish = Callable[[Tracker], bool]
"""Whether a wait has ended, given a tracker of the times that may still arrive."""


class Ahead:
    """A second tracker for the graph of a run, in which the source can move forwards and backwards."""

    def __init__(self, sidecar: Sidecar, source: Location, sink: Location, ticks: TimeScale) -> None:
        self._graph = sidecar.frontiers.graph()
        self._source = source.output
        self._sink = sink.output
        self._ticks = ticks
        self._found: dict[int, tuple[int, int]] = {}
        """The ticks found for rows, each with the least and the greatest time of its rows."""
        self._begin()

    def _begin(self) -> None:
        self._tracker = Tracker(self._graph, monotone=False)
        self._now: Hashable = None
        self._observed: set[int] = set()
        self._observe([self._sink])

    def from_row(self, time: Hashable, after: int) -> int:
        """The first tick after `after` at which a result of a value at `time` may be complete at the sink."""
        if type(time) is not int:
            return self._from_row(time, after)
        # A later time is never complete sooner: all times between two with the same tick have that tick.
        for due, (low, high) in self._found.items():
            if low <= time <= high and due > after:
                return due
        due = self._from_row(time, after)
        if due > after + 1:
            low, high = self._found.get(due, (time, time))
            self._found[due] = min(low, time), max(high, time)
            if len(self._found) > FEW:
                del self._found[next(iter(self._found))]
        return due

    def _from_row(self, time: Hashable, after: int) -> int:
        try:
            self._move(time)
            least = list(self._tracker.frontier(self._sink))
        except _UNKNOWN:
            self._begin()
            return after + 1
        wishes = [passed(self._sink, [each]) for each in least]
        return self._first(wishes, after, self._ticks.tick(time)) or after + 1

    def from_here(
        self, stamps: Pointstamps, places: Iterable[int], wishes: Sequence[Wish], hints: Sequence[Any], after: int
    ) -> int | None:
        """The first tick after `after` at which a wish is fulfilled, given these pointstamps; None if there is none."""
        self._observe(places)
        try:
            with self._beside(stamps):
                found = [tick for tick in map(self._ticks.tick, hints) if tick is not None]
                return self._first(wishes, after, min(found, default=None))
        except _UNKNOWN:
            # A tracker that has raised an exception cannot be used again.
            self._begin()
            return after + 1

    def _first(self, wishes: Sequence[Wish], after: int, hint: int | None) -> int | None:
        """Search down or up from a hint, in steps that double, and then between the last two."""
        last = self._ticks.last

        def fulfils(tick: int) -> bool:
            self._move(self._ticks.time(tick))
            return any(wish(self._tracker) for wish in wishes)

        high = min(max(after + 1, hint or 0), last)
        step = 1
        if fulfils(high):
            low = high
            while low > after:
                high, low, step = low, max(low - step, after), 2 * step
                if low == after or not fulfils(low):
                    break
        else:
            low = high
            while not fulfils(high):
                if high == last:
                    return None
                low, high, step = high, min(high + step, last), 2 * step
        return low + 1 + bisect_left(range(low + 1, high), x=True, key=fulfils)

    def _move(self, time: Hashable) -> None:
        tracker = self._tracker
        if self._now is not None:
            tracker.update(self._source, self._now, -1)
        self._now = time
        tracker.update(self._source, time, 1)
        tracker.propagate()

    @contextmanager
    def _beside(self, stamps: Pointstamps) -> Generator[None]:
        for place, time in stamps:
            self._tracker.update(place, time, 1)
        try:
            yield
        finally:
            for place, time in stamps:
                self._tracker.update(place, time, -1)

    def _observe(self, places: Iterable[int]) -> None:
        for place in set(places) - self._observed:
            self._observed.add(place)
            self._tracker.observe(place)


def passed(place: int, times: Sequence[Hashable]) -> Wish:
    """The wish that none of these times can arrive at a place any more."""
    return lambda tracker: not any(tracker.frontier(place).less_equal(time) for time in times)
