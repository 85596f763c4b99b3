"""The context of a module written as a function: events, holds and notifications."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self

from typing_extensions import override

from pullstream.blueprint.variables import T
from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.permitted import may_answer
from pullstream.engine.parts.eventful import Completed, Eventful
from pullstream.engine.parts.pace import Pace
from pullstream.engine.run import Scope
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.waiting import Requests
from pullstream.errors import CapabilityError, ProtocolError
from pullstream.logger import LOG
from pullstream.protocol import DONE, Batch, Reader
from pullstream.resuming.memory import Memory
from pullstream.timely import less_equal


class Account:
    """The holds and requests of a function module, shared by its `Context`, its `Events` and its kernel."""

    def __init__(self, scope: Scope, location: Location, inputs: Sequence[Lane[Any]]) -> None:
        self.scope = scope
        self.run = run = scope.run
        self.location = location
        self.inputs = inputs
        self.requests: Requests[bool] = Requests()
        self._events: dict[Reader[Any], Eventful] = {}
        self._ended = False
        self.delivered: Hashable | None = None
        self.left_holds: list[Hashable] = []
        self.collects = False
        """Whether yielded values are waiting to be answered."""
        self.dropped: list[Hashable] = []
        """Holds that the module gave up while values were waiting: they are dropped after those values are answered."""
        self.limit = run.limit
        self.listened = False
        """Whether a batch was taken from `events`, rather than from `batches`."""
        self.notified = False
        """Whether a notification was ever requested."""
        self.answered = False
        """Whether anything was ever answered."""
        self._breath = clocks.monotonic()
        self._memory: Memory | None = None
        self._pace: Pace | None = None

    @property
    def memory(self) -> Memory:
        """The dict that the module keeps from one time to the next."""
        if self._memory is None:
            self._memory = self.scope.keeping.memory(self.location)
        return self._memory

    def take(self, time: Hashable) -> None:
        """Hold `time`; refuse it if neither an input nor a hold gives the right to it."""
        if not may_answer(self.location, self.inputs, time):
            raise self.location.refusal(f"asked to hold {time!r}, which it has no right to", time, self.inputs)
        self.location.hold(time)

    @property
    def pace(self) -> Pace:
        """The pace of a sink, or of a module that keeps values until a time is complete."""
        if self._pace is None:
            self._pace = Pace(self.run)
        return self._pace

    def drop(self, time: Hashable) -> None:
        """Give up a hold, after any values that are waiting to be answered."""
        if self.collects:
            self.dropped.append(time)
        else:
            self.location.drop(time)

    def drop_waiting(self) -> None:
        """Give up the holds whose drop waited for values to be answered."""
        while self.dropped:
            self.location.drop(self.dropped.pop())

    def events(self, upstream: Reader[Any], *, many: bool) -> Eventful:
        """The events of an input. Every call returns the same object, so that no pending event is lost."""
        if upstream not in self._events:
            self._events[upstream] = events = Eventful(self.scope, self.location, upstream, self.requests, many=many)
            if self._ended:
                events.end()
        events = self._events[upstream]
        if events.many != many:
            raise ValueError(
                f"{self.location}, reads ctx.events(upstream) with many=True in one place and without it in another: "
                f"the second continues where the first stopped, and both must take batches in the same way"
            )
        return events

    def end(self) -> None:
        """End all events, because the module's stream has ended: no further ask goes upstream."""
        self._ended = True
        for events in self._events.values():
            events.end()

    def look_back(self, name: str) -> None:
        """Warn of mistakes when a generator ends: a failure it lost, completions it never read or requested."""
        # After a termination from downstream, its events end without the failure.
        for failure in filter(None, () if self._ended else (lane.edge.failure for lane in self.inputs)):
            LOG.warning(
                "%s, ended normally although its upstream had failed with %r. Do not catch the exception, or raise "
                "another one; catch() ends or continues a stream after a failure",
                self.location,
                failure,
            )
        if self.notified and not self._events:
            LOG.warning(
                "%s, called ctx.notify_at but never read ctx.events(upstream), which gives each Completed(time) among "
                "the batches. To keep a time open without being notified, take ctx.hold(time)",
                self.location,
            )
        if self.listened and not (self.notified or self.answered):
            LOG.warning(
                "%s, took batches from ctx.events(upstream), but answered nothing and never called ctx.notify_at. A "
                "Completed(time) comes only for times at which %s called ctx.notify_at(time) while it had a batch at "
                "that time. To read only batches, use ctx.batches(upstream)",
                self.location,
                name,
            )

    def give_back(self) -> None:
        """Drop the hold of the completion delivered last, which has now been handled."""
        if self.delivered is not None:
            self.location.drop(self.delivered)
            self.delivered = None
        if self.left_holds:
            self.drop_left_holds()

    def drop_left_holds(self) -> None:
        """Drop the holds left by exceptions: the module continues, so it has handled those failures."""
        while self.left_holds:
            self.location.drop(self.left_holds.pop())

    def received(self, event: object) -> None:
        """Notify the memory, if the module has asked for it, of what the module gets from an input."""
        if self._memory is not None:
            self._memory.leave(event)

    @property
    def keeps(self) -> bool:
        """Whether it asks for events at its own pace: it waits for completions, so it keeps values."""
        return bool(self.requests)

    async def let_others(self) -> None:
        """Yield to other tasks, and to a pending cancellation, if `BREATH` has passed since the last time."""
        if clocks.monotonic() - self._breath > BREATH:
            self.pace.pause()
            self._breath = await self.run.let_others()

    breathe = let_others
    """Yield to other tasks after the work on a batch, if it is time."""


