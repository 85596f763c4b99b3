"""The graph of a run, with which its trace begins: modules, places, edges, and how steps change times.

The time domains of a run are frames of its graph: loops, in which a time has a round, and loops inside them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pullstream.engine.sidecar.counters import numbered
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.timely import IDENTITY, LoopSummary, Summary
from pullstream.trace.times import Json, encode

Functions = dict[int, Callable[[Any], list[Any]]]
"""By the number of a step: the least times that leave it, as a function of a time that enters it."""

Step = tuple[int, int]
"""An edge, from a module to one downstream of it."""


def graph_of(sidecar: Sidecar, edges: Sequence[dict[str, Json]], *, limit: int) -> tuple[dict[str, Json], Functions]:
    """Describe a run at its start; also return the functions of the steps that change times."""
    names = numbered([location.name for location in sidecar.locations])
    modules: list[Json] = []
    places: list[Json] = []
    steps: list[Json] = []
    initial: list[Json] = []
    functions: Functions = {}
    for location, name in zip(sidecar.locations, names, strict=True):
        modules.append({"id": location.node, "name": name, "parts": list(location.names), "site": _site(location)})
        several = len(location.ports) > 1
        for number, port in enumerate(location.ports):
            which = f" {number}" if several else ""
            places.append({"id": port.place, "name": f"{name} in{which}", "module": location.node, "input": number})
        places.append({"id": location.output, "name": f"{name} out", "module": location.node, "input": None})
        # A source may answer at any time, and so may a module that makes its own times.
        initial += [[location.output, encode(time)] for time in location.held]
        rows = rows_of(location)
        for number, (port, upstream) in enumerate(zip(location.ports, location.upstreams, strict=True)):
            row = rows[number] if rows else [IDENTITY]
            steps.append([upstream.output, port.place, "same"])
            if row != [IDENTITY]:
                functions[len(steps)] = partial(_sends, row)
            steps.append([port.place, location.output, _worded(row)])
    places.sort(key=lambda place: place["id"])
    sinks = [location.node for location in sidecar.sinks]
    header: dict[str, Json] = {
        "trace": 1,
        "limit": limit,
        "modules": modules,
        "places": places,
        "edges": list(edges),
        "sinks": sinks,
        "frames": loops_of(sidecar.locations),
        "plan": {"steps": steps, "initial": initial},
    }
    return header, functions


def _site(location: Location) -> str | None:
    """Return the line where the module was composed, with the file's name but not its folder."""
    return None if location.site is None else f"{Path(location.site.filename).name}:{location.site.line}"


def _worded(row: Sequence[Summary]) -> str:
    return "same" if row == [IDENTITY] else type(row[0]).__name__ if row else "nothing"


def _sends(row: Sequence[Summary], time: Any) -> list[Any]:
    """Return the minimal times that leave a step with these summaries, for a time that enters it."""
    return [later for summary in row if (later := summary.results_in(time)) is not None]


def rows_of(location: Location) -> list[list[Summary]]:
    """Return a module's summaries of the paths from each of its inputs; empty if they change no times."""
    return [[row] if isinstance(row, Summary) else list(row) for row in location.summaries or ()]


def loops_of(locations: Sequence[Location]) -> list[Json]:
    """Return frames for the loops of a run, outer ones first; times in a nested frame have that many rounds.

    A module belongs to a loop if times in it have the loop's round on arrival or on leaving, so the loop's entry and
    exit belong, too. The summaries decide this, not how a loop was composed.
    """
    deep, edges = _depths(locations)
    frames: list[Json] = []

    def look(inside: Collection[int], level: int, within: int | None) -> None:
        joined = [(start, end) for (start, end), depth in edges.items() if depth >= level and {start, end} <= {*inside}]
        for members in _connected(joined):
            names = [place.name for place in locations if place.node in members and _leaves(place, deep, level)]
            # The exit has the loop's name. A part that is drawn by itself, and never leaves the loop, has none.
            title = f"{names[0] if names else 'loop'}, in {'inner ' * (level - 1)}rounds"
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
    """Return how many rounds a time gains in a module; negative if it loses some."""
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
