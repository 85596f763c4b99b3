"""The plan that the tracker works on: the graph with everything contracted away that nobody looks at.

Of all places only two kinds matter: the *observed* ones, and the junctions from which several ways lead to observed
ones. From any other place there is one way on, or none; its summary is composed once, and a pointstamp there counts
directly where that way ends (`Plan.jump`). So the cost of an advance follows the observers, not the stages between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs

from .graph import Graph
from .mutable import MutableAntichain
from .order import minimal
from .summary import IDENTITY, Delay, Identity, Path, Summary

LONGEST_PATH = 16
"""Composed summaries without a short form are cut at this many steps, so that composing stays linear."""

WIDEST_JOIN = 8
"""Up to this many predecessors a frontier is recomputed from theirs; beyond, contributions are counted."""


@attrs.define(eq=False)
class Spot:
    """A place that matters, with its frontier.

    `own` counts the pointstamps here and those that jump here. `front` holds the minimal times of these and of what
    arrives from predecessors. A spot on a cycle, or with very many predecessors, keeps the arrivals counted, in
    `counting`.
    """

    index: int
    place: int
    observed: bool
    own: MutableAntichain[Any] = attrs.Factory(MutableAntichain)  # pyright: ignore[reportUnknownVariableType]
    front: tuple[Any, ...] = ()
    # The ways in and the ways on. In `sources`, None is a way that changes no time, by far the most frequent.
    sources: list[tuple[Spot, Summary | None]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    followers: list[Spot] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    feeds: list[tuple[Spot, Summary]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    pushes: list[tuple[Spot, Summary]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    # Of the ways on, those to spots that recompute themselves, and those into counting groups other than its own.
    counting: Any = None
    dirty: bool = False  # it is in the tracker's heap
    settled: bool = False  # it has had a frontier once: from then on it must not move back

    def link(self) -> None:
        """Sort the ways on: followers are told to recompute, counting spots of another group get the changes."""
        self.followers = list({end.index: end for end, _ in self.feeds if end.counting is None}.values())
        self.pushes = [feed for feed in self.feeds if feed[0].counting not in (None, self.counting)]

    def compute(self) -> tuple[Any, ...]:
        """The frontier here, from scratch, given the frontiers of the predecessors."""
        own = self.own.elements
        # In a line there is nothing to compare; and the very tuple of the one above says that nothing has changed.
        if len(self.sources) == 1 and not own:
            source, summary = self.sources[0]
            front = source.front
            if summary is None or not front:
                return front
            if len(front) == 1:
                result = summary.results_in(front[0])
                return () if result is None else (result,)
        elif not self.sources:
            return own
        times = list(own)
        for source, summary in self.sources:
            if summary is None:
                times += source.front
            else:
                times += [later for time in source.front if (later := summary.results_in(time)) is not None]
        if len(times) > 1:
            times = minimal(times)
        return tuple(times)


@attrs.frozen(eq=False)
class ContractedGraph:
    """The spots in order of work, and for every place from which one is reached where its pointstamps count.

    That is a spot, and the way there.
    """

    spots: list[Spot]
    jump: Mapping[int, tuple[Spot, Summary | None]]
    groups: list[list[Spot]]


def make_plan(graph: Graph, observed: Collection[int]) -> ContractedGraph:
    """Contract the graph to the observed places and the junctions before them."""
    relevant = graph.above(observed)
    # From the steps back: a place before thousands of others, of which few are observed, has as many steps on.
    onward: dict[int, list[tuple[int, Summary]]] = {place: [] for place in relevant}
    for place in relevant:
        for previous, summary in graph.predecessors[place]:
            onward[previous].append((place, summary))
    jumps: dict[int, tuple[int, Summary]] = {}
    for place in relevant:
        _jump(place, onward, observed, jumps)
    # A spot's index is its turn: upstream first, and the spots of one strongly connected component without a gap.
    kept = sorted((place for place in relevant if jumps[place][0] == place), key=lambda p: (graph.order.ranks[p], p))
    spots = [Spot(index, place, place in observed) for index, place in enumerate(kept)]
    by_place = {spot.place: spot for spot in spots}
    for spot in spots:
        _connect(spot, onward[spot.place], jumps, by_place)
    jump = {place: (by_place[end], _or_none(summary)) for place, (end, summary) in jumps.items()}
    return ContractedGraph(spots, jump, _groups(spots, graph))


def _jump(
    start: int,
    onward: dict[int, list[tuple[int, Summary]]],
    observed: Collection[int],
    jumps: dict[int, tuple[int, Summary]],
) -> None:
    """Follow the only way on from `start` to the next place that matters, and note that for all places passed."""
    passed: list[int] = []
    place = start
    # It ends: a cycle on which every place had one way on would lead to nothing observed, and is not in the plan.
    while place not in jumps and place not in observed and len(onward[place]) == 1:
        passed.append(place)
        place = onward[place][0][0]
    end, summary = jumps.setdefault(place, (place, IDENTITY))
    for previous in reversed(passed):
        longer = onward[previous][0][1].followed_by(summary)
        if isinstance(longer, Path) and len(longer.steps) > LONGEST_PATH:
            # The way is cut here: this place is kept, and those before it lead to it.
            end, longer = previous, IDENTITY
        summary = longer
        jumps[previous] = (end, summary)


def _connect(
    spot: Spot,
    steps: list[tuple[int, Summary]],
    jumps: dict[int, tuple[int, Summary]],
    by_place: dict[int, Spot],
) -> None:
    """Lead each way on from `spot` to the next spot; ways that another one always beats are left out."""
    ways: dict[int, list[Summary]] = {}
    for following, step in steps:
        end, summary = jumps[following]
        ways.setdefault(end, []).append(step.followed_by(summary))
    for end, summaries in ways.items():
        for summary in minimal(summaries):
            if end == spot.place and summary.advances:
                continue  # back where it was and later: never minimal
            spot.feeds.append((by_place[end], summary))
            by_place[end].sources.append((spot, _or_none(summary)))


def _groups(spots: list[Spot], graph: Graph) -> list[list[Spot]]:
    """The sets of spots whose arrivals must be counted: cycles, and very wide joins one by one."""
    # The first rank is the component in the whole graph; contracting joins no two of them.
    components: dict[int, list[Spot]] = {}
    for spot in spots:
        components.setdefault(graph.order.ranks[spot.place][0], []).append(spot)
    groups: list[list[Spot]] = []
    for component in components.values():
        looping = len(component) > 1 or any(follower is component[0] for follower, _ in component[0].feeds)
        if looping or len(component[0].sources) > WIDEST_JOIN:
            groups.append(component)
    return groups


def _or_none(summary: Summary) -> Summary | None:
    return None if isinstance(summary, Identity) or summary == Delay(0) else summary