class SinkAccount(Account):
    """The account of a sink. A sink asks at its own pace."""

    def __init__(self, scope: Scope, location: Location, inputs: Sequence[Lane[Any]]) -> None:
        super().__init__(scope, location, inputs)
        self.limit = self.pace.next()

    @property
    @override
    def keeps(self) -> bool:
        return True

    @override
    async def breathe(self) -> None:
        # Before other tasks run: the pace must count the work on this batch, which made them wait.
        self.pace.took()
        await self.let_others()
        self.limit = self.pace.next(*self.inputs)


class Hold(AbstractContextManager["Hold"]):
    """The right to answer at a time and later, inside a `with` block; made by `Context.hold`."""

    def __init__(self, account: Account, time: Hashable) -> None:
        self._account = account
        self.time = time
        self.over: bool | None = None
        """Whether the `with` block has ended; None before it begins."""

    def downgrade(self, time: Hashable) -> None:
        """Keep the right only from `time` on, so that everything before it may complete.

        Raises:
            CapabilityError: `time` is neither the held time nor later, or the hold is not inside its `with` block.
        """
        if self.over is not False:
            raise CapabilityError(
                f"{self._account.location}, does not hold {self.time!r}: `with ctx.hold(time) as hold:` does, inside "
                f"its block. Downgrade the hold there",
            )
        if not less_equal(self.time, time):
            raise CapabilityError(
                f"{self._account.location}, holds {self.time!r}, which gives no right to {time!r}: downgrade to a "
                f"later time",
            )
        self._account.location.hold(time)
        self._account.drop(self.time)
        self.time = time

    @override
    def __enter__(self) -> Self:
        self.over = False
        self._account.take(self.time)
        return self

    @override
    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.over = True
        if kind is None:
            self._account.drop(self.time)
        else:
            # The work at this time was not done, and that must not look like completion.
            self._account.left_holds.append(self.time)

    def __del__(self) -> None:
        if self.over is None:
            LOG.warning(
                "%s, called ctx.hold(%r), which holds nothing by itself: `with ctx.hold(time):` does",
                self._account.location,
                self.time,
            )


