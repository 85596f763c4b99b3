"""The frontiers of a run: the times that can still reach each place. There are three ways to know them.

At first nothing is counted. A frontier is computed from the holds and the batches in flight when it is read, as long as
no path changes a time. Most runs, and nearly all streams inside modules, end before anything else is asked. Any other
question, or an observed place, starts a tracker. When times without a common order have met, or a time's code has
raised, nothing can be computed from then on, and anything may still come. The module where they met fails.

Computing a frontier runs user code: functions of times in summaries, and the order, the equality and the hash of times.
A frontier may be read during a change that must not be interrupted halfway, such as the end of an edge. So nothing here
raises, except for a question with a time of another domain (`explain`): an exception in user code is reported to the
sidecar (`stop_tracking`), and what can no longer be known counts as not complete.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final

from pullstream.engine.observer import Update
from pullstream.engine.sidecar.location import Claim, Counts, Ending, Location, Port
from pullstream.timely import (
    BEGINNING,
    Antichain,
    Blocker,
    Graph,
    GraphBuilder,
    Source,
    Target,
    TimeDomainError,
    Tracker,
)
from pullstream.timely.order import minimal

MANY: Final = 32
"""From this number of modules on, the tracker is asked instead: it visits only places that have changed."""

ANYTHING: Final = Antichain[Any]([BEGINNING])


class Frontiers:
    """The pointstamps of a graph of locations, and the frontiers that follow from them."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.locations: list[Location] = []
        """The locations of all modules, in the order of their numbers."""
        self.sinks: list[Location] = []
        self.places: list[Location | Port] = []
        """The places by number: outputs as their locations, inputs as ports."""
        self.lost = False
        """Whether frontiers can no longer be computed."""
        self._tracker: Tracker | None = None
        self._partial: Tracker | None = None
        """The tracker for `_without`, with the counts of its last use."""
        self._expected: dict[int, None] = {}
        """The places to observe as soon as there is a tracker."""
        self._leading: dict[Location, list[Location] | None] = {}
        """The locations that lead to the inputs of a module; None if the tracker must be asked about it."""
        counts.switched(_uncounted)

    def add(self, location: Location, *, sink: bool) -> None:
        """Add a location downstream of the present ones."""
        self.places += [*location.ports, location]
        self.locations.append(location)
        if sink:
            self.sinks.append(location)

    # ---- how they are known

    def track(self) -> None:
        """Start a tracker that keeps frontiers, instead of computing each when it is read."""
        if self._tracker is None and not self.lost:
            tracker = Tracker(self.graph())
            for place in [*(sink.output for sink in self.sinks), *self._expected]:
                tracker.observe(place)
            self._count(tracker.update)
            self._tracker = tracker
            self._counts.switched(tracker.update)

    def give_up(self) -> None:
        """Give up computing frontiers: from now on anything may still come anywhere.

        Holds and batches in flight can still be listed, and keep every time from being complete.
        """
        if not self.lost:
            self.lost, self._tracker = True, None
            self._counts.switched(_uncounted)

    def graph(self) -> Graph:
        """The graph of all locations, as a tracker needs it."""
        builder = GraphBuilder()
        for location in self.locations:
            summaries = {(number, 0): summary for number, summary in enumerate(location.summaries)} or None
            builder.add_node(location.name, len(location.upstreams), 1, summaries)
        for location in self.locations:
            for number, upstream in enumerate(location.upstreams):
                builder.add_edge(Source(upstream.node, 0), Target(location.node, number))
        return builder.build()

    # ---- pointstamps

    @property
    def in_flight(self) -> list[Claim]:
        """The lanes with a batch in flight, or acknowledged since the last read."""
        return [claim for location in self.locations for port in location.ports for claim in port.in_flight]

    @property
    def stamps(self) -> Sequence[Mapping[Any, int]]:
        """The pointstamps at every place, with their counts."""
        if self._tracker is not None:
            return [*map(self._tracker.counts, range(len(self.places)))]
        stamps: list[Counter[Any]] = [Counter() for _ in self.places]

        def update(place: int, time: Hashable, delta: int) -> None:
            stamps[place][time] += delta

        self._count(update)
        return stamps

    def _count(self, update: Update) -> None:
        """Report all holds and stamps to `update`."""
        for location in self.locations:
            for time in location.held:
                update(location.output, time, 1)
        for claim in self.in_flight:
            for time in claim.counted:
                update(claim.port.place, time, 1)

    # ---- frontiers

    def observe(self, place: int) -> None:
        """Keep the frontier of a place up to date from now on."""
        self.track()
        if self._tracker is not None:
            self._tracker.observe(place)

    def expect(self, place: int) -> None:
        """Observe a place as soon as a tracker is needed: it then plans for all places at once."""
        if self._tracker is None:
            self._expected[place] = None
        else:
            self._tracker.observe(place)

    def propagate(self) -> Sequence[int]:
        """Bring observed places up to date; returns those whose frontier has moved."""
        if self._tracker is not None:
            try:
                return self._tracker.propagate()
            except BaseException as exc:  # noqa: BLE001 - reported to the sidecar
                self._counts.stop_tracking(exc)
        return ()

    def frontier(self, place: int, *, but: Location | None = None) -> Antichain[Any]:
        """The times that may still arrive at a place, or leave it; without those that follow from the mirror `but`."""
        try:
            if (self._tracker is None or but is not None) and not self.lost:
                there = self.places[place]
                starts, ports = ([there], ()) if isinstance(there, Location) else ([there.upstream], (there,))
                times = _times(locations := _leading(starts), ports, but)
                if not (times and _changing(locations)):
                    return Antichain(times) if len(times) > 1 else Antichain.of_minimal(tuple(times))
                self.track()
            if self._tracker is not None:
                if but is None:
                    return self._tracker.frontier(place)
                without = self._without(but)
                without.observe(place)
                return without.frontier(place)
        except BaseException as exc:  # noqa: BLE001 - as above
            self._counts.stop_tracking(exc)
        return ANYTHING

    def _without(self, mirror: Location) -> Tracker:
        """A tracker of everything except for the holds that a location mirrors."""
        if self._partial is None:
            self._partial = Tracker(self.graph(), monotone=False)
        for place, stamps in enumerate(self.stamps):
            now = dict.fromkeys(mirror.own, 1) if place == mirror.output else stamps
            before = self._partial.stamps[place]
            if now != before:
                for time in {**before, **now}:
                    self._partial.update(place, time, now.get(time, 0) - before.get(time, 0))
        return self._partial

    def above(self, location: Location, *, arrived: bool = True) -> Sequence[Any] | None:
        """The least times that may still arrive at a module, read where they are held and in flight.

        For a module that reads at every time, this costs less than propagating. None if the tracker must be asked.
        Without `arrived`, batches in flight at the module itself are left out.

        Raises:
            TypeError: the times are of several domains.
        """
        leading = self.leading(location)
        if self.lost or leading is None:
            return None
        return minimal(list(_times(leading, location.ports if arrived else ())))

    def leading(self, location: Location) -> list[Location] | None:
        """The locations upstream of a module; None if one of them changes times, or if there are many."""
        if location not in self._leading:
            found = _leading(location.upstreams, MANY)
            self._leading[location] = None if len(found) >= MANY or _changing(found) else found
        return self._leading[location]

    def explain(self, place: int, time: Any) -> list[Blocker]:
        """The pointstamps that may still lead to `time` at a place.

        Raises:
            TimeDomainError: `time` cannot be compared with the times here. This is the caller's mistake.
        """
        self.track()
        if self._tracker is not None:
            try:
                return self._tracker.explain(place, time)
            except TimeDomainError:
                raise
            except BaseException as exc:  # noqa: BLE001 - as above
                self._counts.stop_tracking(exc)
        # The stamps held or in flight upstream, without paths: where they may lead is unknown.
        stamps, graph = self.stamps, self.graph()
        return [Blocker(graph.location(above), held, ()) for above in graph.above([place]) for held in stamps[above]]


def _leading(starts: Iterable[Location], most: float = inf) -> list[Location]:
    """Some locations and those that lead to them. No path leads through a complete one, or one that `cuts`.

    At most the first `most` of them.
    """
    found: dict[Location, None] = {}
    todo = [*starts]
    for here in todo:
        if len(found) == most:
            break
        if here.ending is not Ending.COMPLETE and here not in found:
            found[here] = None
            todo += () if here.cuts else here.upstreams
    return [*found]


def _times(locations: Iterable[Location], ports: Iterable[Port], but: Location | None = None) -> set[Hashable]:
    """The times that locations hold, and those in flight at their inputs and at some ports downstream.

    The times that the location `but` mirrors are left out.
    """
    times: set[Hashable] = set()
    for port in ports:
        times.update(port.live)
    for location in locations:
        if location is but:
            times.update(location.own)
        else:
            location.gather(times)
    return times


def _changing(locations: Iterable[Location]) -> bool:
    """Whether one of the locations changes times: then the times upstream of it are not the times that arrive."""
    return any(location.summaries and not location.cuts for location in locations)


def _uncounted(place: int, time: Hashable, delta: int) -> None:
    """Do nothing: without a tracker, holds and batches in flight are counted when they are read."""
