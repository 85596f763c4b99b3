"""The requests and answers of one lane of a run, as its observers see them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, cast

from typing_extensions import override

from pullstream.checker.edge import WatchedEdge
from pullstream.checker.resource import Resource
from pullstream.checker.rules import Violation
from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane
from pullstream.engine.observer import EdgeObserver, LaneObserver
from pullstream.engine.sidecar.location import NOTHING, Location
from pullstream.errors import without_cancelled
from pullstream.protocol import DONE, Batch, Unanswered
from pullstream.timely import Antichain

UNSENT = "unsent"
"""The token of a termination that is not sent, because the module or its kernel has already sent one."""


class Dismissal(Protocol):
    """The terminations that an edge received from downstream."""

    terminated: bool
    """Whether a termination was sent."""
    dismissed: bool
    """Whether the kernel downstream sent it: later requests from its module's code are then not passed on (R9)."""


class Requester(LaneObserver, ABC):
    """Decides which terminations count as requests: a module's code and its kernel may both send one (R9)."""

    def __init__(self, below: Dismissal) -> None:
        self._below = below
        self._closed: Any = None
        """The token of the termination that `close` sent and that is not confirmed yet."""

    @abstractmethod
    def send(self, reason: BaseException | None, *, waits: bool) -> Any:
        """Note a termination that is sent, and return its token."""

    @override
    def terminated(self, lane: Lane[Any], reason: BaseException | None, *, dismissing: bool, closed: bool) -> Any:
        if closed:
            return self._closed
        ended = self._below
        ended.dismissed = ended.dismissed or dismissing
        if lane.over or self._closed is not None:
            return None
        if ended.terminated and ended.dismissed:
            return UNSENT
        return self.send(reason, waits=True)

    @override
    def confirmed(self, sent: Any, exc: BaseException | None) -> None:
        if sent is not None and sent is self._closed:
            self._closed = None

    @override
    def closed(self, lane: Lane[Any], reason: BaseException | None) -> None:
        sends = not (lane.over or self._below.terminated)
        self._below.dismissed = True
        if sends:
            self._closed = self.send(reason, waits=True)

    @override
    def indicated(self, lane: Lane[Any], reason: BaseException | None) -> None:
        if not (lane.over or (self._below.terminated and self._below.dismissed)):
            self.send(reason, waits=False)


class RunEdge(WatchedEdge, EdgeObserver):
    """Verifies what passes on an edge of a run."""

    machine: Edge[Any]
    resource: Resource
    consumer: Location
    dismissed = False
    arrived: Callable[[Batch[Any]], object] | None = None
    """Receives each answer, for a simulation."""

    @override
    def lane(self) -> "CheckedLane":
        return CheckedLane(self)


class CheckedLane(Requester):
    """Verifies everything that passes on a lane."""

    def __init__(self, record: RunEdge) -> None:
        super().__init__(record)
        self._record = record
        self._index = record.number_lane()
        self._front: Antichain[Any] | None = None
        """The times that could still arrive at the last ask, until an answer has used them."""
        self._time: Any = NOTHING

    @override
    def asked(self, lane: Lane[Any], limit: int) -> int | None:
        record = self._record
        if record.dismissed:
            # Not sent upstream (R9).
            return None
        number = record.ask(self._index, limit)
        if self._front is None:
            # Acknowledge now, as the ask does next: it may complete times.
            if lane.live:
                lane.acknowledge()
            self._front = lane.arriving()
        return number

    @override
    def brought(self, batch: Batch[Any], limit: int) -> None:
        if problem := mistake(batch, limit):
            self._record.violated("R2", self._record.above, f"it answered {problem}")
        self._verify_open(batch)

    @override
    def answered(self, lane: Lane[Any], sent: int | None, answer: Any) -> Any:
        record = self._record
        if record.arrived is not None and isinstance(answer, Batch):
            record.arrived(cast("Batch[Any]", answer))
        if sent is None:
            if answer is not DONE:
                record.violated("R5", record.above, "a value came after the termination")
            return answer
        if isinstance(answer, Unanswered):
            record.unanswered(sent)
            return answer
        record.answered(sent, answer, many=lane.whole)
        if answer is DONE:
            return DONE
        batch = cast("Batch[Any]", answer)
        if batch.uniform:
            self._verify_open(batch)
            counted = lane.live and (lane.stamped is batch.time or lane.stamped == batch.time)
        else:
            counted = lane.live and all(map(lane.covers, batch.times))
        if not counted:
            record.violated("R11", record.above, f"{answer!r} was handed over without lane.stamp(time)")
        return record.hand_over(self._index, batch)

    def _verify_open(self, batch: Batch[Any]) -> None:
        if batch.uniform:
            if batch.time is self._time or batch.time == self._time:
                return
            self._time = batch.time
        # The frontier as of the ask: by now a hold may be dropped whose batch is not counted yet.
        front, self._front = self._front, None
        for time in [batch.time] if batch.uniform else batch.times:
            if front is not None and not front.less_equal(time):
                self._record.violated("R12", self._record.above, f"it answered at {time!r}, which was complete before")

    @override
    def raised(self, sent: int | None, exc: BaseException) -> None:
        if sent is not None:
            self._record.raised(sent, exc)

    @override
    def acknowledged(self) -> None:
        self._record.ack(self._index)

    @override
    def send(self, reason: BaseException | None, *, waits: bool) -> int:
        return self._record.terminate(self._index, reason, waits=waits)

    @override
    def confirmed(self, sent: Any, exc: BaseException | None) -> None:
        super().confirmed(sent, exc)
        if sent is UNSENT:
            if exc is None or without_cancelled(exc) is not None:
                self._record.carried_out(exc)
        elif sent is not None:
            if exc is None:
                self._record.confirmed(sent, DONE)
            else:
                self._record.refused(sent, exc)

    @override
    def carried_out(self, failure: BaseException | None) -> BaseException | None:
        try:
            self._record.carried_out(failure)
        except Violation as exc:
            return exc
        return failure
