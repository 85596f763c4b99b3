"""The three queries of 003 in their plain form: least fixpoints over sets.

As in 003, a dataflow graph is described by two sets and a collection of times:

- `nodes`: (Target, Source, summary): inside a node, from an input to an output, with the least change of times between;
- `edges`: (Source, Target): between nodes, times unchanged;
- `times`: (Location, time): a location that still holds something with that time.

Everything is computed from scratch at every call, without optimizations: this is the reference that the tracker must
agree with. Departures from the published text are explained.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from ..cycles import depths
from ..graph import Graph
from ..location import Location, Source, Target
from ..order import minimal
from ..summary import IDENTITY, Summary

Nodes: TypeAlias = set[tuple[Target, Source, Summary]]
Edges: TypeAlias = set[tuple[Source, Target]]
Times: TypeAlias = Iterable[tuple[Location, Any]]
Transitions: TypeAlias = set[tuple[Location, Location, Summary]]


def transitions(nodes: Nodes, edges: Edges) -> Transitions:
    """All single steps: through a node with its summary, along an edge unchanged."""
    steps: Transitions = {(target, source, summary) for target, source, summary in nodes}
    return steps | {(source, target, IDENTITY) for source, target in edges}


def describe(graph: Graph) -> tuple[Nodes, Edges]:
    """A graph in the form that the queries take.

    >>> from pullstream.timely import GraphBuilder
    >>> builder = GraphBuilder()
    >>> describe((builder.add_node("a", 1, 1), builder.build())[1])[0]
    {(Target(node=0, port=0), Source(node=0, port=0), Identity())}
    """
    nodes: Nodes = {
        (Target(index, i), Source(index, o), summary)
        for index, node in enumerate(graph.nodes)
        for (i, o), summaries in node.summaries.items()
        for summary in summaries
    }
    return nodes, set(graph.edges)


def check_nesting(steps: Transitions) -> None:
    """Refuse steps that do not nest: a cycle that enters more loops than it leaves has infinitely many paths.

    Raises:
        GraphError: two paths between the same places enter and leave different numbers of loops.
    """
    places = {
        location: place for place, location in enumerate(dict.fromkeys(end for step in steps for end in step[:2]))
    }
    successors: list[list[tuple[int, Summary]]] = [[] for _ in places]
    for start, end, summary in steps:
        successors[places[start]].append((places[end], summary))
    depths(successors, [repr(location) for location in places])


def find_cycles(nodes: Nodes, edges: Edges) -> set[tuple[Location, Location]]:
    """The steps on cycles that do not strictly advance time. In a sound graph there are none.

    For every two places, the *shapes* of the paths between them are collected: the number of loop contexts a path
    leaves, the number it then enters, and whether it is strict where it is outermost. A cycle is unsound when its shape
    is not strict.

    The published query differs in three ways. It keeps the connections that differ from the identity, although its
    prose means the others. It treats "differs" as "advances". And it removes only steps that nothing precedes, so that
    tails behind a cycle remain.

    Raises:
        GraphError: loop contexts do not nest.

    >>> a, b = (Target(0), Source(0), IDENTITY), (Target(1), Source(1), IDENTITY)
    >>> len(find_cycles({a, b}, {(Source(0), Target(1)), (Source(1), Target(0))}))
    4
    """
    whole = transitions(nodes, edges)
    check_nesting(whole)
    steps = {(start, end, (s.up, s.down, s.strict)) for start, end, s in whole}
    paths = set(steps)
    while True:
        longer = {
            (start, end, _compose(first, then))
            for start, middle, first in paths
            for other, end, then in steps
            if middle == other
        }
        if longer <= paths:
            break
        paths |= longer
    unsound: set[tuple[Location, Location]] = set()
    for start, end, shape in steps:
        returns = {_compose(shape, then) for other, home, then in paths if other == end and home == start}
        returns |= {shape} if start == end else set()
        if any(not strict for _, _, strict in returns):
            unsound.add((start, end))
    return unsound


def _compose(first: tuple[int, int, bool], then: tuple[int, int, bool]) -> tuple[int, int, bool]:
    """The shape of one path followed by another: the path that rises higher decides whether the whole is strict."""
    up, down, strict = first
    risen = then[0] - down
    if risen > 0:
        return (up + risen, then[1], then[2])
    return (up, then[1] - risen, strict or then[2] if risen == 0 else strict)


def frontier(nodes: Nodes, edges: Edges, times: Times) -> dict[Location, set[Any]]:
    """The minimal times that may reach each location.

    Starts with the given times, repeatedly adds what they become along every transition, and keeps the minimal ones.
    Pass only times with a positive count: the published reduction also lets negative counts through.

    >>> found = frontier({(Target(0), Source(0), IDENTITY)}, {(Source(0), Target(1))}, [(Target(0), 3), (Source(0), 2)])
    >>> found[Target(0)], found[Target(1)]
    ({3}, {2})
    """
    steps = transitions(nodes, edges)
    reach: set[tuple[Location, Any]] = _minima(times)
    while True:
        stepped = {
            (end, later)
            for start, end, summary in steps
            for location, time in reach
            if location == start and (later := summary.results_in(time)) is not None
        }
        further = _minima(reach | stepped)
        if further == reach:
            break
        reach = further
    times_at: dict[Location, set[Any]] = {}
    for location, time in reach:
        times_at.setdefault(location, set()).add(time)
    return times_at


def _minima(times: Times) -> set[tuple[Location, Any]]:
    by_location: dict[Location, list[Any]] = {}
    for location, time in times:
        by_location.setdefault(location, []).append(time)
    return {(location, time) for location, here in by_location.items() for time in minimal(here)}


def summarize(nodes: Nodes, edges: Edges, ends: Iterable[Location]) -> dict[tuple[Location, Location], set[Summary]]:
    """The minimal summaries of the paths from every location to each of `ends`, found by searching backwards.

    003 uses the inputs of node 0, the outside world, as ends. The entries that start at its outputs are then the
    summary of the whole graph as an operator. Incomparable summaries are all kept.

    Raises:
        GraphError: loop contexts do not nest.

    >>> step = (Target(1), Source(1), IDENTITY)
    >>> found = summarize({step}, {(Source(0), Target(1)), (Source(1), Target(0))}, [Target(0)])
    >>> found[Source(0), Target(0)]
    {Identity()}
    """
    steps = transitions(nodes, edges)
    check_nesting(steps)
    known: dict[tuple[Location, Location], set[Summary]] = {(end, end): {IDENTITY} for end in ends}
    while True:
        longer = {pair: set(summaries) for pair, summaries in known.items()}
        for start, middle, summary in steps:
            for (other, end), summaries in known.items():
                if other == middle:
                    longer.setdefault((start, end), set()).update(summary.followed_by(rest) for rest in summaries)
        longer = {pair: set(minimal(summaries)) for pair, summaries in longer.items()}
        if longer == known:
            return known
        known = longer
