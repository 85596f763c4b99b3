"""The kernel: one state machine that keeps R1 to R12 for every module.

A module says how it produces an answer; everything else (turns, terminations, failures, cancellation, release and
accounting) happens here. The requests of all lanes of an edge pass through one kernel, which serves them one at a
time, first come, first served (R1, R4). Whose turn it is, and what has ended the edge, is decided in `requests`; the
kernel waits, and lets go.

Two facts about trio carry the argument that no value passes after a termination. First, a coroutine runs until it
awaits something that really waits: so `terminate` marks this edge, and through its upstream's `terminate` every edge
above, before any other task runs; where it goes on in another task (`dismiss_all`), those up to there. Second, a ticket
that was set wakes its waiter at a later step: so an ask that is answered, and gives the turn to a waiting abort, has
returned to its asker before the abort is confirmed (R5).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, overload
from weakref import WeakSet

import trio
from typing_extensions import TypeVar

from pullstream.engine.edge.lane import Lane
from pullstream.engine.edge.requests import EdgeRequests
from pullstream.engine.run import Run, Scope
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.location import Location, Port
from pullstream.engine.traits import PLAIN, Traits
from pullstream.errors import (
    CapabilityError,
    ProtocolError,
    ReleaseTimeout,
    blame,
    raised_when_cancelled,
    without_cancelled,
)
from pullstream.protocol import DONE, Batch, Done, Event, State

if TYPE_CHECKING:
    from pullstream.engine.sidecar.memory import Memory

T = TypeVar("T")

BREATH = 0.005
"""Seconds that synchronous work may go on before other tasks get a turn."""


STEPS: Final = 16
"""How many kernels a termination passes in one task."""


async def dismiss_all(lanes: "Sequence[Lane[Any]]", reason: BaseException | None) -> None:
    """Terminate what is upstream, each input in a task of its own, whose stack begins anew.

    Raises:
        BaseException: what the first release to fail raised.
    """
    # All are told before any other task runs, or a value could pass on one while another lets go (R5, R6).
    told = [(lane, lane.close(reason)) for lane in lanes]
    if reason is not None:
        # An ask that goes through several is cancelled in the next step, and must not be taken for an abort there.
        hearing = list(lanes)
        for lane in hearing:
            hearing += lane.kernel.foretell(reason)
    failures: list[BaseException] = []

    async def confirm(lane: "Lane[Any]", closed: bool) -> None:  # noqa: FBT001
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

    traits: Traits = PLAIN
    """The traits of the module, which do not change once it has its place in a run; see `Traits`."""

    height: int = 0
    """How many kernels stand in a row above this one, with itself."""

    depth: int = 0
    """How many of these ask one inside the other, with itself."""

    scope: Scope
    run: Run
    location: Location
    upstream: "Lane[object]"

    # ---- what a module supplies

    async def acquire(self) -> None:
        """Take the resources the module needs; called once, at the first request for a value (R10).

        If it does not return, because it raised or was cancelled, `release` is not called.
        """

    @abstractmethod
    async def produce(self, limit: int) -> Batch[T] | Done:
        """The next answer: at most `limit` values at one time, or DONE; raise to fail.

        One call at a time. To deliver values before a failure, answer them now and raise at the next call. What came
        from upstream is in flight, and keeps its time from completing, until upstream is asked again: what is kept of
        it beyond that is held at its time, `self.location.hold(time)`, until it has been answered.
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

    def placed(self) -> None:
        """Do what is to be done as soon as the module has its place and its inputs, before the run begins."""

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
        if len(self.inputs) == 1 and self.height % STEPS:
            await self.inputs[0].terminate(reason)
        elif self.inputs:
            # In tasks, also where there is one, now and then: a long row would meet Python's recursion limit.
            await dismiss_all(self.inputs, reason)

    # ---- wiring, by the run

    def connect(self, scope: Scope, location: Location, upstreams: "Sequence[Kernel[object]]") -> None:
        """Put the module into a run: above it `upstreams`, beside it its `location` in the sidecar.

        A branch of a fan-out has a port in the sidecar's graph, and no upstream that it could ask.
        """
        self.scope = scope
        self.run = scope.run
        self.location = location
        location.meter.status = self.status
        location.strike = self.fail_soon
        self.inputs: list[Lane[object]] = [
            upstream.reader(port) for upstream, port in zip(upstreams, location.ports, strict=False)
        ]
        self.origin = not upstreams
        if upstreams:
            self.upstream = self.inputs[0]
        self.__requests = EdgeRequests()
        self.__confirmation: trio.Event | None = None
        self.__scope: trio.CancelScope | None = None
        self.__release_failure: BaseException | None = None
        # Whoever takes a lane for one ask takes any number of them.
        self.lanes: WeakSet[Lane[T]] = WeakSet()
        self.__breath = 0.0
        self.__trusted = self.traits.trusted
        self.__memory: Memory | None = None
        self.placed()
        self.__waits = self.waits_here()

    @property
    def memory(self) -> "Memory":
        """What the module keeps from time to time: a dict, saved with the run's journal; see `Memory`.

        A value that is changed in place, such as a deque that is appended to, is saved only if it is assigned again.
        """
        if self.__memory is None:
            self.__memory = self.scope.memory(self.location)
        return self.__memory

    @property
    def state(self) -> State:
        """Where the module's output edge is in its life."""
        return self.__requests.state

    @property
    def failure(self) -> BaseException | None:
        """What the stream failed with, if it did."""
        return self.__requests.failure

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
            self.run.turn = self.run.clock.now()
        return self.__requests.state is State.OPEN

    def waits_here(self) -> bool:
        """Whether, at its place, the module waits as its trait says; asked once, when it has its place."""
        return self.traits.waits

    def answers_promptly(self) -> bool:
        """Whether nothing has to be waited for beside an ask, neither a completion nor the clock."""
        return self.traits.prompt and all(lane.kernel.answers_promptly() for lane in self.inputs)

    def stepwise(self) -> bool:
        """Whether `step` comes back without waiting, having done no more than one thing."""
        return self.answers_promptly()

    async def step(self, limit: int) -> Batch[T] | Done | None:
        """Do one thing towards the next answer; None if there is none yet. Called only if it is `stepwise`.

        So who waits for a completion beside the next batch needs no task for the ask: it looks between steps.
        """
        return await self.produce(limit)

    # ---- requests

    @overload
    async def ask(self, lane: "Lane[T]", limit: int, *, stepping: Literal[False] = False) -> Batch[T] | Done: ...
    @overload
    async def ask(self, lane: "Lane[T]", limit: int, *, stepping: bool) -> Batch[T] | Done | None: ...
    async def ask(self, lane: "Lane[T]", limit: int, *, stepping: bool = False) -> Batch[T] | Done | None:
        """Serve an ask of `lane` (R1 to R5, R7, R8, R10); if `stepping`, None says that there is no answer yet."""
        requests = self.__requests
        if (requests.busy or requests.state is not State.OPEN) and not await self.__turn():
            return self.__terminal()
        requests.begin()
        try:
            answer: Batch[T] | Done | None = DONE
            if not (requests.acquired or requests.finishing):
                await self.__begin()
            if requests.state is not State.OPEN or requests.finishing:
                pass
            elif self.__waits:
                with own_scope() as self.__scope:
                    answer = await self.produce(limit)
            elif not stepping:
                answer = await self.produce(limit)
            else:
                answer = await self.step(limit)
            if lane.drops is not None and answer is not None:
                answer = await self.__beyond(lane.drops, answer, limit)
            if answer is None and requests.state is State.OPEN:
                if not stepping:
                    what = "answered None: a module answers Batch(time, values) or DONE"
                    raise ProtocolError(f"R2: {self.location}, {what}")  # noqa: TRY301 - as every failure here
                requests.answered()
                return None
            if answer is not None and answer is not DONE and requests.state is State.OPEN:
                if not self.__trusted:
                    self.__check(answer, limit)
                if self.origin:
                    self.location.advance(answer.time)
                lane.stamp(answer.time)
                requests.answered()
                return answer
        except BaseException as exc:  # noqa: BLE001 - every way to leave passes through the one policy (R8, R10)
            await self.__strike(exc)
        else:
            await self.__finish()
        return self.__terminal()

    async def __beyond(self, drops: Callable[[Hashable], bool], answer: Batch[T] | Done, limit: int) -> Batch[T] | Done:
        """The first answer at a time that an earlier run has not completed."""
        requests = self.__requests
        while answer is not DONE and requests.state is State.OPEN and drops(answer.time):
            if self.origin:
                self.location.advance(answer.time)
            answer = DONE
            if not await self.breathe() or requests.finishing:
                break
            if self.__waits:
                with own_scope() as self.__scope:
                    answer = await self.produce(limit)
            else:
                answer = await self.produce(limit)
        return answer

    async def terminate(self, reason: BaseException | None) -> Done:
        """Serve an abort, or an error with its reason (R5, R6)."""
        if self.close(reason):
            return await self.confirm()
        if not self.__requests.settled:
            ticket = trio.Event()
            self.__requests.stand(ticket)
            await self.__confirmed(ticket)
        return DONE

    def close(self, reason: BaseException | None) -> bool:
        """Take a termination: from now on no value passes (R5). True for the first, which is to be confirmed."""
        first = self.__end_by(Event.ABORT if reason is None else Event.ERROR, reason, below=True)
        if first and self.__requests.busy:
            self.__confirmation = trio.Event()
            self.__requests.stand(self.__confirmation)
        return first

    async def confirm(self) -> Done:
        """Let go of everything from here up: what confirms the termination that `close` took (R6)."""
        await self.__let_all_go()
        if self.__confirmation is not None:
            # Nobody before it in line has anything to wait for any more.
            with trio.CancelScope(shield=True):
                await self.__confirmed(self.__confirmation)
        if self.__release_failure is not None:
            raise self.__release_failure
        return DONE

    async def __confirmed(self, ticket: trio.Event) -> None:
        """Wait until every request that came before a termination is answered (R5)."""
        try:
            await ticket.wait()
        finally:
            self.__requests.withdraw(ticket)

    async def __begin(self) -> None:
        self.location.meter.begin()
        if not self.__waits:
            await self.acquire()
            self.__requests.acquired = True
            return
        with own_scope() as self.__scope:
            await self.acquire()
            self.__requests.acquired = True

    # ---- the ways to end

    def finish(self) -> None:
        """Come to the end by itself as soon as may be, instead of producing more; for sources."""
        self.__requests.finishing = True
        if self.__requests.working and self.__scope is not None:
            self.__scope.cancel()

    def end_here(self, failure: BaseException | None = None) -> None:
        """End the stream at this module now, or have it fail, whether anybody asks or not; the first ending counts.

        What is upstream is told at once, and asks are answered when all of it has let go (R7, R8).
        """
        if self.__requests.state is not State.OPEN:
            return
        if failure is not None and not self.relayed(failure):
            blame(failure, self.culprit())
        self.__end_by(Event.END if failure is None else Event.FAIL, failure)
        self.run.spawn(self.__let_all_go)

    def foretell(self, reason: BaseException) -> "Sequence[Lane[object]]":
        """Hear of an error that is on its way from below; gives the inputs whose modules are to hear of it as well."""
        if self.__requests.foretold is not None:
            return ()
        self.__requests.foretold = reason
        return self.inputs

    def fail_soon(self, failure: BaseException) -> None:
        """Have the stream fail here at the next step: for what is raised in the middle of something else."""
        if self.__requests.state is State.OPEN and self.run.hosting.is_set():
            self.run.spawn(self.__fail, failure)

    async def __fail(self, failure: BaseException) -> None:
        self.end_here(failure)

    async def __finish(self) -> None:
        """The module came to its end by itself, or because its upstream did (R7); or another request has ended it."""
        requests = self.__requests
        if requests.find_again():
            await self.__turn()
            return
        try:
            if requests.state is State.OPEN:
                requests.come_back()
                self.__end_by(Event.END)
                await self.__let_all_go()
            else:
                await self.__until_over()
        finally:
            requests.answered()

    async def __strike(self, exc: BaseException) -> None:
        """Something was raised while an ask was served (R8), or the ask was cancelled (R10)."""
        requests = self.__requests
        failure = without_cancelled(exc)
        ours = failure is not None and not self.relayed(failure)
        if requests.find_again():
            await self.__turn()
            if failure is None:
                raise exc
            return
        try:
            if requests.state is State.OPEN:
                if failure is not None and ours:
                    blame(failure, self.culprit())
                requests.come_back()
                if failure is None:
                    self.__end_cancelled()
                else:
                    self.__end_by(Event.FAIL, failure)
                await self.__let_all_go()
                cancelled = requests.failure is None
            else:
                if failure is not None and ours and raised_when_cancelled(failure):
                    # The code under way was cancelled and raised something of its own: a release that failed. What
                    # it raised before the cancellation could reach it came too late: nobody asks any more.
                    blame(failure, self.culprit())
                    self.__keep(failure)
                cancelled = failure is None
                await self.__until_over()
        finally:
            requests.answered()
        if cancelled:
            raise exc

    def __end_by(self, event: Event, failure: BaseException | None = None, *, below: bool = False) -> bool:
        """Take a termination from either side: no value passes any more. True for the first, which is to be done."""
        first = self.__requests.terminate(event, failure, below=below)
        if first:
            self.location.freeze()
        return first

    def __end_cancelled(self) -> bool:
        """Take the cancellation of an ask: an abort, or the work of an error that is on its way here (R6, R10)."""
        reason = self.__requests.foretold
        return self.__end_by(Event.ABORT if reason is None else Event.ERROR, reason)

    async def __let_all_go(self) -> None:
        """Do what every termination comes to, whoever sent it: all is let go from here up, then the edge has ended."""
        requests, reason = self.__requests, self.__requests.failure
        # A module that has nothing to wait for needs no scope, which is most of what it costs to end a short stream.
        waits = self.__waits or requests.working or not all(lane.over for lane in self.inputs)
        try:
            with trio.CancelScope(shield=True) if waits else nullcontext():
                await self.__let_go(reason)
        finally:
            self.__ended(reason)

    async def __let_go(self, reason: BaseException | None) -> None:
        """Terminate every input that has not ended, wait for the code under way, then release (R6)."""
        if self.__requests.working and self.__scope is not None:
            self.__scope.cancel()
        try:
            if self.__requests.acquired:
                self.halt()
            await self.dismiss(reason)
        except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
            self.__keep(exc)
        try:
            await self.__settle()
        except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
            # A failure that comes from above has its note, and what ran out of time names the module itself.
            if not (isinstance(exc, ReleaseTimeout) or self.relayed(exc) or exc is reason):
                blame(exc, self.culprit())
            self.__keep(exc)

    async def __settle(self) -> None:
        requests = self.__requests
        if not (self.__waits or requests.working):
            if requests.acquired:
                await self.release()
            return
        with self.run.grace() as grace:
            # An upstream that has not let go in its time answers no ask either: what waits for it is not waited for.
            if requests.working and not isinstance(self.__release_failure, ReleaseTimeout):
                left = requests.left = trio.Event()
                await left.wait()
            if requests.acquired:
                # Once more, for what `acquire` has begun since.
                self.halt()
                await self.release()
        if grace.cancelled_caught:
            raise ReleaseTimeout(
                f"{self.location}, did not let go within {self.run.release_timeout} s of being ended; look for a "
                f"shielded or blocking wait in it, or raise release_timeout",
            )

    def __ended(self, reason: BaseException | None) -> None:
        """Everything from here up is let go: say so, in the sidecar and to who waits."""
        requests, trouble = self.__requests, self.__release_failure
        self.run.sources.discard(self)
        if requests.below:
            for lane in self.lanes:
                lane.live = False
            self.location.abandon(reason)
        else:
            if trouble is not None:
                # Nobody confirms a termination that nobody sent: whoever asks hears of the release that failed.
                trouble.__context__ = trouble.__context__ or reason
                requests.fail(trouble)
            if requests.failure is not None:
                self.location.fail(requests.failure)
            elif requests.how is Event.ABORT:
                self.location.abandon(keep=True)
            else:
                self.location.complete()
        # What an ending froze above is frozen here as well: what is below may deal with a failure, and go on.
        for above in self.inputs:
            above.kernel.location.withdraw_frozen()
        requests.give_up()
        requests.released()

    # ---- details

    async def __turn(self) -> bool:
        """Wait for this ask's turn; False when the stream has ended before, and it may be answered."""
        requests = self.__requests
        if requests.settled:
            return False
        ticket = self.run.signal()
        requests.stand(ticket)
        try:
            await self.__answerable(ticket)
            if requests.state is State.OPEN:
                return True
            # The turn came in the very step in which the stream ended.
            await self.__until_over()
        except BaseException:
            requests.answered()
            raise
        requests.answered()
        return False

    async def __until_over(self) -> None:
        """Wait until the stream, which another request has ended, is released: nobody is told before (R10)."""
        if self.__requests.state is State.CLOSING:
            # No inside wait: what is being released has its time, and is no deadlock.
            ticket = trio.Event()
            self.__requests.step_back(ticket)
            await self.__answerable(ticket)

    async def __answerable(self, ticket: Signal | trio.Event) -> None:
        """Wait for the turn; who is cancelled in this ends the stream, and comes back when that is released (R10)."""
        try:
            await ticket.wait()
        except BaseException:
            first = self.__end_cancelled()
            with trio.CancelScope(shield=True):
                if first:
                    await self.__let_all_go()
                await ticket.wait()
                # The turn may have come in the very step in which the cancellation did, and before the end.
                await self.__until_over()
            if not first or self.__requests.failure is None:
                raise

    def __terminal(self) -> Done:
        failure = self.__requests.failure
        if failure is not None:
            # The same object for every ask, with the traceback it had at first (R3).
            raise failure.with_traceback(self.__requests.traceback)
        return DONE

    def __check(self, answer: Batch[T], limit: int) -> None:
        if not isinstance(answer, Batch):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
            raise ProtocolError(
                f"R2: {self.location}, answered {answer!r}: a module answers Batch(time, values) or DONE"
            )
        if answer.time is None:
            raise ProtocolError(f"R2: {self.location}, answered a batch whose time is None, which is no time")
        if not 1 <= len(answer.values) <= limit:
            wanted = "one" if limit == 1 else f"1 to {limit}"
            raise ProtocolError(f"R2: {self.location}, answered {len(answer.values)} values to an ask for {wanted}")
        if not self.origin and not self.may_speak(answer.time):
            raise CapabilityError(
                f"{self.location}, answered at {answer.time!r}, but may not: it holds "
                f"{self.location.held or 'nothing'} and has acknowledged what it received by asking again. While the "
                f"batch at that time is the current one, take ctx.hold(time), or ctx.notify_at(time)",
            )

    def may_speak(self, time: Hashable) -> bool:
        """Whether a hold, or a batch not yet acknowledged, gives the right to answer at `time`."""
        return any(lane.covers(time) for lane in self.inputs) or self.location.holds(time)

    def relayed(self, exc: BaseException) -> bool:
        """Whether a failure came from upstream, rather than from this module."""
        # What a function of times raises in the sidecar has its note, and may reach others first, who wait there.
        return any(exc is lane.kernel.failure for lane in self.inputs) or exc is self.scope.sidecar.trouble

    def culprit(self) -> str:
        """The name that goes into a note on what was raised here."""
        return str(self.location)

    def __keep(self, exc: BaseException) -> None:
        if self.__release_failure is None and exc is not self.__requests.failure:
            self.__release_failure = exc
