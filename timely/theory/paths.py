"""The minimal summaries of the paths between some places of a graph, computed on the contracted graph.

The result is that of `queries.summarize`, but the cost depends only on the size of the graph and of the result.
"""

from collections.abc import Container, Iterable, Sequence
from heapq import heappop, heappush

from ..graph import Graph
from ..order import minimal
from ..plan import Spot, make_plan
from ..summary import IDENTITY, Summary


def summaries_between(
    graph: Graph, starts: Iterable[int], ends: Sequence[int]
) -> dict[tuple[int, int], tuple[Summary, ...]]:
    """The minimal summaries of the paths from each start to each end; pairs without a path are left out."""
    plan = make_plan(graph, set(ends))
    entries: dict[int, list[tuple[int, Summary]]] = {}
    for start in starts:
        if start in plan.jump:
            spot, way = plan.jump[start]
            entries.setdefault(spot.index, []).append((start, way or IDENTITY))
    # Paths are not kept for every place on them, only for their starts and for spots that they may pass again.
    kept = {*entries, *(spot.index for group in plan.groups for spot in group)}
    summaries: dict[tuple[int, int], tuple[Summary, ...]] = {}
    for end in ends:
        spot, _ = plan.jump[end]
        for index, ways in _leading_to(spot, plan.spots, kept).items():
            for start, way in entries.get(index, ()):
                summaries[start, end] = tuple(minimal(way.followed_by(rest) for rest in ways))
    return summaries


def _leading_to(end: Spot, spots: Sequence[Spot], kept: Container[int]) -> dict[int, list[Summary]]:
    """The minimal summaries of the paths to `end` from the spots in `kept`, by spot index."""
    known: dict[int, list[Summary]] = {end.index: [IDENTITY]}
    agenda = [-end.index]  # downstream first: except on cycles, all paths onward are known before a spot is visited
    waiting = {end.index}
    while agenda:
        index = -heappop(agenda)
        waiting.discard(index)
        spot, onward = spots[index], known[index]
        if index not in kept:
            del known[index]
        for source, step in spot.sources:
            longer = onward if step is None else [step.followed_by(rest) for rest in onward]
            before = known.get(source.index, [])
            now = minimal([*before, *longer])
            if now != before:
                known[source.index] = now
                if source.index not in waiting:
                    waiting.add(source.index)
                    heappush(agenda, -source.index)
    return known
