"""Waits in the sidecar: for a completion, or for any movement of a frontier. The sidecar registers and wakes them."""

from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from heapq import heapify, heappop, heappush
from typing import Any

import attrs
from typing_extensions import TypeVar, override

from pullstream.engine.runtime.deadlock import LOOKS_ON, Signal
from pullstream.engine.sidecar.frontiers import Frontiers
from pullstream.engine.sidecar.location import FEW, Ending, Location
from pullstream.timely import Antichain, MutableAntichain, less_equal
from pullstream.timely.order import is_total

W = TypeVar("W")


@attrs.define(eq=False)
class Watch:
    """A wait at some places of the graph, until their frontiers meet its condition."""

    owner: Location
    places: Sequence[int]
    """The places where a moving frontier, or an ending module, may meet the condition."""
    met: Callable[[Frontiers], bool]
    """The condition: whether there is nothing left to wait for."""
    says: Callable[[], str]
    """Returns the rest of the sentence that begins with the owner."""
    time: Hashable = None
    """The time that must become complete at all of the places; None if the wait is for something else."""
    before: bool = False
    """Whether it is enough that everything before that time is complete."""
    wanted: Sequence[tuple[int, Hashable]] = ()
    """The times that must become complete, and where; for the explanation of a stall."""
    in_turn: bool = attrs.field(default=False, init=False)
    """Whether it is met no sooner than waits for earlier times at its place: they are checked in this order.

    Only for a time of a built-in type that equals itself: any other may be neither before nor after the rest.
    """
    event: Signal = attrs.field(init=False)
    """Set once the wait is met."""
    failure: BaseException | None = attrs.field(default=None, init=False)
    looks_on: bool = attrs.field(factory=LOOKS_ON.get, init=False)
    """Whether the wait is only an observer's: no part of the run depends on it."""

    def check(self) -> None:
        """Raise the failure of the wait, if it failed."""
        if self.failure is not None:
            raise self.failure

    def __str__(self) -> str:
        return f"{self.owner}, {self.says()}"


def completion(owner: Location, places: Sequence[int], time: Hashable, *, before: bool = False) -> Watch:
    """A wait until a time is complete at all of the places; with `before`, until everything before it is."""

    def complete(now: Frontiers) -> bool:
        fronts = map(now.frontier, places)
        return not any(front.less_than(time) if before else front.less_equal(time) for front in fronts)

    return Watch(
        owner,
        places,
        complete,
        lambda: f"waits until {time!r} is complete",
        time,
        before,
        [(place, time) for place in places],
    )


class Requests(dict[Hashable, W]):
    """Waits for the completion of times, by time.

    Only times that can complete first need checking: the minimal ones. In a total order that is the least, kept in a
    heap.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[Any] | None = []
        """The times, and some no longer requested; None once one has no total order, or two could not be compared."""
        self._minima: MutableAntichain[Any] | None = None
        """The same for times in a partial order."""

    @override
    def __setitem__(self, time: Hashable, waiter: W) -> None:
        super().__setitem__(time, waiter)
        heap, minima, most = self._heap, self._minima, 2 * len(self) + FEW
        try:
            if heap is not None and is_total(time):
                if len(heap) > most:
                    # Most were withdrawn, and one that stays may keep them from ever coming to the top.
                    heap[:] = self
                    heapify(heap)
                else:
                    heappush(heap, time)
            elif heap is not None or (minima is not None and len(minima) > most):
                self._heap, self._minima = None, (minima := MutableAntichain())
                for other in self:
                    minima.update(other, 1)
            elif minima is not None and not minima.count(time):
                minima.update(time, 1)
        except (TypeError, ArithmeticError):
            # Of two domains, or a Decimal that is not a number.
            self._heap = self._minima = None

    @property
    def first(self) -> list[Hashable]:
        """The times that may complete first: the minimal ones, if known; else all."""
        heap, minima = self._heap, self._minima
        if heap is not None:
            while heap and heap[0] not in self:
                heappop(heap)
            return heap[:1]
        if minima is None:
            return list(self)
        try:
            while gone := [time for time in minima.elements if time not in self]:
                for time in gone:
                    minima.update(time, -1)
        except TypeError:
            self._minima = None
            return list(self)
        return list(minima.elements)

    def pop_over(self, may_come: Callable[[Hashable], bool]) -> dict[Hashable, W]:
        """Remove the times at which nothing more may come; return them, earlier ones first, with their values."""
        over: dict[Hashable, W] = {}
        before = -1
        try:
            while before < len(over):
                before = len(over)
                for time in self.first:
                    if not may_come(time):
                        over[time] = self.pop(time)
        except BaseException:
            for time, waiter in over.items():
                self[time] = waiter
            raise
        return over


def insert(table: dict[Hashable, dict[Watch, W]], key: Hashable, waiter: Watch, value: W) -> None:
    """Add a waiter to one of the dicts in a table."""
    if key not in table:
        table[key] = {}
    table[key][waiter] = value


def remove(table: dict[Hashable, dict[Watch, W]], key: Hashable, waiter: Watch) -> bool:
    """Remove a waiter from one of the dicts in a table, if it is there; True if that was the last one in the dict."""
    waiters = table.get(key, {})
    if waiter not in waiters:
        return False
    del waiters[waiter]
    if not waiters:
        del table[key]
    return not waiters


def least(times: Sequence[Hashable]) -> Hashable:
    """A minimal one of some times: the first to deliver of those that are complete."""
    return reduce(lambda a, b: b if less_equal(b, a) else a, times)


def movement(locations: Sequence[Location], frontiers: Sequence[Antichain[Any]]) -> Watch:
    """A wait until the frontier of one of the locations has changed, or one of them has ended."""
    known = [(location, location.ending, frontier) for location, frontier in zip(locations, frontiers, strict=True)]

    def moved(now: Frontiers) -> bool:
        # The frontier of an ended location stays, though upstream may continue for others.
        return any(
            location.ending is not ending or (ending is Ending.RUNNING and now.frontier(location.output) != frontier)
            for location, ending, frontier in known
        )

    return Watch(
        locations[0], [location.output for location in locations], moved, lambda: "whose frontier a task watches"
    )
