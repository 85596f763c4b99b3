"""Explanations of why a time is not complete: the pointstamps that can still lead to it, each with a path."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from .graph import Graph
from .location import Location
from .order import less_equal, minimal


@attrs.frozen
class Blocker:
    """A pointstamp that keeps a time from completing at some place, with a shortest path there.

    `path` runs from `location` to the place asked about, both included.
    """

    location: Location
    time: Any
    path: tuple[Location, ...]


def blockers(
    graph: Graph,
    counts: Sequence[Mapping[Any, int]],
    place: int,
    time: Any,
    *,
    roots: bool,
) -> list[Blocker]:
    """The pointstamps of `counts` that may lead to `time` or earlier at `place`, nearest first (`Tracker.explain`)."""
    starts: list[tuple[int, Any, tuple[int, ...]]] = []
    allowed = graph.above([place])
    for start in allowed:
        for held in minimal(counts[start]):
            path = lead(graph, start, held, place, time, allowed)
            if path is not None:
                starts.append((start, held, path))
    if roots:
        starts = _roots(graph, starts, allowed)
    starts.sort(key=lambda blocker: len(blocker[2]))
    return [Blocker(graph.location(start), held, tuple(map(graph.location, path))) for start, held, path in starts]


def _roots(
    graph: Graph, starts: list[tuple[int, Any, tuple[int, ...]]], allowed: Mapping[int, None]
) -> list[tuple[int, Any, tuple[int, ...]]]:
    """The blockers that no other leads to, except in a circle: `BEGINNING` goes round a cycle without advancing."""

    def leads(one: tuple[int, Any, tuple[int, ...]], other: tuple[int, Any, tuple[int, ...]]) -> bool:
        return lead(graph, one[0], one[1], other[0], other[1], allowed) is not None

    return [
        one
        for one in starts
        if not any(other[0] != one[0] and leads(other, one) and not leads(one, other) for other in starts)
    ]


def lead(  # noqa: PLR0917 - a start, an end, and where to look
    graph: Graph,
    start: int,
    held: Any,
    end: int,
    time: Any,
    allowed: Mapping[int, None],
) -> tuple[int, ...] | None:
    """A shortest path by which `held` at `start` may become `time` or earlier at `end`; `None` when there is none.

    The search is breadth first over (place, time). A visit covered by an earlier one at the same place leads to nothing
    new. Since every cycle advances, only finitely many visits are not covered.
    """
    agenda: list[tuple[int, Any, int]] = [(start, held, -1)]
    seen: dict[int, list[Any]] = {}
    for step, (place, now, _) in enumerate(agenda):
        if place == end and less_equal(now, time):
            path: list[int] = []
            while step >= 0:
                place, _, step = agenda[step]  # noqa: PLW2901 - walking back to the start
                path.append(place)
            return tuple(reversed(path))
        before = seen.setdefault(place, [])
        if any(less_equal(earlier, now) for earlier in before):
            continue
        before.append(now)
        for following, summary in graph.successors[place]:
            if following in allowed:
                later = summary.results_in(now)
                if later is not None:
                    agenda.append((following, later, step))
    return None
