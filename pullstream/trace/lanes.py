"""Observing a run: lanes and a sidecar that report all events, used in place of plain ones in traced runs.

Values in flight are counted here, independently of the sidecar: a batch is on an edge from the step that answers it
until its lane acknowledges it, whatever the sidecar has made of it so far. So the sidecar's announcements can be judged
by these counts.
"""

from collections import Counter
from collections.abc import Awaitable, Hashable, Sequence
from typing import Any, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.checker.pipeline import RunEdge, WatchedLane
from pullstream.checker.rules import Violation
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.rest import Rest
from pullstream.engine.sidecar.counters import LaneCount
from pullstream.engine.sidecar.location import Claim, Counts, Port
from pullstream.errors import without_cancelled
from pullstream.protocol import DONE, Batch, Done
from pullstream.trace.observer import Observer

T_co = TypeVar("T_co", covariant=True)

_LIVE: Any = Claim.__dict__["live"]


class SeenEdge:
    """An observed edge: its number, and the counter of its requests."""

    def __init__(self, observer: Observer, number: int, edge: Edge[Any], below: Port) -> None:
        self.observer = observer
        self.number = number
        self.above, self.below = edge.location.name, below.location.name
        """The names of the modules at its ends."""
        self.place = below.place
        self.counted = not edge.scope.sidecar.inner
        """Whether values in flight on it count in the run's own sidecar, and not in an inner stream's."""
        self.direct = below.upstream is edge.location
        """Whether its values in flight lead to all their results. In a loop, values that go round are held first."""
        self.requests = 0
        self.lanes = 0
        self.terminated = self.dismissed = False
        self.giving = 0
        """The number of values now being delivered from an answer that arrived earlier."""

    def request(self, kind: str, lane: int, about: object = None) -> int:
        """Report a request and return its number."""
        self.requests += 1
        self.observer.passed(kind, self, lane, self.requests, about)
        return self.requests

    def came(self, times: Sequence[Hashable]) -> None:
        """Count values at these times, brought by an answer, as on the edge."""
        self._change(times, 1)

    def went(self, times: Sequence[Hashable]) -> None:
        """Count values at these times as acknowledged."""
        self._change(times, -1)

    def _change(self, times: Sequence[Hashable], sign: int) -> None:
        if not self.counted:
            return
        change, place = self.observer.change, self.place
        if len(times) == 1:
            change(place, times[0], sign)
        else:
            for time, count in Counter(times).items():
                change(place, time, sign * count)


class SeenRest(Rest):
    """The rest of a multi-time answer; it is on its edge until it is delivered and acknowledged."""

    __slots__ = ("_edge", "_left")

    def __init__(self, counts: Counts, port: Port, batch: Batch[Any], edge: SeenEdge) -> None:
        super().__init__(counts, port, batch)
        self._edge = edge
        self._left = list(batch.times)
        edge.came(self._left)

    @override
    def take_run(self, limit: int) -> Batch[Any]:
        batch = super().take_run(limit)
        # The lane that receives it is stamped next.
        self._edge.giving = len(batch.values)
        del self._left[: self._edge.giving]
        return batch

    @override
    def drop(self) -> None:
        self._edge.went(self._left)
        self._left = []
        super().drop()


