"""The invariants of a tracker, which hold between any two propagations, and a tracker that checks them.

The three invariants follow the machine-checked proof of the protocol (its names are in brackets):

- counts around cycles: at every spot, the counted arrivals are its own minimal times plus those of its predecessors,
  changed along the path; no work is left over [the worklist invariant], and no count is negative;
- the frontiers are the least fixpoint that the plain query computes [implied frontier];
- a new pointstamp is at or after a time that was already possible at its place [justified].
"""

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
    """The frontier of every place, computed by the plain query from the tracker's counts."""
    graph = tracker.graph
    nodes, edges = describe(graph)
    times = [(location, time) for place, location in enumerate(graph.locations) for time in tracker.stamps[place]]
    return {graph.place(location): Antichain(found) for location, found in frontier(nodes, edges, times).items()}


def check_invariants(tracker: Tracker) -> None:
    """Compare frontiers with the query, and counts around cycles with their predecessors.

    Raises:
        InvariantError: an invariant does not hold.
    """
    expected = implied(tracker)
    for spot in tracker.spots:
        wanted = expected.get(spot.place, Antichain())
        if Antichain.of_minimal(spot.front) != wanted:
            name = tracker.graph.name(spot.place)
            raise InvariantError(f"the frontier at {name} is {spot.front!r}, but should be {wanted!r}")
        group: CountingGroup | None = spot.counting
        if group is not None:
            _check_group(tracker, group, spot)


def _check_group(tracker: Tracker, group: CountingGroup, spot: Spot) -> None:
    name = tracker.graph.name(spot.place)
    if any(group.pending.values()):
        raise InvariantError(f"the cycle through {name} has unfinished work at {[time for _, time in group.pending]!r}")
    wanted: Counter[Any] = Counter(time for time in spot.own.elements if time is not BEGINNING)
    for other in tracker.spots:
        minima = other.arrivals.elements if other.counting is group else other.front
        for end, summary in other.feeds:
            if end is spot:
                wanted.update(later for time in minima if (later := summary.results_in(time)) not in (None, BEGINNING))
    counted = dict(spot.arrivals)
    if counted != dict(wanted):
        raise InvariantError(f"the arrivals counted at {name} are {counted!r}, but should be {dict(wanted)!r}")


def check_justified(tracker: Tracker, changes: Iterable[tuple[int, Any, int]]) -> None:
    """Check that every new pointstamp is at or after a time that was already possible at its place.

    Raises:
        CapabilityError: a pointstamp appears from nothing; the message names the place, its frontier and the time.
    """
    possible = implied(tracker)
    for place, time, delta in changes:
        before = possible.get(place, Antichain())
        if delta > 0 and not before.less_equal(time):
            raise CapabilityError(
                f"{time!r} appears from nothing at {tracker.graph.name(place)}: the frontier there was {before!r}",
            )


class CheckedTracker(Tracker):
    """A tracker that checks all invariants at every propagation. It is slow; use it in tests.

    Raises:
        InvariantError: an invariant does not hold.
        CapabilityError: a pointstamp appears from nothing.
    """

    @override
    def _work_off(self) -> None:
        if self.monotone and self._started:
            self._compact()
            check_justified(self, self._buffer)
        super()._work_off()
        check_invariants(self)
