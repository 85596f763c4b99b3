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
        return not any(now.frontier(place).less_equal(time) for place in places)

    def complete_before(now: Frontiers) -> bool:
        return not any(
            front is not time and front != time and less_equal(front, time)
            for place in places
            for front in now.frontier(place)
        )

    return Watch(
        owner,
        places,
        complete_before if before else complete,
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
        """The times, and some no longer requested; None once two could not be compared."""
        self._minima: MutableAntichain[Any] | None = None
        """The same for times in a partial order; None if they are of two domains."""

    @override
    def __setitem__(self, time: Hashable, waiter: W) -> None:
        super().__setitem__(time, waiter)
        if self._heap is not None and not is_total(time):
            self._heap = None
            self._gather()
        elif self._minima is not None:
            if len(self._minima) > 2 * len(self) + FEW:
                self._gather()
            elif not self._minima.count(time):
                self._add(self._minima, time)
        if self._heap is not None:
            try:
                if len(self._heap) > 2 * len(self) + FEW:
                    # Most were withdrawn, and one that stays may keep them from ever coming to the top.
                    self._heap[:] = self
                    heapify(self._heap)
                else:
                    heappush(self._heap, time)
            except (TypeError, ArithmeticError):
                # Of two domains, or a Decimal that is not a number.
                self._heap = None

    def _gather(self) -> None:
        minima = self._minima = MutableAntichain[Any]()
        for time in self:
            self._add(minima, time)

    def _add(self, minima: MutableAntichain[Any], time: Hashable) -> None:
        try:
            minima.update(time, 1)
        except TypeError:
            # Of two domains.
            self._minima = None

    @property
    def first(self) -> list[Hashable]:
        """The times that may complete first: the minimal ones, if known; else all."""
        if self._minima is not None:
            try:
                return self._minimal(self._minima)
            except TypeError:
                self._minima = None
        heap = self._heap
        if heap is None:
            return list(self)
        while heap and heap[0] not in self:
            heappop(heap)
        return heap[:1]

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

    def _minimal(self, minima: MutableAntichain[Any]) -> list[Hashable]:
        while gone := [time for time in minima.elements if time not in self]:
            for time in gone:
                minima.update(time, -1)
        return list(minima.elements)


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
