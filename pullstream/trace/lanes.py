"""The edges of a traced run: they report all requests, all answers, and the values in flight.

Values in flight are counted here, independently of the sidecar: a batch is on an edge from the step that answers it
until its lane acknowledges it, whatever the sidecar has made of it so far. So the sidecar's announcements can be judged
by these counts.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, cast

from typing_extensions import override

from pullstream.checker.lanes import UNSENT, Requester
from pullstream.checker.rules import Violation
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.end import Rest
from pullstream.engine.edge.lane import Lane
from pullstream.engine.observer import EdgeObserver, LaneObserver
from pullstream.engine.sidecar.location import Claim, Port
from pullstream.errors import without_cancelled
from pullstream.history.events import Batched
from pullstream.protocol import DONE, Batch, Unanswered
from pullstream.trace.notes import TraceNotes
from pullstream.trace.times import shown, written_batch


class SeenInFlight:
    """The values of one answer that are in flight: those of a lane, or those that an edge has yet to give out."""

    def __init__(self, place: int, held: Claim | Rest, times: Sequence[Hashable]) -> None:
        self.place = place
        self.times = times
        """The times of the values that are counted."""
        self._held = held
        self._counted = held.counted if isinstance(held, Claim) else ()

    def now(self) -> Sequence[Hashable]:
        """Return the times of the values that are still in flight."""
        held = self._held
        if isinstance(held, Rest):
            return held.head.times[held.used :] if held else ()
        # Values that went into an inner stream count until the frontier is read.
        if not held.live and (not held.counted or not held.port.location.mirroring):
            return ()
        counted = held.counted
        if counted != self._counted:
            # Only a part of them is left.
            self._counted = counted
            return [time for time in held.times if any(least <= time for least in counted)]  # type: ignore[operator]
        return self.times


class Traffic:
    """All values in flight in a run, and their notes."""

    def __init__(self, notes: TraceNotes) -> None:
        self.notes = notes
        self._parts: dict[Claim | Rest, SeenInFlight] = {}

    def arrived(self, place: int, held: Claim | Rest, times: Sequence[Hashable]) -> None:
        """Count the values that a lane has received, or that an edge will give out."""
        before = self._parts.get(held)
        part = self._parts[held] = SeenInFlight(place, held, times)
        self._change(part, () if before is None else before.times, times)

    def changed(self) -> None:
        """Note the changes so far as one atomic change: everything is consistent and may be examined."""
        for held, part in list(self._parts.items()):
            now = part.now()
            if now is not part.times:
                before, part.times = part.times, now
                self._change(part, before, now)
                if not now:
                    del self._parts[held]
        self.notes.changed()

    def _change(self, part: SeenInFlight, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        for times, sign in (before, -1), (now, 1):
            for time, count in Counter(times).items():
                self.notes.change(part.place, time, sign * count)


class SeenEdge(EdgeObserver):
    """An observed edge: its number, and the counter of its requests."""

    def __init__(
        self, traffic: Traffic, number: int, edge: Edge[Any], below: Port, checked: EdgeObserver | None
    ) -> None:
        # It must not refer to its edge, which is dropped when an inner stream ends.
        self.traffic, self.notes = traffic, traffic.notes
        self.number = number
        self.checked = checked
        """The checker's observer of the edge, in a checked run."""
        self.resource = None if checked is None else checked.resource
        self.above, self.below = edge.location.name, below.location.name
        """The names of the modules at its ends."""
        self.place = below.place
        self.counted = not edge.scope.sidecar.inner
        """Whether values in flight on it count in the run's own sidecar, and not in an inner stream's."""
        self.direct = below.upstream is edge.location
        """Whether its values in flight lead to all their results. In a loop, values that go round are held first."""
        self.module = edge.location.node if self.counted else edge.location.name
        self.requests = 0
        self.lanes = 0
        self.terminated = self.dismissed = False
        self.rest: Rest | None = None
        """The rest of the last multi-time answer, which the edge has yet to give out."""

    def request(self, kind: str, lane: int, about: object = None) -> int:
        """Report a request and return its number."""
        self.requests += 1
        self.passed(kind, lane, self.requests, about)
        return self.requests

    def passed(self, kind: str, lane: int, number: int, about: object = None) -> None:
        """Report a request that was sent, or its answer."""
        note = self.notes.note
        if kind == "ask":
            note(kind, self.number, lane, number, about)
        elif isinstance(about, Batch):
            note(kind, self.number, lane, number, *written_batch(Batched.of(cast("Batch[Any]", about))))
        elif about is None or kind == "done":
            note(kind, self.number, lane, number)
        else:
            note(kind, self.number, lane, number, shown(about))
            # A failure is answered by the module upstream, and an error is sent by the one downstream.
            self.notes.tell_refused(about, self.above if kind == "failed" else self.below)

    @override
    def lane(self) -> "SeenLane":
        self.lanes += 1
        return SeenLane(self, self.lanes - 1, None if self.checked is None else self.checked.lane())

    @override
    def acquired(self) -> None:
        self.notes.note("acquired", self.module)

    @override
    def released(self) -> None:
        self.notes.note("released", self.module)


