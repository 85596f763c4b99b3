"""The kernel of modules that compute per time: notified of batches and completions, whichever comes first."""

from abc import abstractmethod
from collections.abc import Awaitable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from typing_extensions import override

from pullstream.engine.edge.backlog import Backlog, joined, of_runs
from pullstream.engine.edge.edge import DEEP
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.asking import Answer
from pullstream.engine.parts.eventful import Completed, Eventful
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError
from pullstream.frames import shown
from pullstream.protocol import NOT_YET, Batch, Done, Unanswered


class Notified(PolledKernel[Any]):
    """Passes batches to `receive` and completions to `complete`; both may `give` results and request notifications.

    Completions are delivered before the batch that caused them, least time first; the remaining ones at the end of the
    stream. When upstream fails, or one of the two methods raises, the results given before are answered and nothing
    else. A subclass with its own `__init__` calls `super().__init__()`. The state of a time that is not complete needs
    no `memory`: a run that resumes from a journal gets the values again. It is trusted to give results only at times
    that it holds or that are in flight here, or later; only a run with `check=True`, or the conformance kit, verifies
    that. The kit needs `flushes=True` for a module that, like this one, loses pending results when upstream fails. With
    `per_time=True`, it also checks that results depend only on the values at their time:

    >>> from collections import Counter
    >>> import pullstream as ps
    >>> class Counts(Notified):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.counts = {}
    ...     def receive(self, batch):
    ...         for run in self.apart(batch):
    ...             if run.time not in self.counts:
    ...                 self.notify(run.time, run.time)
    ...                 self.counts[run.time] = Counter()
    ...             self.counts[run.time].update(run.values)
    ...     def complete(self, time):
    ...         self.give(time, list(self.counts.pop(time).items()))
    >>> counts = ps.transformer(Counts)
    >>> ps.run(ps.pipe(ps.values("aba"), counts(), ps.collect()))
    [('a', 2), ('b', 1)]
    >>> from pullstream.conformance import conformance
    >>> conformance(counts, flushes=True, per_time=True, cells=40).ok
    True
    """

    traits = Traits(trusted=True)

    own_pace: bool = True
    """Whether it asks at its own pace, since it consumes more than it emits; otherwise it passes the limit upstream."""

    taken: int = 0
    """The number of values of the current multi-time batch that have been handled."""

    _own: BaseException | None = None

    def __init__(self) -> None:
        self.requests: Requests[bool] = Requests()
        """The requested times; see `Eventful`."""
        self._holds: dict[Hashable, Hashable] = {}
        self.ready = Backlog(self)
        self._limit = 1
        self._together: list[tuple[Hashable, Sequence[Any]]] | None = None
        """The results given while several completions are handled together; None at other times."""
        self._done: list[Hashable] = []
        """The times completed together."""
        self._gathered = 0
        self._to_drop: list[Hashable] = []
        """The module's own holds to drop once those results are held themselves."""

    # ---- what a module supplies

    @abstractmethod
    def receive(self, batch: Batch[Any]) -> None:
        """Take a batch, at one time or many.

        If it raises in the middle of a multi-time batch, exactly the values before `taken` count as handled: `apart`
        keeps that up to date, and a module that takes the batch as a whole does so itself.
        """

    @abstractmethod
    def complete(self, time: Hashable) -> None:
        """Handle the completion of a requested time."""

    def failed(self) -> None:
        """Give the results that are already final, when the stream has failed upstream."""

    def demand(self, limit: int) -> int:
        """The most values to ask for when `limit` results are wanted; the module's own pace may ask for fewer."""
        return self.most() if self.own_pace else limit

    def most(self) -> int:
        """The most values that the module's own pace asks for."""
        return self.run.limit

    # ---- for a module to use

    def apart(self, batch: Batch[Any]) -> Iterable[Batch[Any]]:
        """The runs of the received batch; before each, `complete` is called for the times that are complete by then.

        A module that gives results only in `complete` may take a batch as a whole instead. Then the completions that
        the batch causes follow it.
        """
        return (batch,) if batch.uniform else self._apart(batch)

    def _apart(self, batch: Batch[Any]) -> Iterator[Batch[Any]]:
        self._together, self._gathered = [], 0
        for event in self.events.apart(batch):
            if isinstance(event, Completed):
                if (returned := self.complete(event.time)) is not None:
                    self._refuse("complete", returned)
                self._done.append(event.time)
                if self.ready.known:
                    return
            else:
                yield event
                self.taken += len(event.values)

    def notify(self, time: Hashable, held: Hashable, *, before: bool = False) -> None:
        """Request one `complete(time)`; until it returns, hold the right to give results at `held`.

        With `before`, it is called as soon as everything before `time` is complete, even if more may come at `time`.
        """
        self.location.hold(held)
        if time in self._holds:
            self._drop_hold(time)
        self._holds[time] = held
        self.requests[time] = before

    def remind(self, time: Hashable, *, before: bool = False) -> None:
        """Request one `complete(time)`, and hold nothing; `before` as in `notify`."""
        self.requests[time] = before

    def forget(self, time: Hashable) -> None:
        """Withdraw the request for `time`, and its hold."""
        del self.requests[time]
        self._drop_hold(time)

    def give(self, time: Hashable, results: Sequence[Any]) -> None:
        """Answer results at `time`, in the order given; an empty sequence is ignored."""
        try:
            count = len(results)
        except TypeError:
            raise self._not_a_sequence("give(time, [result])", results) from None
        if not count:
            return
        if self._together is None:
            self.ready.put(Batch(time, results))
        else:
            self._together.append((time, results))
            self._gathered += count

    def give_many(self, times: Sequence[Hashable], results: Sequence[Any]) -> None:
        """Answer results, each at its own time; empty sequences are ignored."""
        try:
            count = len(results)
        except TypeError:
            raise self._not_a_sequence("give_many([time], [result])", results) from None
        if not count:
            return
        if self._together is None:
            self.ready.put(Batch.of(times, results))
        else:
            for time, result in zip(times, results, strict=True):
                self.give(time, [result])

    def _not_a_sequence(self, written: str, results: object) -> TypeError:
        return TypeError(
            f"{self.location}: results are given as a sequence, such as a list, but got {shown(results)}. For a single "
            f"result, write {written}"
        )

    def _refuse(self, method: str, returned: object) -> NoReturn:
        raise TypeError(
            f"{self.location}: its {method} returned {shown(returned)}, which would be lost. Write give(time, "
            f"results), and return nothing"
        )

    def drop(self, time: Hashable) -> None:
        """Drop a hold that the module has taken, once the results given so far are held themselves."""
        if self._together is None:
            self.location.drop(time)
        else:
            self._to_drop.append(time)

    @property
    def room(self) -> int:
        """The number of results that the ask being served has room for; 0 if the stream's end is known."""
        return 0 if self.ready.known else max(0, self._limit - self.ready.left - self._gathered)

    @property
    def full(self) -> bool:
        """Whether the results given fill the ask being served, or the stream's end is known."""
        return not self.room

    def stop(self) -> None:
        """End the stream after the results given so far; requested times are no longer notified."""
        self.requests.clear()
        self.ready.end()

    # ----

    def _drop_hold(self, time: Hashable) -> None:
        if time in self._holds:
            self.location.drop(self._holds.pop(time))

    @override
    def placed(self) -> None:
        if not hasattr(self, "requests"):
            who = type(self).__name__
            raise CompositionError(f"{self.location}, was made without super().__init__(): call it in {who}.__init__")
        pace = Pace(self.run, self.most()) if self.own_pace else None
        self.events = Eventful(self.scope, self.location, self.upstream, self.requests, many=True, pace=pace)
        if self.edge.depth > DEEP:
            # A task asks upstream, with a fresh stack.
            self.edge.depth = 1

    @override
    def halt(self) -> None:
        self.events.end()
        self.events.wake()

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        return self.handle_next(limit) or self.ready.answer(limit) or NOT_YET

    def handle_next(self, limit: int) -> Unanswered | None:
        """Handle the next event, if no results are left; return NOT_YET or WAIT if there is no event."""
        ready = self.ready
        self._limit = limit
        if not (ready or ready.known):
            event = self.next_event(limit)
            if isinstance(event, Unanswered):
                return event
            if event is not None:
                self.take(event)
        return None

    def next_event(self, limit: int) -> Answer | Completed | Unanswered | None:
        """Poll for the next event; None if results were given without one."""
        return self.events.poll(self.demand(limit))

    @override
    def wait(self) -> Awaitable[None]:
        return self.events.fetch()

    def _complete_all(self, first: Hashable) -> None:
        """Handle a completion, and others known from the same reading of the frontier, until one answer is full."""
        done = self._done
        self._together, self._gathered = [], 0
        try:
            if (returned := self.complete(first)) is not None:
                self._refuse("complete", returned)
            done.append(first)
            for time in self.events.known_complete(self._limit):
                if (returned := self.complete(time)) is not None:
                    self._refuse("complete", returned)
                done.append(time)
                if self.full:
                    break
        finally:
            self._put_together()

    def _put_together(self) -> None:
        """Put the results given meanwhile into one answer; only then drop the holds of the completed times."""
        given, self._together = self._together, None
        if given:
            out = given[0][1] if len(given) == 1 else joined([results for _, results in given])
            self.ready.put(of_runs([(time, len(results)) for time, results in given], out))
        for time in self._done:
            self._drop_hold(time)
        self._done.clear()
        for time in self._to_drop:
            self.location.drop(time)
        self._to_drop.clear()

    def take(self, event: Batch[Any] | Completed | Done | BaseException) -> None:
        """Pass an event to the module's methods."""
        ready = self.ready
        try:
            if isinstance(event, Batch):
                if not event.uniform:
                    self._receive_many(event)
                    return
                if (returned := self.receive(event)) is not None:
                    self._refuse("receive", returned)
                if not ready.known:
                    # Acknowledge the batch: values that are kept, and results to be answered, have holds of their own.
                    self.upstream.settle()
            elif isinstance(event, Completed):
                self._complete_all(event.time)
            elif isinstance(event, BaseException):
                if event is not self._own:
                    self.failed()
                ready.end(event)
            else:
                ready.end()
        except BaseException as exc:  # noqa: BLE001 - raised by `answer`
            # The failure follows the results given before.
            ready.ending = exc

    def _receive_many(self, batch: Batch[Any]) -> None:
        self.taken = 0
        failure: BaseException | None = None
        try:
            if (returned := self.receive(batch)) is not None:
                self._refuse("receive", returned)
        except BaseException as exc:  # noqa: BLE001 - the next event, which is raised where the module answers
            failure = exc
        if self._together is not None:
            if failure is not None:
                # All times that are complete by now have been notified; no more notifications may follow.
                self.requests.clear()
            self._put_together()
        if failure is None and not self.ready.known:
            self.upstream.settle()
            return
        self.upstream.ack_but(batch.part(self.taken))
        if failure is not None:
            # The handled values may have completed times, whose results come first. The others stay in flight.
            self._own = failure
            self.events.fail(failure)
