"""The graph of a run, with which its trace begins: modules, places, edges, and how steps change times."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.timely import IDENTITY, Summary
from pullstream.trace.domains import loops_of, rows_of
from pullstream.trace.times import Json, encode

Functions = dict[int, Callable[[Any], list[Any]]]
"""By the number of a step: the least times that leave it, as a function of a time that enters it."""


def graph_of(sidecar: Sidecar, edges: Sequence[dict[str, Json]], *, limit: int) -> tuple[dict[str, Json], Functions]:
    """Describe a run at its start; also return the functions of the steps that change times."""
    names = _distinct([location.name for location in sidecar.locations])
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
                functions[len(steps)] = _sends_of(row)
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


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, numbered where several modules have the same."""
    total, seen = Counter(names), Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if total[name] == 1 else f"{name} #{seen[name]}")
    return found


def _site(location: Location) -> str | None:
    """Return the line where the module was composed, with the file's name but not its folder."""
    return None if location.site is None else f"{Path(location.site.filename).name}:{location.site.line}"


def _worded(row: Sequence[Summary]) -> str:
    return "same" if row == [IDENTITY] else type(row[0]).__name__ if row else "nothing"


def _sends_of(row: Sequence[Summary]) -> Callable[[Any], list[Any]]:
    """Return the function of times for a step with these summaries: to the minimal times that leave it."""

    def sends(time: Any) -> list[Any]:
        return [later for summary in row if (later := summary.results_in(time)) is not None]

    return sends
