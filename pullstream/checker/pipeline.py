"""Checking a whole run: every edge, and how the edges of each module depend on each other."""

from collections.abc import Collection
from itertools import count
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

import trio
from typing_extensions import override

from pullstream.blueprint import Site
from pullstream.checker.edge import Partner, WatchedEdge, Watching
from pullstream.checker.lanes import RunEdge
from pullstream.checker.own_calls import watch
from pullstream.checker.resource import Resource
from pullstream.checker.rules import Violation
from pullstream.checker.ties import verify_beginning, verify_end
from pullstream.engine.edge.edge import Edge
from pullstream.engine.observer import Observer
from pullstream.engine.sidecar.location import Location, Port
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.errors import CompositionError, ReleaseTimeout, ReuseError
from pullstream.history.diagram import module_diagram
from pullstream.protocol import Event

KEPT: Final = 100
"""The most edges that a checker keeps for drawing, because modules may open any number of streams."""


class Checker(Observer, Watching):
    """Checks the edges of one run; made by `run(..., check=True)`, or passed as `check=` to draw diagrams afterwards.

    A second run refuses it (`ReuseError`). With `strict`, consumers must also follow R9, except modules named in
    `lenient`.
    """

    def __init__(self, *, strict: bool = False, lenient: Collection[str] = ()) -> None:
        self.strict = strict
        self.violations: list[Violation] = []
        self.tripped = trio.Event()
        self._lenient = lenient
        self._order = count().__next__
        self._above: WeakKeyDictionary[Location, RunEdge] = WeakKeyDictionary()
        self._open: dict[RunEdge, None] = {}
        self._edges: list[RunEdge] = []

    # ---- for the run

    @override
    def edge(self, edge: Edge[Any], port: Port) -> RunEdge:
        consumer = port.location
        record = RunEdge(
            _partner(edge.location),
            _partner(consumer),
            strict=self.strict and not any(name in self._lenient for name in consumer.names),
            clock=self._order,
            watching=self,
        )
        record.machine, record.consumer = edge, consumer
        record.resource = Resource(record)
        watch(edge.module)
        self._above[edge.location] = record
        if len(self._edges) < KEPT:
            self._edges.append(record)
        return record

    @override
    def started(self, sidecar: Sidecar) -> None:
        # The first ask of each edge reads what may arrive there: make one plan for all edges now, not one for each.
        for location in sidecar.locations:
            for port in location.ports:
                sidecar.frontiers.expect(port.place)

    def verdict(self) -> Violation | None:
        """Return the first violation. Call it after the run: all edges must have ended and released their resources."""
        if not self.violations:
            try:
                for edge in self._open:
                    edge.settled()
                    # A termination whose sender stopped waiting has no confirmation.
                    if not (edge.over or (edge.terminated and edge.machine.over)):
                        edge.violated("R6", edge.below, "the run has ended, but this edge has not")
                    edge.resource.ended()
            except Violation:
                pass  # recorded where it was raised
        return self.violations[0] if self.violations else None

    # ---- for people

    @property
    def used(self) -> bool:
        """Whether a run has used this checker: a second run would be blamed for the violations of the first."""
        return bool(self._edges)

    def diagram(self, module: str) -> str:
        """Draw the events of the output edge of the module named `module`, in the specification's notation."""
        return self._below(module).diagram()

    def both_sides(self, module: str) -> str:
        """Draw the events on both sides of a module, with the specification's marks D, TI, U and TO."""
        edge = self._below(module)
        return module_diagram(edge.events, [event for above in self._inputs(edge) for event in above.events])

    def _inputs(self, edge: RunEdge) -> list[RunEdge]:
        """Return the input edges of an edge's module."""
        return [self._above[end.edge.location] for end in edge.machine.inputs]

    def _below(self, module: str) -> RunEdge:
        for edge in self._edges:
            if module in edge.machine.location.names:
                return edge
        known = ", ".join(repr(name) for edge in self._edges for name in edge.machine.location.names)
        raise LookupError(f"no module of this run is named {module!r}; its modules: {known or 'none yet'}")

    def last_diagram(self) -> str:
        """Draw the events of the sink's input edge, the last edge made."""
        return self._edges[-1].diagram() if self._edges else ""

    # ---- for the edges

    @override
    def broken(self, violation: Violation) -> None:
        # The event ends the run even if a module swallows the exception.
        self.violations.append(violation)
        self.tripped.set()

    @override
    def began(self, edge: WatchedEdge) -> None:
        assert isinstance(edge, RunEdge)
        self._open[edge] = None
        verify_beginning(edge, self._above.get(edge.consumer))

    @override
    def ended(self, edge: WatchedEdge, how: Event) -> None:
        """Verify, when an edge has ended, that its module's inputs have ended and its resources are released."""
        assert isinstance(edge, RunEdge)
        self._open.pop(edge, None)
        verify_end(edge, self._inputs(edge), how, edge.resource.failed, edge.machine.undelivered)
        if not isinstance(edge.refusal, ReleaseTimeout):
            # A ReleaseTimeout already reports the resource.
            edge.resource.ended()


def _partner(location: Location) -> Partner:
    return Partner(location.name, location.site)


Check: TypeAlias = bool | Literal["strict"] | Checker
"""The values of the option `check=`."""


def checker_for(check: Check) -> Checker | None:
    """Return the checker for an option `check=`."""
    if isinstance(check, Checker):
        if check.used:
            raise ReuseError("check= was given the Checker of another run: make one for each run")
        return check
    if check not in (True, False, "strict"):
        raise CompositionError(f"check= at {Site.here()} needs True, False or 'strict', but got {check!r}")
    return Checker(strict=check == "strict") if check else None