class SeenLane(Requester):
    """Reports everything that passes on a lane; in a checked run, also to the checker."""

    def __init__(self, edge: SeenEdge, index: int, checked: LaneObserver | None) -> None:
        super().__init__(edge)
        self._edge = edge
        self._index = index
        self._checked = checked or LaneObserver()
        self._unanswered: int | None = None
        """The number of an ask whose poll had no answer yet, and which the next poll continues."""

    # ---- asks

    @override
    def asked(self, lane: Lane[Any], limit: int) -> tuple[int | None, Any]:
        edge, checked = self._edge, self._checked
        if edge.dismissed:
            # Asks by the code of the module downstream are not sent, because its kernel has ended the stream (R9).
            return None, checked.asked(lane, limit)
        traffic = edge.traffic
        traffic.changed()
        number, self._unanswered = self._unanswered, None
        if number is None:
            number = edge.request("ask", self._index, limit)
        if lane.live:
            lane.acknowledge()
        traffic.changed()
        return number, checked.asked(lane, limit)

    @override
    def brought(self, batch: Batch[Any], limit: int) -> None:
        self._checked.brought(batch, limit)

    @override
    def answered(self, lane: Lane[Any], sent: tuple[int | None, Any], answer: Any) -> Any:
        edge = self._edge
        number, of_checker = sent
        if number is None:
            return self._checked.answered(lane, of_checker, answer)
        if edge.counted and lane.live:
            self._received(lane, answer)
        if isinstance(answer, Unanswered):
            self._unanswered = number
        else:
            edge.passed("done" if answer is DONE else "value", self._index, number, answer)
        answer = self._checked.answered(lane, of_checker, answer)
        if edge.direct and not isinstance(answer, Unanswered):
            edge.traffic.changed()
        return answer

    def _received(self, lane: Lane[Any], answer: Any) -> None:
        if not isinstance(answer, Batch):
            return
        edge, batch = self._edge, cast("Batch[Any]", answer)
        if not batch.uniform:
            edge.traffic.arrived(edge.place, lane, list(batch.times))
            return
        rest = lane.edge.rest
        given_out = rest is not None or edge.rest is not None
        if rest is not edge.rest and rest is not None:
            edge.traffic.arrived(edge.place, rest, rest.head.times[rest.used :])
        edge.rest = rest
        edge.traffic.arrived(edge.place, lane, [batch.time] * (len(batch.values) if given_out else 1))

    @override
    def raised(self, sent: tuple[int | None, Any], exc: BaseException) -> None:
        number, of_checker = sent
        if number is not None and not isinstance(exc, Violation):
            self._ended(number, exc)
        self._checked.raised(of_checker, exc)

    def _ended(self, number: int, exc: BaseException | None) -> None:
        """Report the end of a request without a value."""
        failure = None if exc is None else without_cancelled(exc)
        kind = "done" if exc is None else "cancelled" if failure is None else "failed"
        self._edge.passed(kind, self._index, number, failure)

    # ---- terminations and acknowledgements

    @override
    def send(self, reason: BaseException | None, *, waits: bool) -> int:
        self._edge.terminated = True
        kind = "abort" if reason is None else "error"
        return self._edge.request(kind if waits else f"{kind} soon", self._index, reason)

    @override
    def terminated(self, lane: Lane[Any], reason: BaseException | None, *, dismissing: bool, closed: bool) -> Any:
        number = super().terminated(lane, reason, dismissing=dismissing, closed=closed)
        return number, self._checked.terminated(lane, reason, dismissing=dismissing, closed=closed)

    @override
    def confirmed(self, sent: Any, exc: BaseException | None) -> None:
        number, of_checker = sent
        super().confirmed(number, exc)
        try:
            self._checked.confirmed(of_checker, exc)
        except Violation as violation:
            exc = violation
            raise
        finally:
            if number is not None and number is not UNSENT:
                self._ended(number, exc)

    @override
    def closed(self, lane: Lane[Any], reason: BaseException | None) -> None:
        super().closed(lane, reason)
        self._checked.closed(lane, reason)

    @override
    def indicated(self, lane: Lane[Any], reason: BaseException | None) -> None:
        super().indicated(lane, reason)
        self._checked.indicated(lane, reason)

    @override
    def carried_out(self, failure: BaseException | None) -> BaseException | None:
        return self._checked.carried_out(failure)

    @override
    def acknowledged(self) -> None:
        self._edge.passed("ack", self._index, self._edge.requests)
        self._checked.acknowledged()
