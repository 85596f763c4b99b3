"""The kernel of the modules that compute per time: told of batches and of completions, whichever comes first."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Stepwise
from pullstream.engine.parts.eventful import Completed, Eventful
from pullstream.engine.parts.outbox import Outbox, timed
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError
from pullstream.protocol import Batch, Done, TimedBatch


class Notified(Kernel[Any], Stepwise):
    """Gives batches to `receive` and completions to `complete`, which `give` results and ask for notifications.

    Completions come before the batch that caused them, least time first; at the end all of them. When upstream fails,
    or one of the two raises, what was given before is answered, and nothing else. A subclass with an `__init__` of its
    own calls `super().__init__()`. It is trusted to give at times that it holds or has at hand, and nowhere before:
    only a run with `check=True`, or the conformance kit, says where it does not.

    >>> from collections import Counter
    >>> import pullstream as ps
    >>> class Counts(Notified):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.counts = {}
    ...     def receive(self, time, values):
    ...         if time not in self.counts:
    ...             self.notify(time, time)
    ...             self.counts[time] = Counter()
    ...         self.counts[time].update(values)
    ...     def complete(self, time):
    ...         self.give(time, list(self.counts.pop(time).items()))
    >>> counts = ps.transformer(Counts)
    >>> ps.run(ps.pipe(ps.values("aba"), counts(), ps.collect()))
    [('a', 2), ('b', 1)]
    """

    traits = Traits(trusted=True)

    own_pace: bool = True
    """Whether it consumes more than it emits, and so asks at its own pace; otherwise for what it is asked for."""

    taken: int = 0
    """The number of values of a batch of many times that have been dealt with."""

    _own: BaseException | None = None

    def __init__(self) -> None:
        self.requests = Requests[bool]()
        """The times that are asked for; see `Eventful`."""
        self._owed: dict[Hashable, Hashable] = {}
        self.ready = Outbox(self)
        self._limit = 1
        self._together: list[tuple[Hashable, Sequence[Any]]] | None = None
        """The results that were given, while several completions are dealt with at once."""
        self._gathered = 0

    # ---- what a module supplies

    @abstractmethod
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        """Take the values of one batch."""

    def receive_many(self, batch: TimedBatch[Any]) -> None:
        """Take a multi-time batch: run by run, and before each run the times that are complete by then.

        A subclass that gives results in `complete` alone may take the batch as a whole: the completions follow. It sets
        `taken` as it goes on: if it raises, the values before that have been dealt with, and no others.
        """
        done: list[Hashable] = []
        given = self._together = []
        self._gathered = 0
        try:
            for event in self.events.apart(batch):
                if isinstance(event, Completed):
                    self.complete(event.time)
                    done.append(event.time)
                    if self.ready.known:
                        break
                else:
                    self.receive(event.time, event.values)
                    self.taken += len(event.values)
        except BaseException:
            # What is complete by now has been told.
            self.requests.clear()
            raise
        finally:
            self._put_together(given, done)

    @abstractmethod
    def complete(self, time: Hashable) -> None:
        """Do what is to be done when a time that was asked for is complete."""

    def failed(self) -> None:
        """Give what is a result already, when the stream has failed above."""

    def demand(self, limit: int) -> int:
        """The most values to ask for when `limit` results are wanted; with an own pace, that may ask for fewer."""
        return self.run.limit if self.own_pace else limit

    # ---- for a module to use

    def notify(self, time: Hashable, owed: Hashable, *, before: bool = False) -> None:
        """Ask for `complete(time)`, once; until it returns, hold the right to give results at `owed`.

        With `before` it comes as soon as everything before `time` is complete, though at `time` more may come.
        """
        self.location.hold(owed)
        self._owed[time] = owed
        self.requests[time] = before

    def remind(self, time: Hashable, *, before: bool = False) -> None:
        """Ask for `complete(time)`, once, and hold nothing; `before` as in `notify`."""
        self.requests[time] = before

    def forget(self, time: Hashable) -> None:
        """Take back what was asked for at `time`."""
        del self.requests[time]
        self._settle(time)

    def give(self, time: Hashable, results: Sequence[Any]) -> None:
        """Answer results at `time`, in the order in which they are given; those of no values are none."""
        if not results:
            return
        if self._together is None:
            self.ready.put(time, results)
        else:
            self._together.append((time, results))
            self._gathered += len(results)

    def give_many(self, times: Sequence[Hashable], results: Sequence[Any]) -> None:
        """Answer results each at its time; those of no values are none."""
        if not results:
            return
        if self._together is None:
            self.ready.put_batch(timed(times, results))
        else:
            for time, result in zip(times, results, strict=True):
                self.give(time, [result])

    @property
    def full(self) -> bool:
        """Whether as much was given as is asked for, or nothing more is to be given."""
        return self.ready.known or self.ready.values + self._gathered >= self._limit

    def stop(self) -> None:
        """End after what was given; nothing that was asked for is told any more."""
        self.requests.clear()
        self.ready.end()

    # ----

    def _settle(self, time: Hashable) -> None:
        if time in self._owed:
            self.location.drop(self._owed.pop(time))

    @override
    def placed(self) -> None:
        if not hasattr(self, "requests"):
            who = type(self).__name__
            raise CompositionError(
                f"{self.location}, was made without super().__init__(): {who}.__init__ is to call it"
            )
        pace = Pace(self.run) if self.own_pace else None
        self.events = Eventful(self.scope, self.location, self.upstream, self.requests, many=True, pace=pace)

    @override
    async def acquire(self) -> None:
        self.events.begin()

    @override
    def halt(self) -> None:
        self.events.end()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while (answer := await self.once(limit)) is None:
            pass
        return answer

    @override
    def stepwise(self) -> bool:
        # Then no task is beside, and no scope to cancel it by, which is most of a time's cost.
        return self.events.steps

    @override
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        return await self.once(limit, stepping=True)

    async def once(self, limit: int, *, stepping: bool = False) -> Batch[Any] | Done | None:
        """The next answer, or one step towards it."""
        ready = self.ready
        self._limit = limit
        if not (ready or ready.known):
            event = await self.events.next(self.demand(limit), stepping=stepping)
            if isinstance(event, Completed):
                self._complete_all(event.time)
            elif event is not None and self.take(event):
                await self.breathe()
        return ready.answer(limit)

    def _complete_all(self, first: Hashable) -> None:
        """Deal with a completion and with those that are known by the same look, as far as one answer holds them."""
        ready = self.ready
        done: list[Hashable] = []
        given = self._together = []
        self._gathered = 0
        failure: BaseException | None = None
        try:
            self.complete(first)
            done.append(first)
            for time in self.events.told(self._limit):
                self.complete(time)
                done.append(time)
                if self.full:
                    break
        except BaseException as exc:  # noqa: BLE001 - it follows what was given before
            failure = exc
        self._put_together(given, done)
        if failure is not None:
            if not ready:
                raise failure
            ready.ending = failure

    def _put_together(self, given: list[tuple[Hashable, Sequence[Any]]], done: list[Hashable]) -> None:
        """Answer what was given meanwhile; only then give up the holds of the times that are done."""
        self._together = None
        self._put(given)
        for time in done:
            self._settle(time)

    def _put(self, given: list[tuple[Hashable, Sequence[Any]]]) -> None:
        if len(given) < 2:
            for time, results in given:
                self.ready.put(time, results)
            return
        times: list[Hashable] = []
        out: list[Any] = []
        for time, results in given:
            out += results
            times += [time] * len(results)
        self.ready.put_batch(timed(times, out))

    def take(self, event: Batch[Any] | Completed | Done | BaseException) -> bool:
        """Let the module deal with an event; True if that was a batch."""
        ready = self.ready
        try:
            if isinstance(event, TimedBatch):
                self._receive_many(event)
                return True
            if isinstance(event, Batch):
                self.receive(event.time, event.values)
                if not ready.known:
                    # What is kept is held, and so is what is answered.
                    self.upstream.settle()
                return True
            if isinstance(event, Completed):
                self._complete_all(event.time)
            elif isinstance(event, BaseException):
                if event is not self._own:
                    self.failed()
                ready.end(event)
            else:
                ready.end()
        except BaseException as exc:
            if not ready:
                raise
            # It follows what was given before.
            ready.ending = exc
        return False

    def _receive_many(self, batch: TimedBatch[Any]) -> None:
        self.taken = 0
        try:
            self.receive_many(batch)
        except BaseException as exc:  # noqa: BLE001 - the next event, which is raised where the module answers
            # What has been dealt with may have completed times, whose results come first; the others are in flight.
            self.upstream.ack_but(batch.part(self.taken))
            self._own = exc
            self.events.fail(exc)
        else:
            if self.ready.known:
                self.upstream.ack_but(batch.part(self.taken))
            else:
                self.upstream.settle()
