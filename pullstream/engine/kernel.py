"""The kernel: one state machine that keeps R1 to R12 for every module (DESIGN 3.4).

A module says how it produces an answer; everything else (turns, terminations, failures, cancellation, release and
accounting) happens here. The requests of all lanes of an edge pass through one kernel, which serves them one at a
time, first come, first served (R1, R4).

Two facts about trio carry the argument that no value passes after a termination. First, a coroutine runs until it
awaits something that really waits: so `terminate` marks this edge, and through its upstream's `terminate` every edge
above, before any other task runs. Second, an event that was set wakes its waiters at a later step: so an ask that
ends and then wakes a waiting abort has returned to its asker before the abort is confirmed (R5).
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from time import monotonic, thread_time
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Generic

import trio
from typing_extensions import TypeVar

from pullstream.blueprint import Source
from pullstream.engine.lane import Lane
from pullstream.engine.seat import Carries, Port, Seat
from pullstream.engine.shared import Run
from pullstream.engine.standstill import Signal
from pullstream.errors import CapabilityError, ProtocolError, ReleaseTimeout, blame, without_cancelled
from pullstream.protocol import DONE, TRANSITIONS, Batch, Done, Event, State
from timely import Summary

if TYPE_CHECKING:
    from pullstream.engine.reach import Lasting
    from pullstream.journal.memory import Memory

T = TypeVar("T")

BREATH = 0.005
"""Seconds that synchronous work may go on before other tasks get a turn."""


class Kernel(ABC, Generic[T]):
    """What a module is at run time. A subclass gives `produce`, and `acquire` and `release` where it needs them.

    >>> import pullstream as ps
    >>> @ps.transformer
    ... class Pairs(ps.Kernel[tuple[int, int]]):
    ...     async def produce(self, limit):
    ...         batch = await self.upstream.ask(1)
    ...         if batch is ps.DONE:
    ...             return ps.DONE
    ...         return ps.Batch(batch.time, [(value, value) for value in batch.values])
    >>> ps.run(ps.pipe(ps.values([1, 2]), Pairs(), ps.collect()))
    [(1, 1), (2, 2)]
    """

    waits: ClassVar[bool] = True
    """Whether `acquire`, `produce` or `release` await anything but upstream's answers.

    If so, a termination cancels the first two, and gives the last a grace.
    """

    prompt: ClassVar[bool] = False
    """Whether an ask is answered without waiting and after one ask of an input, if those of its `inputs` are.

    What may take in much before it answers is not: a module below would hear of completions no earlier than that.
    """

    trusted: ClassVar[bool] = False
    """Whether `produce` is known to answer only at times it may; otherwise every answer is checked (R12)."""

    sources: "Sequence[Source[object]]" = ()
    """Sources that a run opens with the module and gives it as further `inputs`."""

    summaries: "Sequence[Summary | Sequence[Summary]]" = ()
    """What the module does to the times of each of its inputs, where it answers at others than it receives.

    An empty row says that nothing follows from that input's times: what may be answered then is what is held.
    """

    lasting: "Lasting | None" = None
    """For an input and a time: the last times below at which what comes then still matters, if not by `summaries`.

    A window that begins early and a late one may hold the same value: the summary says when the first is over, and
    this when the last one is. No times means none, ever.
    """

    carries: "Carries" = Carries.NOTHING
    """What the module knows, when a time is complete, beyond what is held: nothing that matters, or how it is kept."""

    later: bool = False
    """Whether what comes at a time is answered at a later one, when everything before that has come."""

    reorders: ClassVar[bool] = False
    """Whether what is answered, and in which order, follows the clock or the luck of who is faster."""

    counts: bool = False
    """Whether at which time a value is follows from those before it, whatever their times."""

    depth: int = 0
    """How many kernels stand in a row above this one, with itself."""

    run: Run
    seat: Seat
    upstream: "Lane[object]"

    # ---- what a module supplies

    async def acquire(self) -> None:
        """Take the resources the module needs; called once, at the first request for a value (R10).

        If it does not return, because it raised or was cancelled, `release` is not called.
        """

    @abstractmethod
    async def produce(self, limit: int) -> Batch[T] | Done:
        """The next answer: at most `limit` values at one time, or DONE; raise to fail.

        One call at a time. To deliver values before a failure, answer them now and raise at the next call.
        """

    for_now: bool = False
    """In a source: whether its end is the end of what there is now, and another run with the journal may have more."""

    def identity(self) -> object:
        """In a source: what tells the outside from what it was when a journal was begun, by `==`; it is pickled."""

    async def unchanged(self) -> bool:
        """In a source that an earlier run has come to the end of: whether it can tell that what was read is the same.

        Called with a journal, before the run begins; the source is not read then.

        Raises:
            JournalError: it is not.
        """
        return self.identity() is not None

    def restore(self) -> None:
        """Take up what `memory` holds, before the run begins; called with a journal, where the module uses its memory.

        What will be answered of it is to be held from now on.
        """

    async def release(self) -> None:
        """Let go of what `acquire` took; called once, after the last `produce`, shielded from cancellation (R6)."""

    def halt(self) -> None:
        """Cancel what runs in tasks of the module's own; called when its stream ends, before anything upstream does.

        It may be called twice.

        So such a task never takes the end of what is upstream, which is about to follow, for the stream's own end.
        """

    def status(self) -> str:
        """What the module has to say of itself at the moment, for `Counters.status` and displays: a line, or nothing.

        It is called at any time after the run has begun, also after the end, and must be cheap.
        """
        return ""

    async def dismiss(self, reason: BaseException | None) -> None:
        """End what is upstream; for a module whose upstream is not simply its `inputs`."""
        if len(self.inputs) == 1:
            await self.inputs[0].terminate(reason)
        elif self.inputs:
            await self._dismiss_all(reason)

    async def _dismiss_all(self, reason: BaseException | None) -> None:
        # All are told before any other task runs, or a value could pass on one while another lets go (R5, R6).
        told = [(lane, lane.close(reason)) for lane in self.inputs]
        failures: list[BaseException] = []

        async def confirm(lane: "Lane[object]", closed: bool) -> None:  # noqa: FBT001
            try:
                await lane.confirm(reason, closed=closed)
            except BaseException as exc:
                if without_cancelled(exc) is None:
                    raise
                failures.append(exc)

        async with trio.open_nursery() as nursery:
            for lane, closed in told:
                nursery.start_soon(confirm, lane, closed)
        if failures:
            raise failures[0]

    # ---- wiring, by the run

    def connect(self, run: Run, seat: Seat, upstreams: "Sequence[Kernel[object]]") -> None:
        """Put the module into a run: above it `upstreams`, beside it its `seat` in the sidecar.

        A branch of a fan-out has a port in the sidecar's graph, and no upstream that it could ask.
        """
        self.run = run
        self.seat = seat
        seat.lasting = self.lasting
        seat.carries, seat.later, seat.reorders, seat.counts = self.carries, self.later, self.reorders, self.counts
        seat.meter.status = self.status
        self.inputs: list[Lane[object]] = [
            upstream.reader(port) for upstream, port in zip(upstreams, seat.ports, strict=False)
        ]
        self.origin = not upstreams
        if upstreams:
            self.upstream = self.inputs[0]
        self.__state = State.OPEN
        self.__failure: BaseException | None = None
        self.__traceback: TracebackType | None = None
        self.__acquired = False
        self.__asking = False
        self.__scope: trio.CancelScope | None = None
        self.__interrupted = False
        self.__finishing = False
        self.lanes: list[Lane[T]] = []
        self.__queue: deque[Signal] = deque()
        self.__granted: Signal | None = None
        self.__idle: trio.Event | None = None
        self.__closed: trio.Event | None = None
        self.__release_failure: BaseException | None = None
        self.__breath = 0.0
        self.__memory: Memory | None = None

    @property
    def memory(self) -> "Memory":
        """What the module keeps from time to time: a dict, saved with the run's journal; see `Memory`.

        A value that is changed in place, such as a deque that is appended to, is saved only if it is assigned again.
        """
        if self.__memory is None:
            self.__memory = self.run.memory(self.seat)
        return self.__memory

    @property
    def state(self) -> State:
        """Where the module's output edge is in its life."""
        return self.__state

    @property
    def failure(self) -> BaseException | None:
        """What the stream failed with, if it did."""
        return self.__failure

    def reader(self, port: Port) -> "Lane[T]":
        """A first lane for the module that has the `port`, which further lanes are taken from."""
        watcher = self.run.watcher
        return Lane(self, port) if watcher is None else watcher.lane(self, port)

    async def breathe(self) -> bool:
        """Let other tasks have a turn, and a cancellation strike, if it is time; for loops that may run long.

        False if the stream has ended meanwhile: upstream has been told, and nothing is asked any more (R9).
        """
        now = monotonic()
        if now - self.__breath > BREATH:
            await trio.lowlevel.checkpoint()
            self.__breath = monotonic()
            self.run.turn = (thread_time(), self.run.blocked)
        return self.__state is State.OPEN

    def answers_promptly(self) -> bool:
        """Whether nothing has to be waited for beside an ask, neither a completion nor the clock."""
        return self.prompt and all(lane.kernel.answers_promptly() for lane in self.inputs)

    # ---- requests

    async def ask(self, lane: "Lane[T]", limit: int) -> Batch[T] | Done:
        """Serve an ask of `lane` (R1 to R5, R7, R8, R10)."""
        if (self.__state is not State.OPEN or self.__asking) and not await self.__turn():
            return self.__terminal()
        self.__asking = True
        try:
            answer: Batch[T] | Done = DONE
            if not (self.__acquired or self.__finishing):
                await self.__begin()
            if self.__state is not State.OPEN or self.__finishing:
                pass
            elif self.waits:
                with trio.CancelScope() as self.__scope:
                    answer = await self.produce(limit)
            else:
                answer = await self.produce(limit)
            if lane.drops is not None:
                answer = await self.__beyond(lane.drops, answer, limit)
            if self.__state is State.OPEN:
                if answer is not DONE:
                    if not self.trusted:
                        self.__check(answer, limit)
                    if self.origin:
                        self.seat.advance(answer.time)
                    lane.stamp(answer.time)
                    return answer
                await self.__finish()
        except BaseException as exc:  # noqa: BLE001 - every way to leave passes through the one policy (R8, R10)
            await self.__strike(exc)
        finally:
            self.__pass_turn()
        return self.__terminal()

    async def __beyond(self, drops: Callable[[Hashable], bool], answer: Batch[T] | Done, limit: int) -> Batch[T] | Done:
        """The first answer at a time that an earlier run has not completed."""
        while answer is not DONE and self.__state is State.OPEN and drops(answer.time):
            if self.origin:
                self.seat.advance(answer.time)
            answer = DONE
            if self.__finishing or not await self.breathe():
                break
            if self.waits:
                with trio.CancelScope() as self.__scope:
                    answer = await self.produce(limit)
            else:
                answer = await self.produce(limit)
        return answer

    async def terminate(self, reason: BaseException | None) -> Done:
        """Serve an abort, or an error with its reason (R5, R6)."""
        if self.close(reason):
            return await self.confirm(reason)
        if self.__state is State.CLOSING:
            await self.__closing().wait()
        return DONE

    def close(self, reason: BaseException | None) -> bool:
        """Take a termination: from now on no value passes (R5). True for the first, which is to be confirmed."""
        opened = self.__state is State.OPEN
        self.__step(Event.ABORT if reason is None else Event.ERROR)
        if opened:
            self.__remember(reason)
            self.seat.freeze()
        return opened

    async def confirm(self, reason: BaseException | None) -> Done:
        """Let go of everything from here up: what confirms the termination that `close` took (R6)."""
        self.__interrupt()
        await self.__let_go(reason)
        for lane in self.lanes:
            lane.live = False
        self.seat.abandon(reason)
        # What an error froze above is frozen here as well: what is below may deal with the failure, and go on.
        for above in self.inputs:
            above.kernel.seat.thaw()
        self.__end()
        if self.__release_failure is not None:
            raise self.__release_failure
        return DONE

    async def __begin(self) -> None:
        self.seat.meter.begin()
        if not self.waits:
            await self.acquire()
            self.__acquired = True
            return
        with trio.CancelScope() as self.__scope:
            await self.acquire()
            self.__acquired = True

    def acknowledge(self) -> None:
        """A lane acknowledged without asking.

        While an ask is served here, what came from upstream may be in flight for its sake: acknowledged later.
        """
        if not self.__asking:
            self.acknowledged()

    def acknowledged(self) -> None:
        """A lane acknowledged without asking; a module that keeps nothing back passes it on."""

    # ---- the ways to end

    def finish(self) -> None:
        """Come to the end by itself as soon as may be, instead of producing more; for sources."""
        self.__finishing = True
        if self.__asking and self.__scope is not None:
            self.__scope.cancel()

    async def __finish(self) -> None:
        """The module came to its end by itself, or because its upstream did (R7)."""
        self.__step(Event.END)
        self.seat.freeze()
        await self.__let_go(None)
        for lane in self.inputs:
            lane.kernel.seat.thaw()
        if self.__release_failure is None:
            self.seat.complete()
        else:
            self.__remember(self.__release_failure)
            self.seat.fail(self.__release_failure)
        self.__end()

    async def __strike(self, exc: BaseException) -> None:
        """Something was raised while an ask was served (R8), or the ask was cancelled (R10)."""
        rest = without_cancelled(exc)
        cancelled, exc = rest is None, rest or exc
        if self.__state is not State.OPEN:
            if cancelled:
                raise exc
            if exc is not self.__failure and not self.relayed(exc):
                # The code under way was cancelled and raised something of its own: a release that failed.
                blame(exc, self.culprit())
                self.__keep(exc)
            return
        self.__step(Event.ABORT if cancelled else Event.FAIL)
        self.seat.freeze()
        if not cancelled:
            if not self.relayed(exc):
                blame(exc, self.culprit())
            self.__remember(exc)
        await self.__let_go(self.__failure)
        for lane in self.inputs:
            lane.kernel.seat.thaw()
        if self.__release_failure is not None:
            self.__release_failure.__context__ = exc
            self.__remember(self.__release_failure)
        if self.__failure is None:
            self.seat.abandon(keep=True)
        else:
            self.seat.fail(self.__failure)
        self.__end()
        if cancelled and self.__failure is None:
            raise exc

    async def __let_go(self, reason: BaseException | None) -> None:
        """Terminate every input that has not ended, wait for the code under way, then release (R6)."""
        # A module that has nothing to wait for needs no scope, which is most of what it costs to end a short stream.
        waits = self.waits or (self.__interrupted and self.__asking) or not all(lane.over for lane in self.inputs)
        with trio.CancelScope(shield=True) if waits else nullcontext():
            if self.__acquired:
                self.halt()
            try:
                await self.dismiss(reason)
            except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
                self.__keep(exc)
            try:
                await self.__settle()
            except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
                # A failure that comes from above has its note, and what ran out of time names the module itself.
                if not (isinstance(exc, ReleaseTimeout) or self.relayed(exc) or exc is self.__failure):
                    blame(exc, self.culprit())
                self.__keep(exc)

    async def __settle(self) -> None:
        if not self.waits and not (self.__interrupted and self.__asking):
            if self.__acquired:
                await self.release()
            return
        with self.run.grace() as grace:
            # An upstream that has not let go in its time answers no ask either: what waits for it is not waited for.
            if self.__interrupted and self.__asking and not isinstance(self.__release_failure, ReleaseTimeout):
                self.__idle = trio.Event()
                await self.__idle.wait()
            if self.__acquired:
                # Once more, for what `acquire` has begun since.
                self.halt()
                await self.release()
        if grace.cancelled_caught:
            raise ReleaseTimeout(
                f"{self.seat}, did not let go within {self.run.release_timeout} s of being ended; look for a shielded "
                f"or blocking wait in it, or raise release_timeout",
            )

    # ---- details

    def __interrupt(self) -> None:
        """Cancel the user's code under way, and answer the asks that wait for their turn (R5)."""
        self.__interrupted = True
        if self.__scope is not None:
            self.__scope.cancel()
        while self.__queue:
            self.__queue.popleft().set()

    async def __turn(self) -> bool:
        """Wait for this request's turn; False when the stream has ended in the meantime."""
        self.__step(Event.ASK)
        if self.__state is State.OPEN:
            event = self.run.signal()
            self.__queue.append(event)
            try:
                await event.wait()
            except trio.Cancelled:
                if event in self.__queue:
                    self.__queue.remove(event)
                elif self.__granted is event:
                    # The turn came in the very step in which the cancellation struck: it goes with the stream.
                    self.__granted = None
                    self.__asking = False
                    if self.__idle is not None:
                        self.__idle.set()
                await self.terminate(None)
                raise
            granted = self.__granted is event
            if granted:
                self.__granted = None
            if self.__state is State.OPEN:
                return True
            if granted:
                self.__pass_turn()
        elif self.__state is State.CLOSING:
            await self.__closing().wait()
        return False

    def __pass_turn(self) -> None:
        """This request is answered: the next one has the turn at once, so that none can overtake it (R1)."""
        if self.__queue:
            self.__granted = self.__queue.popleft()
            self.__granted.set()
            return
        self.__asking = False
        if self.__idle is not None:
            self.__idle.set()

    def __terminal(self) -> Done:
        if self.__failure is not None:
            # The same object for every ask, with the traceback it had at first (R3).
            raise self.__failure.with_traceback(self.__traceback)
        return DONE

    def __check(self, answer: Batch[T], limit: int) -> None:
        if not isinstance(answer, Batch):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
            raise ProtocolError(f"R2: {self.seat}, answered {answer!r}: a module answers Batch(time, values) or DONE")
        if answer.time is None:
            raise ProtocolError(f"R2: {self.seat}, answered a batch whose time is None, which is no time")
        if not 1 <= len(answer.values) <= limit:
            wanted = "one" if limit == 1 else f"1 to {limit}"
            raise ProtocolError(f"R2: {self.seat}, answered {len(answer.values)} values to an ask for {wanted}")
        if not self.origin and not self.may_speak(answer.time):
            raise CapabilityError(
                f"{self.seat}, answered at {answer.time!r}, but may not: it holds {self.seat.held or 'nothing'} and "
                f"has acknowledged what it received by asking again. While the batch at that time is the current one, "
                f"take ctx.hold(time), or ctx.notify_at(time)",
            )

    def may_speak(self, time: Hashable) -> bool:
        """Whether a hold, or a batch not yet acknowledged, gives the right to answer at `time`."""
        return any(lane.covers(time) for lane in self.inputs) or self.seat.holds(time)

    def __step(self, event: Event) -> None:
        self.__state = TRANSITIONS[self.__state, event]

    def __closing(self) -> trio.Event:
        if self.__closed is None:
            self.__closed = trio.Event()
        return self.__closed

    def relayed(self, exc: BaseException) -> bool:
        """Whether a failure came from upstream, rather than from this module."""
        return any(exc is lane.kernel.failure for lane in self.inputs)

    def culprit(self) -> str:
        """The name that goes into a note on what was raised here."""
        return str(self.seat)

    def __end(self) -> None:
        self.run.sources.discard(self)
        self.__step(Event.RELEASED if self.__failure is None else Event.RELEASED_FAILED)
        if self.__closed is not None:
            self.__closed.set()

    def __keep(self, exc: BaseException) -> None:
        if self.__release_failure is None and exc is not self.__failure:
            self.__release_failure = exc

    def __remember(self, failure: BaseException | None) -> None:
        self.__failure = failure
        self.__traceback = None if failure is None else failure.__traceback__
