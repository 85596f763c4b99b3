"""The minimal summaries of the paths between some places of a graph.

The result equals that of `queries.summarize`, but each place is visited only once, except on cycles.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from ..graph import Graph
from ..order import minimal
from ..summary import IDENTITY, Summary


def summaries_between(
    graph: Graph, starts: Sequence[int], ends: Iterable[int]
) -> dict[tuple[int, int], tuple[Summary, ...]]:
    """The minimal summaries of the paths from each start to each end; pairs without a path are left out."""
    ranks = graph.order.ranks
    turns = {place: turn for turn, place in enumerate(sorted(range(len(graph)), key=ranks.__getitem__))}
    summaries: dict[tuple[int, int], tuple[Summary, ...]] = {}
    for end in ends:
        known: dict[int, list[Summary]] = {end: [IDENTITY]}
        agenda = [(-turns[end], end)]  # downstream first: all paths onward are known before a place is visited
        while agenda:
            _, place = heappop(agenda)
            # Long paths are kept only for starts, and for places that are visited again: those on cycles.
            onward = known[place] if place in starts or len(ranks[place]) > 1 else known.pop(place)
            for previous, step in graph.predecessors[place]:
                before = known.get(previous, [])
                now = minimal([*before, *(step.followed_by(rest) for rest in onward)])
                if now != before:
                    known[previous] = now
                    if (turn := (-turns[previous], previous)) not in agenda:
                        heappush(agenda, turn)
        summaries |= {(start, end): tuple(known[start]) for start in starts if start in known}
    return summaries