class SeenLane(Lane[T_co]):
    """A lane that reports everything that passes."""

    seen: SeenEdge
    index: int
    at_hand: Sequence[Hashable] = ()
    """The times of the values in flight here."""
    _whole = False
    """Whether an answer is being counted as a whole."""
    _unanswered: int | None = None
    """The request that advanced one step, and continues with the next."""
    _closed: int | None = None
    """The termination that was sent and is not confirmed yet."""
    _telling = False

    # ---- what is in flight

    @property
    def live(self) -> bool:
        """Whether a batch is in flight here."""
        return bool(_LIVE.__get__(self))

    @live.setter
    def live(self, value: bool) -> None:
        # If the values went into an inner stream, they count until the frontier is read (`withdraw`).
        if not value and self.at_hand and self.live and not (self._whole or self.port.location.mirroring):
            self._taken()
        _LIVE.__set__(self, value)

    def _taken(self) -> None:
        times, self.at_hand = self.at_hand, ()
        if times:
            self.seen.went(times)

    def _received(self, times: Sequence[Hashable]) -> None:
        self._taken()
        self.at_hand = times
        if not self.seen.giving:
            self.seen.came(times)

    @override
    def withdraw(self) -> None:
        super().withdraw()
        self._taken()

    @override
    def stamp(self, time: Hashable) -> None:
        if not self._whole:
            self._received([time] * self.seen.giving or [time])
        self.seen.giving = 0
        super().stamp(time)

    @override
    def count_batch(self, batch: Batch[Any]) -> None:
        gone = Counter(self.at_hand) - Counter(batch.times)
        if self.at_hand and not Counter(batch.times) - Counter(self.at_hand):
            # Only a part of them is left.
            self.seen.went(list(gone.elements()))
            self.at_hand = list(batch.times)
        else:
            self._received(list(batch.times))
        self._whole = True
        try:
            super().count_batch(batch)
        finally:
            self._whole = False

    @override
    def rest_of(self, batch: Batch[Any]) -> Rest:
        return SeenRest(self._counts, self.port, batch, self.seen)

    # ---- what passes

    @overload
    async def ask(
        self, limit: int = 1, *, stepping: Literal[False] = False, many: bool = False
    ) -> Batch[T_co] | Done: ...
    @overload
    async def ask(self, limit: int = 1, *, stepping: bool, many: bool = False) -> Batch[T_co] | Done | None: ...
    @override
    async def ask(self, limit: int = 1, *, stepping: bool = False, many: bool = False) -> Batch[T_co] | Done | None:
        seen, observer = self.seen, self.seen.observer
        if seen.dismissed:
            # Asks of the module's code below are not sent, because its kernel has ended the stream (R9).
            return await super().ask(limit, stepping=stepping, many=many)
        observer.changed()
        number = self._unanswered
        if number is None:
            number = seen.request("ask", self.index, limit)
        self._unanswered = None
        if self.live:
            self.acknowledge()
        observer.changed()
        try:
            answer = await super().ask(limit, stepping=stepping, many=many)
        except Violation as exc:
            observer.violated(exc, seen, self.index, number)
            raise
        except BaseException as exc:
            failure = without_cancelled(exc)
            observer.passed("cancelled" if failure is None else "failed", seen, self.index, number, failure)
            raise
        if answer is None:
            self._unanswered = number
            return None
        observer.passed("done" if answer is DONE else "value", seen, self.index, number, answer)
        if seen.direct:
            observer.changed()
        return answer

    @override
    async def abort(self) -> Done:
        return await self._told(None, super().abort())

    @override
    async def error(self, reason: BaseException) -> Done:
        return await self._told(reason, super().error(reason))

    @override
    async def terminate(self, reason: BaseException | None) -> Done:
        if self._telling:
            return await super().terminate(reason)
        unsent = self.seen.terminated and self._closed is None
        self.seen.dismissed = True
        return await self._told(reason, super().terminate(reason), unsent=unsent)

    async def _told(self, reason: BaseException | None, sending: Awaitable[Done], *, unsent: bool = False) -> Done:
        """Send and report a termination, unless the module or its kernel has already sent one."""
        seen = self.seen
        unsent = unsent or self.over or self._closed is not None or (seen.terminated and seen.dismissed)
        number = None if unsent else self._send("abort", "error", reason)
        self._telling = True
        try:
            answer = await sending
        except BaseException as exc:
            self._confirmed(number, exc)
            raise
        finally:
            self._telling = False
        self._confirmed(number)
        return answer

    def _send(self, abort: str, error: str, reason: BaseException | None) -> int:
        self.seen.terminated = True
        return self.seen.request(abort if reason is None else error, self.index, reason)

    def _confirmed(self, number: int | None, exc: BaseException | None = None) -> None:
        if number is None:
            return
        failure = None if exc is None else without_cancelled(exc)
        kind = "done" if exc is None else "cancelled" if failure is None else "failed"
        self.seen.observer.passed(kind, self.seen, self.index, number, failure)

    @override
    def close(self, reason: BaseException | None) -> bool:
        if not (self.over or self.seen.terminated):
            self._closed = self._send("abort", "error", reason)
        self.seen.dismissed = True
        return super().close(reason)

    @override
    async def confirm(self, reason: BaseException | None, *, closed: bool) -> None:
        number = self._closed
        try:
            await super().confirm(reason, closed=closed)
        except BaseException as exc:
            self._confirmed(number, exc)
            raise
        finally:
            self._closed = None
        self._confirmed(number)

    @override
    def _indicate(self, reason: BaseException | None) -> None:
        if not (self.over or (self.seen.terminated and self.seen.dismissed)):
            self._send("abort soon", "error soon", reason)
        super()._indicate(reason)

    @override
    def ack(self) -> None:
        self.seen.observer.passed("ack", self.seen, self.index, self.seen.requests)
        super().ack()

    @override
    def lane(self) -> "SeenLane[T_co]":
        lane = seen_lane(self.edge, self.port, self.seen, self._record(), self.count)
        lane.hand_over(None)
        return lane

    def _record(self) -> RunEdge | None:
        return None


class CheckedLane(SeenLane[T_co], WatchedLane[T_co]):  # type: ignore[misc]  # its lanes are such, too
    """A lane that is both observed and verified."""

    @override
    def _record(self) -> RunEdge | None:
        return self.record


def seen_lane(
    edge: Edge[Any], port: Port, seen: SeenEdge, record: RunEdge | None = None, count: LaneCount | None = None
) -> SeenLane[Any]:
    """Make an observed lane of an edge; it is also verified if the edge has a checker's record."""
    lane = SeenLane[Any](edge, port, count) if record is None else CheckedLane[Any](edge, port, record, count)
    lane.seen, lane.index = seen, seen.lanes
    seen.lanes += 1
    return lane
