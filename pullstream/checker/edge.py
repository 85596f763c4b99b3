"""A watched edge: its requests and answers are verified step by step with the table of the protocol."""

import operator
from collections.abc import Callable
from itertools import count
from traceback import walk_tb
from typing import Any, Final, NoReturn, cast

import attrs

from pullstream.blueprint import Site
from pullstream.checker.rules import SHARING, Violation
from pullstream.errors import ReleaseTimeout, without_cancelled
from pullstream.history.diagram import diagram
from pullstream.history.events import SAMPLE, Act, Batched, EventLog, Seen
from pullstream.protocol import DONE, TRANSITIONS, Batch, Done, Event, State

UNKNOWN: Final = object()
"""The value of `ending` until the edge ends."""

OPEN: Final = State.OPEN
ASK: Final = Act.ASK
VALUE: Final = Act.VALUE
# Asks and values on an open edge, the most frequent events, skip the table: the edge stays open.
assert TRANSITIONS[OPEN, Event.ASK] is TRANSITIONS[OPEN, Event.VALUE] is OPEN


@attrs.frozen
class Partner:
    """The module at one end of an edge."""

    name: str
    site: Site | None = None


@attrs.frozen
class _Shared:
    """The list that was answered, the copy that was handed over instead, and the original content of both."""

    givers: list[Any]
    receivers: list[Any]
    kept: tuple[Any, ...]


def _differ(values: list[Any], kept: tuple[Any, ...]) -> bool:
    # By identity, because `==` would run the values' own code.
    return len(values) != len(kept) or not all(map(operator.is_, values, kept))


class Watching:
    """The listener that an edge reports to; for a single edge, it does nothing."""

    def broken(self, violation: Violation) -> None:
        """Record a violation that is about to be raised."""

    def began(self, edge: "WatchedEdge") -> None:
        """Note that the edge has its first request."""

    def ended(self, edge: "WatchedEdge", how: Event) -> None:
        """Note that the edge has ended, by an answer or by a confirmed termination."""


