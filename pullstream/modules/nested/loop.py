"""`loop`: values that go round again, and leave when they are done.

Three places stand for a loop in the sidecar's graph, besides its body: the *ingress*, where what comes from outside
enters at round 0 and what goes round comes in again; the *egress*, which sorts what the body answers; and the
*feedback* between the two, which adds a round. So a time is complete behind the loop exactly when nothing at it can go
round any more: convergence is a completion. And a round is complete inside when nothing at it, or before it, can still
come in, while later ones go round: so what is outside is acknowledged when it enters, and asked for meanwhile.
"""

from collections.abc import Hashable, Sequence
from math import inf
from typing import Annotated, Any, Final, Generic, cast

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Instance, Module, Positive, Transformer
from pullstream.blueprint.parts import Onward
from pullstream.decorators import opens, transformer
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel, install
from pullstream.engine.edge.lane import Lane
from pullstream.engine.interfaces import AtHand
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.phases import Phase
from pullstream.engine.sidecar.waiting import Waiter
from pullstream.engine.traits import Traits
from pullstream.errors import Overflow
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import ENTER, FEEDBACK, IDENTITY, LEAVE, LoopTime, less_equal

A = TypeVar("A")
B = TypeVar("B")
V_co = TypeVar("V_co", covariant=True)


@attrs.frozen
class Again(Generic[V_co]):
    """A value that a loop's body sends round once more, to itself; see `loop`."""

    value: V_co


_AGAIN: Final[Any] = Again


class _Feedback:
    """The feedback: values on their way from the egress back to the ingress, held at the round they come in at."""

    def __init__(self, location: Location, capacity: int, ingress: "_Ingress") -> None:
        self.location = location
        self._capacity = capacity
        self._ingress = ingress
        self.row = Outbox(self)

    def put(self, time: Hashable, values: Sequence[Any]) -> None:
        """Send values round, to come in at `time`."""
        length = self.row.values + len(values)
        if length > self._capacity:
            raise Overflow(
                f"{self._ingress.location} has {length} values on their way round, at {time!r}, and may have "
                f"{self._capacity}: let the body send fewer of them round (does it converge?), or raise capacity=",
            )
        self.row.put(time, values)
        self._ingress.changed()


class _Drained(Waiter):
    """A waiter until nothing can come any more."""

    @override
    def settled(self, phase: Phase) -> bool:
        return not any(phase.frontier(place).elements for place in self.places)

    @override
    def __str__(self) -> str:
        return f"{self.owner}, waits until nothing can come round any more"


class _Ingress(TaskKernel[Any], AtHand):
    """Answers what goes round first, and what is outside after it.

    So a loop is drained before it is fed. Outside batches at one time may all enter; the first at another time waits
    until the loop is done with the earlier ones, as far as they can be done without it.

    An ask outside is outstanding all the while, one batch ahead: who is never asked cannot say that nothing more comes
    at a time, and with it the first rounds would stay open.
    """

    def __init__(self) -> None:
        self.traits = attrs.evolve(self.traits, summaries=[ENTER, IDENTITY], lasting=_last_round_of)
        self._inside: dict[Hashable, Waiter] = {}
        self.feedback: _Feedback
        self.leaving: Location

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._outside = Input(self.upstream)
        for place in (self.leaving.output, *(port.place for port in self.location.ports)):
            self.scope.sidecar.phase.observe(place)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        outside = self._outside
        while True:
            if not outside.left and not outside.known and not self.asking(self.upstream):
                await self._ask_outside(limit)
            if self.feedback.row:
                return self.feedback.row.take(limit)
            if outside.left:
                if self._may_enter(outside.time):
                    return self._enter(outside, limit)
            elif outside.reached() and self.scope.sidecar.answered(self._drained()):
                return DONE
            await self._wait()

    @override
    def at_hand(self, limit: int) -> Batch[Any] | None:
        outside = self._outside
        asked = outside.left or outside.known or self.asking(self.upstream)
        return self.feedback.row.take(limit) if asked and self.feedback.row else None

    async def _ask_outside(self, limit: int) -> None:
        if self.upstream.edge.answers_promptly():
            await self.ask_promptly(self.upstream, limit)
            return
        self.ask_beside(self.upstream, limit)
        for _ in range(2):
            # Time for the task to run once: an answer that is there tells whether the round at hand is the last.
            if self.asking(self.upstream) and self.feedback.row:
                await trio.lowlevel.checkpoint()

    def _enter(self, outside: Input, limit: int) -> Batch[Any]:
        values = outside.take(limit)
        # What is left outside is in flight there; what enters is so below, in this very step.
        if not outside.left:
            self.upstream.ack()
        if outside.time not in self._inside:
            self._inside[outside.time] = Waiter([self.leaving.output], outside.time, None, self.location, self._changed)
        return Batch(ENTER.results_in(outside.time), values)

    def _may_enter(self, time: Hashable) -> bool:
        sidecar = self.scope.sidecar
        sidecar.propagate()
        for earlier, waiter in list(self._inside.items()):
            if sidecar.answered(waiter):
                del self._inside[earlier]
        if time in self._inside:
            return True
        # What may still come from outside cannot be waited for while this batch is in the way.
        outer = sidecar.phase.frontier(self.location.ports[0].place)
        return all(not less_equal(earlier, time) or outer.less_equal(earlier) for earlier in self._inside)

    def _drained(self) -> Waiter:
        return _Drained([self.location.ports[1].place], None, None, self.location, self._changed)

    async def _wait(self) -> None:
        """Wait until something comes, from outside or round, or the loop is done with a time."""
        self._changed = self.run.signal()
        await self.scope.sidecar.until(self._waiters(), self._changed)

    def _waiters(self) -> list[Waiter]:
        if self._outside.done:
            return [self._drained()]
        return list(self._inside.values()) if self._outside.left else []

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self._outside.came(answer)


