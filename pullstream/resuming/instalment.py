"""One instalment of a stream: the values so far go through modules, and the state that the next one needs is kept.

An instalment is a run over the values so far. It ends when nothing can move before more values arrive. Results that
are complete then are delivered. All others are dropped together with the modules: when more values arrive, those at
incomplete times are replayed through new modules of the same kind, and repeated results at complete times are dropped.
A run with a journal resumes in this way, too, with the same rules for modules: their state beyond a time is in their
memory (`Resumable`, `ctx.memory`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress
from pickle import loads
from typing import Any, cast

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Module, Sink, Site
from pullstream.engine.assembly import Assembly
from pullstream.engine.edge.backlog import Backlog, at_times
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.keeping import StateSaver
from pullstream.engine.parts.context import Context
from pullstream.engine.run import Run, Scope
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.sidecar.explain import explain_stall
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import CompositionError, JournalError, StalledError, without_cancelled
from pullstream.protocol import DONE, Batch, Done, Reader
from pullstream.resuming.ahead import Ahead, TimeScale, Wish, passed
from pullstream.resuming.carryover import FRESH, Carryover, changed
from pullstream.resuming.cut import Cut, SinkFrontiers, merged, remembered
from pullstream.resuming.keeping import StreamKeeping, idle_run
from pullstream.resuming.memory import Memory
from pullstream.resuming.resuming import drop_done, refuse_lost
from pullstream.timely import Summary
from pullstream.timely.order import minimal


@attrs.frozen
class Instalment:
    """The outcome of an instalment."""

    answers: Sequence[Batch[Any]]
    """Complete results, in the order of their arrival; a batch has one time or many."""
    again: Sequence[bool]
    """For each value, whether it must be replayed."""
    kept: Carryover | None
    """The state for the next one; None if it needs none, because a new stream would do the same."""
    due: int | None
    """The tick at which more may be complete, even if nothing arrives; None if there is none."""


@attrs.frozen
class InstalmentPlan:
    """The modules that instalments run, and the name and place of the call that composed them, for errors."""

    modules: Sequence[Module]
    ticks: TimeScale
    name: str
    site: Site

    def ahead(self) -> Ahead:
        """Make an `Ahead` for the modules, none of which runs.

        Raises:
            CompositionError: they have sources or sinks of their own, or assign times of their own.
            JournalError: the state of one of them cannot be saved.
        """
        parts = InstalmentRun(self, idle_run(), Work())
        parts.check()
        return Ahead(parts.sidecar, parts.source.location, parts.end, self.ticks)


@attrs.frozen
class Work:
    """The values of an instalment, in the order of their times, and the state that earlier ones have kept."""

    times: Sequence[Hashable] = ()
    values: Sequence[Any] = ()
    tick: int = 0
    kept: Carryover = FRESH


class _SoFar(Kernel[Any]):
    """The source: the values of one instalment; then it waits, as if more might arrive."""

    traits = Traits(trusted=True)

    def __init__(self, batch: Batch[Any] | None, then: Hashable) -> None:
        self.values = Backlog()
        if batch is not None:
            self.values.put(batch)
        self._then = then

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self.values:
            return self.values.take(limit)
        self.location.advance(self._then)
        await self.scope.run.signal().wait()
        return DONE


class InstalmentRun(StateSaver):
    """The modules of one instalment, and their state."""

    ahead: Ahead

    def __init__(self, plan: InstalmentPlan, run: Run, work: Work) -> None:
        self._plan = plan
        self._times, self._tick, self._kept = work.times, work.tick, work.kept
        self._answers: list[Batch[Any]] = []
        self._instalment: Instalment | None = None
        self._failure: BaseException | None = None
        self._cancelled = own_scope()
        self._scope = Scope(run)
        self.sidecar = self._scope.sidecar
        self._stream = StreamKeeping.of(self.sidecar)
        self._stream.save_in(self)
        self._assembly = Assembly(self._scope)
        batch = Batch.of(work.times, work.values) if work.times else None
        self.source = _SoFar(batch, plan.ticks.time(work.tick))
        first = Module(plan.name, lambda: self.source, site=plan.site)
        last = Module(plan.name, lambda: self._collect, site=plan.site)
        whole: Sink[Any, None] = Sink((first, *plan.modules, last))
        self._consumer = self._assembly.sink(whole, None)
        self.end = self.sidecar.sinks[-1]
        """The place of the sink that receives the results."""

    def check(self) -> None:
        """Refuse modules that cannot run in instalments; see `InstalmentPlan.ahead`."""
        for location in self.sidecar.locations:
            if not location.upstreams and location is not self.source.location:
                raise self._refusal(
                    f"got {location}, another source, which would be read again for every key and every time: join "
                    f"the two in Spark first"
                )
            if location.traits.clocked:
                raise self._refusal(
                    f"got {location}, which depends on the clock, but nothing runs between two micro-batches: use "
                    f"windows in event time; Spark's trigger decides how often results are computed"
                )
            if any(not isinstance(row, Summary) and not row for row in location.summaries):
                raise self._refusal(
                    f"got {location}, which assigns its own times, so it is unknown when all results of a row have "
                    f"arrived: use the times of the rows, or change them with map_time()"
                )
        if self._assembly.beside or len(self.sidecar.sinks) != 1:
            raise self._refusal(
                "has one output, but got a module with a second sink: mark the rows for it in a column, and separate "
                "them in Spark"
            )
        refuse_lost(self.sidecar.locations, "a stream whose state is stored between runs")

    def _refusal(self, what: str) -> CompositionError:
        return CompositionError(f"{self._plan.name}() at {self._plan.site} {what}")

    # ---- running

    async def consume(self, ended: trio.Event) -> None:
        """Run to the end, or until `rest` is called."""
        try:
            self._begin()
            with self._cancelled:
                await self._consumer.consume()
            if self._failure is None and self._instalment is None:
                self._instalment = self._made()
        except BaseException as exc:
            self._failure = self._failure or without_cancelled(exc)
            if self._failure is None:
                raise
        finally:
            self.sidecar.end(self._failure, abandoned=self._failure is None)
            ended.set()

    def _begin(self) -> None:
        self._stream.opened()
        self.sidecar.start()
        if self._kept is not FRESH:
            drop_done(self.sidecar, self._cut(self._kept.frontiers), [self.end])
        for module in self._stream.resumable:
            module.restore()

    async def _collect(self, upstream: Reader[Any], ctx: Context) -> None:
        while (batch := await upstream.ask_many(ctx.limit)) is not DONE:
            self._answers.append(batch)
            await ctx.breathe()

    def rest(self) -> None:
        """End with the results so far: nothing can move before more values arrive."""
        if self._instalment is not None or self._failure is not None:
            return
        if self.source.values:
            self.fail(StalledError(explain_stall(self.sidecar)))
            return
        try:
            self._instalment = self._made()
        except BaseException as exc:  # noqa: BLE001 - raised where it is awaited
            self._failure = exc
        self._cancelled.cancel()

    def fail(self, exc: BaseException) -> None:
        """End with an exception that no module raised."""
        self._failure = self._failure or exc
        self._cancelled.cancel()

    # ---- the outcome

    def outcome(self) -> Instalment:
        """Return the instalment, or raise its failure."""
        if self._failure is not None:
            raise self._failure
        assert self._instalment is not None, "it has ended or failed"
        return self._instalment

    def _cut(self, frontiers: SinkFrontiers) -> Cut:
        return Cut(self._stream.consequences, {self.end: frontiers})

    def _made(self) -> Instalment:
        now = self.end.frontier
        frontiers = merged(self._kept.frontiers, now)
        cut = self._cut(frontiers)
        done = remembered(partial(cut.output_done, self.source.location))
        complete = remembered(partial(cut.input_done, self.end))
        again = [not done(time) for time in self._times]
        self._check_holds(compress(self._times, again))
        answers = [*filter(None, (at_times(batch, complete) for batch in self._answers))]
        memory, ledger = self._kept.memory, self._kept.ledger
        for location, kept in self._stream.memories.items():
            memory = changed(memory, location.node, kept.take(remembered(partial(cut.input_done, location))))
            ledger = changed(ledger, location.node, kept.ledger.take())
        # An earlier instalment may have seen the end.
        over = any(not frontier.elements for frontier in frontiers)
        needed = over or memory or ledger or any(again)
        due = None if over else self._due(again, complete)
        return Instalment(answers, again, Carryover(frontiers, memory, ledger) if needed else None, due)

    def _check_holds(self, again: Iterable[Hashable]) -> None:
        """Refuse a user's module whose state would be lost, because it holds a time at which nothing is replayed."""
        replayed = {time for each in dict.fromkeys(again) for time in self._shows(self.source.location, each)}
        for location in self.sidecar.locations:
            if location.traits.carries is Carries.MAYBE:
                for held in location.held:
                    if not replayed.issuperset(self._shows(location, held)):
                        raise JournalError(
                            f"{location}, holds {held!r}, a time at which no row has arrived: its state would be lost "
                            f"when the stream is stored until more rows arrive. Put map_time() in front of it, so that "
                            f"rows are at the time at which they are answered, or use a window"
                        )

    def _shows(self, location: Location, time: Hashable) -> Iterator[Hashable]:
        """The times at which results appear at the sink, for values that leave a module at a time."""
        for each in self._stream.consequences.from_output(location, time):
            yield from each.times

    def _due(self, again: Sequence[bool], complete: Callable[[Hashable], bool]) -> int | None:
        """The tick at which a module is notified, an answer is complete, or the least time is done."""
        sidecar, end = self.sidecar, self.end
        if any(inside is not sidecar for inside in sidecar.waits.values()):
            # Inner streams have their own times, which are unknown here.
            return self._tick + 1
        wishes: list[Wish] = [cast("Wish", waiter.met) for waiter in sidecar.waiters]
        hints: list[Any] = [waiter.time for waiter in sidecar.waiters]
        places = [place for waiter in sidecar.waiters for place in waiter.places]
        held_back = [time for batch in self._answers for time in batch.times if not complete(time)]
        for time in minimal(held_back) if held_back else ():
            wishes.append(passed(end.output, [time]))
            hints.append(time)
        for time in compress(self._times, again):
            shown = list(self._shows(self.source.location, time))
            wishes.append(passed(end.output, shown))
            hints += shown
            break
        # What a module holds for streams inside mostly moves with the source.
        stamps = [
            (here.output, time) for here in sidecar.locations if here is not self.source.location for time in here.own
        ]
        stamps += [(stamp.port.place, time) for stamp in sidecar.frontiers.in_flight for time in stamp.times]
        return self.ahead.from_here(stamps, places, wishes, hints, self._tick) if wishes else None

    # ---- in place of a journal

    @override
    def done(self, location: Location, time: Hashable) -> bool:
        return self._cut(self._kept.frontiers).output_done(location, time)

    @override
    def restore(self, location: Location, memory: Memory) -> None:
        saved, node = self._kept, location.node
        memory.restore(saved.memory.get(node, {}), saved.ledger.get(node, {}), loads)
