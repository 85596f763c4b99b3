"""First cut of the tracker: the frontier recomputed whenever somebody looks."""

from __future__ import annotations

from typing import Any

import attrs

from timely.antichain import Antichain
from timely.errors import NegativeCountError
from timely.graph import Graph
from timely.location import Location


@attrs.frozen
class Blocker:
    """A pointstamp that keeps a time from completing, and the path by which it still can reach the place."""

    location: Location
    time: Any
    path: tuple[Location, ...]


class Tracker:
    """Counts pointstamps and keeps the frontiers of observed places."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._buffer: list[tuple[int, Any, int]] = []
        self._counts: list[dict[Any, int]] = [{} for _ in range(len(graph))]
        self._observed: dict[int, Antichain[Any]] = {}

    def update(self, place: int, time: Any, delta: int) -> None:
        """Change the count of the pointstamp (place, time); takes effect when propagated."""
        self._buffer.append((place, time, delta))

    def observe(self, place: int) -> None:
        """Keep the frontier of this place up to date."""
        self._observed.setdefault(place, Antichain())

    def propagate(self) -> list[int]:
        """Apply everything buffered; the observed places whose frontier changed."""
        for place, time, delta in self._buffer:
            counts = self._counts[place]
            counts[time] = counts.get(time, 0) + delta
        for place in {place for place, _, _ in self._buffer}:
            counts = self._counts[place]
            for time in [time for time, count in counts.items() if count <= 0]:
                if counts.pop(time) < 0:
                    raise NegativeCountError(f"at {self.graph.name(place)} the count of {time!r} became negative")
        self._buffer.clear()
        changed: list[int] = []
        for place, before in self._observed.items():
            after = self._compute(place)
            if after != before:
                self._observed[place] = after
                changed.append(place)
        return changed

    def frontier(self, place: int) -> Antichain[Any]:
        """The times that may still arrive at (or leave) this place."""
        self.propagate()
        return self._observed[place] if place in self._observed else self._compute(place)

    def counts(self, place: int) -> dict[Any, int]:
        """The outstanding pointstamps at this place."""
        self.propagate()
        return dict(self._counts[place])

    def explain(self, place: int, time: Any) -> list[Blocker]:
        """The pointstamps that still can lead to `time` or earlier at this place, each with a path."""
        self.propagate()
        blockers: list[Blocker] = []
        for start, found, path in self._upstream(place):
            if Antichain([found]).less_equal(time):
                blockers.append(Blocker(self.graph.location(path[0]), start, tuple(map(self.graph.location, path))))
        return blockers

    def _compute(self, place: int) -> Antichain[Any]:
        return Antichain(found for _, found, _ in self._upstream(place))

    def _upstream(self, place: int) -> list[tuple[Any, Any, tuple[int, ...]]]:
        found: list[tuple[Any, Any, tuple[int, ...]]] = []
        seen = {place}
        agenda: list[tuple[int, ...]] = [(place,)]
        for path in agenda:
            found += [(time, time, path) for time in self._counts[path[0]]]
            for previous, _summary in self.graph.predecessors[path[0]]:
                if previous not in seen:
                    seen.add(previous)
                    agenda.append((previous, *path))
        return found
