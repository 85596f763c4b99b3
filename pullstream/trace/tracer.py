"""The tracer of a run: it receives all events of its edges and all changes of its progress, and notes them."""

from collections import Counter
from collections.abc import Hashable
from itertools import count
from typing import Any

import trio
from typing_extensions import override

from pullstream.checker.pipeline import Checker
from pullstream.engine.edge.edge import Edge
from pullstream.engine.observer import Observer, Update
from pullstream.engine.sidecar.location import Location, Port
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.sidecar.waiting import Watch
from pullstream.trace.lanes import SeenEdge, Traffic
from pullstream.trace.notes import TraceNotes, TraceTo
from pullstream.trace.times import Json, shown


class Tracer(Observer, trio.abc.Instrument):
    """Observes one run and writes its trace."""

    def __init__(self, to: TraceTo, *, limit: int, checker: Checker | None = None) -> None:
        self.notes = TraceNotes(to, checker=checker)
        self._traffic = Traffic(self.notes)
        self._limit = limit
        self._checker = checker
        self._sidecar: Sidecar | None = None
        self._numbers = count()
        self._described: list[dict[str, Json]] = []
        """The edges with which the run begins."""
        self._awaited: Counter[tuple[int, Hashable]] = Counter()
        self._at_several: dict[Watch, None] = {}
        """The waits for a time to be complete at several places."""

    # ---- for the run

    def close(self, failure: BaseException | None) -> None:
        """Write the remaining events and the verdict, at the end of the run."""
        self._traffic.changed()
        self.notes.close(failure)

    def shut(self) -> None:
        """Close the file and ignore all further events, whether or not the run has ended."""
        if self._sidecar is not None:
            trio.lowlevel.remove_instrument(self)
        self.notes.shut()

    # ---- edges

    @override
    def edge(self, edge: Edge[Any], port: Port) -> SeenEdge:
        checked = None if self._checker is None else self._checker.edge(edge, port)
        number = next(self._numbers)
        seen = SeenEdge(self._traffic, number, edge, port, checked)
        above, below = edge.location, port.location
        if self._sidecar is None:
            # The first line describes the edges with which the run begins.
            self._described.append({"id": number, "from": above.node, "to": below.node, "place": port.place})
        else:
            about = {"id": number, "from": above.name, "to": below.name, "inside": not seen.counted}
            self.notes.note("edge", about)
        return seen

    # ---- progress

    @override
    def started(self, sidecar: Sidecar) -> None:
        trio.lowlevel.add_instrument(self)
        self._sidecar = sidecar
        self.notes.begin(sidecar, self._described, limit=self._limit)
        if self._checker is not None:
            self._checker.started(sidecar)

    @override
    def counting(self, update: Update) -> Update:
        """Observe every change of the times that modules hold; lanes report values in flight."""
        if self._sidecar is not None and self._sidecar.frontiers.lost:
            self.notes.note("untracked")

        def observed(place: int, time: Hashable, delta: int) -> None:
            if self._sidecar is not None and isinstance(self._sidecar.frontiers.places[place], Location):
                self.notes.change(place, time, delta)
            update(place, time, delta)

        return observed

    @override
    def read(self) -> None:
        self._traffic.changed()

    @override
    def awaited(self, watch: Watch) -> None:
        if watch.time is not None:
            self._traffic.changed()
            if len(watch.places) > 1:
                self._at_several[watch] = None
            for place in watch.places:
                self._awaited[place, watch.time] += 1
                self.notes.note("awaited", place, watch.time)

    @override
    def left(self, watch: Watch) -> None:
        if watch.time is not None:
            self._traffic.changed()
            self._at_several.pop(watch, None)
            for place in watch.places:
                waits = self._awaited.pop((place, watch.time), 0)
                if waits:
                    self.notes.note("dismissed", place, watch.time)
                if waits > 1:
                    self._awaited[place, watch.time] = waits - 1

    @override
    def met(self, watch: Watch) -> None:
        if watch.time is not None:
            self._traffic.changed()
            self._completed(watch, self._complete(watch))

    def _complete(self, watch: Watch) -> list[int]:
        """The places at which the time of a wait is complete."""
        assert self._sidecar is not None
        frontier = self._sidecar.frontiers.frontier
        return [place for place in watch.places if not frontier(place).less_equal(watch.time)]

    def _completed(self, watch: Watch, places: list[int]) -> None:
        for place in places:
            if self._awaited.pop((place, watch.time), 0):
                self.notes.note("completed", place, watch.time)

    @override
    def over(self, location: Location) -> None:
        failure = location.failure
        self.notes.note("ended", location.node, location.ending.value, None if failure is None else shown(failure))
        self.notes.tell_refused(failure, location.name)

    @override
    def before_io_wait(self, timeout: float) -> None:
        """Check, when no task can move, that every completion has been announced."""
        if not (self.notes.rested or trio.lowlevel.current_statistics().tasks_runnable):
            self.rest()

    def rest(self) -> None:
        """Note that nothing moves until something arrives from outside, or time passes."""
        self._traffic.changed()
        for watch in self._at_several:
            # The time may be complete at some of the places, while the wait continues for the others.
            if len(places := self._complete(watch)) < len(watch.places):
                self._completed(watch, places)
        self.notes.note("rest")
        self.notes.rested = True
