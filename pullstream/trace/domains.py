"""The time domains of a run as frames of its graph: loops, in which a time has a round, and loops inside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from pullstream.engine.sidecar.location import Location
from pullstream.timely import LoopSummary, Summary
from pullstream.trace.times import Json

Step = tuple[int, int]
"""An edge, from a module to one below it."""


def rows_of(location: Location) -> list[list[Summary]]:
    """Return the summaries of a module, of the paths from each of its inputs; empty if they change no times."""
    return [[row] if isinstance(row, Summary) else list(row) for row in location.summaries or ()]


def loops_of(locations: Sequence[Location]) -> list[Json]:
    """Return frames for the loops of a run, outer ones first; times in a nested frame have that many rounds.

    A module belongs to a loop if times in it have the loop's round on arrival or on leaving, so the ways in and out
    belong, too. The summaries decide this, not how a loop was composed.
    """
    deep, edges = _depths(locations)
    frames: list[Json] = []

    def look(inside: Collection[int], level: int, within: int | None) -> None:
        joined = [(start, end) for (start, end), depth in edges.items() if depth >= level and {start, end} <= {*inside}]
        for members in _connected(joined):
            names = [place.name for place in locations if place.node in members and _leaves(place, deep, level)]
            # The way out has the loop's name. A part that is drawn alone, and never leaves the loop, has none.
            title = f"{names[0] if names else 'loop'}: a time has {'a round' if level == 1 else f'{level} rounds'}"
            mine = len(frames)
            frames.append({"title": title, "modules": sorted(members), "beside": None, "within": within})
            look(members, level + 1, mine)
            deeper = {node for frame in frames[mine + 1 :] for node in frame["modules"]}
            frames[mine]["modules"] = sorted(members - deeper)

    look([place.node for place in locations], 1, None)
    return frames


def _depths(locations: Sequence[Location]) -> tuple[Mapping[int, int], Mapping[Step, int]]:
    """Return the number of rounds of a time when it leaves each module, and on each edge."""
    deep: dict[int, int] = {}
    # Feedback comes from downstream, so two passes are enough: every loop is entered from outside.
    for _ in range(2):
        for place in locations:
            for number, upstream in enumerate(place.upstreams):
                if upstream.node in deep:
                    deep.setdefault(place.node, deep[upstream.node] + _gained(place, number))
            if not place.upstreams:
                deep[place.node] = 0
    edges = {
        (upstream.node, place.node): deep.get(upstream.node, 0) for place in locations for upstream in place.upstreams
    }
    return deep, edges


def _gained(place: Location, number: int) -> int:
    """Return how many rounds a time gains in a module, or loses."""
    summary = next(iter(rows_of(place)[number]), None) if place.summaries else None
    return len(summary.enters) - summary.leaves if isinstance(summary, LoopSummary) else 0


def _leaves(place: Location, deep: Mapping[int, int], level: int) -> bool:
    return deep.get(place.node, 0) < level and any(deep.get(above.node, 0) >= level for above in place.upstreams)


def _connected(edges: Collection[Step]) -> Iterator[set[int]]:
    """Yield the groups of modules connected by edges, in either direction."""
    left = {node for edge in edges for node in edge}
    while left:
        found = {min(left)}
        while more := {node for edge in edges if found & {*edge} for node in edge} - found:
            found |= more
        left -= found
        yield found
