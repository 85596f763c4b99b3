"""Regions of a program, and the order in which operators work: by what could still reach what.

An operator that has to wait says at which time there is something for it to do, and is called when nothing can reach it
at that time any more. Within a region, which is all that is at one depth of loops, that is the order in which operators
were made, for what one is made of is made before. A loop is one operator of the region around it: it goes round by
round, for as long as there is something to do in one, before what comes of it is looked at. (One queue for all, by time
alone, is wrong: of two loops in one round the second would begin while the first still makes what it is given.)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection as Sized
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import final

from typing_extensions import TypeVar, override

from pullstream.authoring import Site
from pullstream.incremental.trace import KeyedTrace, Order, Time

Trace = TypeVar("Trace", bound=KeyedTrace)


class Operator(ABC):
    """An operator that waits until all that can reach it at a time has come."""

    def __init__(self, region: "Region", site: Site, verb: str) -> None:
        self.region = region
        self.site = site
        self.verb = verb
        self.number = next(region.numbers)
        """Its place in the order of its region, and its name in what is saved."""

    def names(self, time: Time) -> list[str]:
        """Name what of it there is something to do for at a time."""
        del time
        return [f"{self.verb}() at {self.site}"]

    @abstractmethod
    def work(self, time: Time) -> None:
        """Do what is to be done at a time; it may give work to those after it, and to any at later times."""


class Region:
    """The operators of a program at one depth of loops, and what they have to do."""

    def __init__(self, order: Order, loop: "Iteration | None" = None) -> None:
        self.order = order
        self.loop = loop
        self.depth: int = 0 if loop is None else loop.region.depth + 1
        self.numbers: Iterator[int] = count() if loop is None else loop.region.numbers
        self.traces: list[KeyedTrace] = [] if loop is None else loop.region.traces
        """All that the program keeps, in the order in which its operators were made: one program, one order."""
        self._waiting: dict[Time, dict[int, Operator]] = {}

    def keep(self, trace: Trace) -> Trace:
        """Count a trace among all that the program keeps."""
        self.traces.append(trace)
        return trace

    @property
    def times(self) -> Sized[Time]:
        """The times at which there is something to do."""
        return self._waiting.keys()

    def names(self, time: Time) -> list[str]:
        """Name the operators that have something to do at a time."""
        here = self._waiting.get(time, {})
        return [name for number in sorted(here) for name in here[number].names(time)]

    def schedule(self, operator: Operator, time: Time) -> None:
        """See that an operator is called at a time; to ask again is to ask once."""
        here = self._waiting.get(time)
        if here is None:
            here = self._waiting[time] = {}
            if self.loop is not None:
                self.loop.awaits(time)
        here[operator.number] = operator

    def run(self, time: Time) -> None:
        """Call all operators that have something to do at a time."""
        here = self._waiting.get(time, {})
        while here:
            here.pop(min(here)).work(time)
        self._waiting.pop(time, None)


@final
class Iteration(Operator):
    """A region that is gone through again and again, and is one operator of the region around it."""

    def __init__(self, region: Region, site: Site, limit: int) -> None:
        super().__init__(region, site, "iterate")
        self.body = Region(region.order, self)
        self.limit = limit
        """The number of rounds after which nothing may change any more."""
        self.visited = 0
        """The number of rounds in which there was something to do, in all."""
        self._rounds: dict[Time, list[int]] = {}

    def close(self) -> None:
        """Say that the body is known: what it is made of, of what is around it as well, comes before it."""
        self.number = next(self.region.numbers)

    def awaits(self, time: Time) -> None:
        """Hear of a round in which there is something to do."""
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
            self.visited += 1
            self.body.run((*time, heappop(rounds)))
        self._rounds.pop(time, None)
