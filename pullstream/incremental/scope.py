"""In which order the parts of a program work: by what could still reach what.

A part that has to wait says at which time there is something for it to do, and is called when nothing can reach it at
that time any more. Within a scope that is the order in which the parts were made, for what one is made of is made
before; a loop is one part of the scope around it, and goes round by round, for as long as there is something to do in
one, before what comes of it is looked at. (One queue for all, by time alone, is wrong: of two loops in one round the
second would begin while the first still makes what it is given.)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection as Sized
from heapq import heappop, heappush
from itertools import count
from typing import final

from typing_extensions import override

from pullstream.authoring import Site
from pullstream.incremental.trace import Clock, Time, Trace


class Worker(ABC):
    """A part of a program that waits until all that can reach it at a time has come."""

    def __init__(self, scope: "Scope", site: Site) -> None:
        self.scope = scope
        self.site = site
        self.number = next(scope.numbers)
        """Its place in the order of its scope, and its name in what is saved."""

    @abstractmethod
    def work(self, time: Time) -> None:
        """Do what is to be done at a time; it may give work to those after it, and to any at later times."""


class Scope:
    """The parts of a program at one depth of loops, and what they have to do."""

    def __init__(self, clock: Clock, loop: "Loop | None" = None) -> None:
        self.clock = clock
        self.loop = loop
        self.depth: int = 0 if loop is None else loop.scope.depth + 1
        self.numbers = count() if loop is None else loop.scope.numbers
        self.traces: list[Trace] = [] if loop is None else loop.scope.traces
        """All that the program keeps, in the order in which its parts were made: one program, one order."""
        self._waiting: dict[Time, dict[int, Worker]] = {}

    def trace(self) -> Trace:
        """Something to keep changes in."""
        self.traces.append(Trace(self.clock))
        return self.traces[-1]

    @property
    def times(self) -> Sized[Time]:
        """The times at which there is something to do."""
        return self._waiting.keys()

    def schedule(self, worker: Worker, time: Time) -> None:
        """Have a part called at a time; to ask again is to ask once."""
        here = self._waiting.get(time)
        if here is None:
            here = self._waiting[time] = {}
            if self.loop is not None:
                self.loop.awaits(time)
        here[worker.number] = worker

    def run(self, time: Time) -> None:
        """Have all parts do what there is to do at a time."""
        here = self._waiting.get(time, {})
        while here:
            here.pop(min(here)).work(time)
        self._waiting.pop(time, None)


@final
class Loop(Worker):
    """A part of a program that is gone through again and again, and is one part of what is around it."""

    def __init__(self, scope: Scope, site: Site, limit: int) -> None:
        super().__init__(scope, site)
        self.body = Scope(scope.clock, self)
        self.limit = limit
        """The number of rounds after which nothing may change any more."""
        self.visited = 0
        """The number of rounds in which there was something to do, in all."""
        self._rounds: dict[Time, list[int]] = {}

    def close(self) -> None:
        """Say that the body is known: what it is made of, of what is around it as well, comes before it."""
        self.number = next(self.scope.numbers)

    def awaits(self, time: Time) -> None:
        """Hear of a round in which there is something to do."""
        around = time[:-1]
        heappush(self._rounds.setdefault(around, []), time[-1])
        self.scope.schedule(self, around)

    @override
    def work(self, time: Time) -> None:
        rounds = self._rounds.get(time, [])
        while rounds:
            self.visited += 1
            self.body.run((*time, heappop(rounds)))
        self._rounds.pop(time, None)
