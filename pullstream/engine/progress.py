"""The progress sidecar: which times can still reach which place of a running pipeline (DESIGN 4.2).

What may still lead to something is a pointstamp, a time at a place of the composed graph:

- a **hold** at a module's output: a source's capability, a buffer, a result that is still owed, a sink's effect;
- a **stamp** at a module's input: a batch in flight, from its answer until it is acknowledged.

Data never waits for the sidecar. Updates are buffered; they are propagated when somebody looks, and while anybody
waits, whatever may have emptied a stamp schedules a look. Successive batches at one time change nothing, so
progress costs per time, not per batch.
"""

from collections.abc import Hashable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

import attrs
import trio

from pullstream.blueprint import Site
from pullstream.errors import Abandoned, CapabilityError, PullstreamError
from timely import BEGINNING, Antichain, Blocker, GraphBuilder, Source, Target, TimelyError, Tracker, less_equal


class _Nothing(Enum):
    NOTHING = "nothing"


NOTHING: Final = _Nothing.NOTHING


class Stamp:
    """A lane's batch in flight: counted at its consumer's input until it is acknowledged.

    `live` goes false when the batch is acknowledged; the count itself is withdrawn at the next look, or kept, for
    nothing, when the next batch is at the same time.
    """

    __slots__ = ("_consumer", "_progress", "live", "stamped")

    def __init__(self, progress: "Progress", consumer: "Seat") -> None:
        self._progress = progress
        self._consumer = consumer
        self.live = False
        self.stamped: Hashable = NOTHING
        progress.stamps.append(self)

    def stamp(self, time: Hashable) -> None:
        """A batch at `time` is handed over."""
        stamped = self.stamped
        if stamped is not time and stamped != time:
            update = self._progress.tracker.update
            update(self._consumer.input, time, 1)
            if stamped is not NOTHING:
                update(self._consumer.input, stamped, -1)
            self.stamped = time
        self.live = True

    def withdraw(self) -> None:
        """Nothing of this lane is in flight any more."""
        self.live = False
        if self.stamped is not NOTHING:
            self._progress.tracker.update(self._consumer.input, self.stamped, -1)
            self.stamped = NOTHING

    def covers(self, time: Hashable) -> bool:
        """Whether an unacknowledged batch gives the right to speak at `time`."""
        return self.live and self.stamped <= time  # type: ignore[operator]  # the time domain's own order


