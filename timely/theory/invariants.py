"""The invariants of a tracker: what must hold between any two propagations, and a tracker that checks them.

Three things, after the machine-checked proof of the protocol (whose names are in brackets):

- counts around cycles: at every spot the counted arrivals are its own minimal times plus what the minimal times of its
  predecessors become on the way, with no work left over [the worklist invariant], and no count is negative;
- the frontiers are the least fixpoint: what the plain query computes [implied frontier];
- a new pointstamp is at or after something that was already possible at its place [justified].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from typing_extensions import override

from ..antichain import Antichain
from ..counting import CountingGroup
from ..errors import CapabilityError, TimelyError
from ..order import BEGINNING
from ..plan import Spot
from ..tracker import Tracker
from .queries import describe, frontier


class InvariantError(TimelyError, AssertionError):
    """The tracker contradicts itself: a fault in `timely`, or in a summary that is not monotone."""


def implied(tracker: Tracker) -> dict[int, Antichain[Any]]:
    """The frontier of every place by the plain query, from the tracker's counts."""
    graph = tracker.graph
    nodes, edges = describe(graph)
    times = [(location, time) for place, location in enumerate(graph.locations) for time in tracker.stamps[place]]
    return {graph.place(location): Antichain(found) for location, found in frontier(nodes, edges, times).items()}


def check_invariants(tracker: Tracker) -> None:
    """Compare frontiers with the query, and counts around cycles with their predecessors.

    Raises:
        InvariantError: something does not hold.
    """
    expected = implied(tracker)
    for spot in tracker.spots:
        wanted = expected.get(spot.place, Antichain())
        if Antichain.of_minimal(spot.front) != wanted:
            name = tracker.graph.name(spot.place)
            raise InvariantError(f"the frontier at {name} is {spot.front!r}, and should be {wanted!r}")
        group: CountingGroup | None = spot.counting
        if group is not None:
            _check_group(tracker, group, spot)


def _check_group(tracker: Tracker, group: CountingGroup, spot: Spot) -> None:
    name = tracker.graph.name(spot.place)
    if any(group.pending.values()):
        raise InvariantError(f"work is left over around {name}: {group.pending!r}")
    wanted: Counter[Any] = Counter(time for time in spot.own.elements if time is not BEGINNING)
    for other in tracker.spots:
        minima = group.arrivals[other.index].elements if other.counting is group else other.front
        for end, summary in other.feeds:
            if end is spot:
                wanted.update(later for time in minima if (later := summary.results_in(time)) not in (None, BEGINNING))
    counted = dict(group.arrivals[spot.index])
    if counted != dict(wanted):
        raise InvariantError(f"the arrivals counted at {name} are {counted!r}, and should be {dict(wanted)!r}")


def check_justified(tracker: Tracker, changes: Iterable[tuple[int, Any, int]]) -> None:
    """Check that what appears is at or after what was possible at its place before.

    Raises:
        CapabilityError: a pointstamp appears from nothing; the place, what was possible there and the time are named.
    """
    possible = implied(tracker)
    for place, time, delta in changes:
        before = possible.get(place, Antichain())
        if delta > 0 and not before.less_equal(time):
            raise CapabilityError(
                f"{time!r} appears from nothing at {tracker.graph.name(place)}: possible there were {before!r}",
            )


class CheckedTracker(Tracker):
    """A tracker that checks all of this at every propagation: slow, for tests.

    Raises:
        InvariantError: something does not hold.
        CapabilityError: a pointstamp appears from nothing.
    """

    @override
    def _work_off(self) -> None:
        if self.monotone and self._started:
            self._compact()
            check_justified(self, self._buffer)
        super()._work_off()
        check_invariants(self)
