"""The trace of a tracker in a piece of a chapter: its graph, its updates and its frontiers, move by move."""

from importlib import import_module
from typing import Any
from unittest.mock import patch

from typing_extensions import override

from pullstream.timely import Graph, Target, Tracker
from pullstream.trace import Trace
from pullstream.trace.times import Json, encode
from tutorials.lesson import pieces


class Recorded(Tracker):
    """A tracker that records each move: the updates up to a call of `propagate`, and all frontiers after it.

    The moves are numbered from 1, by the clock of the trace.
    """

    made: "list[Recorded]" = []  # noqa: RUF012 - emptied before each piece

    def __init__(self, graph: Graph, **options: Any) -> None:
        super().__init__(graph, **options)
        self.made.append(self)
        self._graph = graph
        self._updates: list[Json] = []
        self._moves: list[list[Json]] = []

    @override
    def update(self, place: int, time: Any, delta: int) -> None:
        super().update(place, time, delta)
        self._updates.append([place, encode(time), delta])

    @override
    def propagate(self) -> list[int]:
        moved = super().propagate()
        frontiers = [[place, [encode(time) for time in self.frontier(place)]] for place in range(len(self._graph))]
        # A node without an output shows at its input what may still come.
        frontiers += [[place["id"], frontiers[place["id"] - len(frontiers)][1]] for place in self._ends()]
        number = len(self._moves) + 1
        move = number // 2 + 1
        self._moves += [[number, move, "stamps", self._updates], [number + 1, move, "frontiers", frontiers]]
        self._updates = []
        return moved

    def _ends(self) -> list[Json]:
        total = len(self._graph)
        return [
            {"id": total + self._graph.place(Target(node)), "name": f"{spec.name} out", "module": node, "input": None}
            for node, spec in enumerate(self._graph.nodes)
            if not spec.outputs
        ]

    def trace(self) -> Trace:
        """Return the record as a trace of modules, places and messages."""
        graph = self._graph
        places: list[Json] = []
        steps: list[Json] = []
        for place, location in enumerate(graph.locations):
            about = location.port if isinstance(location, Target) else None
            places.append({"id": place, "name": graph.name(place), "module": location.node, "input": about})
            steps += [[place, there, "same"] for there, _ in graph.successors[place]]
        modules = [{"id": node, "name": spec.name, "parts": [spec.name]} for node, spec in enumerate(graph.nodes)]
        plan = {"steps": steps, "initial": []}
        places += self._ends()
        header = {"trace": 1, "limit": 1, "modules": modules, "places": places, "edges": [], "sinks": [], "plan": plan}
        return Trace(header, self._moves)


def moves_of(chapter: str, name: str) -> list[Trace]:
    """Return the traces of the trackers that a piece creates."""
    module = import_module(f"tutorials.{chapter}")
    piece = next(piece for piece in pieces(module.__name__) if piece.__name__ == name)
    Recorded.made.clear()
    with patch.object(module, "Tracker", Recorded):
        piece()
    return [tracker.trace() for tracker in Recorded.made]