class Context:
    """A function module's access to its run, passed to it as `ctx`.

    The module may answer at the time of its current batch, or later. A `hold`, or a notification requested with
    `notify_at`, keeps that right beyond the batch.
    """

    def __init__(self, account: Account) -> None:
        self._account = account

    @property
    def limit(self) -> int:
        """The number of values to ask for: the limit of the ask being served or, in a sink, its own pace.

        A sink's pace begins with few values. In a loop of your own, `breathe` after each batch adapts it; `batches` and
        `events` do so by themselves.
        """
        return self._account.limit

    # ---- times

    def hold(self, time: Hashable) -> AbstractContextManager[Hold]:
        """Keep the right to answer at `time` and later until the block is left; in a sink, keep the time open.

        Inside `with ctx.hold(time) as held:`, `held.downgrade(later)` moves the hold to a later time. If an exception
        leaves the block, the hold lasts until the module takes the next event or batch, or answers.

        Raises:
            CapabilityError: no hold and no current batch gives the right to `time`.
        """
        return Hold(self._account, time)

    def notify_at(self, time: Hashable) -> None:
        """Request a `Completed(time)` among the `events`, and hold the right to answer at `time` until it is handled.

        A second request for the same time changes nothing.

        Raises:
            CapabilityError: as in `hold`.
        """
        account = self._account
        if not account.inputs:
            raise CapabilityError(f"{account.location}, is a source: it has no input on which a time could complete")
        if time not in account.requests:
            account.take(time)
            account.notified = True
            account.requests[time] = False

    def advance(self, time: Hashable) -> None:
        """In a source: promise, without answering, that no value before `time` will come."""
        location = self._account.location
        if self._account.inputs:
            raise CapabilityError(f"{location}, is not a source: its times follow from what it receives and holds")
        location.advance(time)

    @property
    def memory(self) -> Memory:
        """A dict that the module keeps from one time to the next, saved with the run's journal.

        To change it in response to values at a time, take it from `ctx.memory.at(time)`. A value changed in place,
        such as a deque appended to, is saved only if it is assigned again; see `Memory`. A module that ends before its
        input does must note that here, too: the run may be killed before the end is recorded.
        """
        return self._account.memory

    def done(self, time: Hashable) -> bool:
        """Whether an earlier run with this journal has completed every consequence of `time` at all sinks.

        A source's answers at such a time are dropped, so it may skip the work. False without a journal.
        """
        return self._account.location.done(time)

    @property
    def journal(self) -> Path | None:
        """The path of the run's journal; None without one."""
        return self._account.run.journal

    @property
    def common(self) -> dict[str, Any]:
        """A dict that the modules of the run share. Each entry needs a name that no other module uses."""
        return self._account.run.common

    # ---- what comes from upstream

    def events(self, upstream: Reader[T], *, many: bool = False) -> "Events[T]":
        """Iterate over batches and the completions requested with `notify_at`, whichever comes first.

        Completions are delivered before the batch that caused them, least time first. At the end of the stream all
        remaining ones are delivered, then the loop ends. When the stream fails, the times that were complete before are
        delivered, then its failure is raised. Taking the next event acknowledges the last one: the batch (R11), or the
        right to answer at the completed time. A body that has finished with a batch, but waits for something else
        before the next event, calls `upstream.ack()`: until then the batch's time stays open.

        By default every batch has one time. Where each value has its own time, that makes many batches of one value.
        With `many=True` multi-time batches are delivered whole, each instead of several. Take the `runs()` of a batch,
        or zip its `times` and `values`. Completions that its own values cause follow the whole batch; all others come
        before it. `notify_at` and `hold` accept any of its times. A body that waits in the middle of the batch
        acknowledges its progress with `upstream.ack_but(batch.part(3))`.

        >>> import pullstream as ps
        >>> @ps.transformer
        ... async def largest(upstream, ctx):
        ...     found = {}
        ...     async for event in ctx.events(upstream, many=True):
        ...         match event:
        ...             case ps.Completed(time):
        ...                 yield ps.Batch(time, [found.pop(time)])
        ...             case batch:
        ...                 for time, value in zip(batch.times, batch.values):
        ...                     if time not in found:
        ...                         ctx.notify_at(time)
        ...                     found[time] = max(found.get(time, value), value)
        >>> ps.run(ps.pipe(ps.values([10, 12, 21, 33], time=lambda n: n // 10), largest(), ps.collect()))
        [12, 21, 33]

        Raises:
            ValueError: the same input was already read with the other value of `many`.
        """
        return Events(self._account, upstream, many=many)

    def batches(self, upstream: Reader[T], *, many: bool = False) -> "Batches[T]":
        """Iterate over batches only, for a module that requests no notification; for `many`, see `events`."""
        return Batches(self._account, upstream, many=many)

    def abandon(self) -> None:
        """In a sink that is about to return: declare that its unfinished work will not be done.

        Times that are not complete by now become `Abandoned`, instead of complete with only part of their effects.

        Raises:
            CapabilityError: the module is not a sink.
        """
        if not isinstance(self._account, SinkAccount):
            raise CapabilityError(f"{self._account.location}, is not a sink: only a sink's work completes a time")
        self._account.location.abandon()

    def skipped(self, count: int = 1) -> None:
        """Report values that were left out because a function raised. `Counters.skipped` counts them."""
        self._account.location.leave_out(count)

    def status(self, status: str | Callable[[], str]) -> None:
        """Describe in a few words what the module is doing: a string, or a function that returns it when it is read.

        `counters()` and progress displays show it. The function must be quick, and must never wait or raise.
        """
        self._account.location.status_text = status if callable(status) else partial(str, status)

    async def breathe(self) -> None:
        """Yield to other tasks, and to a pending cancellation, every few milliseconds."""
        await self._account.breathe()


