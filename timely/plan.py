"""The plan that the tracker works on: the graph, contracted to the places that matter.

Two kinds of places matter: the *observed* ones, and the junctions from which several paths lead to observed ones. Any
other place has one path onward, or none. The summary of that path is composed once, and a pointstamp at the place
counts directly at the path's end (`ContractedGraph.jump`). The cost of an advance therefore depends on the number of
observers, not on the number of stages between them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

import attrs

from .graph import Graph
from .mutable import MutableAntichain
from .order import minimal
from .summary import IDENTITY, Delay, Identity, Path, Summary

LONGEST_PATH = 16
"""Composed summaries without a short form are cut after this many steps, so that composing stays linear."""

WIDEST_JOIN = 8
"""Up to this many predecessors, a frontier is recomputed from theirs; beyond that, contributions are counted."""


@attrs.define(eq=False)
class Spot:
    """A place that matters, with its frontier.

    `own` counts the pointstamps here and those that jump here. `front` holds the minimal times of these and of the
    arrivals from predecessors. For a spot on a cycle, or with very many predecessors, `counting` counts the `arrivals`.
    """

    index: int
    place: int
    observed: bool
    own: MutableAntichain[Any] = attrs.Factory(MutableAntichain)  # pyright: ignore[reportUnknownVariableType]
    front: tuple[Any, ...] = ()
    # The paths in and the paths onward. In `sources`, None is a path that changes no time, by far the most common case.
    sources: list[tuple[Spot, Summary | None]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    followers: list[Spot] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    feeds: list[tuple[Spot, Summary]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    pushes: list[tuple[Spot, Summary]] = attrs.Factory(list)  # pyright: ignore[reportUnknownVariableType]
    # `followers` and `pushes` split `feeds`: spots that recompute themselves, and paths into other counting groups.
    counting: Any = None
    arrivals: MutableAntichain[Any] = attrs.field(init=False)
    dirty: bool = False  # it is in the tracker's heap
    settled: bool = False  # it has had a frontier, which must not move back from then on

    def link(self) -> None:
        """Sort the paths onward: followers are marked for recomputing, spots of other counting groups get changes."""
        self.followers = list({end.index: end for end, _ in self.feeds if end.counting is None}.values())
        self.pushes = [feed for feed in self.feeds if feed[0].counting not in (None, self.counting)]

    def compute(self) -> tuple[Any, ...]:
        """Compute the frontier here from scratch, from the frontiers of the predecessors."""
        own = self.own.elements
        # With one source there is nothing to compare. Returning the source's own tuple makes "no change" cheap to see.
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
    """The spots in order of work, and for each place that leads to one, where its pointstamps count.

    `jump` gives that spot and the summary of the path to it (None if the path changes no time).
    """

    spots: list[Spot]
    jump: Mapping[int, tuple[Spot, Summary | None]]
    groups: list[list[Spot]]


def make_plan(graph: Graph, observed: Collection[int], known: Container[int] = ()) -> ContractedGraph:
    """Contract the graph to the observed places and the junctions before them, stopping at `known` places."""
    relevant = graph.above(observed, known)
    # Follow steps backwards: a place may have thousands of steps onward, few of which lead to observed places.
    onward: dict[int, list[tuple[int, Summary]]] = {place: [] for place in relevant}
    for place in relevant:
        for previous, summary in () if place in known else graph.predecessors[place]:
            onward[previous].append((place, summary))
    jumps: dict[int, tuple[int, Summary]] = {}
    for place in relevant:
        _jump(place, onward, observed, jumps)
    # A spot's index is its turn: upstream first, with the spots of a strongly connected component in sequence.
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
    """Follow the only path onward from `start` to the next place that matters, and note it for all places passed."""
    passed: list[int] = []
    place = start
    # This ends: a cycle on which every place has one step onward leads to nothing observed and is not in the plan.
    while place not in jumps and place not in observed and len(onward[place]) == 1:
        passed.append(place)
        place = onward[place][0][0]
    end, summary = jumps.setdefault(place, (place, IDENTITY))
    for previous in reversed(passed):
        longer = onward[previous][0][1].followed_by(summary)
        if isinstance(longer, Path) and len(longer.steps) > LONGEST_PATH:
            # The path is cut here: this place is kept, and the places before it lead to it.
            end, longer = previous, IDENTITY
        summary = longer
        jumps[previous] = (end, summary)


def _connect(
    spot: Spot,
    steps: list[tuple[int, Summary]],
    jumps: dict[int, tuple[int, Summary]],
    by_place: dict[int, Spot],
) -> None:
    """Connect `spot` to the next spot on each path onward, leaving out paths that another one always beats."""
    ways: dict[int, list[Summary]] = {}
    for following, step in steps:
        end, summary = jumps[following]
        ways.setdefault(end, []).append(step.followed_by(summary))
    for end, summaries in ways.items():
        for summary in minimal(summaries):
            if end == spot.place and summary.advances:
                continue  # the same place, but later: never minimal
            spot.feeds.append((by_place[end], summary))
            by_place[end].sources.append((spot, _or_none(summary)))


def _groups(spots: list[Spot], graph: Graph) -> list[list[Spot]]:
    """The sets of spots whose arrivals must be counted: one for each cycle and each very wide join."""
    # The first rank is the component in the whole graph; contracting never joins two components.
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