class Ending(Enum):
    """How a module's part of the run stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    ABANDONED = "abandoned"


class Seat:
    """A module's place in the sidecar: its name, its input and output, and what it holds."""

    def __init__(self, progress: "Progress", names: Sequence[str], site: Site | None, node: int) -> None:
        self._progress = progress
        self._held: dict[Hashable, int] = {}
        self.names = names
        self.site = site
        self.node = node
        self.input = -1
        self.output = -1
        self.ending = Ending.RUNNING
        self.failure: BaseException | None = None
        self._last: Antichain[Any] | None = None
        self._capability: Hashable = BEGINNING

    def __str__(self) -> str:
        where = "" if self.site is None else f", composed at {self.site}"
        return f"{' -> '.join(self.names)}{where}"

    # ---- holds

    def hold(self, time: Hashable) -> None:
        """Keep the right to speak at `time` and later."""
        if self._over:
            return
        count = self._held.get(time, 0)
        if count == 0:
            self._progress.tracker.update(self.output, time, 1)
        self._held[time] = count + 1

    def drop(self, time: Hashable) -> None:
        """Give one hold of `time` back."""
        if self._over:
            return
        count = self._held.get(time, 0)
        if count == 0:
            raise CapabilityError(f"{self} does not hold {time!r}: it holds {self.held or 'nothing'}")
        if count == 1:
            del self._held[time]
            self._progress.tracker.update(self.output, time, -1)
            self._progress.stir()
        else:
            self._held[time] = count - 1

    @property
    def _over(self) -> bool:
        """Whether the stream has ended here: what it held then is frozen, whatever the module still does."""
        return self._last is not None or self.ending is not Ending.RUNNING

    @property
    def held(self) -> list[Hashable]:
        """The times this module holds, oldest hold first."""
        return list(self._held)

    def holds(self, time: Hashable) -> bool:
        """Whether a hold gives the right to speak at `time`."""
        return time in self._held or any(held <= time for held in self._held)  # type: ignore[operator]

    def advance(self, time: Hashable) -> None:
        """Lower a source's capability to `time`: apart from what it holds, nothing earlier will come."""
        capability = self._capability
        if capability is time or capability == time:
            return
        if less_equal(capability, time):
            self.hold(time)
            self.drop(capability)
            self._capability = time
        elif not self.holds(time):
            raise CapabilityError(
                f"{self} went back in time: it answered at {time!r} after it had said that nothing before "
                f"{capability!r} would come. Sort it, give every value a time that does not go back, or take "
                f"ctx.hold({time!r}) before going on (R12)",
            )

    # ---- endings

    @property
    def frontier(self) -> Antichain[Any]:
        """The times that may still leave this module, as of now; after an abort or a failure, as of then."""
        if self._last is not None:
            return self._last
        if self.ending is Ending.COMPLETE:
            # A branch of a tee may have ended while what is above it goes on.
            return Antichain()
        self._progress.look()
        return self._progress.tracker.frontier(self.output)

    def freeze(self) -> None:
        """Keep what may still leave this module as its own hold, until it is known how the module ends.

        Whatever is upstream is about to be withdrawn, and that must look like completion to nobody.
        """
        if self.ending is Ending.RUNNING and self._last is None:
            frontier = self.frontier
            self._withdraw()
            for time in frontier:
                self.hold(time)
            self._last = frontier

    def complete(self) -> None:
        """The stream came to its end here: nothing more will leave."""
        self._end(Ending.COMPLETE, None)

    def fail(self, failure: BaseException) -> None:
        """The module failed: what may still have left it stays frozen."""
        self.freeze()
        self._end(Ending.FAILED, failure)

    def thaw(self) -> None:
        """Withdraw what an ending froze here: the module below has taken it over."""
        if self.ending in (Ending.FAILED, Ending.ABANDONED):
            self._withdraw()

    def abandon(self, failure: BaseException | None = None, *, keep: bool = False) -> None:
        """Nobody below wants more: because of an abort, or of an error that came from there.

        A cancelled ask unwinds from the source down: with `keep`, what was frozen stands until the module below has
        frozen it as well.
        """
        self.freeze()
        self._end(Ending.ABANDONED if failure is None else Ending.FAILED, failure, keep=keep)

    def _end(self, ending: Ending, failure: BaseException | None, *, keep: bool = False) -> None:
        if self.ending is not Ending.RUNNING:
            return
        self.ending, self.failure = ending, failure
        if ending is Ending.COMPLETE:
            self._last = None
        if ending is not Ending.FAILED and not keep:
            self._withdraw()
        self._progress.stir()

    def _withdraw(self) -> None:
        for time in self._held:
            self._progress.tracker.update(self.output, time, -1)
        self._held.clear()


@attrs.define(eq=False)
class Waiter:
    """Somebody who waits until a time is complete at a place, or never will be."""

    place: int
    time: Hashable
    seat: Seat | None
    event: trio.Event
    failure: Exception | None = None

    def settled(self, tracker: Tracker) -> bool:
        """Whether there is nothing to wait for any more."""
        if self.seat is not None and self.seat.ending is not Ending.RUNNING:
            return True
        return not tracker.frontier(self.place).less_equal(self.time)


@attrs.frozen
class Blocking:
    """A pointstamp that keeps a time from completing, and the way it would take."""

    holder: str
    what: str
    time: Hashable
    path: tuple[str, ...]

    def __str__(self) -> str:
        way = f" -> {' -> '.join(self.path)}" if self.path else ""
        return f"{self.holder} {self.what} {self.time!r}{way}"


