"""Checking a whole run: every edge, and how the edges of each module depend on each other."""

from collections.abc import Collection, Sequence
from itertools import count
from typing import Any, Final, Literal, TypeAlias, overload
from weakref import WeakKeyDictionary

import trio
from typing_extensions import TypeVar, override

from pullstream.checker.edge import Partner, WatchedEdge
from pullstream.checker.resource import Resource
from pullstream.checker.rules import Violation
from pullstream.checker.ties import verify_beginning, verify_end
from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane
from pullstream.engine.sidecar.counters import LaneCount
from pullstream.engine.sidecar.location import NOTHING, Location, Port
from pullstream.errors import ReleaseTimeout, without_cancelled
from pullstream.history.diagram import module_diagram
from pullstream.protocol import DONE, Batch, Done, Event
from pullstream.timely import Antichain

T_co = TypeVar("T_co", covariant=True)

KEPT: Final = 100
"""The most edges that a checker keeps for drawing, because modules may open any number of streams."""


class RunEdge(WatchedEdge):
    """The record of an edge of a run."""

    machine: "Edge[Any]"
    resource: Resource
    consumer: Location
    dismissed = False
    """Whether the edge downstream has sent a termination; later requests of its module's code are not sent on (R9)."""


class WatchedLane(Lane[T_co]):
    """A lane that verifies everything that passes; used in checked runs."""

    __slots__ = ("_closed", "_front", "_index", "_time", "record")

    def __init__(self, edge: Edge[T_co], port: Port, record: RunEdge, count: LaneCount | None = None) -> None:
        super().__init__(edge, port, count)
        self.record = record
        self._index = record.lane()
        self._front: Antichain[Any] | None = None
        self._closed: int | None = None
        self._time: Any = NOTHING

    @overload
    async def ask(
        self, limit: int = 1, *, stepping: Literal[False] = False, many: bool = False
    ) -> Batch[T_co] | Done: ...
    @overload
    async def ask(self, limit: int = 1, *, stepping: bool, many: bool = False) -> Batch[T_co] | Done | None: ...
    @override
    async def ask(self, limit: int = 1, *, stepping: bool = False, many: bool = False) -> Batch[T_co] | Done | None:
        edge = self.record
        if edge.dismissed:
            return await self._ask_unsent(limit)
        number = edge.ask(self._index, limit)
        if self._front is None:
            self._front = self._frontier()
        try:
            answer = await super().ask(limit, stepping=stepping, many=many)
        except BaseException as exc:
            edge.raised(number, exc)
            raise
        if answer is None:
            edge.unanswered(number)
            return None
        edge.answered(number, answer, many=many)
        if isinstance(answer, Batch) and not answer.uniform:
            counted = self.live and all(map(self.covers, answer.times))
        else:
            counted = answer is DONE or (self.live and (self.stamped is answer.time or self.stamped == answer.time))
        if not counted:
            edge.violated("R11", edge.above, f"{answer!r} was handed over without lane.stamp(time)")
        return answer if answer is DONE else edge.hand_over(self._index, answer)

    async def _ask_unsent(self, limit: int) -> Batch[T_co] | Done:
        """Answer an ask after the consumer's termination; it is not sent upstream (R9)."""
        answer = await super().ask(limit)
        if answer is not DONE:
            self.record.violated("R5", self.record.above, "a value came after the termination")
        return answer

    @override
    def stamp(self, time: Any) -> None:
        if time is not self._time and time != self._time:
            self._time = time
            self._verify_open([time])
        super().stamp(time)

    @override
    def brought(self, batch: Batch[Any], limit: int) -> None:
        if problem := mistake(batch, limit):
            self.record.violated("R2", self.record.above, f"it answered {problem}")
        self._verify_open(batch.times)

    def _verify_open(self, times: Sequence[Any]) -> None:
        # As of the ask: reading it now might miss a dropped hold whose batch is not counted yet.
        front, self._front = self._front, None
        for time in times:
            if front is not None and not front.less_equal(time):
                self.record.violated("R12", self.record.above, f"it answered at {time!r}, which was complete before")

    def _frontier(self) -> "Antichain[Any]":
        """Return the times that may still arrive, after acknowledging as this ask does, which may complete times."""
        if self.live:
            self.acknowledge()
        return self._counts.arriving(self.port)

    @override
    async def abort(self) -> Done:
        return await self._terminate(None)

    @override
    async def error(self, reason: BaseException) -> Done:
        return await self._terminate(reason)

    @override
    async def terminate(self, reason: BaseException | None) -> Done:
        sent = self.record.terminated and self._closed is None
        self.record.dismissed = True
        return await (self._terminate_unsent(reason) if sent else self._terminate(reason))

    async def _terminate(self, reason: BaseException | None) -> Done:
        if self.over or self._closed is not None:
            return await super().terminate(reason)
        if self.record.terminated and self.record.dismissed:
            return await self._terminate_unsent(reason)
        number = self.record.terminate(self._index, reason)
        try:
            answer = await super().terminate(reason)
        except BaseException as exc:
            self.record.refused(number, exc)
            raise
        self.record.confirmed(number, answer)
        return answer

    async def _terminate_unsent(self, reason: BaseException | None) -> Done:
        """Wait for a termination that the module or its kernel has already sent; both have ended the edge (R9)."""
        if self.over:
            return DONE
        try:
            answer = await super().terminate(reason)
        except BaseException as exc:
            if without_cancelled(exc) is not None:
                self.record.let_go(exc)
            raise
        self.record.let_go()
        return answer

    @override
    def close(self, reason: BaseException | None) -> bool:
        sent = self.record.terminated
        self.record.dismissed = True
        if not (self.over or sent):
            self._closed = self.record.terminate(self._index, reason)
        return super().close(reason)

    @override
    async def confirm(self, reason: BaseException | None, *, closed: bool) -> None:
        number = self._closed
        try:
            await super().confirm(reason, closed=closed)
        except BaseException as exc:
            if number is not None:
                self.record.refused(number, exc)
            raise
        finally:
            self._closed = None
        if number is not None:
            self.record.confirmed(number, DONE)

    @override
    def _indicate(self, reason: BaseException | None) -> None:
        if not (self.over or (self.record.terminated and self.record.dismissed)):
            self.record.terminate(self._index, reason, waits=False)
        super()._indicate(reason)

    @override
    async def _confirm(self) -> None:
        await super()._confirm()
        try:
            self.record.let_go(self.trouble)
        except Violation as exc:
            self.trouble = exc

    @override
    def ack(self) -> None:
        self.record.ack(self._index)
        super().ack()

    @override
    def lane(self) -> "WatchedLane[T_co]":
        lane = WatchedLane(self.edge, self.port, self.record, self.count)
        lane.hand_over(None)
        return lane


