"""Regions of a program, and the order in which operators work.

An operator schedules the times at which it has work to do. It is called when nothing more can reach it at that
time. Within a region (all operators at one depth of loops), this is the order of creation, because the inputs of an
operator are made before it. A loop is one operator of the region around it: it works round by round until no round has
anything left to do, and only then do the operators after it work. (A single queue ordered by time alone would be
wrong: with two loops in the same round, the second would begin while the first still produces its input.)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection as Sized, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import final

from typing_extensions import TypeVar, override

from pullstream.authoring import Site
from pullstream.incremental.trace import KeyedTrace, Order, Time

Trace = TypeVar("Trace", bound=KeyedTrace)


class Operator(ABC):
    """An operator that waits until everything that can reach it at a time has arrived."""

    def __init__(self, region: "Region", site: Site, verb: str) -> None:
        self.region = region
        self.site = site
        self.verb = verb
        self.number = next(region.numbers)
        """The operator's place in the order of its region, and its key in saved state."""

    def names(self, time: Time) -> list[str]:
        """Name the parts of the operator that have work to do at a time."""
        del time
        return [f"{self.verb}() at {self.site}"]

    @abstractmethod
    def work(self, time: Time) -> None:
        """Work at a time. This may give work to later operators at this time, and to any operator at later times."""


class Region:
    """The operators of a program at one depth of loops, and their scheduled work."""

    def __init__(self, order: Order, loop: "Iteration | None" = None) -> None:
        self.order = order
        self.loop = loop
        self.depth: int = 0 if loop is None else loop.region.depth + 1
        self.numbers: Iterator[int] = count() if loop is None else loop.region.numbers
        self.traces: list[KeyedTrace] = [] if loop is None else loop.region.traces
        """All traces of the program, in order of creation. The order is the same for every run of a program."""
        self._waiting: dict[Time, dict[int, Operator]] = {}

    def keep(self, trace: Trace) -> Trace:
        """Add a trace to the program's traces."""
        self.traces.append(trace)
        return trace

    @property
    def times(self) -> Sized[Time]:
        """The times at which there is work to do."""
        return self._waiting.keys()

    def names(self, time: Time) -> list[str]:
        """Name the operators that have work to do at a time."""
        here = self._waiting.get(time, {})
        return [name for number in sorted(here) for name in here[number].names(time)]

    def schedule(self, operator: Operator, time: Time) -> None:
        """Schedule an operator for a time. Scheduling it again has no effect."""
        here = self._waiting.get(time)
        if here is None:
            here = self._waiting[time] = {}
            if self.loop is not None:
                self.loop.awaits(time)
        here[operator.number] = operator

    def run(self, time: Time) -> None:
        """Call all operators that have work to do at a time."""
        here = self._waiting.get(time, {})
        while here:
            here.pop(min(here)).work(time)
        self._waiting.pop(time, None)


@final
class Iteration(Operator):
    """A region that is run repeatedly, and acts as one operator of the region around it."""

    def __init__(self, region: Region, site: Site, limit: int) -> None:
        super().__init__(region, site, "iterate")
        self.body = Region(region.order, self)
        self.limit = limit
        """The number of rounds after which nothing may change."""
        self._rounds: dict[Time, list[int]] = {}

    def close(self) -> None:
        """Finish the body: renumber the loop, so that everything its body uses outside comes before it."""
        self.number = next(self.region.numbers)

    def awaits(self, time: Time) -> None:
        """Note a round with work to do."""
        around = time[:-1]
        heappush(self._rounds.setdefault(around, []), time[-1])
        self.region.schedule(self, around)

    @override
    def names(self, time: Time) -> list[str]:
        (own,) = super().names(time)
        inner = [name for number in sorted(self._rounds.get(time, ())) for name in self.body.names((*time, number))]
        return [f"{own} > {name}" for name in dict.fromkeys(inner)]

    @override
    def work(self, time: Time) -> None:
        rounds = self._rounds.get(time, [])
        while rounds:
            self.body.run((*time, heappop(rounds)))
        self._rounds.pop(time, None)
