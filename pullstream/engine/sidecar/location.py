"""Locations: a module's place in the sidecar, with its holds, its batches in flight, and its ending."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from time import perf_counter
from typing import Any, Final, TypeVar

from typing_extensions import override

from pullstream.blueprint import Site
from pullstream.engine.keeping import Keeping
from pullstream.engine.observer import Update
from pullstream.engine.sidecar.counters import EdgeCount, Metered
from pullstream.engine.sidecar.order_advice import NO_ORDER, check_time, order_advice
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import CapabilityError
from pullstream.frames import shown
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING, IDENTITY, Antichain, Summary, less_equal

N = TypeVar("N")


class _Nothing(Enum):
    NOTHING = "nothing"


NOTHING: Final = _Nothing.NOTHING


FEW: Final = 64
"""The number of entries kept before it is worth checking which of them can be dropped."""


class Counts(ABC):
    """The pointstamp counts of a run, as the locations and lanes that change them see it."""

    update: Update
    """Receives every change of a count: the place, the time, and the difference."""
    keeping: Keeping
    """The state that the stream keeps for later runs, and has from earlier ones."""
    alert = False
    """Whether somebody waits here or elsewhere for what drops and acknowledgements complete (`activate`)."""
    opener: "Location | None" = None
    """The module that opened this stream while it ran, in the sidecar outside."""
    acknowledged: dict["Claim", None]
    """The lanes acknowledged since the last read; the next read withdraws their counts."""

    @abstractmethod
    def activate(self, at: "Location | Port | None" = None) -> None:
        """Schedule reads of the frontiers, where there are waiters: something may be complete. Needed while `alert`.

        `at` is the output where a hold was dropped, or the input where a batch was acknowledged, if known.
        """

    @abstractmethod
    def ended(self, location: "Location") -> None:
        """Schedule a read of the frontiers, because a module's part of the run has ended."""

    @abstractmethod
    def frontier_of(self, location: "Location") -> Antichain[Any]:
        """The times that may still leave a module, as of now."""

    @abstractmethod
    def arriving(self, port: "Port") -> Antichain[Any]:
        """The times that may still arrive at an input, or have arrived and are in flight."""

    @abstractmethod
    def propagate(self) -> None:
        """Bring everything up to date."""

    @abstractmethod
    def begin_looking(self) -> None:
        """Start a task that reads the frontiers, and passes news on to nested sidecars, whenever it is woken."""

    @abstractmethod
    def wake(self, *, to_tell: bool = False) -> None:
        """Wake that task if there are waiters here, or if it has news to pass on."""

    @abstractmethod
    def soon(self, call: Callable[[], object]) -> None:
        """Schedule a call that discards what has ended, although nothing reads the frontiers."""

    @abstractmethod
    def switched(self, update: Update) -> None:
        """Report every change of a count to another function from now on."""

    @abstractmethod
    def stop_tracking(self, exc: BaseException | None = None) -> None:
        """Stop completing times: times cannot be compared."""