class WatchedEdge:
    """A watched edge: verifies everything that passes between the modules upstream and downstream.

    A `WatchedReader` or `CheckedLane` on the edge calls its methods: `ask` and `terminate` when a request is sent, the
    others when it is answered.
    """

    def __init__(
        self,
        above: Partner,
        below: Partner,
        *,
        strict: bool,
        clock: Callable[[], int] | None = None,
        watching: Watching | None = None,
    ) -> None:
        self.above = above
        self.below = below
        self.strict = strict
        self.record = EventLog()
        self.state = State.OPEN
        self.over = False
        self.requests = 0
        self.reason: BaseException | None = None
        """The reason of the first termination from downstream."""
        self.terminated = False
        self.terminated_at = -1
        """The moment of the first termination; `latest_at` is the moment of the latest request."""
        self.latest_at = -1
        self.asked = False
        self.refusal: BaseException | None = None
        """The exception raised by the confirmation, if a release failed."""
        self.ending: object = UNKNOWN
        self.before: frozenset[int] = frozenset()
        """The asks outstanding when the first termination was sent."""
        self.clock = clock or count().__next__
        self.watching = watching or Watching()
        self._asks: dict[int, tuple[int, int]] = {}
        self._terminations: dict[int, int] = {}
        self._ended_lanes: set[int] = set()
        self._shared: dict[int, _Shared] = {}
        self._lanes = 0
        self._traceback: int | None = None
        self._how = Event.END

    def __str__(self) -> str:
        return f"{self.above.name} => {self.below.name}"

    def number_lane(self) -> int:
        """Return the number of a new lane."""
        self._lanes += 1
        return self._lanes - 1

    # ---- requests

    def ask(self, lane: int, limit: int) -> int:
        """Verify and record an ask of a lane; return the number of the request."""
        self.asked = True
        number = self._request(ASK, lane, limit)
        shared = self._shared.get(lane)
        if shared is not None and _differ(shared.receivers, shared.kept):
            self._blame_below(SHARING, "it has changed a batch that it received: it must make a new list instead")
        asks = self._asks
        if asks and any(lane == asking for asking, _ in asks.values()):
            self._blame_below("R4", "this lane has an ask outstanding: take a lane() for each task")
        if self.strict:
            self._check_requester(lane)
        if self.state is not OPEN:
            self._step(Event.ASK)
        asks[number] = lane, limit
        return number

    def terminate(self, lane: int, reason: BaseException | None, *, waits: bool = True) -> int:
        """Verify and record a termination by a lane; return the number of the request."""
        if waits:
            what = Act.ABORT if reason is None else Act.ERROR
        else:
            what = Act.DONE_INDICATION if reason is None else Act.ERROR_INDICATION
        number = self._request(what, lane, reason)
        if self.strict:
            self._check_requester(lane)
        first = self.state is State.OPEN
        event = Event.ABORT if reason is None else Event.ERROR
        self._step(event)
        if first:
            self.reason, self._how = reason, event
            self.before = frozenset(self._asks)
            if not self._asks:
                self.ending = DONE if reason is None else reason
        if not self.terminated:
            self.terminated, self.terminated_at = True, self.latest_at
        if waits:
            self._terminations[number] = lane
        return number

    def ack(self, lane: int) -> None:
        """Record that a lane acknowledges without asking."""
        self.record.note((self.clock(), Act.ACK, self.requests, lane, None))

    def _request(self, what: Act, lane: int, about: object) -> int:
        self.requests = number = self.requests + 1
        self.latest_at = at = self.clock()
        self.record.note((at, what, number, lane, about))
        if number == 1:
            self.watching.began(self)
        return number

    def _check_requester(self, lane: int) -> None:
        if self.terminated:
            self._blame_below("R9", "it sends another request after its termination")
        if lane in self._ended_lanes:
            self._blame_below("R9", "it asks on a lane that was already answered with the end of the stream")

    # ---- answers to asks

    def answered(self, number: int, answer: Any, *, many: bool = False) -> None:
        """Verify the answer to an ask; with `many`, it may be a multi-time batch."""
        lane, limit = self._asks.pop(number)
        shared = self._shared.pop(lane, None)
        if shared is not None and _differ(shared.givers, shared.kept):
            self.record.note((self.clock(), VALUE, number, lane, answer))
            self._blame_above(SHARING, "it has changed a batch after answering it: each answer must be a new list")
        if isinstance(answer, Batch):
            self._value(number, lane, limit, cast("Batch[Any]", answer), many=many)
        elif answer is DONE:
            self.record.note((self.clock(), Act.DONE, number, lane, None))
            self._ended_lanes.add(lane)
            self._terminal(number, DONE)
        else:
            self.record.note((self.clock(), Act.VALUE, number, lane, answer))
            self._blame_above("R2", f"an answer must be a Batch or DONE, not {answer!r}")

    def hand_over(self, lane: int, batch: "Batch[Any]") -> "Batch[Any]":
        """Return the batch to hand over, with a copy of its list: a change to either list shows which side made it."""
        values: Any = batch.values
        if type(values) is not list:
            return batch
        given = cast("list[Any]", values).copy()
        self._shared[lane] = _Shared(cast("list[Any]", values), given, tuple(given))
        return Batch(batch.time, given) if batch.uniform else Batch.of(batch.times, given)

    def unanswered(self, number: int) -> None:
        """Forget a polled ask that got no answer: the lane will ask again."""
        del self._asks[number]
        if self.record.take_back(number):
            self.requests -= 1

    def _value(self, number: int, lane: int, limit: int, batch: "Batch[Any]", *, many: bool) -> None:
        count = len(batch.values)
        # Keep only the part of a large batch that a diagram would show.
        summary = batch if count <= SAMPLE else Batched.of(batch)
        self.record.note((self.clock(), VALUE, number, lane, summary))
        if not 1 <= count <= limit:
            wanted = "one value" if limit == 1 else f"at most {limit} values"
            self._blame_above("R2", f"ask {number} was for {wanted}, and was answered with {count}")
        if not batch.uniform:
            self._times(number, batch, many=many)
        elif batch.time is None:
            self._blame_above("R2", "its time is None, which is not a time")
        if self._asks and min(self._asks) < number:
            self._blame_above("R1", f"ask {min(self._asks)} came first, and is not answered")
        if self.state is not OPEN:
            # The table has no step for it.
            rule = "R5" if self.state is State.CLOSING and self.terminated else "R3"
            self._blame_above(rule, "a value came after the termination")

    def _times(self, number: int, batch: "Batch[Any]", *, many: bool) -> None:
        if not many:
            self._blame_above("R2", f"ask {number} was for values of one time, but the answer has several")
        if len(batch.times) != len(batch.values):
            numbers = f"times ({len(batch.times)}) and values ({len(batch.values)})"
            self._blame_above("R2", f"it has different numbers of {numbers}: it needs one time per value")
        if any(time is None for time in batch.times):
            self._blame_above("R2", "one of its times is None, which is not a time")

    def raised(self, number: int, exc: BaseException) -> None:
        """Verify an ask that raised: the stream failed, or the ask was cancelled."""
        lane, limit = self._asks.pop(number)
        if without_cancelled(exc) is None:
            self._cancelled(number, lane)
        else:
            self.record.note((self.clock(), Act.FAILURE, number, lane, exc))
            if limit >= 1 and not isinstance(exc, Violation):  # otherwise the ask was refused, and has no answer
                self._ended_lanes.add(lane)
                self._terminal(number, exc)

    def _cancelled(self, number: int, lane: int) -> None:
        self.record.note((self.clock(), Act.CANCELLED, number, lane, None))
        self._ended_lanes.add(lane)
        if self.state is State.OPEN:
            self._step(Event.ABORT)
            if not self._asks:
                self.ending = DONE
            self._released(Event.ABORT)
        elif self.state is State.CLOSING and not self.terminated and not self.before & self._asks.keys():
            self._released(Event.ABORT)

    def _terminal(self, number: int, ending: Done | BaseException) -> None:
        """Verify a terminal answer: done, or the failure."""
        if self.ending is UNKNOWN:
            self.ending = ending
        elif self.ending is not ending:
            once, now = _shown(self.ending), _shown(ending)
            if DONE not in (self.ending, ending):
                now = f"another, {ending!r}"
            rule = "R3" if self.over else "R5"
            self._blame_above(rule, f"the stream ended with {once}, but this answer is {now}")
        elif ending is not DONE:
            self._grows(ending)
        if self.state is State.OPEN:
            self._how = Event.END if ending is DONE else Event.FAIL
            self._step(self._how)
            self.before = frozenset(self._asks)
        if self.state is not State.CLOSING or self._terminations or self.before & self._asks.keys():
            return
        # An ending from upstream is complete once answered, unless a cancellation that is not noted yet caused it. An
        # indication is never confirmed: it is complete when an ask sent after it is answered.
        if not self.terminated or number not in self.before:
            self._released(self._how)

    def _grows(self, failure: BaseException) -> None:
        length = sum(1 for _ in walk_tb(failure.__traceback__))
        if self._traceback is None:
            self._traceback = length
        elif length > self._traceback:
            self._blame_above("R3", "the failure is the same, but its traceback grows with every ask")

    # ---- answers to terminations

    def confirmed(self, number: int, answer: Any) -> None:
        """Verify the confirmation of a termination."""
        lane = self._terminations.pop(number)
        self.record.note((self.clock(), Act.DONE if answer is DONE else Act.VALUE, number, lane, answer))
        if answer is not DONE:
            self._blame_above("R8", f"a termination must be confirmed with DONE, not with {answer!r}")
        self._over(lane)

    def refused(self, number: int, exc: BaseException) -> None:
        """Verify a termination that raised: a release failed, or the wait for it was cancelled."""
        lane = self._terminations.pop(number)
        if without_cancelled(exc) is None:
            self.record.note((self.clock(), Act.CANCELLED, number, lane, None))
            return
        self.record.note((self.clock(), Act.FAILURE, number, lane, exc))
        if exc is self.reason:
            self._blame_above("R8", "it returned the reason that was sent, instead of a confirmation")
        self.refusal = exc
        self._over(lane, timed_out=isinstance(exc, ReleaseTimeout))

    def carried_out(self, failure: BaseException | None = None) -> None:
        """Note that a termination without a waiter was carried out, perhaps with an exception."""
        self.refusal = failure
        if self.state is State.CLOSING:
            self._released(self._how)

    def _over(self, lane: int, *, timed_out: bool = False) -> None:
        self._ended_lanes.add(lane)
        late = sorted(self.before & self._asks.keys())
        if late and not timed_out:
            self._blame_above("R5", f"ask {late[0]}, outstanding when the termination came, is still not answered")
        if self.state is State.CLOSING:
            self._released(self._how)

    def settled(self) -> None:
        """Check that every request has been answered (R1); nothing more may happen here."""
        unanswered = sorted((*self._asks, *self._terminations))
        if unanswered:
            self._blame_above("R1", f"request {unanswered[0]} was never answered")

    # ----

    def _step(self, event: Event) -> None:
        self.state = TRANSITIONS[self.state, event]

    def _released(self, how: Event) -> None:
        failed = isinstance(self.ending, BaseException)
        self._step(Event.RELEASED_FAILED if failed else Event.RELEASED)
        self.over = True
        self.watching.ended(self, how)

    def _blame_above(self, rule: str, what: str) -> NoReturn:
        self.violated(rule, self.above, what)

    def _blame_below(self, rule: str, what: str) -> NoReturn:
        self.violated(rule, self.below, what)

    def violated(
        self, rule: str, by: Partner, what: str, drawn: str | None = None, *, says_how: bool = False
    ) -> NoReturn:
        """Raise a violation on this edge."""
        violation = Violation(rule, by.name, by.site, what, self.events, drawn or self.diagram())
        violation.says_how = says_how
        self.watching.broken(violation)
        raise violation

    @property
    def events(self) -> "list[Seen]":
        """The events so far: the first and the last ones."""
        return self.record.events

    def diagram(self) -> str:
        """Draw the events in the specification's notation."""
        return diagram(self.events, gap=self.record.gap)


def _shown(ending: object) -> str:
    return "done" if ending is DONE else f"the failure {ending!r}"
