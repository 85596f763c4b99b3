"""`loop`: sends values round again until they are done.

In the sidecar's graph, a loop has its body and three places. The *ingress* is where values enter, at round 0, and where
values that go round come in again. The *egress* sorts the results of the body. The *feedback* between them adds a
round. So a time is complete after the loop exactly when no value at it can still go round: convergence is a completion.
A round is complete inside when no value at it or before it can come in, even while later rounds continue. Therefore an
outside value is acknowledged when it enters, and the next ones are asked for meanwhile.
"""

from collections.abc import Hashable, Sequence
from math import inf
from typing import Annotated, Any, Final, Generic, cast

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Instance, Module, Positive, Transformer
from pullstream.blueprint.parts import Onward
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, transformer
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.backlog import Backlog, of_runs
from pullstream.engine.edge.kernel import Kernel, install
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.parts.tasks import Asking
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.waiting import Requests, Watch, completion
from pullstream.engine.traits import Traits
from pullstream.errors import Overflow
from pullstream.logger import LOG
from pullstream.modules.windows.grid import LOOP_TIMES
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered
from pullstream.timely import ENTER, FEEDBACK, IDENTITY, LEAVE, LoopTime, NaiadTime, TimeDomainError, less_equal

V_co = TypeVar("V_co", covariant=True)


@attrs.frozen
class Again(Generic[V_co]):
    """A value that the body of a `loop` sends into the next round."""

    value: V_co


MANY: Final = 100_000
"""The number of times that values go round before a warning: few programs intend that many."""

_AGAIN: Final[Any] = Again


class _Feedback:
    """Values on their way from the egress back to the ingress, held at the round in which they come in."""

    def __init__(self, location: Location, capacity: int, ingress: "_Ingress") -> None:
        self.location = location
        self._capacity = capacity
        self._ingress = ingress
        self._rounds = 0
        self.row = Backlog(self)

    def put(self, time: Hashable, values: Sequence[Any]) -> None:
        """Send values round, to come in at `time`."""
        length = self.row.left + len(values)
        if length > self._capacity:
            raise Overflow(
                f"{self._ingress.location} has {length} values on their way round, at {time!r}, but its capacity is "
                f"{self._capacity}. Check that the body converges, send fewer values round, or raise capacity="
            )
        self._rounds += 1
        if self._rounds == MANY:
            LOG.warning(
                "%s has sent values round %d times, and continues. Check that its body returns each value without "
                "Again at some point",
                self._ingress.location,
                MANY,
            )
        self.row.put(Batch(time, values))
        self._ingress.changed()


class _Ingress(Asking[Any]):
    """Emits values that go round first, then values from outside.

    So the loop is drained before it takes more. All outside values at one time may enter. The first value at another
    time waits until the loop has finished the earlier times, as far as possible without it.

    There is always an outstanding ask upstream, one batch ahead: a source that is not asked cannot report that a time
    is complete, and then the first rounds would stay open.
    """

    def __init__(self) -> None:
        self.traits = attrs.evolve(self.traits, summaries=[ENTER, IDENTITY], lasting=_last_round_of)
        self._inside: Requests[None] = Requests()
        """The times at which values have entered, until the loop has finished them."""
        self._patient = False
        """Whether values that go round wait for a task that has just begun to ask outside."""
        self.feedback: _Feedback
        self.within: Sequence[Location]
        """The locations of the loop, without its ingress."""

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._outside = Input(self.upstream)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        outside = self._outside
        if not (outside or outside.known or self.asking(self.upstream)):
            self.ask_input(self.upstream, limit)
            self._patient = True
            # Process the answer now if there is one.
            self.answered()
        if self.feedback.row:
            if self._patient and self.asking(self.upstream):
                return WAIT
            return self.feedback.row.take(limit)
        if outside:
            if self._may_enter(outside.first):
                return self._enter(outside, limit)
        elif outside.reached() and self.edge.met(self._drained()):
            return DONE
        return self.pending()

    def _enter(self, outside: Input, limit: int) -> Batch[Any]:
        """Let the next run enter, and further runs that may certainly enter as well.

        Values left outside stay in flight there; values that enter are in flight in the body in the same scheduler
        step.
        """
        values: list[Any] = []
        runs: list[tuple[Hashable, int]] = []
        while not runs or (len(values) < limit and outside and self._follows(outside)):
            time = outside.first
            entering = outside.take_run(limit - len(values)).values
            values += entering
            runs.append((ENTER.results_in(time), len(entering)))
            self._inside[time] = None
        return of_runs(runs, values)

    def _follows(self, outside: Input) -> bool:
        """Whether the next run may enter immediately: the values left outside keep the inner times open anyway."""
        time, left = outside.first, outside.least
        return time in self._inside or all(
            not less_equal(earlier, time) or any(less_equal(later, earlier) for later in left)
            for earlier in self._inside.first
        )

    def _may_enter(self, time: Hashable) -> bool:
        inside = self._inside
        if self.edge.idle(self.within):
            inside.clear()
            return True
        # A later time cannot be complete before an earlier one.
        inside.pop_over(lambda earlier: not self.edge.met(self._finished(earlier)))
        if time in inside:
            return True
        # Later batches from outside cannot arrive while this one is waiting, so do not wait for them.
        outer = self.upstream.arriving()
        return all(not less_equal(earlier, time) or outer.less_equal(earlier) for earlier in inside.first)

    def _finished(self, time: Hashable) -> Watch:
        return completion(self.location, [self.within[-1].output], time)

    def _drained(self) -> Watch:
        place = self.location.ports[1].place
        says = "waits until nothing can come round again"
        return Watch(self.location, [place], lambda now: not now.frontier(place).elements, lambda: says)

    @override
    async def wait(self) -> None:
        """Wait for a value from outside or round, or for the loop to finish a time."""
        if self.feedback.row:
            for _ in range(3):
                # Let the task run once, and again if another answers it: this shows whether the round is the last.
                if self.asking(self.upstream):
                    await trio.lowlevel.checkpoint()
            self._patient = False
            return
        if self._outside.done:
            watches = [self._drained()]
        else:
            watches = [self._finished(time) for time in self._inside.first] if self._outside else []
        await self.edge.until(watches, self.awaited())

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self._outside.receive(answer)


