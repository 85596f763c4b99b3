"""The sidecar of a run: it tracks which times can still reach which place.

A pointstamp is a time at a place of the composed graph that may still lead to something:

- a **hold** at a module's output: a source's capability, a buffer, a result still to be answered, a sink's effect;
- a **stamp** at a module's input: a batch in flight, from its answer until it is acknowledged.

Data never waits for the sidecar. Updates are buffered. They are propagated when a frontier is read; while there are
waiters, every update that may have emptied a stamp schedules a read. Successive batches at one time change nothing, so
progress costs per time, not per batch. A run whose frontiers are never read needs no tracker (`frontiers`).
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Site
from pullstream.engine.observer import Observer, Update
from pullstream.engine.runtime.deadlock import DeadlockDetector, Signal
from pullstream.engine.sidecar.frontiers import Frontiers
from pullstream.engine.sidecar.location import Claim, Counts, Ending, Location, Port
from pullstream.engine.sidecar.nesting import Nesting
from pullstream.engine.sidecar.waiting import Requests, Watch, completion, insert, remove
from pullstream.engine.traits import PLAIN, Traits
from pullstream.errors import blame
from pullstream.timely import (
    BEGINNING,
    Antichain,
    MapTime,
    Summary,
    SummaryError,
    TimelyError,
)
from pullstream.timely.order import in_one_order
from pullstream.timely.summary import Path

Spawn = Callable[..., None]
"""Starts a task, given its function and the arguments."""


class Sidecar(Counts):
    """The pointstamps of one run, or of one stream inside a module, and the waits on its frontiers."""

    def __init__(
        self,
        spawn: Spawn,
        spawn_watch: Spawn,
        detector: DeadlockDetector,
        outer: "Sidecar | None" = None,
        *,
        observer: Observer | None = None,
    ) -> None:
        self._spawn, self._spawn_watch = spawn, spawn_watch
        self.detector = detector
        self._observer = observer
        self.inner = outer is not None
        """Whether it belongs to a stream inside a module."""
        self.started = False
        self.at_start: Sequence[Callable[[], None]] = ()
        """Functions that lower capabilities to the times that programs announced to handles before the start."""
        self._ended = False
        self.frontiers = Frontiers(self)
        self.locations, self.sinks = self.frontiers.locations, self.frontiers.sinks
        self.summary_failure: BaseException | None = None
        """The exception of a function of times, raised while a frontier was read; its module fails with it."""
        self._nesting: Nesting[Sidecar] | None = None
        self.alert = False
        self.acknowledged: dict[Claim, None] = {}
        self.waiters: dict[Watch, None] = {}
        self._waiting_at: dict[Hashable, dict[Watch, None]] = {}
        """The waiters by the places where they may be met: where a frontier moves, or a module ends."""
        self._in_turn: defaultdict[int, Requests[dict[Watch, None]]] = defaultdict(Requests)
        """The waiters that are met in the order of their times at a place: only the first ones need checking."""
        self._to_check: dict[Watch, None] = {}
        """The waiters that may be met by now; the next read checks these and no others."""
        self.waits: dict[Watch, Sidecar] = {} if outer is None else outer.waits
        """All waits in the whole run, with their sidecars."""
        self._news: Signal | None = None
        """Wakes the task that reads the frontiers, while there is one."""

    @property
    def nesting(self) -> "Nesting[Sidecar]":
        """The ties to the sidecars outside and inside. Most runs have neither, and never wait for a completion."""
        if self._nesting is None:
            self._nesting = Nesting(self)
        return self._nesting

    # ---- the graph

    def locate(
        self,
        names: Sequence[str],
        site: Site | None,
        upstreams: Sequence[Location],
        *,
        sink: bool = False,
        traits: Traits = PLAIN,
    ) -> Location:
        """Add a location for a module, downstream of `upstreams`."""
        node, place = len(self.locations), len(self.frontiers.places)
        location = Location(self, tuple(names), site, tuple(upstreams), traits, node=node, place=place)
        if traits.summaries:
            location.summaries = [self.guarded(location, summary) for summary in traits.summaries]
            location.cuts = not any(location.summaries)
        self.frontiers.add(location, sink=sink)
        return location

    def guarded(self, location: Location, summary: Summary | Sequence[Summary]) -> Any:
        """A summary whose function, perhaps a user's, fails its own module and not the reader of a frontier."""
        if not isinstance(summary, Summary):
            return [self.guarded(location, part) for part in summary]
        if isinstance(summary, Path):
            return Path(tuple(self.guarded(location, summary.steps)))
        if not isinstance(summary, MapTime):
            return summary
        function = summary.function

        def guarded(time: Any) -> Any:
            try:
                return function(time)
            except TimelyError:
                raise
            except BaseException as exc:
                raise self._summary_failed(location, exc) from exc

        return attrs.evolve(summary, function=guarded)

    def _summary_failed(self, location: Location, exc: BaseException) -> TimelyError:
        """Fail the module whose function of times has raised, at the next step, after the read."""
        if self.summary_failure is None and location.ending is Ending.RUNNING:
            blame(exc, str(location))
            self.summary_failure = location.summary_failure = exc
            location.fail_soon(exc)
        return SummaryError(f"{location} cannot tell what becomes of a time")

    # ---- how frontiers are known

    @override
    def switched(self, update: Update) -> None:
        self.update = update if self._observer is None else self._observer.counting(update)

    @override
    def stop_tracking(self, exc: BaseException | None = None) -> None:
        """Give up computing frontiers: from now on no time becomes complete.

        If times of two domains have met, or a function of times has raised, a module fails. Any other exception, for
        example from a comparison of times, belongs to no module: the run ends with it.
        """
        self.frontiers.give_up()
        if self._nesting is not None:
            self._nesting.spread(None)
        if self.summary_failure is not None:
            self._wake_met()
        elif exc is not None and not isinstance(exc, TimelyError):
            sources = "; ".join(str(location) for location in self.locations if not location.upstreams)
            self.detector.end_run(exc, f"raised by a time, where times are compared; times here come from {sources}")

    # ---- events

    def start(self) -> None:
        """Begin: every source may still produce at any time."""
        self.started = True
        for location in self.locations:
            if not location.upstreams:
                location.hold(BEGINNING)
        if self._observer is not None:
            self._observer.started(self)
        for lower in self.at_start:
            lower()

    @override
    def activate(self, at: Location | Port | None = None) -> None:
        self.wake()
        self.nesting.spread(at)

    @override
    def ended(self, location: Location) -> None:
        if self._observer is not None:
            self._observer.over(location)
        if self.waiters:
            self._check_at(location.output)
        if self.alert:
            self.activate(location)

    def end(self, failure: BaseException | None, *, abandoned: bool) -> None:
        """End, and notify all remaining waiters of the ending."""
        for location in self.locations:
            if location.ending is Ending.RUNNING:
                if abandoned or failure is not None:
                    location.abandon(failure)
                else:
                    location.complete()
        self.propagate()
        self._ended = True
        if self._news is not None:
            self._news.set()
        if self._nesting is not None:
            self._nesting.end()

    # ---- reading

    @override
    def propagate(self, but: Location | None = None) -> None:
        """Propagate all updates, and wake the waiters that are met by then.

        Streams inside are read too, except for those of the module at the location `but`.
        """
        try:
            for claim in [*self.acknowledged]:
                if claim.live:
                    del self.acknowledged[claim]
                else:
                    claim.withdraw()
            if self._nesting is not None and not self._nesting.refresh(but):
                return
        except BaseException as exc:  # noqa: BLE001 - must not be raised by the reader
            self.stop_tracking(exc)
        for place in self.frontiers.propagate():
            self._check_at(place)
        if self.waiters:
            self._wake_met()
        if self._observer is not None:
            self._observer.read()

    def _wake_met(self) -> None:
        if self.summary_failure is not None:
            # When a function of times has raised, all present waiters fail, and so do all later ones.
            self._to_check = dict(self.waiters)
        # Others get their turn when a waiter leaves.
        while self._to_check:
            to_check, self._to_check = self._to_check, {}
            for waiter in to_check:
                if waiter not in self.waiters:
                    continue
                met, waiter.failure = True, self.summary_failure
                if waiter.failure is None:
                    try:
                        met = self.is_met(waiter)
                    except BaseException as exc:  # noqa: BLE001 - as above
                        # A time that cannot be compared here is a failure of its waiter.
                        waiter.failure = exc
                if met:
                    self.leave(waiter)
                    waiter.event.set()

    def _check_at(self, place: int) -> None:
        self._to_check.update(self._waiting_at.get(place, ()))
        if place in self._in_turn:
            self._check_first(place)

    def _check_first(self, place: int) -> None:
        requests = self._in_turn[place]
        for time in requests.first:
            self._to_check.update(requests[time])

    @override
    def soon(self, call: Callable[[], object]) -> None:
        """Call `call` in a task that only observes the run, to discard what has ended although nothing is read."""
        self._spawn_watch(self._call, call)

    @staticmethod
    async def _call(call: Callable[[], object]) -> None:
        call()

    @override
    def frontier_of(self, location: Location) -> Antichain[Any]:
        self.propagate()
        return self.frontiers.frontier(location.output)

    def within(self, location: Location, *, own: bool = False) -> Antichain[Any]:
        """The times that may leave a module; in a loop, or with `own`, without those that only arrive from outside."""
        self.propagate()
        nesting = self.nesting
        return self.frontiers.frontier(location.output, but=nesting.feed if own or nesting.looped else None)

    @override
    def arriving(self, port: Port) -> Antichain[Any]:
        # The module's own holds do not affect what arrives at its inputs.
        self.propagate(but=port.location)
        self.frontiers.observe(port.place)
        return self.frontiers.frontier(port.place)

    def least_arriving(self, location: Location, *, arrived: bool = True) -> Sequence[Any]:
        """The least times that may still arrive at a module; without `arrived`, not those in flight there."""
        if self._nesting is None or not self._nesting.mirrors:
            with suppress(TypeError):
                # A TypeError means that times of two domains have met: the read below reports that.
                least = self.frontiers.above(location, arrived=arrived)
                if least is not None:
                    return least
        places = [port.place for port in location.ports] if arrived else [above.output for above in location.upstreams]
        for place in places:
            self.frontiers.observe(place)
        self.propagate()
        return [front for place in places for front in self.frontiers.frontier(place)]

    # ---- waiting

    async def until(self, waiters: Sequence[Watch], signal: Signal | None = None, *, deadline: float = inf) -> None:
        """Wait until `signal` is set, by a waiter that is met or by other code, or until the deadline.

        Raises: Exception: the wait of one of them failed.
        """
        signal = signal or Signal(self.detector)
        for waiter in waiters:
            waiter.event = signal
            self.attend(waiter)
        try:
            self.propagate()
            if deadline < inf:
                with trio.move_on_at(deadline):
                    await signal.wait(outside=True)
            else:
                await signal.wait()
        finally:
            for waiter in waiters:
                self.leave(waiter)
        for waiter in waiters:
            waiter.check()

    def attend(self, waiter: Watch) -> None:
        """Set `waiter.event` once the waiter is met; `leave` cancels that."""
        if self._observer is not None:
            self._observer.awaited(waiter)
        for place in waiter.places:
            self.frontiers.observe(place)
        self.nesting.attend(waiter, follows=self.inner and self._follows(waiter))
        for place in waiter.places:
            table, key = (self._in_turn[place], waiter.time) if waiter.in_turn else (self._waiting_at, place)
            insert(table, key, waiter, None)
        self.waiters[waiter] = self._to_check[waiter] = None
        self.waits[waiter] = self
        self.begin_looking()

    def is_met(self, waiter: Watch) -> bool:
        """Whether a waiter has nothing left to wait for, as of the last read."""
        met = waiter.met(self.frontiers)
        if met and self._observer is not None:
            self._observer.met(waiter)
        return met

    def leave(self, waiter: Watch) -> None:
        """Remove a waiter, unless it was removed when it was met."""
        if waiter not in self.waiters:
            return
        if self._observer is not None:
            self._observer.left(waiter)
        del self.waiters[waiter], self.waits[waiter]
        self._to_check.pop(waiter, None)
        for place in waiter.places:
            table, key = (self._in_turn[place], waiter.time) if waiter.in_turn else (self._waiting_at, place)
            if remove(table, key, waiter) and waiter.in_turn:
                self._check_first(place)
        self.nesting.leave(waiter)

    def _follows(self, waiter: Watch) -> bool:
        """Whether a waiter awaits a time at its module's inputs, where times arrive just as they enter this stream."""
        ports = {port.place for port in waiter.owner.ports}
        if waiter.time is None or self.nesting.bound or not ports.issuperset(waiter.places):
            return False
        leading = self.frontiers.leading(waiter.owner)
        return leading is not None and self.nesting.feed in leading and not any(above.cuts for above in leading)

    @override
    def begin_looking(self) -> None:
        if self._news is None and not self._ended:
            self._news = Signal(self.detector)
            self._spawn(self._keep_looking)

    @override
    def wake(self, *, to_tell: bool = False) -> None:
        if self._news is not None and (to_tell or self.waiters):
            self._news.set()

    async def _keep_looking(self) -> None:
        """Read the frontiers whenever woken; runs alongside the pipeline, from the first wait on."""
        while self._news is not None:
            await self._news.wait()
            self._news = None if self._ended else Signal(self.detector)
            self.nesting.tell()
            if self.waiters or self._ended:
                self.propagate()

    async def until_complete(self, location: Location, time: Hashable) -> None:
        """Wait until a time is complete at a module's output, or the module has ended."""
        watch = completion(location, [location.output], time)
        complete = watch.met
        watch.met = lambda now: location.ending is not Ending.RUNNING or complete(now)
        watch.in_turn = in_one_order([time])
        await self.until([watch])
