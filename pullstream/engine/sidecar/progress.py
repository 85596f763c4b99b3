"""The progress sidecar: which times can still reach which place of a running pipeline.

What may still lead to something is a pointstamp, a time at a place of the composed graph:

- a **hold** at a module's output: a source's capability, a buffer, a result that is still owed, a sink's effect;
- a **stamp** at a module's input: a batch in flight, from its answer until it is acknowledged.

Data never waits for the sidecar. Updates are buffered; they are propagated when somebody looks, and while anybody
waits, whatever may have emptied a stamp schedules a look. Successive batches at one time change nothing, so
progress costs per time, not per batch.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

import attrs
import trio

from pullstream.blueprint import Site
from pullstream.engine.runtime.deadlock import Signal, Standstill
from pullstream.engine.sidecar.consequences import Fulfilled, Reach
from pullstream.engine.sidecar.counters import Counters
from pullstream.engine.sidecar.location import FEW, Ending, Location, Port, Stamp
from pullstream.engine.sidecar.times_done import TimesDone
from pullstream.engine.sidecar.tracking import Confused, Counts, Tracking
from pullstream.engine.sidecar.waiting import Frontiers, Movement, Waiter
from pullstream.engine.traits import PLAIN, Carries, Traits
from pullstream.errors import Abandoned, PullstreamError, blame
from timely import (
    BEGINNING,
    Antichain,
    Blocker,
    Graph,
    GraphBuilder,
    MapTime,
    Source,
    Summary,
    SummaryError,
    Target,
    TimelyError,
    Tracker,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pullstream.engine.run import Run
    from pullstream.engine.sidecar.memory import Memory


_ADVICE = (
    "Who waits for a time lets go of it first (asks again, ack(), leaves the hold). To do something when a time is "
    "complete, ask to be told: ctx.notify_at(time), and Completed(time) is among ctx.events(upstream)"
)


_NAMED = 5
"""How many of those that hold a time, in one source, are named."""


class Mirroring(Protocol):
    """A module that holds, outside, what streams it opened may still bring."""

    @property
    def run(self) -> "Run":
        """The run it is in."""
        ...

    @property
    def location(self) -> Location:
        """Its place there."""
        ...

    def mirrored(self) -> Iterable[Hashable]:
        """The times to hold, as of now."""
        ...


class Keeping(Protocol):
    """Who keeps the journal of a run."""

    @property
    def path(self) -> "Path":
        """Where it is."""
        ...

    def done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that comes of a time at a module's output was complete before."""
        ...

    def memory(self, location: Location) -> "Memory":
        """What a module keeps."""
        ...

    def stop(self) -> None:
        """Sources are about to end in the middle of a time: record nothing from now on."""
        ...

    async def until_recorded(self, location: Location, time: Hashable) -> None:
        """Wait until the journal says that everything that comes of a time at a module's output is complete."""
        ...

    def finished(self, location: Location) -> bool | None:
        """Whether a sink came to its end in an earlier run and, if so, whether because its stream had."""
        ...

    def result(self, location: Location) -> Any:
        """The result of a sink that came to its end in an earlier run."""
        ...

    def finishes(self, location: Location, result: object, *, exhausted: bool) -> None:
        """A sink has come to its end, and all it did is done."""
        ...


@attrs.frozen
class Blocking:
    """A pointstamp that keeps a time from completing, and the way it would take."""

    holder: str
    what: str
    time: Hashable
    count: int = 1
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = f" ({self.count} times)" if self.count > 1 else ""
        way = f" -> {' -> '.join(self.path)}" if self.path else ""
        return f"{self.holder} {self.what} {self.time!r}{number}{way}"


