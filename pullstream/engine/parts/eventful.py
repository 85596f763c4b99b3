"""Batches, completions and deadlines, whichever comes first: the events of a module that computes per time.

Upstream is polled, and completions are looked up between two polls. If upstream has to be waited for while a completion
or a deadline may come first, it wakes the module, or a task asks it. A pending ask is never cancelled: if another event
comes first, the answer waits in a one-element slot and counts as in flight.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any

import attrs

from pullstream.engine.edge.edge import DEEP
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.asking import Answer, Askers
from pullstream.engine.parts.pace import Pace
from pullstream.engine.run import Scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.minima import Minima
from pullstream.engine.sidecar.waiting import Requests, completion, least
from pullstream.protocol import DONE, NOT_YET, WAIT, Batch, Reader, Unanswered
from pullstream.timely import BEGINNING, less_equal, less_than


@attrs.frozen
class Completed:
    """A time requested with `notify_at` is complete: no more batches at it, or earlier, will come."""

    time: Hashable


class Eventful:
    """The events of a module: its batches, and the completions it requested, whichever comes first.

    Completions are delivered before the batch that caused them, least time first. At the end of the stream, all
    remaining ones are delivered.
    """

    def __init__(
        self,
        scope: Scope,
        location: Location,
        upstream: Reader[Any],
        requests: Requests[bool],
        *,
        arrived: Callable[[Reader[Any], Answer], object] | None = None,
        many: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self._scope = scope
        self._location = location
        self._upstream = upstream
        self._lane = upstream if isinstance(upstream, Lane) and upstream.edge.depth < DEEP else None
        """The lane to poll; None where a task asks: for a reader of another kind, and after a long row of modules."""
        self.requests = requests
        """The requested times and, for each, whether it is enough that everything before it is complete."""
        self.many = many
        """Whether multi-time batches are taken whole."""
        self.pace = pace
        self._askers = Askers(scope.run, self._into_slot if arrived is None else arrived, many=many)
        self._slot: Answer | None = None
        self._moved = False
        """Whether times may have completed since the frontier was last read."""
        self._wanted = 0
        """The number of values to ask for, if the last poll found that they have to be waited for."""
        self._outstanding = 0
        """The limit of an ask that upstream answers by waking this module; 0 while there is none."""
        self._wake: Signal | None = None
        """Ends the wait for the next event; None while there is no wait."""
        self._asked = False
        """Whether upstream has woken the module for an ask that is not answered yet."""
        self._fronts: Sequence[Any] | None = None
        """The least times that could still come when the frontier was last read, or earlier ones.

        Complete times stay complete, so when several times complete together, the frontier is read only for the first.
        """
        self._places = [port.place for port in location.ports]
        for place in self._places:
            scope.sidecar.frontiers.expect(place)

    # ---- for a module

    def end(self) -> None:
        """Stop asking and notifying, because the stream has ended here."""
        self._askers.end()
        self.requests.clear()

    @property
    def ended(self) -> bool:
        """Whether the stream has ended here."""
        return self._askers.ended

    def poll(self, limit: int) -> Answer | Completed | Unanswered:
        """The next event: a completion, or an answer (a batch of at most `limit` values, the end, or a failure).

        With a limit of 0 nothing is asked; otherwise the pace may ask for fewer values. After WAIT, call `fetch`.
        """
        requests, slot = self.requests, self._slot
        if self.ended:
            # This resumes in the step that ended the stream: nothing more is asked (R9).
            return DONE
        if slot is None:
            if requests and self._moved:
                # Upstream has moved on: the complete times can be found without asking it.
                self._moved = False
                if (completed := self._completed(None)) is not None:
                    self._moved = True
                    self.ask_on()
                    return completed
            answer = self._polled(limit)
            if isinstance(answer, Unanswered):
                self._moved = answer is NOT_YET
                return answer
            slot = self._slot = answer
        if requests and (completed := self._completed(slot)) is not None:
            return completed
        if isinstance(slot, Batch):
            self._slot = None
            # Its last values may have completed the times of its first values.
            self._moved = not slot.uniform
        return slot

    def ask_on(self) -> None:
        """Ask in a task, if upstream has woken this module, which handles something else first."""
        if self._asked:
            self._askers.ask(self._upstream, self._outstanding)

    async def next(self, limit: int) -> Answer | Completed | None:
        """The next event, as in `poll`, after waiting for it; None after a piece of work that led to none."""
        while (event := self.poll(limit)) is WAIT:
            await self.fetch()
        return None if event is NOT_YET else event

    def complete(self) -> list[Hashable]:
        """The complete times among the least requested ones; in a total order, that is one time at most."""
        requests, times = self.requests, self.requests.first
        return [time for time in times if self.knows(time, before=requests[time])] or self._look(times)

    def known_complete(self, count: int) -> Iterator[Hashable]:
        """Yield at most `count` completions known without reading the frontier, while one requested time is the least.

        Each request is removed when its time is yielded. Times requested meanwhile follow in their order.
        """
        requests = self.requests
        for _ in range(count):
            times = requests.first
            if len(times) != 1 or not self.knows(times[0], before=requests[times[0]]):
                return
            del requests[times[0]]
            yield times[0]

    def apart(self, batch: Batch[Any]) -> Iterator[Batch[Any] | Completed]:
        """Yield the runs of the batch in flight, each after the completions that the runs before it cause.

        The completions are the same as if each run were a batch of its own. But the whole batch stays in flight until
        the caller acknowledges it, and the times that may still come from upstream are read only once.
        """
        minima, left, begin = Minima(batch), batch.least, 0
        upstream: Sequence[Any] | None = None
        for run in batch.runs():
            # While the least times stay the same, only requests for everything before one of them can be complete.
            if begin and ((now := minima.at(begin)) != left or any(map(self.requests.get, left))):
                left = now
                if upstream is None:
                    upstream = self._scope.sidecar.least_arriving(self._location, arrived=False)
                self._fronts = [*upstream, *left]
                requests = self.requests
                while done := [time for time in requests.first if self.knows(time, before=requests[time])]:
                    time = least(done)
                    del requests[time]
                    yield Completed(time)
            yield run
            begin += len(run.values)

    def knows(self, time: Hashable, *, before: bool) -> bool:
        """Whether a time, or everything `before` it, was complete when the frontier was last read."""
        if self._slot is DONE:
            # The frontier may not show this: upstream may continue for other consumers, such as those of a tee.
            return True
        if self._fronts is None:
            return False
        try:
            return self._is_past(time, before)
        except TypeError:
            # The times are of two domains. Reading the frontier reports that.
            return False

    def fronts(self) -> Sequence[Any]:
        """The least times that could still come when the frontier was last read."""
        if self._slot is DONE:
            return ()
        return (BEGINNING,) if self._fronts is None else self._fronts

    def now(self) -> Sequence[Any]:
        """The least times that can still come, as of now."""
        return self._scope.sidecar.least_arriving(self._location)

    def ask(self, limit: int) -> None:
        """Ask upstream in a task, unless an ask is outstanding."""
        if not self._asking:
            wanted = limit if self.pace is None else self.pace.next(self._upstream, at_most=limit)
            self._askers.ask(self._upstream, wanted)

    @property
    def _asking(self) -> bool:
        return self._upstream in self._askers.asking

    async def wait(self, *, deadline: float = inf) -> None:
        """Wait until upstream has answered, a requested time is complete, or the deadline has passed."""
        requests = self.requests
        watches = [completion(self._location, self._places, time, before=requests[time]) for time in requests.first]
        self._wake = self._scope.run.signal()
        try:
            await self._scope.sidecar.until(watches, self._wake, deadline=deadline)
        finally:
            self._wake = None

    def fail(self, failure: BaseException) -> None:
        """Make the module's own failure an event, after the completions that come before it."""
        self._slot = failure

    def wake(self) -> None:
        """End the wait, if there is one."""
        if self._wake is not None:
            self._wake.set()

    # ----

    def _is_past(self, time: Hashable, before: bool) -> bool:  # noqa: FBT001
        """Whether, when last read, no time at or before `time` could come; with `before`, none before it."""
        for front in self._fronts or ():  # noqa: SIM110 - for most times `any` would cost more than all the rest
            if less_equal(front, time) and not (before and front == time):
                return False
        return True

    def _look(self, times: list[Hashable]) -> list[Hashable]:
        """Return the given requested times that are complete now."""
        self._fronts = self.now()
        return [time for time in times if self._is_past(time, self.requests[time])]

    def _answerable(self, lane: Lane[Any]) -> None:
        if self._wake is not None:
            # The answer tells what is complete, without reading the frontier.
            self._moved, self._asked = False, True
            self._wake.set()
        else:
            # The module is busy with another event, or is not being asked: a task asks meanwhile.
            self._askers.ask(lane, lane.polled_for)

    def _into_slot(self, _: Reader[Any], answer: Answer) -> None:
        if self.pace is not None:
            self.pace.took()
        self._slot, self._outstanding, self._asked = answer, 0, False
        self.wake()

    def _polled(self, limit: int) -> Answer | Unanswered:
        """Ask upstream, if it can answer in this step."""
        self._wanted = 0
        if not limit or self._asking:
            return WAIT
        wanted = limit if self.pace is None else self.pace.next(self._upstream, at_most=limit)
        # An ask that another event overtook stays as it is.
        self._wanted = wanted = max(wanted, self._outstanding)
        if self._lane is None:
            return WAIT
        try:
            answer: Answer | Unanswered = self._lane.poll(wanted, many=self.many)
        except BaseException as exc:  # noqa: BLE001 - raised by the module, after the results that come first
            answer = exc
        self._asked = self._asked and answer is NOT_YET
        if not isinstance(answer, Unanswered):
            self._outstanding = 0
            if self.pace is not None:
                self.pace.took()
        return answer

    async def fetch(self, *, deadline: float = inf) -> None:
        """Wait for an event, after `poll` has returned WAIT in this step."""
        wanted, self._moved = self._wanted, True
        lane = self._lane if wanted else None
        if lane is not None and not (self.requests or deadline < inf):
            await lane.ready()
            return
        if wanted and lane is not None and lane.wakes(partial(self._answerable, lane)):
            self._outstanding = wanted
        elif wanted:
            self._askers.ask(self._upstream, wanted)
        try:
            await self.wait(deadline=deadline)
        except BaseException as exc:
            if exc is not self._scope.sidecar.summary_failure:
                raise
            # The stream's failure, known here before it arrives from upstream. Results still come first.
            if self._slot is None:
                self._slot = exc

    def _completed(self, slot: Answer | None) -> Completed | None:
        """The completion of the least complete time, or None; at the end of the stream every time is complete."""
        requests = self.requests
        if slot is DONE:
            # The frontier may not show this: upstream may continue for other consumers, such as those of a tee.
            done = requests.first
        else:
            if isinstance(slot, Batch) and len(first := requests if len(requests) == 1 else requests.first) == 1:
                (time,) = first
                before = requests[time]
                for arrived in (slot.time,) if slot.uniform else slot.least:
                    # If the batch in flight keeps the least time open, all are open, and the frontier need not be read.
                    if arrived is time:
                        if not before:
                            return None
                    elif (less_than if before else less_equal)(arrived, time):
                        return None
            done = self.complete()
            if not done:
                return None
        time = done[0] if len(done) == 1 else least(done)
        del requests[time]
        return Completed(time)
