"""Frontiers around cycles, by counting.

On a cycle, a frontier cannot be recomputed from its predecessors: each place would keep the others' old times alive.
So arrivals are counted instead. A spot holds the sum of its own minimal times and of its predecessors' minimal times,
changed as the path between them changes times. Changes are processed in the graph's order of work: by time first, from
the outermost loop inwards. Because every cycle strictly advances, each (spot, time) is visited once, with everything
that will ever reach it. Counts therefore never drop below zero, and the work ends. This is the algorithm of the
verified model; `theory.invariants` states what holds between any two steps.

An example: from a to b times stay the same, and from b back to a they move on by one round. A pointstamp at a, in
round 0, causes three visits:

    visit    change    arrivals then    its minimum      noted for others
    (a, 0)     +1      {0: 1}           none -> 0        +1 for (b, 0)
    (b, 0)     +1      {0: 1}           none -> 0        +1 for (a, 1)
    (a, 1)     +1      {0: 1, 1: 1}     0, as before     nothing: it has gone round, and the work ends

Now it moves to round 5, in one update. Round 1 was possible at a only as the loop's own echo, so it disappears too:

    (a, 0)     -1      {1: 1}           0 -> 1           -1 for (b, 0), +1 for (b, 1)
    (b, 0)     -1      {}               0 -> none        -1 for (a, 1)
    (a, 1)     -1      {}               1 -> none        -1 for (b, 1), whose change is now 0: no visit
    (a, 5)     +1      {5: 1}           none -> 5        +1 for (b, 5)
    (b, 5)     +1      {5: 1}           none -> 5        +1 for (a, 6)
    (a, 6)     +1      {5: 1, 6: 1}     5, as before     nothing

In another order, (b, 1) and everything behind it would have been visited with +1, and then again with -1.

`GraphBuilder.build` checks that cycles advance, as far as their summaries show. A step that claims to advance and then
leaves a time unchanged (half a day added to a date) is found here and refused.

`BEGINNING` is the only time that cycles do not advance. It passes every path, so in a strongly connected group it is
everywhere or nowhere. One number decides: how often it enters the group from outside.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from .errors import CycleError, TimeDomainError
from .graph import Graph
from .mutable import MutableAntichain
from .order import BEGINNING, less_than
from .plan import Spot
from .summary import Summary


class CountingGroup:
    """The spots of a strongly connected component (or one very wide join), with counted arrivals and pending work."""

    def __init__(self, spots: list[Spot], graph: Graph) -> None:
        self.spots = spots
        self.first = spots[0]
        self.pending: dict[tuple[Spot, Any], int] = {}
        self.beginnings = 0
        self._began = False
        self._graph = graph
        self._order = graph.order
        # While times can be sorted, each key of `pending` is in the heap exactly once. The sequence number decides
        # between visits with equal sort keys.
        self._heap: list[tuple[Any, int, Spot, Any]] = []
        self._sequence = count()
        self._sortable = True
        self._inner: dict[Spot, list[tuple[Spot, Summary, bool]]] = {}
        """The paths from each spot to others of the group, and whether the order of work relies on their advancing."""
        ranks = self._order.ranks
        for spot in spots:
            spot.counting, spot.arrivals = self, MutableAntichain()
        for spot in spots:
            self._inner[spot] = [
                (end, summary, not summary.advances or ranks[end.place] <= ranks[spot.place])
                for end, summary in spot.feeds
                if end.counting is self
            ]

    def add(self, spot: Spot, time: Any, delta: int) -> None:
        """Note a change of arrivals; `settle` processes it."""
        if time is BEGINNING:
            self.beginnings += delta
            return
        key = (spot, time)
        if key in self.pending:
            # It may become 0 and is then skipped; removing it from the heap would cost more.
            self.pending[key] += delta
            return
        self.pending[key] = delta
        if not self._sortable:
            return
        try:
            heappush(self._heap, (self._order.key(spot.place, time), next(self._sequence), spot, time))
        except TimeDomainError:
            self._sortable = False

    def settle(self) -> list[Spot]:
        """Process everything pending and return the spots whose frontier may have changed."""
        touched: dict[Spot, None] = {}
        for spot, time, delta in self._in_order():
            arrivals = spot.arrivals
            before = arrivals.elements
            # `delta` has everything that will ever arrive here at this time, so the count cannot drop below zero.
            if not arrivals.update(time, delta):
                continue
            touched[spot] = None
            for end, summary, relied_on in self._inner[spot]:
                for changed, sign in differences(before, arrivals.elements):
                    later = summary.results_in(changed)
                    if later is None:
                        continue
                    # Otherwise the same visits would repeat forever.
                    if relied_on and not self._comes_later(end, later, spot, changed):
                        raise self._stuck(spot, changed, end, later)
                    self.add(end, later, sign)
        # BEGINNING comes last: while present it hides all other times of the group, and reveals them when it leaves.
        if self._began != (self.beginnings > 0):
            self._began = not self._began
            return self.spots
        return list(touched)

    def front(self, spot: Spot) -> tuple[Any, ...]:
        """The frontier at a spot of this group."""
        return (BEGINNING,) if self._began else spot.arrivals.elements

    def _comes_later(self, end: Spot, later: Any, start: Spot, time: Any) -> bool:
        """Whether the visit of `end` comes later in the order of work than the visit of `start` that causes it."""
        try:
            return bool(self._order.key(end.place, later) > self._order.key(start.place, time))
        except TimeDomainError:
            return bool(later != time)

    def _stuck(self, start: Spot, time: Any, end: Spot, later: Any) -> CycleError:
        names = (self._graph.name(start.place), self._graph.name(end.place))
        return CycleError(
            f"a cycle through {names[0]} and {names[1]} does not strictly advance time: between the two, {time!r} "
            f"becomes {later!r}; use a step in this cycle that always advances such times",
            names,
        )

    def _in_order(self) -> Iterator[tuple[Spot, Any, int]]:
        pending = self.pending
        while pending:
            if self._sortable:
                _, _, spot, time = heappop(self._heap)
            else:
                spot, time = self._least()
            # Removed before the visit: changes that the visit notes come later in the order, never here again.
            delta = pending.pop((spot, time))
            if delta:
                yield spot, time, delta
        self._heap.clear()
        self._sortable = True

    def _least(self) -> tuple[Spot, Any]:
        """A pending visit that no other precedes, for times that cannot be sorted. Compares them all."""
        ranks = self._order.ranks
        first, *others = self.pending
        for spot, time in others:
            if less_than(time, first[1]) or (time == first[1] and ranks[spot.place] < ranks[first[0].place]):
                first = (spot, time)
        return first


def differences(before: tuple[Any, ...], after: tuple[Any, ...]) -> list[tuple[Any, int]]:
    """The changes from one frontier to another.

    >>> differences((3,), (5,))
    [(3, -1), (5, 1)]
    """
    if before is after:
        return []
    if len(before) <= 1 and len(after) <= 1:
        if before == after:
            return []
        return [(time, -1) for time in before] + [(time, 1) for time in after]
    old, new = set(before), set(after)
    return [(time, -1) for time in before if time not in new] + [(time, 1) for time in after if time not in old]