class Progress:
    """The progress of one run: ask it what is complete, wait for it, or have it explained.

    `at` is the name of a module (its `named` label, or its function's name); without it, every sink is meant, and
    `completed` waits for all of them. A module's frontier is that of its *output*; a sink's output is its effect.
    """

    def __init__(
        self,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        standstill: Standstill,
        *,
        inner: bool = False,
    ) -> None:
        self._spawn = spawn
        self._standstill = standstill
        self.inner = inner
        """Whether it is that of a stream inside a module."""
        # Such a one has often ended before anybody looks, and costs no tracker then.
        self._observed = not inner
        self._reach: Reach | None = None
        self.keeper: Keeping | None = None
        """Who keeps the run's journal, if it has one."""
        self._looking = False
        self._ended = False
        self._places = 0
        self._locations: list[Location] = []
        self._sinks: list[Location] = []
        self._sources: set[int] = set()
        self.waiters: set[Waiter] = set()
        self.alert = False
        """Whether anybody wants to hear of a stir."""
        self.mirrors: dict[Mirroring, None] = {}
        """Modules whose holds follow streams they opened, and are brought up to date when somebody looks."""
        self._followers: dict[Progress, Location] = {}
        """Where what happens here matters: they hear of every stir, and at which of their modules."""
        self._fed_by: dict[Progress, Location | None] = {}
        self._heeding: dict[Location | None, dict[Progress, None]] = {}
        """By the module they are fed at, those in which, or in what they feed, somebody wants to hear of a stir.

        There may be thousands at one module, of which few or none wait for anything.
        """
        self._ways: dict[tuple[Location, Location], bool] = {}
        self._untold: dict[Location, None] = {}
        self._told: dict[Location | None, list[Antichain[Any]]] = {}
        """What may come in at a module, as those that are fed there were told last."""
        self._stirring = False
        self._mirroring = False
        self._stirred = Signal(standstill)
        self.stamps: WeakSet[Stamp] = WeakSet()
        """The lanes of the run, as long as anybody has them."""
        self.in_flight: dict[Stamp, None] = {}
        """Those of which a batch is in flight, or was when somebody last looked."""
        self._most_in_flight = FEW
        self.update: Callable[[int, Hashable, int], None] = _untracked
        """Count a pointstamp; without effect until there is a tracker, which begins with what there is then."""
        self._tracker: Tracker | None = None
        self._times: TimesDone | None = None
        self._started = False
        self.trouble: BaseException | None = None
        """What a function of times has raised when somebody looked; its module fails with it."""

    # ---- for users

    async def completed(self, time: Hashable, at: str | None = None) -> None:
        """Wait until `time` is complete at the output of `at`: until nothing at `time` or earlier can come out of it.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before. A failure is never a completion.
        """
        for location in self._resolve(at):
            await self._settled(location, time)
            if location.ending in (Ending.FAILED, Ending.ABANDONED) and location.frontier.less_equal(time):
                if location.failure is not None:
                    raise location.failure
                raise Abandoned(f"{time!r} will not be complete at {location}: the stream was aborted before")

    def frontier(self, at: str | None = None) -> Antichain[Any]:
        """The least times that may still come out of `at`; the empty antichain is the end of time."""
        return Antichain(time for location in self._resolve(at) for time in location.frontier)

    def frontiers(self) -> list[tuple[str, Antichain[Any]]]:
        """The frontier at every sink, with its name; they need not be of one time domain."""
        return [(location.names[-1], location.frontier) for location in self._sinks]

    def explain(self, time: Hashable, at: str | None = None) -> list[Blocking]:
        """What still keeps `time` from being complete at the output of `at`; empty when it is complete.

        A pointstamp counts when it lies at `time` or earlier, for it may still lead there; of several at one place the
        least are named.
        """
        self.look()
        found = {
            (blocker.location, blocker.time): self.blocking(blocker)
            for location in self._resolve(at)
            if location.ending is not Ending.COMPLETE
            for blocker in self.tracker.explain(location.output, time)
        }
        return list(found.values())

    def pointstamps(self) -> list[Blocking]:
        """Everything that may still lead to something: every time at every place, with no path."""
        self.look()
        graph = self.tracker.graph
        return [
            self._described(graph.location(place), time, count, ())
            for place, counts in enumerate(self.tracker.stamps)
            for time, count in counts.items()
        ]

    def times_done(self) -> int:
        """How many times have come to the sinks, and are complete at all of them; the first call begins to count.

        A pipeline that is opened with something `beside` it counts from its beginning.
        """
        if self._times is None:
            self._times = TimesDone(self, self._sinks)
        return self._times.count()

    def watch(self, at: str | None = None) -> Frontiers:
        """The frontier at the output of `at` now, and then every time it has moved, as an async iterator.

        The last one is the empty antichain, the end of time. Who looks seldom sees only the latest.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.values([3, 5], time=lambda n: n), ps.drain()).open() as running:
        ...         return [list(frontier) async for frontier in running.progress.watch()][-1]
        >>> trio.run(main)
        []

        Raises:
            Abandoned: the stream was aborted.
            BaseException: the stream's failure.
        """
        return Frontiers(self, self._resolve(at))

    def counters(self) -> list[Counters]:
        """What every module has done so far."""
        return [location.meter.counters(" -> ".join(location.names)) for location in self._locations]

    def explain_stall(self) -> str:
        """Why nothing can move any more, for the error that says so."""
        lines = ["nothing in this run can move any more, and it is not at its end"]
        advice = ""
        for waiter, progress in list(self._standstill.waiting.items()):
            if waiter.looks_on:
                continue
            wanted = list(waiter.wanted())
            lines.append(f"{waiter}. In its way:" if wanted else str(waiter))
            for place, time in wanted:
                for blocker in progress.tracker.explain(place, time):
                    blocking = progress.blocking(blocker)
                    own = blocking.holder == " -> ".join(waiter.owner.names)
                    lines.append(f"    {blocking}{', which is the one that waits' if own else ''}")
                    if own:
                        advice = _ADVICE
        asked = [str(location) for location in self._locations if any(count.asks for count in location.meter.outs)]
        if asked:
            lines.append(f"asked, and not answering: {'; '.join(asked)}")
        if len(lines) == 1:
            waiting = [str(location) for location in self._sinks if location.ending is Ending.RUNNING]
            lines.append(f"waited for, and not at an end: {'; '.join(waiting)}")
        if advice:
            lines.append(advice)
        return "\n".join(dict.fromkeys(lines))

    def moved_from_outside(self) -> bool:
        """Whether a program can complete, by a handle and without anybody asking, what a task of the run waits for."""
        for waiter, progress in list(self._standstill.waiting.items()):
            task = waiter.event.task
            if task is None or not self._standstill.has(task) or not progress.steered():
                continue
            wanted = list(waiter.wanted())
            blockers = [blocker for place, time in wanted for blocker in progress.tracker.explain(place, time)]
            if not wanted or all(progress.gives_way(blocker) for blocker in blockers):
                return True
        return False

    def steered(self) -> bool:
        """Whether times may be completed here by a handle."""
        return any(location.steered and location.ending is Ending.RUNNING for location in self._locations) or any(
            outer.steered() or outer.runs_on(self._standstill) for outer in self._fed_by
        )

    def runs_on(self, standstill: Standstill) -> bool:
        """Whether this is the progress of another run, in which something may move."""
        return self._standstill is not standstill and self._standstill.mover(set()) is not None

    def gives_way(self, blocker: Blocker) -> bool:
        """Whether a handle may withdraw a pointstamp: where it is held, or in another stream that is mirrored here."""
        location = self._locations[blocker.location.node]
        return isinstance(blocker.location, Source) and (
            location.steered or any(owner.location is location for owner in self.mirrors)
        )

    # ---- for the run

    def locate(
        self,
        names: Sequence[str],
        site: Site | None,
        upstreams: Sequence[Location],
        *,
        sink: bool = False,
        traits: Traits = PLAIN,
    ) -> Location:
        """A place for a module, below `upstreams`."""
        location = Location(self, names, site, list(upstreams), traits, node=len(self._locations), place=self._places)
        if traits.summaries:
            location.summaries = [self._guarded(location, summary) for summary in traits.summaries]
            # Only a tracker knows what paths do to times.
            self._observed = True
        self._places = location.output + 1
        self._locations.append(location)
        if not upstreams:
            self._sources.add(location.node)
        if sink:
            self._sinks.append(location)
        return location

    def _guarded(self, location: Location, summary: Summary | Sequence[Summary]) -> Any:
        """A summary whose function, a user's perhaps, strikes its own module and not whoever looks."""
        if not isinstance(summary, Summary):
            return [self._guarded(location, part) for part in summary]
        if not isinstance(summary, MapTime):
            return summary
        function = summary.function

        def guarded(time: Any) -> Any:
            try:
                return function(time)
            except TimelyError:
                raise
            except BaseException as exc:
                raise self.struck(location, exc) from exc

        return attrs.evolve(summary, function=guarded)

    def start(self) -> None:
        """Begin: every source may still produce at any time."""
        self._started = True
        for location in self._locations:
            if not location.upstreams:
                location.hold(BEGINNING)
        if self._observed:
            self.track()

    def followed_by(self, other: "Progress", location: Location) -> None:
        """What happens here matters there, at the module that has opened this stream."""
        self._followers[other] = location
        self._listen()

    def mirror(self, owner: Mirroring) -> None:
        """From now on, until it ends, a module's holds follow the streams that it opened."""
        self.mirrors[owner] = None
        owner.location.mirroring = not owner.location.summaries

    def fed(self, feed: Mirroring, outer: "Progress", location: Location | None = None) -> None:
        """What `feed` may bring here follows from what happens outside: what comes in at a module, if one is named."""
        self.mirror(feed)
        if outer is not self:
            self._fed_by[outer] = location
            self._listen()

    def _listen(self) -> None:
        """Have it known above whether anybody wants to hear of a stir here."""
        self.alert = bool(self.waiters) or bool(self._followers) or bool(self._heeding)
        for outer, location in self._fed_by.items():
            # One that is above on both ways hears of what happens here, and has no use for hearing of itself.
            others = len(self._followers) - (outer in self._followers)
            outer.heeded_by(self, location, wants=bool(self.waiters) or bool(self._heeding) or others > 0)

    def heeded_by(self, inner: "Progress", location: Location | None, *, wants: bool) -> None:
        """One that is fed at a module wants to hear of every stir that matters there, or of none."""
        here = self._heeding.get(location, {})
        if wants is (inner in here):
            return
        if wants:
            here[inner] = None
            self._heeding[location] = here
            self._begin_looking()
        else:
            del here[inner]
            if not here:
                del self._heeding[location]
                self._told.pop(location, None)
        self._listen()

    def arriving(self, port: Port) -> Antichain[Any]:
        """The times that may still come to an input or, in flight, have come."""
        # What the module below holds itself does not matter for what comes to it.
        self.look(but=port.location)
        self.tracker.observe(port.place)
        return self.tracker.frontier(port.place)

    @property
    def tracker(self) -> Tracker:
        """The tracker, made when it is first needed."""
        return self.track() if self._tracker is None else self._tracker

    def track(self) -> Tracker:
        """Keep frontiers from now on, rather than work each out when it is asked for."""
        tracker = self._tracker = Tracking(self._graph(), self.confuse)
        for sink in self._sinks:
            tracker.observe(sink.output)
        self.update = tracker.update
        self._tally(tracker.update)
        return tracker

    def _tally(self, update: Callable[[int, Hashable, int], None]) -> None:
        """Count all there is anew."""
        for location in self._locations:
            location.tally(update)
        for stamp in self.in_flight:
            stamp.tally(update)

    def _counts(self) -> Counts:
        counts: list[Counter[Any]] = [Counter() for _ in range(self._places)]

        def update(place: int, time: Hashable, delta: int) -> None:
            counts[place][time] += delta

        self._tally(update)
        return counts

    def _graph(self) -> Graph:
        builder = GraphBuilder()
        for location in self._locations:
            summaries = {(number, 0): summary for number, summary in enumerate(location.summaries)} or None
            builder.add_node(" -> ".join(location.names), len(location.upstreams), 1, summaries)
        for location in self._locations:
            for number, upstream in enumerate(location.upstreams):
                builder.add_edge(Source(upstream.node, 0), Target(location.node, number))
        return builder.build()

    def frontier_of(self, location: Location) -> Antichain[Any]:
        """The times that may still leave a module, as of now."""
        self.look()
        if self._tracker is None:
            try:
                times = set(self._reaching(location))
                return Antichain(times) if len(times) > 1 else Antichain.of_minimal(tuple(times))
            except BaseException as exc:  # noqa: BLE001 - whoever looks is not the one to raise it
                self.confuse(exc)
        return self.tracker.frontier(location.output)

    def _reaching(self, location: Location) -> Iterator[Hashable]:
        """What is held or in flight above a location: its frontier, as long as no path changes a time."""
        if not location.upstreams:
            yield from location.held
            return
        above = {location.node: location}
        todo = [location]
        while todo:
            here = todo.pop()
            yield from here.held
            for upstream in here.upstreams:
                if upstream.node not in above:
                    above[upstream.node] = upstream
                    todo.append(upstream)
        for stamp in self.in_flight:
            if stamp.live and stamp.port.location.node in above:
                yield stamp.stamped

    def attend(self, waiter: Waiter) -> None:
        """Have `waiter.event` set once it is settled; `leave` ends that."""
        for place in waiter.places:
            self.tracker.observe(place)
        self.waiters.add(waiter)
        if len(self.waiters) == 1:
            self._listen()
        self._standstill.waiting[waiter] = self
        self._begin_looking()

    def _begin_looking(self) -> None:
        if not (self._looking or self._ended):
            self._looking = True
            self._spawn(self._keep_looking)

    def leave(self, waiter: Waiter) -> None:
        """Wait no more."""
        self.waiters.discard(waiter)
        if not self.waiters:
            self._listen()
        self._standstill.waiting.pop(waiter, None)

    async def until(
        self, waiters: Sequence[Waiter], signal: Signal, *, outside: bool = False, deadline: float = inf
    ) -> None:
        """Wait until `signal` is set, because one of the waiters is settled or by somebody else, or for the deadline.

        Raises:
            Exception: what went wrong with the waiting of one of them.
        """
        for waiter in waiters:
            waiter.event = signal
            self.attend(waiter)
        try:
            self.look()
            if deadline < inf:
                with trio.move_on_at(deadline):
                    await signal.wait(outside=True)
            else:
                await signal.wait(outside=outside)
        finally:
            for waiter in waiters:
                self.leave(waiter)
        for waiter in waiters:
            waiter.check()

    def stir(self, at: Location | Port | None = None) -> None:
        """Something may have been emptied, at a module's output or an input of one: while anybody waits, look soon."""
        if self.waiters:
            self._stirred.set()
        if self.alert and not self._stirring:
            self._stirring = True
            for other, opener in self._followers.items():
                other.stir(opener)
            for location, here in self._heeding.items():
                # What leaves a module, or a stream inside it, changes nothing of what comes in to others there.
                if location is None:
                    for inner in here:
                        inner.stir()
                elif at is None or self._leads(at, location):
                    self._untold[location] = None
                    self._stirred.set()
            self._stirring = False

    def _tell(self) -> None:
        """Have those that are fed from here look again, where something else may come in now."""
        untold, self._untold = self._untold, {}
        for location in untold:
            now = [self.arriving(port) for port in location.ports]
            if location in self._heeding and now != self._told.get(location):
                self._told[location] = now
                self._stirring = True
                for inner in self._heeding[location]:
                    inner.stir()
                self._stirring = False

    def _leads(self, at: Location | Port, below: Location) -> bool:
        """Whether anything that was at a module's output, or at one of its inputs, may come in at another module."""
        location = at.location if isinstance(at, Port) else at
        if location is below and at is not location:
            return True
        way = (location, below)
        if way not in self._ways:
            above = dict.fromkeys(below.upstreams)
            todo = list(above)
            for here in todo:
                for upstream in here.upstreams:
                    if upstream not in above:
                        above[upstream] = None
                        todo.append(upstream)
            self._ways[way] = location in above
        return self._ways[way]

    def soon(self, call: Callable[[], object]) -> None:
        """Have something called beside the run that only looks: what is over is forgotten then, though nobody looks."""
        self._spawn(partial(self._call, call))

    async def _call(self, call: Callable[[], object]) -> None:
        task = trio.lowlevel.current_task()
        self._standstill.watched_by(task)
        try:
            call()
        finally:
            self._standstill.unwatched_by(task)

    def enter(self, stamp: Stamp) -> None:
        """A lane has a batch in flight."""
        if len(self.in_flight) >= self._most_in_flight:
            # Lanes that were taken for one ask, and are acknowledged; nobody may have looked since.
            self._withdraw_acknowledged()
            self._most_in_flight = max(FEW, 2 * len(self.in_flight))
        self.in_flight[stamp] = None

    def look(self, but: Location | None = None) -> None:
        """Propagate everything that has happened, and wake those who waited for it.

        Streams inside are looked at too, except for those of the module at the location that is given.
        """
        try:
            self._withdraw_acknowledged()
            if self._mirroring:
                # A look outside looks inside, and that one at what comes in from outside.
                return
            self._mirror_all(but)
        except BaseException as exc:  # noqa: BLE001 - whoever looks is not the one to raise it
            self.confuse(exc)
        if self._tracker is None and not self.waiters:
            return
        self.tracker.propagate()
        for waiter in list(self.waiters):
            try:
                settled = waiter.settled(self.tracker)
            except BaseException as exc:  # noqa: BLE001 - as above
                # A time that cannot be compared here is the trouble of the one who waits.
                settled, waiter.failure = True, exc
            if settled:
                self.leave(waiter)
                waiter.event.set()

    def _withdraw_acknowledged(self) -> None:
        for stamp in list(self.in_flight):
            if not stamp.live:
                stamp.withdraw()

    def _mirror_all(self, but: Location | None) -> None:
        self._mirroring = True
        try:
            for owner in list(self.mirrors):
                if owner.location is but:
                    continue
                if owner.location.ending is Ending.RUNNING:
                    owner.location.mirror(owner.mirrored())
                else:
                    del self.mirrors[owner]
        finally:
            self._mirroring = False

    def confuse(self, exc: BaseException | None = None) -> None:
        """Frontiers cannot be worked out: nothing is complete any more.

        Where times of two domains have met, or a function of times has raised, a module fails. Anything else, such as
        what a comparison of times has raised, is nobody's in particular: the run ends with it.
        """
        if not isinstance(self._tracker, Confused):
            graph = self._graph() if self._tracker is None else self._tracker.graph
            self._tracker = Confused(graph, self._counts)
            self.update = self._tracker.update
        if self.trouble is not None:
            for waiter in list(self.waiters):
                waiter.failure = self.trouble
                self.leave(waiter)
                waiter.event.set()
        elif exc is not None and not isinstance(exc, TimelyError):
            sources = "; ".join(str(location) for location in self._locations if not location.upstreams)
            self._standstill.strike(exc, f"raised by a time, where times are compared; times here come from {sources}")

    def struck(self, location: Location, exc: BaseException) -> TimelyError:
        """A function of times has raised: its module fails with that, once whoever looks has done so."""
        if self.trouble is None and location.ending is Ending.RUNNING:
            blame(exc, str(location))
            self.trouble = location.trouble = exc
            location.strike(exc)
        return SummaryError(f"{location} cannot tell what becomes of a time")

    async def _keep_looking(self) -> None:
        """Look whenever it was asked for; runs beside the pipeline, from the first wait on."""
        while not self._ended:
            await self._stirred.wait()
            self._stirred = Signal(self._standstill)
            self._tell()
            if self.waiters or self._ended:
                self.look()

    def end(self, failure: BaseException | None, *, abandoned: bool) -> None:
        """The run is over; whoever still waits learns how."""
        for location in self._locations:
            if abandoned or failure is not None:
                location.abandon(failure)
            else:
                location.complete()
        self.look()
        self._ended = True
        self._stirred.set()
        for outer, fed_at in self._fed_by.items():
            outer.heeded_by(self, fed_at, wants=False)

    # ----

    async def moved(self, locations: Sequence[Location], frontiers: Sequence[Antichain[Any]]) -> None:
        """Wait until the frontier of one of these locations is another, or one of them has ended."""
        signal = Signal(self._standstill)
        await self.until([Movement(locations, frontiers, signal)], signal)

    @property
    def locations(self) -> Sequence[Location]:
        """Every module's place, in the order in which they are numbered."""
        return self._locations

    @property
    def sinks(self) -> Sequence[Location]:
        """The places of the sinks."""
        return self._sinks

    def signal(self) -> Signal:
        """An event for one task of the run to wait for."""
        return Signal(self._standstill)

    # ---- everything that a time leads to

    @property
    def reach(self) -> Reach:
        """The ways from every place to the sinks."""
        if self._reach is None:
            self._reach = Reach(self._locations, self._sinks)
        return self._reach

    def carrying(self, location: Location) -> list[Location]:
        """The modules below one that carry something from a time to later ones: a state, or a value into a window.

        What such a module knows of a time is not yet at the sinks when the time is complete there. With a journal it
        is saved or given again.
        """
        return [
            below for below in self.reach.below(location) if below.traits.carries in _CARRYING or below.traits.later
        ]

    def fulfilled(self, location: Location, time: Hashable) -> bool:
        """Whether everything that `time` at a module's output leads to is complete at the outputs of all sinks."""
        self.look()
        return not self.inner and self._fulfilling(location, time).fulfilled(self.tracker)

    async def until_fulfilled(self, location: Location, time: Hashable) -> None:
        """Wait until everything that `time` at a module's output leads to is complete at the outputs of all sinks.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before.
        """
        if self.inner:
            raise PullstreamError(
                f"{location}, is a stream inside another module, whose effects it cannot know of: open it as a source "
                f"of the pipeline itself"
            )
        waiter = self._fulfilling(location, time)
        await self.until([waiter], waiter.event)
        if waiter.fulfilled(self.tracker):
            if self.keeper is not None:
                await self.keeper.until_recorded(location, time)
            return
        for sink in self._sinks:
            if sink.failure is not None:
                raise sink.failure
        raise Abandoned(f"what {time!r} at {location} leads to will not be complete: the stream was aborted before")

    def _fulfilling(self, location: Location, time: Hashable) -> Fulfilled:
        return Fulfilled(self, location, time, self.reach.from_output(location, time))

    async def _settled(self, location: Location, time: Hashable) -> None:
        signal = Signal(self._standstill)
        await self.until([Waiter([location.output], time, location, location, signal)], signal)

    def _resolve(self, at: str | None) -> list[Location]:
        if not self._started:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        if at is None:
            return self._sinks
        found = [location for location in self._locations if at in location.names]
        if len(found) != 1:
            known = ", ".join(repr(name) for name in self._names())
            what = "no module is" if not found else f"{len(found)} modules are"
            raise LookupError(f"{what} named {at!r}; name one with .named('...'). This run has {known}")
        return found

    def _names(self) -> Iterator[str]:
        for location in self._locations:
            yield from location.names

    def blocking(self, blocker: Blocker) -> Blocking:
        """A blocker in words."""
        port = blocker.location
        count = self.tracker.counts(self.tracker.graph.place(port)).get(blocker.time, 1)
        nodes = dict.fromkeys(place.node for place in blocker.path)
        path = tuple(" -> ".join(self._locations[node].names) for node in nodes if node != port.node)
        return self._described(port, blocker.time, count, path)

    def _described(self, port: Source | Target, time: Hashable, count: int, path: tuple[str, ...]) -> Blocking:
        location = self._locations[port.node]
        if isinstance(port, Target):
            what = "has not acknowledged a batch at"
        elif port.node in self._sources:
            what = "may still produce from"
        elif location.ending is Ending.FAILED:
            what = "failed at"
        else:
            what = "holds"
        name = " -> ".join(location.names)
        if isinstance(port, Source) and location.holders is not None and (holders := location.holders(time)):
            name = f"{name}, {_several(holders)}"
        return Blocking(name, what, time, count, path)


def _several(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


_CARRYING = (Carries.MEMORY, Carries.LOST)


def _untracked(place: int, time: Hashable, delta: int) -> None:
    """Nobody has looked yet."""
