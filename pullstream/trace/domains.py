"""The time domains of a run: its loops, in which a time has a round, and loops in these, as frames of its graph."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from pullstream.engine.sidecar.location import Location
from pullstream.timely import LoopSummary, Summary
from pullstream.trace.times import Json

Step = tuple[int, int]
"""An edge, from a module to one below it."""


def loops_of(locations: Sequence[Location]) -> list[Json]:
    """Frames for the loops of a run, each before those within it: what is in a frame has that many rounds, or more.

    A module belongs to a loop if times in it have its round as they come or as they go: so do the ways in and out.
    Which those are, the summaries say; how a loop was composed does not matter.
    """
    deep, edges = _depths(locations)
    frames: list[Json] = []

    def look(inside: Collection[int], level: int, within: int | None) -> None:
        joined = [(start, end) for (start, end), depth in edges.items() if depth >= level and {start, end} <= {*inside}]
        for members in _connected(joined):
            names = [place.name for place in locations if place.node in members and _leaves(place, deep, level)]
            # The way out bears the loop's name; what never leaves, and has none, is a part that is drawn alone.
            title = f"{names[0] if names else 'loop'}: a time has {'a round' if level == 1 else f'{level} rounds'}"
            mine = len(frames)
            frames.append({"title": title, "modules": sorted(members), "beside": None, "within": within})
            look(members, level + 1, mine)
            deeper = {node for frame in frames[mine + 1 :] for node in frame["modules"]}
            frames[mine]["modules"] = sorted(members - deeper)

    look([place.node for place in locations], 1, None)
    return frames


def _depths(locations: Sequence[Location]) -> tuple[Mapping[int, int], Mapping[Step, int]]:
    """The rounds that a time has as it leaves each module, and on each edge."""
    deep: dict[int, int] = {}
    # What goes round comes from below: twice is enough, as every loop is entered from outside.
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
    """The number of rounds that a time has gained behind a module, or lost."""
    row = place.summaries[number] if place.summaries else ()
    summary = row if isinstance(row, Summary) else next(iter(row), None)
    return len(summary.enters) - summary.leaves if isinstance(summary, LoopSummary) else 0


def _leaves(place: Location, deep: Mapping[int, int], level: int) -> bool:
    return deep.get(place.node, 0) < level and any(deep.get(above.node, 0) >= level for above in place.upstreams)


def _connected(edges: Collection[Step]) -> Iterator[set[int]]:
    """The modules that edges connect, in whichever direction."""
    left = {node for edge in edges for node in edge}
    while left:
        found = {min(left)}
        while more := {node for edge in edges if found & {*edge} for node in edge} - found:
            found |= more
        left -= found
        yield found