class _Egress(PassOn):
    """Sorts the results of the body: those that go round, and those that leave."""

    traits = Traits(waits=False, trusted=True, reorders=True, summaries=[LEAVE])

    def __init__(self, feedback: _Feedback) -> None:
        self._feedback = feedback

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._sorted)

    def _sorted(self, batch: Batch[Any]) -> Batch[Any] | None:
        if not isinstance(batch.time, LoopTime | NaiadTime):
            raise TimeDomainError(f"{self.location}, got {batch.time!r} as a time from its body, but {LOOP_TIMES}")
        again: list[Any] = [value.value for value in batch.values if type(value) is _AGAIN]
        if not again:
            return Batch(LEAVE.results_in(batch.time), batch.values)
        # Values that go round are held in the feedback's row.
        self._feedback.put(FEEDBACK.results_in(batch.time), again)
        if len(again) == len(batch.values):
            return None
        leaving = [value for value in batch.values if type(value) is not _AGAIN]
        return Batch(LEAVE.results_in(batch.time), leaving)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        try:
            await super().dismiss(reason)
        finally:
            self._feedback.row.drop()


@attrs.frozen(eq=False)
class _Loop(Wiring):
    _body: Blueprint
    _capacity: int

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Kernel[Any]:
        scope, name, site = assembly.scope, named(module), module.site
        ingress, located = _Ingress(), scope.sidecar.frontiers.locations
        # The second upstream is a stand-in for the feedback, whose location is made after the body.
        location = scope.sidecar.locate([f"{name} ingress"], site, [upstream.location] * 2, traits=ingress.traits)
        install(ingress, scope, location, [upstream])
        body = assembly.stream(self._body.modules, ingress)
        fork = scope.sidecar.locate([f"{name} egress"], site, [body.location], traits=Traits(summaries=[IDENTITY]))
        back = scope.sidecar.locate(
            [f"{name} feedback"], site, [fork], traits=Traits(summaries=[FEEDBACK], lasting=_last_round)
        )
        out = scope.sidecar.locate([name], site, [fork], traits=_Egress.traits)
        location.upstreams = (upstream.location, back)
        ingress.feedback = _Feedback(back, self._capacity, ingress)
        ingress.within = located[located.index(location) + 1 :]
        for place in (location.ports[1].place, out.output):
            # The places at which the ingress waits.
            scope.sidecar.frontiers.expect(place)
        egress = _Egress(ingress.feedback)
        install(egress, scope, out, [body])
        return egress


def _last_round_of(number: int, time: Any) -> Sequence[Hashable]:
    """Return the last round of a value that enters: infinite, because it may go round any number of times."""
    return [time] if number else _last_round(0, ENTER.results_in(time))


def _last_round(number: int, time: Any) -> Sequence[Hashable]:
    del number
    if not isinstance(time, LoopTime):
        return [time]
    endless: Any = inf
    return [LoopTime(time.outer, (*time.counters[:-1], endless))]


@transformer
def loop(
    body: Annotated[Onward[A, B | Again[A]], Instance(Transformer, "needs a transformer for its argument 'body'")],
    *,
    capacity: Positive = 1_000_000,
) -> Transformer[A, B]:
    """Send values through `body` in rounds: each `Again(value)` enters the next round, and everything else leaves.

    >>> import pullstream as ps
    >>> def halve(n):
    ...     return ps.Again(n // 2) if n % 2 == 0 else n
    >>> sorted(ps.run(ps.pipe(ps.values([6, 8, 5]), ps.loop(ps.map(halve)), ps.collect())))
    [1, 3, 5]

    An `Again` must leave the body as it is. So put nothing after the module that makes it, except modules that pass
    every `Again` on: `batch` would wrap it, and `filter` may drop it. Only an unwrapped `Again` goes round.

    Inside, the time of a value at t is `LoopTime(t, (round,))`, from round 0 on; in a loop within a loop, `LoopTime(t,
    (outer round, round))`. So a body may keep state per time and round, and be notified (`ctx.notify_at`) when a round
    is complete: when no value at it or before it can still come in, even while later rounds continue. After the
    loop, a time is complete when no value at it can still go round. These times belong to the loop: assign times
    before or after it. A body cannot use modules that assign times, such as `stamp`, or that add to them, such as
    `sessions`.

    The loop is drained before more values enter, and values at a later time enter when the loop has finished the
    earlier ones. One batch is asked for ahead and waits outside: this shows whether more values will enter at a time,
    and which rounds have ended. The order in which values of one time leave depends on their batches.

    Raises: Overflow: more than `capacity` values are on their way round. TimeDomainError: the body changes times.
    """
    return opens(_Loop(cast("Any", body), capacity))