class Progress:
    """The progress of one run: ask it what is complete, wait for it, or have it explained.

    `at` is the name of a module (its `named` label, or its function's name); without it, every sink is meant, and
    `completed` waits for all of them. A module's frontier is that of its *output*; a sink's output is its effect.
    """

    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._seats: list[Seat] = []
        self._sinks: list[Seat] = []
        self._sources: set[int] = set()
        self.waiters: set[Waiter] = set()
        self._stirred = trio.Event()
        self.stamps: list[Stamp] = []
        self.tracker: Tracker
        self._started = False

    # ---- for users

    async def completed(self, time: Hashable, at: str | None = None) -> None:
        """Wait until `time` is complete at the output of `at`: until nothing at `time` or earlier can come out of it.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before. A failure is never a completion.
        """
        for seat in self._resolve(at):
            await self._settled(seat, time)
            if seat.ending in (Ending.FAILED, Ending.ABANDONED) and seat.frontier.less_equal(time):
                if seat.failure is not None:
                    raise seat.failure
                raise Abandoned(f"{time!r} will not be complete at {seat}: the stream was aborted before")

    def frontier(self, at: str | None = None) -> Antichain[Any]:
        """The least times that may still come out of `at`; the empty antichain is the end of time."""
        return Antichain(time for seat in self._resolve(at) for time in seat.frontier)

    def explain(self, time: Hashable, at: str | None = None) -> list[Blocking]:
        """What still keeps `time` from being complete at the output of `at`; empty when it is complete.

        A pointstamp counts when it lies at `time` or earlier, for it may still lead there.
        """
        self.look()
        found = {
            (blocker.location, blocker.time): self._blocking(blocker)
            for seat in self._resolve(at)
            if seat.ending is not Ending.COMPLETE
            for blocker in self.tracker.explain(seat.output, time)
        }
        return list(found.values())

    # ---- for the run

    def seat(self, names: Sequence[str], site: Site | None, upstream: Seat | None, *, sink: bool = False) -> Seat:
        """A place for a module, below `upstream`."""
        node = self._builder.add_node(" -> ".join(names), inputs=0 if upstream is None else 1, outputs=1)
        seat = Seat(self, names, site, node)
        self._seats.append(seat)
        if upstream is None:
            self._sources.add(node)
        else:
            self._builder.add_edge(Source(upstream.node, 0), Target(node, 0))
        if sink:
            self._sinks.append(seat)
        return seat

    def start(self) -> None:
        """Close the graph and begin: every source may still produce at any time."""
        self._started = True
        graph = self._builder.build()
        self.tracker = Tracker(graph)
        for seat in self._seats:
            seat.output = graph.place(Source(seat.node, 0))
            if seat.node in self._sources:
                seat.hold(BEGINNING)
            else:
                seat.input = graph.place(Target(seat.node, 0))
        for sink in self._sinks:
            self.tracker.observe(sink.output)

    def watch(self, waiter: Waiter) -> None:
        """Have `waiter.event` set once it is settled; `unwatch` ends that."""
        self.tracker.observe(waiter.place)
        self.waiters.add(waiter)

    def unwatch(self, waiter: Waiter) -> None:
        """Wait no more."""
        self.waiters.discard(waiter)

    def stir(self) -> None:
        """Something may have been emptied: while anybody waits, have a look soon."""
        if self.waiters:
            self._stirred.set()

    def look(self) -> None:
        """Propagate everything that has happened, and wake those who waited for it."""
        for stamp in self.stamps:
            if not stamp.live and stamp.stamped is not NOTHING:
                stamp.withdraw()
        self.tracker.propagate()
        for waiter in list(self.waiters):
            try:
                settled = waiter.settled(self.tracker)
            except TimelyError as exc:
                # A time that compares with nothing here is the trouble of the one who waits, not of whoever looks.
                settled, waiter.failure = True, exc
            if settled:
                self.waiters.discard(waiter)
                waiter.event.set()

    async def keep_looking(self) -> None:
        """Look whenever it was asked for; runs beside the pipeline."""
        while True:
            await self._stirred.wait()
            self._stirred = trio.Event()
            self.look()

    def end(self, failure: BaseException | None, *, abandoned: bool) -> None:
        """The run is over; whoever still waits learns how."""
        for seat in self._seats:
            if abandoned or failure is not None:
                seat.abandon(failure)
            else:
                seat.complete()
        self.look()

    # ----

    async def _settled(self, seat: Seat, time: Hashable) -> None:
        waiter = Waiter(seat.output, time, seat, trio.Event())
        self.watch(waiter)
        try:
            self.look()
            await waiter.event.wait()
        finally:
            self.unwatch(waiter)
        if waiter.failure is not None:
            raise waiter.failure

    def _resolve(self, at: str | None) -> list[Seat]:
        if not self._started:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        if at is None:
            return self._sinks
        found = [seat for seat in self._seats if at in seat.names]
        if len(found) != 1:
            known = ", ".join(repr(name) for name in self._names())
            what = "no module is" if not found else f"{len(found)} modules are"
            raise LookupError(f"{what} named {at!r}; name one with .named('...'). This run has {known}")
        return found

    def _names(self) -> Iterator[str]:
        for seat in self._seats:
            yield from seat.names

    def _blocking(self, blocker: Blocker) -> Blocking:
        seat = self._seats[blocker.location.node]
        if isinstance(blocker.location, Target):
            what = "has not acknowledged a batch at"
        elif blocker.location.node in self._sources:
            what = "may still produce from"
        elif seat.ending is Ending.FAILED:
            what = "failed at"
        else:
            what = "holds"
        nodes = dict.fromkeys(location.node for location in blocker.path)
        path = tuple(" -> ".join(self._seats[node].names) for node in nodes if node != seat.node)
        return Blocking(" -> ".join(seat.names), what, blocker.time, path)
