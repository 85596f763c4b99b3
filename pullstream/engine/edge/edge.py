"""The output edge of a module: the state machine that keeps R1 to R12 for it.

An edge *has* a module, which only produces answers. Everything else happens here: turns, terminations, failures,
cancellation, release and accounting. The requests of all lanes of an edge pass through it, and it serves them one at a
time, first come, first served (R1, R4). `EdgeRequests` decides whose turn it is and what has ended the edge; this file
does the waiting and the releasing.

An ending comes from one of three sides: a request from downstream (`terminate`), the module itself, which answers DONE
or raises (`_conclude`), or another part of the run (`end_here`). The first ending marks the edge (`_end_by`) and
carries the ending out (`_carry_out`). It is confirmed last; every other request waits until it is carried out.

Two facts about trio guarantee that no value passes after a termination. First, a coroutine runs without interruption
until it awaits something that really waits. So `terminate` marks this edge and, through its upstream's `terminate`,
every edge upstream before any other task runs; where it continues in new tasks (`dismiss_all`), it marks the edges up
to that point. Second, setting a ticket wakes its waiter only at a later step. So when an ask is answered and passes the
turn to a waiting abort, the ask has returned to its asker before the abort is confirmed (R5).
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence, Sized
from contextlib import nullcontext
from operator import attrgetter
from typing import Any, Final, Generic

import trio

from pullstream.blueprint.variables import T
from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.behaviour import Behaviour, method_of, without_waiting
from pullstream.engine.edge.end import End, Rest
from pullstream.engine.edge.permitted import allowed, may_answer
from pullstream.engine.edge.requests import EdgeRequests
from pullstream.engine.interfaces import Finishing, Suspended
from pullstream.engine.observer import EdgeObserver
from pullstream.engine.run import Scope
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.location import Location, Port
from pullstream.engine.sidecar.nesting import Mirrored
from pullstream.engine.sidecar.waiting import Watch
from pullstream.errors import (
    ProtocolError,
    ReleaseTimeout,
    blame,
    failed_too,
    failure_in,
    is_blame,
    one_of,
    raised_when_cancelled,
)
from pullstream.frames import lead_to
from pullstream.protocol import DONE, WAIT, Batch, Done, Event, State, Unanswered
from pullstream.resuming.memory import Memory

OPEN: Final = State.OPEN

_OVER: Final = attrgetter("over")

AT_ONCE: Final = nullcontext()
"""The scope of code that waits for nothing."""

DEEP: Final = 32
"""After this many modules in a row, a module that can ask in a task does so instead of polling: a poll may take more
stack than `ASK_FRAMES` for each module."""


class Edge(EdgeRequests, Generic[T]):
    """The output edge of one module, which serves the requests to it."""

    observer: EdgeObserver | None = None
    """The observer of the edge, in a run that has one."""
    wait: Callable[[], Awaitable[None]] | None = None
    """The wait of a simulation, instead of the module's own."""
    _confirmation: trio.Event | None = None
    """The ticket of the termination from downstream, if an ask was being served when it came."""
    _release_failure: BaseException | None = None
    """The failure raised upstream or in the release after the ending was decided; the confirmation raises it."""

    beyond: "Sequence[Edge[Any]]" = ()
    """Edges that the module's `dismiss` ends although they are not inputs, such as a hub's input edge.

    Empty once they have ended.
    """
    port: Port
    """The input of the module downstream."""
    shared = False
    """Whether that module has taken further lanes."""
    plain = False
    """Whether the module's `dismiss` only ends its one input, and in the same task."""
    polled: Callable[[int], Batch[T] | Done | Unanswered] | None = None
    """The method that the module answers with; a simulation, and a run that resumes another, wrap it."""
    checked = False
    """Whether the times of the next multi-time answer have already been checked."""
    rest: Rest | None = None
    """The values of a multi-time answer not given out yet; they come before the next `produce`."""
    fails_next: BaseException | None = None
    """The exception to raise once the last answer is given out."""
    wake: Callable[[], object] | None = None
    """Ends the wait for the module's next answer; called at an ending as well."""
    _scope: trio.CancelScope | None = None
    """The cancel scope around `acquire` or `produce`, where they may wait: a termination cancels it."""
    _outcome: Done | BaseException | None = None
    """The ending that the module gave in a poll, until an ask carries it out."""
    _must_wait = False
    """Whether the last poll asked the module, and it returned WAIT."""
    _awaited = False
    """Whether a polled ask is outstanding; `wake` calls its asker."""
    _breath = 0.0
    _memory: Memory | None = None

    def __init__(self, module: Behaviour[T], scope: Scope, location: Location, inputs: "list[Any]") -> None:
        self.module = module
        self.scope, self.run = scope, scope.run
        self.location = location
        self.inputs: list[End] = inputs
        """The module's ends of its input edges; the module may open and close more of them while it runs."""
        own = module.__overrides__
        traits = self.traits = location.traits
        self.origin = not (inputs or traits.follows)
        """Whether this is a source in time order: each of its answers promises that no earlier time will follow."""
        height, depth = 0, scope.depth
        for end in inputs:
            height, depth = max(height, end.edge.height), max(depth, end.edge.depth)
        self.height: int = 1 + height
        """The number of modules in a row upstream of this edge."""
        self.depth: int = 1 if traits.asks_apart and depth >= DEEP else 1 + depth
        """The number of modules upstream, this one included, that ask within one call stack."""
        if own.polled:
            self.polled = method_of(module, "poll")
        else:
            self.produce = method_of(module, "produce")
            """The method of a module that is not polled."""
        self._acquires = own.acquires
        self._at_once = own.at_once
        self.waits_itself = own.polled and own.waits_itself
        """Whether the `wait` of a polled module may wait for anything but its inputs."""
        self.waits = traits.waits and (own.waits or not own.polled)
        """Whether its beginning, code or end may wait for anything but its inputs and its tasks that `halt` cancels."""
        self._trusted = traits.trusted
        location.edge = self

    # ---- for modules downstream, and for the module itself

    @property
    def open(self) -> bool:
        """Whether nothing has ended the edge yet."""
        return self.state is OPEN

    @property
    def asked(self) -> bool:
        """Whether an ask is outstanding."""
        return self._awaited or self.busy

    @property
    def may_continue(self) -> bool:
        """Whether the module may continue: nothing has ended the edge, and the program has not asked it to finish."""
        return self.open and not self.finishing

    def status(self) -> str:
        """The module's own status text."""
        return str(method_of(self.module, "status")())

    def raised(self, exc: BaseException) -> bool:
        """Whether an exception is the stream's failure, or was raised by its release."""
        return exc is self.failure or exc is self._release_failure

    @property
    def memory(self) -> Memory:
        """The module's persistent dict, saved in a run with a journal."""
        if self._memory is None:
            self._memory = self.scope.keeping.memory(self.location)
        return self._memory

    async def breathe(self) -> bool:
        """Let other tasks run, and deliver a pending cancellation, if it is time; False if the stream has ended."""
        now = clocks.monotonic()
        if now - self._breath > BREATH:
            self._breath = await self.run.let_others()
        return self.state is OPEN

    # ---- progress, for the module

    def mirror(self, times: Mirrored | None) -> None:
        """Hold, from now on, the times that `times` returns whenever a frontier is read; None ends that."""
        nesting = self.scope.sidecar.nesting
        if times is None:
            nesting.mirrors.pop(self.location, None)
        else:
            nesting.mirror(self.location, times)

    def idle(self, locations: Sequence[Location]) -> bool:
        """Whether nothing is held at some places or in flight to them; False also if only the frontiers can tell."""
        sidecar = self.scope.sidecar
        known = not (sidecar.frontiers.lost or sidecar.nesting.mirrors)
        return known and not any(location.busy for location in locations)

    def stop_tracking(self) -> None:
        """Stop completing times: a time here is about to be refused."""
        self.scope.sidecar.stop_tracking()

    def carrying(self) -> list[Location]:
        """The modules downstream that carry something from a time to later ones, as state or in a later window."""
        return list(self.scope.keeping.carrying(self.location))

    def met(self, watch: Watch) -> bool:
        """Whether a watch is met, as of now."""
        sidecar = self.scope.sidecar
        for place in watch.places:
            sidecar.frontiers.observe(place)
        sidecar.propagate()
        return sidecar.is_met(watch)

    async def until(self, watches: Sequence[Watch], changed: Signal) -> None:
        """Wait until one of the watches is met, or `changed` is set.

        Raises: Exception: one of the watches failed.
        """
        await self.scope.sidecar.until(watches, changed)

    # ---- requests

    async def ask(self, end: End, limit: int, *, waiting: bool = False) -> Batch[T] | Done:
        """Serve an ask (R1 to R5, R7, R8, R10); `waiting` if a poll has returned WAIT in this very step.

        The ask has the turn until `_answered`. During each await another request may end the edge. Then what
        was produced is dropped, and `_conclude` answers with that ending (R5).
        """
        waiting, self._must_wait, self._awaited = waiting and self._must_wait, False, False
        if (self.busy or self.state is not OPEN) and not await self._turn():
            return self._terminal()
        self.busy = self.working = True
        try:
            if self.rest is not None or self.fails_next is not None:
                batch = self._next_part(end, limit)
                self._answered()
                return batch
            answer: Batch[T] | Done = DONE
            if isinstance(self._outcome, BaseException):
                raise self._outcome  # noqa: TRY301 - as all here
            ended = self._outcome is not None
            if not (ended or self.acquired or self.finishing):
                await self._begin()
            if ended or self.state is not OPEN or self.finishing:
                pass
            elif self.polled is not None:
                polled: Batch[T] | Done | Unanswered = WAIT if waiting else self.polled(limit)
                while isinstance(polled, Unanswered):
                    if polled is not WAIT:
                        await self.breathe()
                    elif self.waits_itself:
                        with own_scope() as self._scope:
                            await (self.wait or method_of(self.module, "wait"))()
                    else:
                        await method_of(self.module, "wait")()
                    polled = self.polled(limit) if self.state is OPEN and not self.finishing else DONE
                answer = polled
            elif self.waits:
                # If the scope is cancelled, for example by `finish`, `answer` stays DONE.
                with own_scope() as self._scope:
                    answer = await self.produce(limit)
            else:
                answer = await self.produce(limit)
            if self.state is OPEN and answer is not DONE:
                answer = self._hand_over(answer, end, limit)
                self._answered()
                return answer
        except BaseException as exc:  # noqa: BLE001 - every way to leave passes through the one policy (R8, R10)
            await self._conclude(exc)
        else:
            await self._conclude(None)
        # Outside the handler: inside it, the exception handled there would replace the failure's own context.
        return self._terminal()

    def poll(self, end: End, limit: int) -> Batch[T] | Done | Unanswered:
        """Serve an ask in this step, if nothing has to be waited for. A failure, too, is left to `ask`."""
        self._must_wait = self._awaited = False
        if self.busy or self.state is not OPEN or self.finishing or self._outcome is not None:
            return WAIT
        unfinished = self.rest is not None or self.fails_next is not None
        if self.polled is None and not unfinished:
            return WAIT
        if self._acquires and not self.acquired and (self.waits or not self._at_once):
            return WAIT
        self.busy = self.working = True
        try:
            if unfinished:
                return self._next_part(end, limit)
            assert self.polled is not None
            if not self.acquired:
                without_waiting(self._begin())
            answer = self.polled(limit)
            if isinstance(answer, Unanswered):
                self._must_wait = answer is WAIT
                return answer
            if self.state is OPEN and answer is not DONE:
                return self._hand_over(answer, end, limit)
            self._outcome = DONE
        except BaseException as exc:  # noqa: BLE001 - raised by the next ask
            self._outcome = exc
        finally:
            # If the edge has ended meanwhile, other requests are answered when the ending is carried out.
            self._answered()
        if self._outcome is not DONE or not self.ends_at_once():
            return WAIT
        self.busy = self.working = True
        without_waiting(self._conclude(None))
        return WAIT if self.failure is not None else self._terminal()

    def wakes(self, wake: Callable[[], object]) -> bool:
        """Call `wake` when another poll is worthwhile, after one returned WAIT in this step; see `Lane.wakes`."""
        must_wait, self._must_wait = self._must_wait, False
        if not must_wait or self.shared or not method_of(self.module, "__wakes__")(wake):
            return False
        self.wake, self._awaited = wake, True
        return True

    def _hand_over(self, answer: Batch[T], end: End, limit: int) -> Batch[T]:
        """Check an answer, and count it as in flight in the same step that lowers a source's capability."""
        if (not self._trusted or answer is None) and (problem := mistake(answer, limit)):  # pyright: ignore[reportUnnecessaryComparison] - not all authors use types
            raise ProtocolError(f"R2: {self.location}, answered {problem}")
        if not answer.uniform:
            return self._hand_over_many(answer, end, limit)
        if self.origin:
            self.location.advance(answer.time, answer.values)
        elif not self._trusted:
            self.check_right(answer.time)
        end.stamp(answer.time)
        return answer

    def _hand_over_many(self, answer: Batch[T], end: End, limit: int) -> Batch[T]:
        """Count a multi-time answer and hand it over: whole (`End.whole`), or as much as was asked for."""
        if end.observer is not None:
            end.observer.brought(answer, limit)
        batch = answer if self.checked else self.until_wrong_time(answer)
        self.checked = False
        try:
            if end.whole:
                end.count_batch(batch)
                return batch
            self.rest = Rest(self.scope.sidecar, end.port, batch)
            return self._next_part(end, limit)
        except BaseException as exc:
            # The times cannot be compared. Nobody gets any of the values, and that must not look like completion.
            self.scope.sidecar.stop_tracking(exc)
            raise

    def _next_part(self, end: End, limit: int) -> Batch[T]:
        """Return the next values of the last answer, or raise the failure that follows it."""
        if self.rest is None:
            assert self.fails_next is not None
            raise self.fails_next
        batch = self.rest.take_run(limit)
        end.stamp(batch.time)
        if not self.rest:
            self.rest = None
        return batch

    def until_wrong_time(self, answer: Batch[T]) -> Batch[T]:
        """The part of an answer before the first forbidden time; the next ask raises the failure (R8)."""
        if self._trusted and not self.origin:
            return answer
        check = self.location.advance if self.origin else self.check_right
        answer, failure = allowed(answer, check, in_order=self.origin)
        self.fails_next = failure or self.fails_next
        return answer

    def check_right(self, time: Hashable, _values: Sequence[Any] = ()) -> None:
        """Raise a CapabilityError if the module may not answer at a time (R12)."""
        if not may_answer(self.location, self.inputs, time):
            raise self.location.refusal(f"answered at {time!r}, but may not", time, self.inputs)

    async def terminate(self, reason: BaseException | None) -> Done:
        """Serve an abort, or an error with its reason (R5, R6)."""
        if self.close(reason):
            return await self.confirm()
        if not self._at_rest:
            ticket = trio.Event()
            self._enqueue(ticket)
            await self._confirmed(ticket)
        if self._replaced is not None and self._release_failure is not None:
            raise self._release_failure
        return DONE

    def close(self, reason: BaseException | None) -> bool:
        """Accept a termination: from now on no value passes (R5). True for the first, which the caller must confirm."""
        first = self._end_by(Event.ABORT if reason is None else Event.ERROR, reason, below=True)
        if not first:
            if self._overrule(reason) and reason is None:
                self.location.withdraw_frozen()
        elif self.busy:
            self._confirmation = trio.Event()
            self._enqueue(self._confirmation)
        return first

    async def confirm(self) -> Done:
        """Release everything from here upstream, and so confirm the termination that `close` accepted (R6)."""
        await self._carry_out()
        if self._confirmation is not None:
            # The requests before it in the queue have nothing left to wait for.
            with trio.CancelScope(shield=True):
                await self._confirmed(self._confirmation)
        if self._release_failure is not None:
            raise self._release_failure
        return DONE

    def announce(self, reason: BaseException) -> "Sequence[Edge[Any]]":
        """Note the reason of an error on its way from downstream; returns the input edges, which must note it as well.

        Empty if a reason was noted before.
        """
        if self.announced is not None:
            return ()
        self.announced = reason
        return self._above()

    def unanswered(self) -> None:
        """Note that an ask returned without an answer: it was cancelled, which counts as an abort (R10)."""
        self._overrule(None, decides=False)

    @property
    def undelivered(self) -> BaseException | None:
        """The failure that no ask was answered with: a termination from downstream, or a cancellation, came first."""
        return self.failure if self._replaced is None and not self.delivered else self._replaced

    # ---- endings that do not come from downstream

    def finish(self) -> None:
        """End as soon as possible instead of producing more; for sources."""
        if isinstance(self.module, Finishing):
            method_of(self.module, "finish")()
            return
        self.finishing = True
        if self.wake is not None:
            self.wake()
        if self.working and self._scope is not None:
            self._scope.cancel()

    def end_here(self, failure: BaseException | None = None) -> None:
        """End the stream at this module now, or make it fail, even if nobody asks; only the first ending counts.

        Upstream is notified at once; asks are answered when all of it is released (R7, R8). A termination from
        downstream replaces this end if it comes before any ask has been answered with it.
        """
        if self.state is OPEN:
            self.replaceable = True
            self._end_now(failure)

    def _end_now(self, failure: BaseException | None) -> None:
        if failure is not None:
            self._blame(failure)
        self._end_by(Event.END if failure is None else Event.FAIL, failure)
        self.run.spawn(self._carry_out)

    def fail_soon(self, failure: BaseException) -> None:
        """Make the stream fail here at the next step: for a failure in code that must not be interrupted."""
        if self.state is OPEN and self.run.begun:
            self.run.spawn(self._fail, failure)

    def fail_next(self, failure: BaseException, before: Sized) -> None:
        """Make the stream fail at the next ask, after the results `before` the failure; if there are none, now (R8).

        The caller must then acknowledge only the values before the failure in its batch.
        """
        if not before:
            raise failure
        self.fails_next = failure

    async def _fail(self, failure: BaseException) -> None:
        if self.state is OPEN:
            self._end_now(failure)

    # ---- asks that end without a batch

    async def _begin(self) -> None:
        self.location.begin()
        # Read now: a checker may have given the module a class that counts what it acquires and releases.
        if not self.module.__overrides__.acquires:
            self.acquired = True
        else:
            with own_scope() if self.waits else AT_ONCE as self._scope:
                await method_of(self.module, "acquire")()
                self.acquired = True
        if self.observer is not None and self.acquired:
            self.observer.acquired()

    async def _conclude(self, exc: BaseException | None) -> None:
        """Answer an ask that has no batch: its module ended (R7), code raised (R8), or the ask was cancelled (R10).

        If another request ended the edge meanwhile, that ending is the answer.
        """
        failure = None if exc is None else failure_in(exc)
        cancelled = exc is not None and failure is None
        if self.lost:
            self.lost = False
            await self._turn()
        else:
            try:
                if self.state is OPEN:
                    if failure is not None and self._blame(failure) and isinstance(self.module, Suspended):
                        lead_to(failure, method_of(self.module, "suspended_at")())
                    self.working = False
                    if cancelled:
                        self._end_cancelled()
                    elif failure is None:
                        released = self._at_once and not (self.waits or self.beyond) and all(map(_OVER, self.inputs))
                        self._end_by(Event.END, released=released)
                    else:
                        self._end_by(Event.FAIL, failure)
                    await self._carry_out()
                    cancelled = cancelled and self.failure is None
                else:
                    if failure is not None and not self.relayed(failure) and raised_when_cancelled(failure):
                        # The cancelled code raised an exception of its own: a failed release, which is kept. An
                        # exception raised before the cancellation reached it is dropped: it comes too late, because
                        # nobody asks any longer.
                        self._keep(failure)
                    await self._until_over()
            finally:
                self._answered()
        if cancelled and exc is not None:
            raise one_of(exc)

    async def _turn(self) -> bool:
        """Wait for this ask's turn; False if the stream has ended instead, and the ask can be answered with that."""
        if self._at_rest:
            return False
        ticket = self.run.signal()
        self._enqueue(ticket)
        try:
            await self._answerable(ticket)
            if self.state is OPEN:
                return True
            # The turn came in the step that ended the stream.
            await self._until_over()
        except BaseException:
            self._answered()
            raise
        self._answered()
        return False

    async def _until_over(self) -> None:
        """Wait until the stream, ended by another request, is released: no ask is answered before that (R10)."""
        if self.state is State.CLOSING:
            # A plain event, not a run's signal: the deadlock detector must ignore this wait, because a release has its
            # own timeout.
            ticket = trio.Event()
            self._requeue(ticket)
            await self._answerable(ticket)

    async def _answerable(self, ticket: Signal | trio.Event) -> None:
        """Wait for the turn; if cancelled meanwhile, end the stream, and return once it is released (R10)."""
        try:
            await ticket.wait()
        except BaseException:
            first = self._end_cancelled()
            with trio.CancelScope(shield=True):
                if first:
                    await self._carry_out()
                await ticket.wait()
                # The turn may have come in the same step as the cancellation, just before the end.
                await self._until_over()
            if not first or self.failure is None:
                raise

    async def _confirmed(self, ticket: trio.Event) -> None:
        """Wait until every request that came before a termination is answered (R5)."""
        try:
            await ticket.wait()
        finally:
            self._withdraw(ticket)

    def _terminal(self) -> Done:
        self.delivered = True
        failure = self.failure
        if failure is not None:
            # Every ask raises the same object, with the traceback it had at first (R3).
            raise failure.with_traceback(self.traceback)
        return DONE

    # ---- the one path that every ending takes

    def _end_by(
        self, event: Event, failure: BaseException | None = None, *, below: bool = False, released: bool = False
    ) -> bool:
        """Accept a termination from either side: no value passes now. True for the first; its caller carries it out.

        Stamps of values that might still have left here are frozen in this same step, before anything upstream
        withdraws its own. Otherwise the ending, or a failed release upstream, would look like completion downstream.
        With `released`, nothing upstream is left to withdraw, and the ending is carried out in this step: nothing needs
        to be frozen.
        """
        first = self._accept(event, failure, below=below)
        if first and not released:
            # Values not given to a lane by now never will be.
            rest, self.rest = self.rest, None
            self.location.freeze(None if rest is None else rest.drop)
        if first and self.wake is not None:
            self.wake()
        return first

    def _end_cancelled(self) -> bool:
        """Treat the cancellation of an ask as the announced error that caused it, or else as an abort (R6, R10)."""
        reason = self.announced
        return self._end_by(Event.ABORT if reason is None else Event.ERROR, reason)

    async def _carry_out(self) -> None:
        """Carry out an ending from any side: release everything from here upstream, then end the edge (R6).

        The order: first the module's tasks and upstream, in one step, so that nothing more is asked for; then the code
        under way, which may be waiting for upstream; then the release. An exception in one of them does not stop the
        others.
        """
        reason = self.failure
        # No shield if nothing waits: it would be most of the cost of ending a short stream.
        waits = self.waits or self.working or not self._dismisses_at_once()
        try:
            with trio.CancelScope(shield=True) if waits else AT_ONCE:
                if self.working and self._scope is not None:
                    self._scope.cancel()
                try:
                    if self.acquired and self.module.__overrides__.halts:
                        method_of(self.module, "halt")()
                    await method_of(self.module, "dismiss")(reason)
                except BaseException as exc:  # noqa: BLE001 - kept, and raised by the confirmation
                    self._keep(exc)
                try:
                    await self._release()
                except BaseException as exc:  # noqa: BLE001 - kept, and raised by the confirmation
                    self._keep(exc)
                else:
                    if self.observer is not None and self.acquired:
                        self.observer.released()
        finally:
            self._ended(reason)

    def _dismisses_at_once(self) -> bool:
        """Whether everything upstream can end without waiting."""
        inputs = self.inputs
        if self.plain and len(inputs) == 1 and not inputs[0].over:
            return inputs[0].edge.ends_at_once()
        return not self.beyond and all(map(_OVER, inputs))

    def ends_at_once(self) -> bool:
        """Whether an ending here needs no waiting, here or upstream."""
        return self.state is OPEN and self._at_once and not (self.busy or self.waits) and self._dismisses_at_once()

    async def _release(self) -> None:
        """Wait for the code under way, then release, both within the run's grace period."""
        if not (self.waits or self.working):
            if self.acquired and self.module.__overrides__.releases:
                await method_of(self.module, "release")()
            return
        with self.run.grace() as grace:
            # If upstream exceeded its grace period, it will not answer an ask either: give up code that may wait for
            # it.
            if self.working and not isinstance(self._release_failure, ReleaseTimeout):
                left = self.left = trio.Event()
                await left.wait()
            if self.acquired:
                # Again, for tasks that `acquire` has started since.
                method_of(self.module, "halt")()
                await method_of(self.module, "release")()
        if grace.cancelled_caught:
            raise ReleaseTimeout(
                f"{self.location}, did not release its resources within {self.run.release_seconds} s: its release, or "
                f"its running code, waits for longer, or blocks. Make that shorter, or raise release_timeout",
            )

    def _ended(self, reason: BaseException | None) -> None:
        """Record, in the sidecar and for all waiting requests, that everything from here upstream is released.

        In one step, and in this order: how this location ended; then the stamps frozen upstream, which by now count
        here; the requests last, because an answered asker may read the frontier.
        """
        release_failure = self._release_failure
        self.run.sources.pop(self, None)
        if self.below:
            for claim in self.port.in_flight:
                if isinstance(claim, End):
                    claim.settle()
            self.location.abandon(self.failure)
        else:
            if release_failure is not None:
                # No request from downstream will raise a failed release here, so every ask does.
                release_failure.__context__ = release_failure.__context__ or reason
                self._fail_with(release_failure)
            if self.failure is not None:
                self.location.fail(self.failure)
            elif self.how is Event.ABORT:
                self.location.abandon(keep=True)
            else:
                self.location.complete()
        # Stamps that an ending froze upstream are frozen here too: a module downstream may handle it and continue.
        for above in self.inputs:
            above.edge.location.withdraw_frozen()
        self._released()

    # ---- details

    def _above(self) -> "list[Edge[Any]]":
        return [*(end.edge for end in self.inputs), *self.beyond]

    def relayed(self, exc: BaseException) -> bool:
        """Whether a failure came from upstream, or from elsewhere, rather than from this module."""
        # The failure of a function of times in the sidecar has its note, and waiters there may have raised it already.
        failed = any(edge.raised(exc) for edge in self._above())
        return failed or exc is self.scope.sidecar.summary_failure or bool(method_of(self.module, "relayed")(exc))

    def _blame(self, failure: BaseException) -> bool:
        """Note on a failure that it was raised here; False if the module only passed it on."""
        own = not self.relayed(failure)
        if own:
            blame(failure, method_of(self.module, "culprit")() or str(self.location))
        return own

    def _keep(self, exc: BaseException) -> None:
        """Keep an exception of the release until the ending is confirmed. The first one gets notes about all others."""
        if self.raised(exc):
            return
        # A failure from elsewhere has its note already, and a ReleaseTimeout names its module itself.
        if not (isinstance(exc, ReleaseTimeout) or any(map(is_blame, getattr(exc, "__notes__", ())))):
            self._blame(exc)
        if self._release_failure is None:
            self._release_failure = exc
        else:
            failed_too(self._release_failure, exc)
