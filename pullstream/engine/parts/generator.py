"""Modules written as async generators: one task each, from the first ask to the release."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable, Sequence
from types import FrameType, coroutine
from typing import Any, cast

import trio
from typing_extensions import override

from pullstream.engine.edge.answers import wrong
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.permitted import allowed
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.interfaces import Suspended
from pullstream.engine.parts.context import Account, Context
from pullstream.engine.parts.eventful import Completed
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import (
    ProtocolError,
    blame,
    failed_too,
    failure_in,
    raised_by_closing,
    raised_when_cancelled,
    without_cancelled,
)
from pullstream.frames import lead_to
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered
from pullstream.timely import less_equal


class GeneratorKernel(Suspended, PolledKernel[Any]):
    """Runs a source's or transformer's generator.

    The generator has a task of its own, because a generator that is advanced from changing tasks corrupts the cancel
    scopes it opens. A handover between that task and the asker's costs two rounds of the scheduler. So the task
    collects values: it advances the generator until half of the limit is there, until a few milliseconds have passed,
    or until the generator really waits for something. Then the ask is answered, and the generator continues to wait.

    Collected values are held at their times until they are answered. The module's right to answer at a time is checked
    when the generator yields, so the same yield is refused whatever the limit is, and earlier values are answered.
    """

    traits = Traits(trusted=True, follows=True, carries=Carries.MAYBE)

    def __init__(self, function: Callable[..., AsyncGenerator[Any, None]], args: Any, kwargs: Any) -> None:
        self._function = function
        self._args = args
        self._kwargs = kwargs
        self.bare = False
        """Whether a source's generator yields values only: each one is a value at time 0, even a `Batch`."""
        self._limit = 0
        """The limit of the outstanding ask; 0 while none is outstanding."""
        self._values: list[Any] = []
        self._time: Hashable = None
        """The time of the collected values, as long as they share one."""
        self._times: list[Hashable] | None = None
        """The time of each collected value, once there are several times."""
        self._batch: Batch[Any] | None = None
        """A batch answered exactly as it was yielded; then nothing else is collected."""
        self._next: list[Any] = []
        """Yields after a dropped hold: they come with the next answers, after the completions the drop causes."""
        self._held: Hashable = None
        """The time held last for the collected values; None while there are none."""
        self._ending: Done | BaseException | None = None
        """The generator's end or failure; it is answered after the collected values."""
        self._scope_of_task = own_scope()
        self._scope_of_closing = own_scope()
        self._wake: Callable[[], object] | None = None
        """Called when the ask that waits can be answered."""
        self._asked = False
        """Whether an ask has begun that is not answered yet."""
        self._running = False
        self._stopping = False
        self._generator: AsyncGenerator[Any, None] | None = None

    @override
    async def acquire(self) -> None:
        self._account = Account(self.scope, self.location, self.inputs)
        self._rest = Backlog(self)
        self._source = not self.inputs
        self._demand = self.run.signal()
        self._ended = trio.Event()
        self._release_failure: BaseException | None = None
        self.run.spawn(self._drive)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        rest = self._rest
        if not (rest or self._asked):
            self._account.drop_waiting()
            if self._next:
                self._take(self._next.pop(0))
        if not (rest or self._values or self._batch or self._ending):
            self._account.limit = self._limit = limit
            self._asked = True
            return WAIT
        self._asked = False
        if not rest:
            batch = self._collected()
            if batch is None:
                if isinstance(self._ending, BaseException):
                    raise self._ending
                # With its task ended, the stream ends in this step.
                self.edge.waits = not self._ended.is_set()
                return DONE
            if len(batch.values) > limit:
                rest.put(batch)
            # In flight from now on, or held by `rest`.
            self.location.drop_waiting()
            self._held = None
            if not rest:
                return batch
        return rest.take(limit)

    @override
    def wait(self) -> Awaitable[None]:
        supply = self.run.signal()
        self.edge.wake = supply.set
        if not self.__wakes__(supply.set):
            supply.set()
        return supply.wait()

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        if self._values or self._batch or self._ending:
            return False
        self._wake = wake
        self._demand.set()
        return True

    def _collected(self) -> Batch[Any] | None:
        """Take the collected values as the next answer; None at the end."""
        batch, self._batch = self._batch, None
        if batch is None and self._values:
            times = self._times
            batch = Batch(self._time, self._values) if times is None else Batch.of(times, self._values)
            self._values, self._times = [], None
        self._account.collects = False
        return batch

    @override
    def suspended_at(self) -> FrameType | None:
        return None if self._running or self._ending is DONE else self._frame()

    def _frame(self) -> FrameType | None:
        """The generator's frame, if it is an async generator that has not ended."""
        frame: FrameType | None = getattr(self._generator, "ag_frame", None)
        return frame

    @override
    def halt(self) -> None:
        self._account.end()
        self._stopping = True
        if self._running:
            self._scope_of_task.cancel()
        else:
            # The generator is suspended at its yield: it is closed without cancellation, so that its cleanup may await.
            self._demand.set()

    @override
    async def release(self) -> None:
        try:
            if self.edge.waits:
                await self._ended.wait()
        except trio.Cancelled:
            # The release timeout has passed: the generator's cleanup is cut short.
            self._scope_of_closing.cancel()
            raise
        if self._release_failure is not None:
            raise self._release_failure
        if isinstance(failure := self._ending, BaseException):
            reason = self.edge.failure
            if reason is not None and reason is not failure and not self.edge.relayed(failure):
                # The generator had run ahead, and the ask that would have raised its failure never came.
                blame(failure, str(self.location))
                failed_too(reason, failure)

    async def _drive(self) -> None:
        context = Context(self._account)
        generator = self._function(*self.inputs, context, *self._args, **self._kwargs)
        self._generator = generator
        try:
            with self._scope_of_closing:
                with self._scope_of_task:
                    try:
                        await self._serve(generator)
                    finally:
                        self._scope_of_closing.shield = True
                        # Inside this scope, because it encloses the scopes that the generator opened around its yield.
                        await self._close(generator.aclose)
                await self.closed()
        finally:
            self._ended.set()

    async def _serve(self, generator: AsyncGenerator[Any, None]) -> None:
        while True:
            await self._demanded(generator)
            if self._stopping:
                return
            # If the ask came while a cancelled scope around the yield was exiting, what followed there answers it.
            if not (self._ending or self._values or self._batch):
                self._running = True
                await self._collect(generator)
                self._running = False
            # From here on nothing sets the previous signal.
            self._demand = self.run.signal()
            self._answer()
            # A shield around the yield hides a cancellation from the wait for the next ask.
            if self._ending is not None or self._stopping:
                return

    async def _demanded(self, generator: AsyncGenerator[Any, None]) -> None:
        """Wait for an ask or the end; if a scope around the yield is cancelled meanwhile, keep what follows."""
        try:
            await self._demand.wait()
        except trio.Cancelled as cancelled:
            if self._stopping or self.run.halted:
                raise
            # The cancelled scope is the generator's own, for example of a nursery in which a task has failed. So the
            # cancellation is thrown in at the yield.
            self._running = True
            if self._batch is not None:
                # The generator is advanced before this is answered, and may change its list.
                self._add_batch(self._batch)
                self._batch = None
            try:
                yielded = await generator.athrow(cancelled)
            except BaseException as exc:
                if not self._ends(exc):
                    raise
            else:
                if self._next or self._account.dropped:
                    self._next.append(yielded)
                else:
                    self._take(yielded)
            self._running = False
            if not self._stopping:
                with trio.CancelScope(shield=True):
                    await self._demand.wait()

    async def closed(self) -> None:
        """A hook that is called in the generator's task once the generator is closed, even after a cancellation."""

    def _answer(self) -> None:
        """Wake the outstanding ask: it can be answered with the values collected so far."""
        self._limit = 0
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    @coroutine
    def _collect(self, generator: AsyncGenerator[Any, None]) -> Generator[Any, Any, None]:
        """Advance the generator, step by step, for as long as there is a reason to collect more.

        Each step is driven with `send` instead of `await`: if it sends anything to trio, it really waits. Everything
        that it sends, and everything that comes back, is passed on unchanged.
        """
        account = self._account
        until = clocks.monotonic() + BREATH
        while True:
            step: Any = generator.__anext__()
            waits = False
            try:
                sent = step.send(None)
                waits = True
                if self._values or self._batch:
                    self._answer()
                while True:
                    thrown: BaseException | None = None
                    try:
                        sent = yield sent
                    except BaseException as exc:  # noqa: BLE001 - the generator's
                        thrown = exc
                    # Outside the handler: otherwise exceptions that the generator raises later would get this one as
                    # their context.
                    sent = step.send(sent) if thrown is None else step.throw(thrown)
            except StopIteration as given:
                yielded = given.value
            except BaseException as exc:
                if not self._ends(exc):
                    raise
                return
            # Outside the handler, for the same reason.
            if account.dropped:
                self._next.append(yielded)
                return
            self._take(yielded)
            count = len(self._values)
            if self._ending is not None or self._batch is not None or 2 * count >= self._limit:
                return
            now = clocks.monotonic()
            if waits:
                until = now + BREATH
            elif now > until:
                return
            account.limit = self._limit - count

    def _ends(self, exc: BaseException) -> bool:
        """Note that the generator has ended or raised; False if it was cancelled."""
        if isinstance(exc, StopAsyncIteration):
            self._ending = DONE
            self._account.look_back(self._function.__name__)
            return True
        rest = failure_in(exc)
        if rest is None:
            return False
        if self._scope_of_task.cancel_called and not self.edge.relayed(rest) and raised_when_cancelled(rest):
            # Raised during the release, when nobody asks any longer: `release` raises it. A failure from upstream is
            # not a failure of the release, nor is an exception that was already on its way.
            self._release_failure = rest
        self._ending = rest
        return True

    def _take(self, yielded: Any) -> None:
        """Collect a yield of the generator. If the yield is wrong, that is the generator's failure."""
        try:
            if self._source and (self.bare or not isinstance(yielded, Batch)):
                self.location.advance(0, (yielded,))
                if self._time == 0 and self._times is None and self._values:
                    self._values.append(yielded)
                else:
                    self._hold(0)
                    self._add(0, (yielded,))
            else:
                self._take_batch(cast("Any", yielded))
        except BaseException as exc:  # noqa: BLE001 - raised after the earlier values are answered
            lead_to(exc, self._frame())
            self._ending = exc
        self._account.collects = bool(self._values)
        if self._account.left_holds:
            self._account.drop_left_holds()

    def _take_batch(self, batch: Batch[Any]) -> None:
        # The quickest test that passes most correct batches.
        fine = batch.__class__ is Batch and batch.uniform and batch.values.__class__ is list and batch.values
        if not (fine and batch.time is not None) and (problem := _mistake(batch)):
            raise self._refusal(problem)
        values = batch.values
        if not batch.uniform:
            batch, self._ending = allowed(batch, self._may_answer, in_order=self._source)
            values = batch.values
            for time in batch.least:
                self._hold(time)
        else:
            time = batch.time
            self._may_answer(time, values)
            if self._held is not time:
                self._hold(time)
        self._account.answered = True
        if not self._values and (2 * len(values) >= self._limit or values.__class__ not in (list, tuple)):
            # Taken as it is: the generator is not advanced before this is answered, and cannot change it until then.
            self._batch = batch
        else:
            self._add_batch(batch)

    def _add_batch(self, batch: Batch[Any]) -> None:
        if batch.uniform:
            self._add(batch.time, batch.values)
        else:
            self._add_many(batch.times, batch.values)

    def _add(self, time: Hashable, values: Sequence[Any]) -> None:
        if not self._values:
            self._time = time
        elif self._times is not None or (time is not self._time and time != self._time):
            self._add_many([time] * len(values), values)
            return
        self._values += values

    def _add_many(self, times: Sequence[Hashable], values: Sequence[Any]) -> None:
        if self._times is None:
            self._times = [self._time] * len(self._values)
        self._times += times
        self._values += values

    def _may_answer(self, time: Hashable, values: Sequence[Any] = ()) -> None:
        """Refuse a time at which the module may not answer; in a source, also promise that nothing earlier comes."""
        if self._source:
            self.location.advance(time, values)
            return
        lane = self.upstream
        if not (lane.live and lane.stamped is time):
            self.edge.check_right(time)

    def _hold(self, time: Hashable) -> None:
        """Hold a time for the collected values, unless the hold taken last covers it."""
        held = self._held
        if held is time or (held is not None and less_equal(held, time)):
            return
        self.location.hold_waiting(time)
        self._held = time

    def _refusal(self, mistake: str) -> ProtocolError:
        refusal = ProtocolError(f"R2: {self.location}, yielded {mistake}")
        refusal.says_how = True
        return refusal

    async def _close(self, close: Callable[[], Awaitable[None]]) -> None:
        try:
            await close()
        except BaseException as exc:
            # `release` raises it.
            self._release_failure = self._release_failure or raised_by_closing(exc)
            if without_cancelled(exc) is None:
                raise


def _instead(answer: object) -> str:
    """Return what to yield instead of something that is not a batch."""
    if isinstance(answer, Completed):
        return "not a completion"
    if answer is None:
        return "here Batch(batch.time, [None]); to emit nothing, do not yield"
    if inspect.iscoroutine(answer):
        answer.close()
        return "and this is a coroutine: write await in front of the call that made it"
    given = cast("tuple[Any, ...]", answer) if isinstance(answer, tuple) else ()
    if len(given) == 2 and isinstance(given[1], list):
        return f"here Batch({given[0]!r}, {given[1]!r})"
    return f"here Batch(batch.time, [{answer!r}])"


def _mistake(answer: object) -> str:
    """Describe the mistake in a yielded batch; empty if there is none."""
    if not isinstance(answer, Batch):
        return f"{answer!r}: a transformer yields Batch(time, values), {_instead(answer)}"
    batch = cast("Batch[Any]", answer)
    return wrong(batch) or ("" if len(batch.values) else "a batch without values: yield nothing instead")