class _OverInput(Generic[T]):
    """An iterator over an input; not a generator, which would stay open after a loop is left early."""

    _account: Account
    _batch: Batch[T] | None = None
    _count = 0
    """The number of values that the last batch had."""

    def __aiter__(self) -> Self:
        return self

    def _check_unchanged(self, batch: Batch[T]) -> None:
        """Refuse a received batch that was changed, as far as its length shows it; the checker sees every change."""
        if len(batch.values) != self._count and self._account.run.observer is None:
            raise ProtocolError(
                f"sharing: {self._account.location}, changed the list of values of a batch that it received: its "
                f"length was {self._count} and is now {len(batch.values)}. Other modules may use the same list. Make a "
                f"new one, for example Batch(batch.time, [*batch.values, value])"
            )


class Batches(_OverInput[T]):
    """The iterator behind `Context.batches`."""

    def __init__(self, account: Account, upstream: Reader[T], *, many: bool) -> None:
        self._account = account
        self._ask = upstream.ask_many if many else upstream.ask

    async def __anext__(self) -> Batch[T]:
        if self._batch is not None:
            self._check_unchanged(self._batch)
            self._account.drop_left_holds()
            await self._account.breathe()
        batch = await self._ask(self._account.limit)
        self._account.received(batch)
        if batch is DONE:
            raise StopAsyncIteration
        self._batch, self._count = batch, len(batch.values)
        return batch


class Events(_OverInput[T]):
    """The iterator behind `Context.events`; see `Eventful`."""

    def __init__(self, account: Account, upstream: Reader[T], *, many: bool) -> None:
        self._account = account
        self._events = account.events(upstream, many=many)

    async def __anext__(self) -> Batch[T] | Completed:
        account = self._account
        if self._batch is not None:
            self._check_unchanged(self._batch)
            self._batch = None
        account.give_back()
        if self._events.pace is not None:
            # Before other tasks run: the pace must count the work on this event, which made them wait.
            self._events.pace.took()
        await account.let_others()
        self._events.pace = account.pace if account.keeps else None
        limit = account.run.limit if account.keeps else account.limit
        while (event := await self._events.next(limit)) is None:
            await account.let_others()
        account.received(event)
        if isinstance(event, Batch):
            account.listened = True
            self._batch, self._count = event, len(event.values)
            return event
        if isinstance(event, Completed):
            account.delivered = event.time
            return event
        if isinstance(event, BaseException):
            raise event
        raise StopAsyncIteration

    def complete(self) -> Iterator[Hashable]:
        """Yield the requested times that are complete now, without asking upstream.

        A sink that fails in the middle of a multi-time batch calls this, after `upstream.ack_but`.
        """
        while isinstance(event := self._events.poll(0), Completed):
            self._account.delivered = event.time
            yield event.time
            self._account.give_back()