class Claim:
    """The values that one asker has in flight: their least times count at its consumer's input until it acknowledges.

    The least times hold back the later ones, too. `live` becomes False when everything is acknowledged. The counts are
    withdrawn at the next read of the frontiers, or kept, at no cost, if the next batch is at the same time. Until then
    the claim is in `port.in_flight`.
    """

    live = False
    stamped: Hashable = NOTHING
    """The first of the counted times."""
    _more: Sequence[Hashable] = ()
    """The others; most claims have none."""
    _all: Sequence[Hashable] = ()
    """All times in flight, if that is a multi-time batch."""

    def __init__(self, counts: Counts, port: "Port") -> None:
        self._counts = counts
        self.port = port

    def stamp(self, time: Hashable) -> None:
        """Count a batch that is handed over at `time`."""
        if self._more:
            self.count_least((time,))
        stamped = self.stamped
        if stamped is not time and stamped != time:
            update = self._counts.update
            update(self.port.place, time, 1)
            if stamped is not NOTHING:
                if self.port.location.mirroring:
                    self.port.location.hold_until_looked(stamped)
                update(self.port.place, stamped, -1)
            else:
                self.port.enter(self)
            self.stamped = time
            for note in self.port.notes:
                note(time)
        self.live = True

    def count_least(self, least: Sequence[Hashable]) -> None:
        """Count exactly these times, none of which is before another, instead of those counted before."""
        if not least:
            if self.live:
                self.acknowledge()
            return
        if len(least) == 1 and not self._more:
            self.stamp(least[0])
            return
        update, place, before = self._counts.update, self.port.place, dict.fromkeys(self.counted)
        for time in least:
            if time in before:
                del before[time]
            else:
                update(place, time, 1)
        self._withdraw(before)
        if self.stamped is NOTHING:
            self.port.enter(self)
        self.stamped, self._more = least[0], least[1:]
        self.live = True

    def count_batch(self, batch: Batch[Any]) -> None:
        """Count a batch that is handed over whole, or what is left of one."""
        if batch.uniform:
            self._all = ()
            self.stamp(batch.time)
            return
        self.count_least(batch.least)
        self._all = batch.times
        for note in self.port.notes:
            for time in dict.fromkeys(batch.times):
                note(time)

    @property
    def counted(self) -> Sequence[Hashable]:
        """The counted times."""
        return () if self.stamped is NOTHING else (self.stamped, *self._more)

    @property
    def times(self) -> Sequence[Hashable]:
        """The times of the values in flight."""
        return self._all or self.counted

    def acknowledge(self) -> None:
        """Mark everything as acknowledged; the next read withdraws the counts."""
        self.live = False
        self._all = ()
        self._counts.acknowledged[self] = None

    def withdraw(self) -> None:
        """Stop counting."""
        self.live = False
        if self.stamped is not NOTHING:
            self._withdraw(self.counted)
            if self._counts.alert and self.port.location.mirroring:
                self._counts.activate(self.port)
            self.stamped, self._more = NOTHING, ()
            del self.port.in_flight[self]
        self._counts.acknowledged.pop(self, None)

    def _withdraw(self, times: Iterable[Hashable]) -> None:
        for time in times:
            if self.port.location.mirroring:
                self.port.location.hold_until_looked(time)
            self._counts.update(self.port.place, time, -1)

    def covers(self, time: Hashable) -> bool:
        """Whether something unacknowledged gives the right to answer at `time`."""
        if not self.live:
            return False
        return self.stamped <= time or any(more <= time for more in self._more)  # type: ignore[operator]  # the domain's own order


class Port(EdgeCount):
    """An input of a module, its place in the graph, and the counts of what arrives there."""

    notes: Sequence[Callable[[Hashable], object]] = ()
    """Functions that are called with every time that arrives here."""
    claim: Claim | None = None
    """The first lane of the module that has this input."""
    _most = FEW

    def __init__(self, location: "Location", number: int, place: int) -> None:
        self.location = location
        self.number = number
        self.place = place
        self.in_flight: dict[Claim, None] = {}
        """The lanes with a batch in flight here, or acknowledged since the last read."""

    @property
    def upstream(self) -> "Location":
        """The location upstream of this input."""
        return self.location.upstreams[self.number]

    @property
    def live(self) -> "list[Hashable]":
        """The least times in flight here."""
        return [time for claim in self.in_flight if claim.live for time in claim.counted]

    def enter(self, claim: Claim) -> None:
        """Add a lane to those with a batch in flight."""
        if len(self.in_flight) >= self._most:
            # These are lanes taken for one ask and then acknowledged. Without reads they would stay here forever.
            for other in list(self.in_flight):
                if not other.live:
                    other.withdraw()
            self._most = max(FEW, 2 * len(self.in_flight))
        self.in_flight[claim] = None