class _Egress(PassOn):
    """Sorts what the body answers: what goes round, and what leaves."""

    traits = Traits(waits=False, trusted=True, reorders=True, summaries=[LEAVE])

    def __init__(self, feedback: _Feedback) -> None:
        self._feedback = feedback

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        again: list[Any] = [value.value for value in batch.values if type(value) is _AGAIN]
        if not again:
            return Batch(LEAVE.results_in(batch.time), batch.values)
        # What goes round is held in its row.
        self._feedback.put(FEEDBACK.results_in(batch.time), again)
        self.upstream.settle()
        if len(again) == len(batch.values):
            return None
        leaving = [value for value in batch.values if type(value) is not _AGAIN]
        return Batch(LEAVE.results_in(batch.time), leaving)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        try:
            await super().dismiss(reason)
        finally:
            self._feedback.row.withdraw()


@attrs.frozen(eq=False)
class _Loop(Wiring):
    _body: Blueprint
    _capacity: int

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "a loop is a transformer"
        scope, name, site = assembly.scope, named(module), module.site
        ingress = _Ingress()
        # The second input is the feedback's, whose location is below the body: it takes this one's place in a moment.
        location = scope.sidecar.locate([f"{name} ingress"], site, [upstream.location] * 2, traits=ingress.traits)
        install(ingress, scope, location, [upstream])
        body = assembly.stream(self._body.modules, ingress)
        fork = scope.sidecar.locate([f"{name} egress"], site, [body.location], traits=Traits(summaries=[IDENTITY]))
        back = scope.sidecar.locate(
            [f"{name} feedback"], site, [fork], traits=Traits(summaries=[FEEDBACK], lasting=_last_round)
        )
        out = scope.sidecar.locate([name], site, [fork], traits=_Egress.traits)
        location.upstreams[1] = back
        ingress.feedback = _Feedback(back, self._capacity, ingress)
        ingress.leaving = out
        egress = _Egress(ingress.feedback)
        install(egress, scope, out, [body])
        return egress


def _last_round_of(number: int, time: Any) -> Sequence[Hashable]:
    """The last round of what enters a loop: none, as it may go round any number of times."""
    return [time] if number else _last_round(0, ENTER.results_in(time))


def _last_round(number: int, time: Any) -> Sequence[Hashable]:
    del number
    if not isinstance(time, LoopTime):
        return [time]
    endless: Any = inf
    return [LoopTime(time.outer, (*time.counters[:-1], endless))]


@transformer
def loop(
    body: Annotated[Onward[A, B | Again[A]], Instance(Transformer, "needs a transformer as its body")],
    *,
    capacity: Positive = 1_000_000,
) -> Transformer[A, B]:
    """Let values go round in `body`: an `Again(value)` that it answers comes in again, everything else leaves.

    >>> import pullstream as ps
    >>> def halve(n):
    ...     return ps.Again(n // 2) if n % 2 == 0 else n
    >>> sorted(ps.run(ps.pipe(ps.values([6, 8, 5]), ps.loop(ps.map(halve)), ps.collect())))
    [1, 3, 5]

    Inside, the time t of a value is `LoopTime(t, (round,))`, from round 0 on; in a loop within a loop
    `LoopTime(t, (outer round, round))`. So a body may keep state per time and round, and be told (`ctx.notify_at`) when
    a round is complete: when nothing at it, or before it, can come in any more, though later rounds go on. Behind the
    loop a time is complete when nothing at it can go round any more.

    What goes round is drained before anything else enters, and values at a later time enter when the loop is done with
    the earlier ones. One batch is asked for ahead, and waits outside, for only then it is known whether more will enter
    at a time, and which rounds are over. In which order the values of one time leave depends on how they travelled, in
    batches.

    Raises:
        Overflow: more than `capacity` values are on their way round.
    """
    return opens(_Loop(cast("Any", body), capacity))
