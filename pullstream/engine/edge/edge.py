"""An edge: the machine that keeps R1 to R12 for the module above it.

An edge *has* a module, which says how an answer is produced; everything else (turns, terminations, failures,
cancellation, release and accounting) happens here. The requests of all lanes of an edge pass through it, and it serves
them one at a time, first come, first served (R1, R4). Whose turn it is, and what has ended the edge, is decided in
`requests`; here is what waits, and what lets go.

An ending comes from three sides: as a request from below (`terminate`), from the module itself, which answers DONE or
raises (`_conclude`), or from somewhere else in the run (`end_here`). Whoever brings it first marks the edge
(`_end_by`), carries the ending out (`_let_all_go`), and is told last; who comes later waits for that.

Two facts about trio carry the argument that no value passes after a termination. First, a coroutine runs until it
awaits something that really waits: so `terminate` marks this edge, and through its upstream's `terminate` every edge
above, before any other task runs; where it goes on in another task (`dismiss_all`), those up to there. Second, a ticket
that was set wakes its waiter at a later step: so an ask that is answered, and gives the turn to a waiting abort, has
returned to its asker before the abort is confirmed (R5).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from time import monotonic
from typing import Any, Final, Generic
from weakref import WeakSet

import trio
from typing_extensions import TypeVar

from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.behaviour import Behaviour, method_of
from pullstream.engine.edge.end import End
from pullstream.engine.edge.handover import Handover
from pullstream.engine.edge.requests import EdgeRequests
from pullstream.engine.interfaces import AtHand, Finishing, Stepwise, Suspended
from pullstream.engine.run import Scope
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.memory import Memory
from pullstream.errors import (
    ProtocolError,
    ReleaseTimeout,
    blame,
    failure_in,
    raised_when_cancelled,
)
from pullstream.frames import lead_to
from pullstream.protocol import DONE, Batch, Done, Event, State, TimedBatch

T = TypeVar("T")

OPEN: Final = State.OPEN

BREATH = 0.005
"""Seconds that synchronous work may go on before other tasks get a turn."""


class Edge(Generic[T]):
    """The edge below one module, and the machine that serves its requests."""

    def __init__(self, module: Behaviour[T], scope: Scope, location: Location, inputs: "list[Any]") -> None:
        self.module = module
        self.scope, self.run = scope, scope.run
        self.location = location
        self.inputs: list[End[Edge[Any]]] = inputs
        """The module's ends of the edges above it; it may open further ones, and close them, while it runs."""
        self.beyond: Sequence[Edge[Any]] = ()
        """Edges above that are no inputs, and that the module's `dismiss` ends all the same."""
        self.ends: WeakSet[End[Any]] = WeakSet()
        """The ends below. Whoever takes a lane for one ask takes any number of them: those in use keep themselves."""
        traits = self.traits = module.traits
        self.origin = not (inputs or traits.follows)
        """Whether each answer says that nothing before it will come."""
        above = [end.edge for end in inputs]
        self.height: int = 1 + max((edge.height for edge in above), default=0)
        """The number of modules in a row above this edge."""
        self.depth: int = 1 if traits.asks_apart else 1 + max((edge.depth for edge in above), default=scope.depth)
        """The number of these that ask one inside the other."""
        self._requests = EdgeRequests()
        self._waits = traits.waits
        self._trusted = traits.trusted
        self.handover: Handover[T] = Handover(
            location, scope.sidecar, inputs, origin=self.origin, trusted=traits.trusted
        )
        # What runs in it can be cancelled by a termination: `acquire` or `produce`, where they wait for anything.
        self._scope: trio.CancelScope | None = None
        # The place in line of the termination from below, if an ask was being served when it came.
        self._confirmation: trio.Event | None = None
        # What went wrong on the way up or in the release, after the ending was decided: told to who is told of the end.
        self._trouble: BaseException | None = None
        self._breath = 0.0
        self.acquire, self.release = method_of(module, "acquire"), method_of(module, "release")
        """The module's; who watches a run counts them."""
        self._produce, self._halt = method_of(module, "produce"), method_of(module, "halt")
        self._step = method_of(module, "step") if isinstance(module, Stepwise) else self._produce
        self._at_hand = method_of(module, "at_hand") if isinstance(module, AtHand) else None
        location.meter.status = self._status
        location.fail_soon = self.fail_soon

    def placed(self) -> None:
        """Tell the module that it has its place: it may look at what is above."""
        method_of(self.module, "placed")()
        self._waits = self.traits.waits and not self.stepwise()

    # ---- for those below, and for the module itself

    @property
    def open(self) -> bool:
        """Whether nothing has ended the edge yet."""
        return self._requests.state is OPEN

    @property
    def over(self) -> bool:
        """Whether the edge has ended, and everything from it up is released."""
        return self._requests.over

    @property
    def failure(self) -> BaseException | None:
        """The exception that the stream failed with, if it did."""
        return self._requests.failure

    @cached_property
    def memory(self) -> Memory:
        """The dict that the module keeps from time to time, saved in a run with a journal."""
        return self.scope.memory(self.location)

    def answers_promptly(self) -> bool:
        """Whether nothing has to be waited for beside an ask, neither a completion nor the clock."""
        return self.traits.prompt and all(end.edge.answers_promptly() for end in self.inputs)

    def stepwise(self) -> bool:
        """Whether an ask with `stepping` comes back without waiting, having done no more than one thing."""
        if isinstance(self.module, Stepwise):
            return bool(method_of(self.module, "stepwise")())
        return self.answers_promptly()

    def steps_now(self) -> bool:
        """Whether that is so of the next one, as things are."""
        if isinstance(self.module, Stepwise):
            return bool(method_of(self.module, "steps_now")())
        return self.answers_promptly()

    async def breathe(self) -> bool:
        """Let other tasks have a turn, and a cancellation strike, if it is time; False if the stream has ended."""
        now = monotonic()
        if now - self._breath > BREATH:
            self._breath = await self.run.let_others()
        return self._requests.state is OPEN

    # ---- requests

    async def ask(self, end: End[Any], limit: int, stepping: bool) -> Batch[T] | Done | None:  # noqa: FBT001 - quickest so
        """Serve an ask (R1 to R5, R7, R8, R10); if `stepping`, None says that there is no answer yet.

        The ask has the turn from `begin` to `answered`, whatever happens meanwhile. After each await the edge may have
        been ended by another request: then what was produced goes to nobody, and `_conclude` says how it ended (R5).
        """
        requests, handover = self._requests, self.handover
        if (requests.busy or requests.state is not OPEN) and not await self._turn():
            return self._terminal()
        requests.begin()
        try:
            if handover.owing:
                batch = handover.owed(end, limit)
                requests.answered()
                return batch
            answer: Batch[T] | Done | None = DONE
            if not (requests.acquired or requests.finishing):
                await self._begin()
            while requests.state is OPEN and not requests.finishing:
                if self._waits:
                    at_hand = None if self._at_hand is None else self._at_hand(limit)
                    if at_hand is not None:
                        answer = at_hand
                    else:
                        # Left by a cancellation, as by `finish`, it has come to its end.
                        with own_scope() as self._scope:
                            answer = await self._produce(limit)
                elif stepping:
                    answer = await self._step(limit)
                else:
                    answer = await self._produce(limit)
                if handover.drops is None or answer is None or answer is DONE:
                    break
                if not self._trusted and mistake(answer, limit):
                    break
                answer = handover.not_done(answer, handover.drops)
                if answer is not DONE or not await self.breathe():
                    break
            if requests.state is OPEN:
                if answer is None:
                    if not stepping:
                        raise ProtocolError(f"R2: {self.location}, answered {mistake(answer, limit)}")  # noqa: TRY301 - as all here
                    requests.answered()
                    return None
                if answer is not DONE:
                    if not self._trusted and (problem := mistake(answer, limit)):
                        raise ProtocolError(f"R2: {self.location}, answered {problem}")  # noqa: TRY301 - as all here
                    # In one step: a source's capability goes down when the batch is counted below, and no sooner.
                    if answer.__class__ is TimedBatch:
                        answer = handover.hand_over(answer, end, limit)
                    else:
                        if self.origin:
                            self.location.advance(answer.time, answer.values)
                        elif not self._trusted:
                            handover.check_right(answer.time)
                        end.stamp(answer.time)
                    requests.answered()
                    return answer
        except BaseException as exc:  # noqa: BLE001 - every way to leave passes through the one policy (R8, R10)
            await self._conclude(exc)
        else:
            await self._conclude(None)
        # Out of the handler, or what was raised above would take the place of the failure's own context.
        return self._terminal()

    async def terminate(self, reason: BaseException | None) -> Done:
        """Serve an abort, or an error with its reason (R5, R6)."""
        if self.close(reason):
            return await self.confirm()
        if not self._requests.settled:
            ticket = trio.Event()
            self._requests.enqueue(ticket)
            await self._confirmed(ticket)
        if self._requests.untold is not None and self._trouble is not None:
            raise self._trouble
        return DONE

    def close(self, reason: BaseException | None) -> bool:
        """Take a termination: from now on no value passes (R5). True for the first, which is to be confirmed."""
        first = self._end_by(Event.ABORT if reason is None else Event.ERROR, reason, below=True)
        if not first:
            self._requests.overrule(reason)
        elif self._requests.busy:
            self._confirmation = trio.Event()
            self._requests.enqueue(self._confirmation)
        return first

    async def confirm(self) -> Done:
        """Let go of everything from here up: what confirms the termination that `close` took (R6)."""
        await self._let_all_go()
        if self._confirmation is not None:
            # Nobody before it in line has anything to wait for any more.
            with trio.CancelScope(shield=True):
                await self._confirmed(self._confirmation)
        if self._trouble is not None:
            raise self._trouble
        return DONE

    def announce(self, reason: BaseException) -> "Sequence[Edge[Any]]":
        """Hear of an error that is on its way from below; gives the edges above, which are to hear of it as well."""
        if self._requests.announced is not None:
            return ()
        self._requests.announced = reason
        return self._above()

    def unanswered(self) -> None:
        """Take note that an ask came back without an answer: it was cancelled, which is an abort (R10)."""
        self._requests.overrule(None, decides=False)

    @property
    def untold(self) -> BaseException | None:
        """The failure that a termination from below replaced before any ask was answered with it."""
        return self._requests.untold

    # ---- endings that nobody below asked for

    def finish(self) -> None:
        """Come to the end by itself as soon as may be, instead of producing more; for sources."""
        if isinstance(self.module, Finishing):
            method_of(self.module, "finish")()
            return
        self._requests.finishing = True
        if self._requests.working and self._scope is not None:
            self._scope.cancel()

    def end_here(self, failure: BaseException | None = None) -> None:
        """End the stream at this module now, or let it fail, whether anybody asks or not; the first ending counts.

        Upstream is notified at once, and asks are answered when all of it is released (R7, R8). A termination from
        below that comes before any ask has been answered with this end replaces it.
        """
        if self._requests.state is OPEN:
            self._requests.replaceable = True
            self._end_now(failure)

    def _end_now(self, failure: BaseException | None) -> None:
        if failure is not None and not self.relayed(failure):
            blame(failure, self._name())
        self._end_by(Event.END if failure is None else Event.FAIL, failure)
        self.run.spawn(self._let_all_go)

    def fail_soon(self, failure: BaseException) -> None:
        """Let the stream fail here at the next step: for what is raised in the middle of something else."""
        if self._requests.state is OPEN and self.run.begun:
            self.run.spawn(self._fail, failure)

    async def _fail(self, failure: BaseException) -> None:
        if self._requests.state is OPEN:
            self._end_now(failure)

    # ---- how an ask ends, if not with a batch

    async def _begin(self) -> None:
        self.location.meter.begin()
        if not self._waits:
            await self.acquire()
            self._requests.acquired = True
            return
        with own_scope() as self._scope:
            await self.acquire()
            self._requests.acquired = True

    async def _conclude(self, exc: BaseException | None) -> None:
        """An ask has no batch: its module came to the end (R7), something was raised (R8), or it was cancelled (R10).

        Or another request has ended the edge meanwhile: then that one says what the answer is.
        """
        requests = self._requests
        failure = None if exc is None else failure_in(exc)
        cancelled = exc is not None and failure is None
        if requests.reclaim():
            await self._turn()
        else:
            try:
                if requests.state is OPEN:
                    if failure is not None and not self.relayed(failure):
                        blame(failure, self._name())
                        if isinstance(self.module, Suspended):
                            lead_to(failure, method_of(self.module, "suspended_at")())
                    requests.code_returned()
                    if cancelled:
                        self._end_cancelled()
                    else:
                        self._end_by(Event.END if failure is None else Event.FAIL, failure)
                    await self._let_all_go()
                    cancelled = cancelled and requests.failure is None
                else:
                    if failure is not None and not self.relayed(failure) and raised_when_cancelled(failure):
                        # The code under way was cancelled and raised something of its own: a release that failed.
                        # What it raised before the cancellation could reach it came too late: nobody asks any more.
                        blame(failure, self._name())
                        self._keep(failure)
                    await self._until_over()
            finally:
                requests.answered()
        if cancelled and exc is not None:
            raise exc

    async def _turn(self) -> bool:
        """Wait for this ask's turn; False when the stream has ended before, and it may be answered."""
        requests = self._requests
        if requests.settled:
            return False
        ticket = self.run.signal()
        requests.enqueue(ticket)
        try:
            await self._answerable(ticket)
            if requests.state is OPEN:
                return True
            # The turn came in the very step in which the stream ended.
            await self._until_over()
        except BaseException:
            requests.answered()
            raise
        requests.answered()
        return False

    async def _until_over(self) -> None:
        """Wait until the stream, which another request has ended, is released: nobody is told before (R10)."""
        if self._requests.state is State.CLOSING:
            # No inside wait: what is being released has its time, and is no deadlock.
            ticket = trio.Event()
            self._requests.requeue(ticket)
            await self._answerable(ticket)

    async def _answerable(self, ticket: Signal | trio.Event) -> None:
        """Wait for the turn; who is cancelled in this ends the stream, and comes back when that is released (R10)."""
        try:
            await ticket.wait()
        except BaseException:
            first = self._end_cancelled()
            with trio.CancelScope(shield=True):
                if first:
                    await self._let_all_go()
                await ticket.wait()
                # The turn may have come in the very step in which the cancellation did, and before the end.
                await self._until_over()
            if not first or self._requests.failure is None:
                raise

    async def _confirmed(self, ticket: trio.Event) -> None:
        """Wait until every request that came before a termination is answered (R5)."""
        try:
            await ticket.wait()
        finally:
            self._requests.withdraw(ticket)

    def _terminal(self) -> Done:
        self._requests.told = True
        failure = self._requests.failure
        if failure is not None:
            # The same object for every ask, with the traceback it had at first (R3).
            raise failure.with_traceback(self._requests.traceback)
        return DONE

    # ---- the one way in which an edge ends

    def _end_by(self, event: Event, failure: BaseException | None = None, *, below: bool = False) -> bool:
        """Take a termination from either side: no value passes any more. True for the first, which is to be done.

        What might still have left here is frozen in this very step, before anything above is withdrawn: that must look
        like completion to nobody.
        """
        first = self._requests.terminate(event, failure, below=below)
        if first:
            # What no lane was given it never will be.
            self.location.freeze(self.handover.drop())
        return first

    def _end_cancelled(self) -> bool:
        """Take the cancellation of an ask: an abort, or the work of an error that is on its way here (R6, R10)."""
        reason = self._requests.announced
        return self._end_by(Event.ABORT if reason is None else Event.ERROR, reason)

    async def _let_all_go(self) -> None:
        """Carry out an ending, whoever brought it: everything is let go from here up, then the edge has ended (R6).

        In this order: the module's tasks and what is upstream, at once, so that nothing else is asked for; the code
        under way, which what is upstream may be holding up; the release. What any of them raises stops none of them.
        """
        requests, reason = self._requests, self._requests.failure
        # A module that has nothing to wait for needs no scope, which is most of what it costs to end a short stream.
        waits = self._waits or requests.working or not all(end.over for end in self.inputs)
        try:
            with trio.CancelScope(shield=True) if waits else nullcontext():
                if requests.working and self._scope is not None:
                    self._scope.cancel()
                try:
                    if requests.acquired:
                        self._halt()
                    await method_of(self.module, "dismiss")(reason)
                except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
                    self._keep(exc)
                try:
                    await self._settle()
                except BaseException as exc:  # noqa: BLE001 - kept, and raised by whoever confirms
                    # A failure that comes from above has its note, and what ran out of time names the module itself.
                    if not (isinstance(exc, ReleaseTimeout) or self.relayed(exc) or exc is reason):
                        blame(exc, self._name())
                    self._keep(exc)
        finally:
            self._ended(reason)

    async def _settle(self) -> None:
        """Wait for the code under way, and release, within the time there is for it."""
        requests = self._requests
        if not (self._waits or requests.working):
            if requests.acquired:
                await self.release()
            return
        with self.run.grace() as grace:
            # An upstream that has not let go in its time answers no ask either: what waits for it is not waited for.
            if requests.working and not isinstance(self._trouble, ReleaseTimeout):
                left = requests.left = trio.Event()
                await left.wait()
            if requests.acquired:
                # Once more, for what `acquire` has begun since.
                self._halt()
                await self.release()
        if grace.cancelled_caught:
            raise ReleaseTimeout(
                f"{self.location}, did not let go within {self.run.release_timeout} s of being ended; look for a "
                f"shielded or blocking wait in it, or raise release_timeout",
            )

    def _ended(self, reason: BaseException | None) -> None:
        """Say, in the sidecar and to those who wait, that everything from here up is let go.

        In one step, and in this order: how this place ended, then what was frozen above, which counts here by now, and
        only then the requests, for who is answered may look.
        """
        requests, trouble = self._requests, self._trouble
        self.run.sources.discard(self)
        if requests.below:
            for end in self.ends:
                end.let_go()
            self.location.abandon(requests.failure)
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
            above.edge.location.withdraw_frozen()
        requests.give_up()
        requests.released()

    # ---- details

    def _above(self) -> "list[Edge[Any]]":
        return [*(end.edge for end in self.inputs), *self.beyond]

    def relayed(self, exc: BaseException) -> bool:
        """Whether a failure came from upstream, or from elsewhere, rather than from this module."""
        # What a function of times raises in the sidecar has its note, and may reach others first, who wait there.
        failed = any(exc is edge.failure for edge in self._above())
        return failed or exc is self.scope.sidecar.trouble or bool(method_of(self.module, "relayed")(exc))

    def _name(self) -> str:
        """The name that goes into a note on what was raised here."""
        return method_of(self.module, "culprit")() or str(self.location)

    def _status(self) -> str:
        return str(method_of(self.module, "status")())

    def _keep(self, exc: BaseException) -> None:
        if self._trouble is None and exc is not self._requests.failure:
            self._trouble = exc