class Ending(Enum):
    """The state of a module's part of the run."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    ABANDONED = "abandoned"


def note_arrivals(ports: Iterable[Port], note: Callable[[Hashable], object]) -> None:
    """Call a function with every time that arrives at some inputs from now on."""
    for port in ports:
        port.notes = (*port.notes, note)


class Location(Metered):
    """A module's location in the sidecar: its name, its inputs and output, its holds, and its measurements.

    In `timely` a location is one input or output, a `Target` or a `Source`; here it comprises all those of a module.
    """

    summaries: Sequence[Summary | Sequence[Summary]] = ()
    """The summaries of the traits, guarded against exceptions of functions of times."""
    holding: Callable[[Hashable], object] | None = None
    """Called with every time that it begins to hold."""
    superseded = False
    """Whether another source continues where this one ends, and so brings whatever follows from its data later."""
    cuts = False
    """Whether no path leads through it: its times do not follow from those at its inputs."""
    ending = Ending.RUNNING
    failure: BaseException | None = None
    holders: Callable[[Hashable], Sequence[str]] | None = None
    """The names of the parts of a source that hold a time, if it has several, for `explain`."""
    summary_failure: BaseException | None = None
    """The exception of its function of times, raised while the frontier was read."""
    mirroring = False
    """Whether its holds mirror what streams inside may still emit (see `mirror`)."""
    _mirrored: set[Hashable] | frozenset[Hashable] = frozenset()
    _most_mirrored = FEW
    _last: Antichain[Any] | None = None
    _lost: Callable[[], object] | None = None
    _capability: Hashable = BEGINNING
    _over = False
    """Whether the stream has ended here: what it held then is frozen, whatever the module does afterwards."""

    dropping: Sequence[Callable[[int], object]] = ()
    """Called with the number of values that a resumed run drops at the output: an earlier run has completed them."""

    def __init__(
        self,
        counts: Counts,
        names: Sequence[str],
        site: Site | None,
        upstreams: "Sequence[Location]",
        traits: Traits,
        *,
        node: int,
        place: int,
    ) -> None:
        self._counts = counts
        self.traits = traits
        self.steered = traits.steered
        """Whether the program may drop holds here, by a handle and at any time."""
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, int] = {}
        """The holds among these for answers that wait to be asked for: they give no right to other answers."""
        self.names = names
        self.site = site
        self.node = node
        self.upstreams = upstreams
        # The numbering of a graph's ports: node by node, the inputs before the output.
        self.ports: tuple[Port, ...] = tuple([Port(self, number, place + number) for number in range(len(upstreams))])
        self.output = place + len(upstreams)

    def __str__(self) -> str:
        where = "" if self.site is None else f", composed at {self.site}"
        return f"{self.name}{where}"

    @override
    def leave_out(self, count: int = 1, fault: Exception | None = None, *, marks: int = 0) -> None:
        super().leave_out(count, fault, marks=marks)
        # Only the modules of the run itself have rows of counters.
        if self._counts.opener is not None:
            self._counts.opener.leave_out(count, fault)

    def fail_soon(self, failure: BaseException) -> None:
        """Make the module fail at the next step."""
        if self.edge is not None:
            self.edge.fail_soon(failure)

    # ---- holds

    def hold(self, time: Hashable) -> None:
        """Keep the right to answer at `time` and later."""
        if self._over:
            return
        try:
            count = self._held.get(time, 0)
        except TypeError:
            count = 0
        if count == 0:
            if time.__class__ is not int and time is not BEGINNING:
                check_time(time)
            if self.holding is not None:
                self.holding(time)
            self._counts.update(self.output, time, 1)
        self._held[time] = count + 1

    def drop(self, time: Hashable) -> None:
        """Drop one hold of `time`."""
        if self._over:
            return
        count = self._held.get(time, 0)
        if count == 0:
            held = self.held or "nothing"
            raise CapabilityError(
                f"{self}, does not hold {time!r}: it holds {held}. Call drop(time) once for each hold(time)"
            )
        if count == 1:
            del self._held[time]
            self._counts.update(self.output, time, -1)
            if self._counts.alert:
                self._counts.activate(self)
        else:
            self._held[time] = count - 1

    def gather(self, times: set[Hashable]) -> None:
        """Add to `times` what is held here and, unless the location `cuts` paths, what is in flight at its inputs."""
        times.update(self._held)
        for port in () if self.cuts else self.ports:
            if port.in_flight:
                times.update(port.live)

    @property
    def busy(self) -> bool:
        """Whether anything is held here, or in flight at the inputs."""
        return bool(self._held) or any(claim.live for port in self.ports for claim in port.in_flight)

    @property
    def held(self) -> list[Hashable]:
        """The times this module holds, oldest hold first."""
        return list(self._held)

    @property
    def own(self) -> list[Hashable]:
        """The times this module holds apart from those that it mirrors, or will mirror at the first read."""
        capability = self._capability
        return [time for time, count in self._held.items() if count > (time in self._mirrored) + (time is capability)]

    def holds(self, time: Hashable) -> bool:
        """Whether a hold gives the right to answer at `time`."""
        held, waiting = self._held, self._waiting
        if not waiting:
            return time in held or any(each <= time for each in held)  # type: ignore[operator]
        if held.get(time, 0) > waiting.get(time, 0):
            return True
        return any(each <= time and count > waiting.get(each, 0) for each, count in held.items())  # type: ignore[operator]

    def hold_waiting(self, time: Hashable) -> None:
        """Hold `time` for a finished answer that waits to be asked for; this gives no right to other answers."""
        self.hold(time)
        self._waiting[time] = self._waiting.get(time, 0) + 1

    def drop_waiting(self) -> None:
        """Drop all holds for answers that waited: they are in flight, or held otherwise."""
        waiting, self._waiting = self._waiting, {}
        for time, count in waiting.items():
            for _ in range(count):
                self.drop(time)

    def refusal(self, what: str, time: Hashable, ends: Iterable[Claim]) -> CapabilityError:
        """The error for a time that may not be answered; it names the holds, and the batches in flight at `ends`.

        The location cannot know why the right is missing: it may never have existed, or was given up too soon.
        """
        current = ", ".join(repr(end.stamped) for end in ends if end.live)
        held = [time for time, count in self._held.items() if count > self._waiting.get(time, 0)]
        asked = "has no current batch (asking again acknowledges the one before)"
        batch = f"its current batch is at {current}" if current else asked
        return CapabilityError(
            f"{self}, {what}: it holds {held or 'nothing'}, and {batch}.",
            time,
            f"To answer at {time!r} later, take the right while a batch at it, or before it, is the current one: call "
            f"ctx.notify_at(time), and answer at the Completed(time) that ctx.events(upstream) yields; or enter "
            f"ctx.hold(time), and leave it after the answer (a `with` in the body of an `async for` leaves it before "
            f"the next batch); in a kernel, call self.location.hold(time), and, at the next produce, drop(time) (R12)",
        )

    def advance(self, time: Hashable, values: Sequence[object] = ()) -> None:
        """Lower a source's capability to `time`: apart from its holds, nothing earlier will come.

        `values`, which it answers there, are for the error message.
        """
        capability = self._capability
        if capability is time or capability == time:
            return
        if capability is not NOTHING and less_equal(capability, time):
            self.hold(time)
            self.drop(capability)
            self._capability = time
        elif not self.holds(time):
            if capability is NOTHING:
                raise CapabilityError(f"{self}, answered at {time!r}, and holds {self.held or 'nothing'} (R12)", time)
            advice = order_advice(capability, time) or (
                "Sort it, or leave its times to ps.stamp(..., lateness=...) downstream"
            )
            if advice != NO_ORDER and (not self.traits.trusted or self.traits.carries is Carries.MAYBE):
                # A user's own module.
                advice += f"; your own module can take ctx.hold({time!r}) before it continues"
            answered = f"{shown(values[0])}, at {time!r}," if len(values) else f"at {time!r}"
            raise CapabilityError(
                f"{self}, went back in time: it answered {answered} after promising that nothing before "
                f"{capability!r} would come. {advice} (R12)",
                time,
            )

    def mirror(self, times: Iterable[Hashable]) -> None:
        """Make the mirrored holds exactly `times`: what a stream opened while running may still emit.

        A source that mirrors can produce nothing of its own.
        """
        if self._over:
            return
        times = set(times)
        for time in times - self._mirrored:
            self.hold(time)
        gone, self._mirrored = self._mirrored - times, times
        self._most_mirrored = max(FEW, 2 * len(times))
        for time in gone:
            self.drop(time)
        if self._capability is BEGINNING and not self.ports:
            self.drop_capability()

    @property
    def reached(self) -> Hashable:
        """The time that a source has reached, even after its end; NOTHING if only its holds say what may come."""
        return self._capability

    def drop_capability(self) -> None:
        """Give up a source's capability: from now on it may answer only at times it holds."""
        capability, self._capability = self._capability, NOTHING
        if capability is not NOTHING:
            self.drop(capability)

    def hold_until_looked(self, entered: Hashable) -> None:
        """Hold what follows from the time of a value that entered an inner stream, until the next read.

        A time is not held if an earlier one is.
        """
        if self._over:
            return
        row = self.summaries[0] if self.summaries else IDENTITY
        try:
            times = [summary.results_in(entered) for summary in ((row,) if isinstance(row, Summary) else row)]
        except BaseException as exc:  # noqa: BLE001 - a function of times must not interrupt an answer halfway
            self._counts.stop_tracking(exc)
            return
        for time in times:
            if time is None or time in self._mirrored or any(less_equal(held, time) for held in self._mirrored):
                continue
            self.hold(time)
            if isinstance(self._mirrored, frozenset):
                self._mirrored = set(self._mirrored)
            self._mirrored.add(time)
        if len(self._mirrored) > self._most_mirrored:
            # Without waiters nothing is read, and a time that has passed would be held forever.
            self._most_mirrored = 2 * len(self._mirrored)
            self._counts.soon(self._counts.propagate)

    # ---- consequences of a time

    @property
    def remembers(self) -> bool:
        """Whether the module has a memory, or may have one."""
        return self.traits.carries in (Carries.MEMORY, Carries.COUNT, Carries.MAYBE)

    def done(self, time: Hashable) -> bool:
        """Whether an earlier run with this journal has completed everything that `time` at this output leads to.

        Answers at such a time are dropped: a source may skip the work. False without a journal.
        """
        saving = self._counts.keeping.saving
        return saving is not None and saving.done(self, time)

    def fulfilled(self, time: Hashable) -> bool:
        """Whether everything that `time` at this output leads to is complete at the outputs of all sinks.

        Every path is followed, each to the last time at which `time` still matters. Downstream of a module that makes
        times of its own (`stamp`), nothing is known of `time` before the run's end.
        """
        return self._counts.keeping.fulfilled(self, time)

    async def until_fulfilled(self, time: Hashable, check: Callable[[], object] = lambda: None) -> None:
        """Wait until everything that `time` at this output leads to is complete at the outputs of all sinks.

        `check` is called before each look at that. An exception of it ends the wait.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before.
        """
        await self._counts.keeping.until_fulfilled(self, time, check)

    # ---- endings

    @property
    def frontier(self) -> Antichain[Any]:
        """The times that may still leave this module, as of now; after an abort or a failure, as of then."""
        if self._last is not None:
            return self._last
        if self.ending is Ending.COMPLETE:
            # A branch of a tee may have ended while upstream continues.
            return Antichain()
        return self._counts.frontier_of(self)

    def freeze(self, lost: Callable[[], object] | None = None) -> None:
        """Hold all times that may still leave this module, until it is known how the module ends.

        Everything upstream is about to be withdrawn, and that must not look like completion to anyone. Nor must values
        that left here and were never delivered: they stay in flight until then, and `lost` withdraws them.
        """
        if not self._over:
            self._last = self._counts.frontier_of(self)
            self._withdraw()
            try:
                for time in self._last.elements:
                    self.hold(time)
            except BaseException as exc:  # noqa: BLE001 - a time whose hash fails must not interrupt an ending halfway
                self._counts.stop_tracking(exc)
            self._over = True
            if self._counts.alert:
                self._counts.activate(self)
        self._lost = lost or self._lost

    def complete(self) -> None:
        """End with the stream: nothing more will leave."""
        self._end(Ending.COMPLETE, None)

    def fail(self, failure: BaseException) -> None:
        """End with a failure: the times that might still have left the module stay frozen."""
        self.freeze()
        self._end(Ending.FAILED, failure)

    def withdraw_frozen(self) -> None:
        """Withdraw the holds that an ending froze here: the module downstream has taken them over."""
        if self.ending in (Ending.FAILED, Ending.ABANDONED):
            self._withdraw()

    def abandon(self, failure: BaseException | None = None, *, keep: bool = False) -> None:
        """End because no module downstream wants more: after an abort, or an error that came from there.

        A cancelled ask unwinds from the source down: with `keep`, the frozen holds stay until the module downstream has
        frozen its own.
        """
        self.freeze()
        self._end(Ending.ABANDONED if failure is None else Ending.FAILED, failure, keep=keep)

    def _end(self, ending: Ending, failure: BaseException | None, *, keep: bool = False) -> None:
        if self.ending is not Ending.RUNNING:
            return
        self.ending, self.failure, self._over = ending, failure, True
        self.stopped = perf_counter()
        if ending is Ending.COMPLETE:
            self._last = None
        if ending is not Ending.FAILED and not keep:
            self._withdraw()
        self._counts.ended(self)

    def _withdraw(self) -> None:
        if self._held:
            for time in self._held:
                self._counts.update(self.output, time, -1)
            self._held.clear()
        if self._lost is not None:
            self._lost()
            self._lost = None


def reachable(starts: Iterable[N], steps: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """The nodes that can be reached from `starts`, these included, nearest first."""
    found = dict.fromkeys(starts)
    todo = list(found)
    for here in todo:
        for further in steps(here):
            if further not in found:
                found[further] = None
                todo.append(further)
    return found


def above(location: Location) -> dict[Location, None]:
    """Every location upstream of another, nearest first; in a cycle that includes itself."""
    return reachable(location.upstreams, lambda here: here.upstreams)