class Checker:
    """Checks the edges of one run; made by `run(..., check=True)`, or passed as `check=` to draw diagrams afterwards.

    With `strict`, consumers must also follow R9, except modules named in `lenient`.
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

    def lane(self, edge: "Edge[Any]", port: Port) -> WatchedLane[Any]:
        """Make the first lane of an edge."""
        for other in edge.ends:
            if isinstance(other, WatchedLane):
                return WatchedLane(edge, port, other.record)
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
        record.resource.watch(edge)
        self._above[edge.location] = record
        if len(self._edges) < KEPT:
            self._edges.append(record)
        return WatchedLane(edge, port, record)

    def verdict(self) -> Violation | None:
        """Return the first violation. Call it when the run is over: it verifies that all edges and resources are."""
        if not self.violations:
            try:
                for edge in self._open:
                    edge.settled()
                    if not edge.over:
                        edge.violated("R6", edge.below, "the run is over, and this edge was never ended")
                    edge.resource.ended()
            except Violation:
                pass  # recorded where it was raised
        return self.violations[0] if self.violations else None

    # ---- for people

    def diagram(self, module: str) -> str:
        """Draw the events of the edge below the module named `module`, in the specification's notation."""
        return self._below(module).diagram()

    def both_sides(self, module: str) -> str:
        """Draw the events on both sides of a module, with the specification's marks D, TI, U and TO."""
        edge = self._below(module)
        inputs = [lane.record for lane in edge.machine.inputs if isinstance(lane, WatchedLane)]
        return module_diagram(edge.events, [event for above in inputs for event in above.events])

    def _below(self, module: str) -> RunEdge:
        for edge in self._edges:
            if module in edge.machine.location.names:
                return edge
        known = ", ".join(repr(name) for edge in self._edges for name in edge.machine.location.names)
        raise LookupError(f"no module of this run is named {module!r}; its modules: {known or 'none yet'}")

    def last_diagram(self) -> str:
        """Draw the events of the edge above the sink, the last one made."""
        return self._edges[-1].diagram() if self._edges else ""

    # ---- for the edges

    def broken(self, violation: Violation) -> None:
        """Record a violation, which ends the run even if a module swallows the exception."""
        self.violations.append(violation)
        self.tripped.set()

    def began(self, edge: WatchedEdge) -> None:
        """Note that the edge has its first request."""
        assert isinstance(edge, RunEdge)
        self._open[edge] = None
        verify_beginning(edge, self._above.get(edge.consumer))

    def ended(self, edge: WatchedEdge, how: Event) -> None:
        """Verify, when an edge is over, that its module's inputs are over and its resources released."""
        assert isinstance(edge, RunEdge)
        self._open.pop(edge, None)
        inputs = [lane.record for lane in edge.machine.inputs if isinstance(lane, WatchedLane)]
        verify_end(edge, inputs, how, edge.resource.failed, edge.machine.undelivered)
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
        return check
    if check not in (True, False, "strict"):
        raise ValueError(f"check must be True, False or 'strict', not {check!r}")
    return Checker(strict=check == "strict") if check else None
