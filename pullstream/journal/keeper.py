"""The journal during a run: restores the state of the last run and records what this run completes."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import trio

from pullstream.blueprint import Blueprint, shortened
from pullstream.blueprint.variables import R
from pullstream.engine.keeping import StateSaver
from pullstream.engine.run import Run
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.deadlock import LOOKS_ON
from pullstream.engine.sidecar.location import NOTHING, Ending, Location
from pullstream.engine.sidecar.waiting import movement
from pullstream.errors import JournalError
from pullstream.journal.program import ProgramVersion
from pullstream.journal.store import Journal, JournalStore, Record, SinkState, unpickled
from pullstream.logger import LOG
from pullstream.resuming.cut import Cut, SinkFrontiers, merged, remembered
from pullstream.resuming.interfaces import Outside
from pullstream.resuming.keeping import StreamKeeping
from pullstream.resuming.memory import Memory, MemoryChanges, pickled
from pullstream.resuming.resuming import drop_done, refuse_lost
from pullstream.timely import BEGINNING, Antichain, Tracker

SHARE: Final = 0.2
"""The largest share of the time to spend on recording, unless a module waits for it."""


_UNKNOWN: Final = [Antichain([BEGINNING])]


class Keeper(StateSaver):
    """The journal of one run."""

    def __init__(self, journal: "str | PathLike[str] | Journal", pipeline: Blueprint, run: Run) -> None:
        self._journal = Journal.of(journal)
        self.path = Path(self._journal.path)
        # Computed before anything is read from the sources: a generator, for example, is compared by its state.
        self._program = ProgramVersion.of(pipeline, self._journal.version)
        self._run = run
        self._stream = StreamKeeping.of(run.scope.sidecar)
        self._store: JournalStore
        self._cut: Cut
        self._frontiers: dict[Location, SinkFrontiers] = {}
        """Each sink's frontiers when last read, including those of earlier runs."""
        self._written: dict[Location, SinkFrontiers] = {}
        """The frontiers in the journal."""
        self._results: dict[Location, bytes] = {}
        self._results_written: dict[Location, bytes] = {}
        """The results in the journal: a sink may return its result after everything at it is complete."""
        self._for_now: dict[Location, list[Location]] = {}
        """Sinks, with the sources upstream that end only for now: a later run may have more values."""
        self._later: dict[tuple[Location, tuple[Location, ...]], Antichain[Any] | None] = {}
        """The times that later runs may bring to a sink, for the sources that have ended for now."""
        self._finished: dict[Location, tuple[bool, bytes | None]] = {}
        self._saved = Record()
        """The contents saved by earlier runs; modules take their parts out of it."""
        self._about: dict[str, bytes] = {}
        """Entries about the program, not yet written: a journal without completed times belongs to no program."""
        self._lock = trio.Lock()
        self._urgent = trio.Event()
        self._recorded = trio.Event()
        self._over = False
        self._last: Record | None = None
        self.failure: BaseException | None = None
        self.resumed_at: Sequence[Hashable] | None = None
        """The least times that earlier runs had not completed at some sink; None if there is nothing to resume."""
        self.resumed = False
        """Whether this run resumes an earlier one."""

    # ---- the beginning

    async def begin(self) -> None:
        """Open the journal, or refuse it, and resume the run from it; the run's modules have been set up."""
        with trio.CancelScope(shield=True):
            self._saved = await in_thread(self._open)
        try:
            self._check_pipeline()
            refuse_lost(self._run.scope.sidecar.locations, "a run with a journal")
            self._check_sources()
            self._resume(self._saved.sinks)
            if self.resumed:
                await self._end_sources()
        except BaseException:
            self._store.close()
            raise

    def _open(self) -> Record:
        self._store = JournalStore(self.path, self._journal.key)
        try:
            return self._store.contents()
        except BaseException:
            self._store.close()
            raise

    def _check_pipeline(self) -> None:
        program, recorded = self._program, self._saved.about.get("program")
        before = None if recorded is None else unpickled(recorded, self.path)
        program.check(before, self.path)
        if before != program:
            self._about["program"] = pickled(program.kept(), "it says what the pipeline is")

    def _check_sources(self) -> None:
        for source in sorted(self._run.sources, key=lambda source: source.location.node):
            identity = source.module.identity() if isinstance(source.module, Outside) else None
            name = f"source {source.location.node}"
            recorded = self._saved.about.get(name)
            if recorded is not None:
                before = unpickled(recorded, self.path)
                if before != identity:
                    raise JournalError(
                        f"the journal {self.path} was written for another state of {source.location}: it was "
                        f"{shortened(repr(before))} and is now {shortened(repr(identity))}. The completed results may "
                        f"not match the new state: start over with another journal, or restore what the source read"
                    )
            elif identity is not None:
                self._about[name] = pickled(identity, f"it tells what {source.location} reads")

    def _resume(self, entries: dict[int, SinkState]) -> None:
        sidecar = self._run.scope.sidecar
        for location in sidecar.sinks:
            entry = entries.get(location.node)
            self._frontiers[location] = _UNKNOWN if entry is None else unpickled(entry.frontiers, self.path)
            if entry is not None and entry.result is not None:
                self._results[location] = entry.result
                self._finished[location] = unpickled(entry.result, self.path)
        self._written, self._results_written = dict(self._frontiers), dict(self._results)
        if entries:
            self.resumed_at = [time for known in self._frontiers.values() for each in known for time in each]
        for source in self._run.sources:
            if isinstance(source.module, Outside) and source.module.for_now():
                for sink in self._stream.consequences.sinks_below(source.location):
                    self._for_now.setdefault(sink, []).append(source.location)
        self._cut = Cut(self._stream.consequences, dict(self._frontiers))
        self._stream.save_in(self)
        self._stream.opened()
        self._run.journal = self.path
        self.resumed = bool(entries)
        if entries:
            drop_done(sidecar, self._cut, self._frontiers)
        for module in self._stream.resumable:
            module.restore()

    async def _end_sources(self) -> None:
        """End the sources whose values all sinks have completed, and log whether their data is still the same."""
        sure = True
        for source in sorted(self._run.sources, key=lambda source: source.location.node):
            if self._cut.over(source.location):
                module = source.module
                sure = isinstance(module, Outside) and await module.unchanged() and sure
                source.finish()
        if not self.was_finished:
            LOG.info("resuming with the journal %s", self.path)
        elif sure:
            LOG.info("%s is the journal of a finished run: returning its result again", self.path)
        else:
            LOG.warning(
                "%s is the journal of a finished run: returning its result again, without reading anything. To process "
                "data that has arrived since, start a run with another journal",
                self.path,
            )

    # ---- for the modules

    @property
    def was_finished(self) -> bool:
        """Whether an earlier run finished, so that nothing is left to do."""
        return bool(self._finished) and len(self._finished) == len(self._frontiers)

    def done(self, location: Location, time: Hashable) -> bool:
        """Whether everything that follows from a time at a module's output was complete; for a sink, only the time."""
        return (
            self._cut.input_done(location, time)
            if location in self._frontiers
            else self._cut.output_done(location, time)
        )

    def restore(self, location: Location, memory: Memory) -> None:
        """Let the memory of a module begin as of the done times."""
        saved, node, path = self._saved, location.node, self.path
        notes = saved.notes.pop(node, [])
        memory.restore(
            saved.memory.pop(node, {}),
            saved.ledger.pop(node, {}),
            partial(unpickled, path=path),
            (unpickled(note, path) for note in notes),
        )

    def finished(self, location: Location) -> bool | None:
        """Whether a sink finished because its stream was exhausted; None if it did not finish in an earlier run."""
        return self._finished[location][0] if location in self._finished else None

    def result(self, location: Location) -> Any:
        """The result of a sink that finished in an earlier run; raises `JournalError` if it could not be stored."""
        result = self._finished[location][1]
        if result is None:
            raise JournalError(
                f"{location}, finished in an earlier run with the journal {self.path}, so there is nothing left to do. "
                f"Its result could not be stored, because it cannot be pickled. To run everything again, start over "
                f"with another journal"
            )
        return unpickled(result, self.path)

    def finishes(self, location: Location, result: object, *, exhausted: bool) -> None:
        """Note that a sink has finished, with all its effects complete."""
        if self._ended_for_now(location):
            return
        try:
            data = pickled(result, "it is the result")
        except JournalError:
            data = None
        self._results[location] = pickled((exhausted, data), "it is the result")

    # ---- recording

    async def keep(self) -> None:
        """Record what is complete whenever frontiers move. This runs as a task during the pipeline."""
        LOOKS_ON.set(True)
        sidecar = self._run.scope.sidecar
        while True:
            before = [location.frontier for location in sidecar.sinks]
            began = clocks.monotonic()
            await self.record()
            with trio.move_on_after((clocks.monotonic() - began) * (1 / SHARE - 1)):
                await self._urgent.wait()
            self._urgent = trio.Event()
            await sidecar.until([movement(sidecar.sinks, before)])

    async def record(self) -> None:
        """Record what is complete now, if that is more than before, and wait until it is on the disk."""
        async with self._lock:
            if self._over or self.failure is not None:
                return
            frontiers, results = self._look(), dict(self._results)
            try:
                record = self._record(frontiers)
                if record:
                    with trio.CancelScope(shield=True):
                        await in_thread(self._store.write, record)
                    self._about = {}
            except Exception as exc:
                # The changes taken from the memories are lost with this record, so no later one may be written.
                self.failure = exc
                raise
            self._written, self._results_written = frontiers, results
            self._recorded.set()
            self._recorded = trio.Event()

    def _look(self) -> dict[Location, SinkFrontiers]:
        for location in self._run.scope.sidecar.sinks:
            ended = location in self._results
            now = Antichain[Any]() if ended else self._to_come(location, location.frontier)
            if now is not None:
                self._frontiers[location] = merged(self._frontiers[location], now)
        return dict(self._frontiers)

    def _ended_for_now(self, sink: Location) -> list[Location]:
        return [source for source in self._for_now.get(sink, ()) if source.ending is Ending.COMPLETE]

    def _to_come(self, sink: Location, now: Antichain[Any]) -> Antichain[Any] | None:
        """The frontier of a sink as if the sources that ended only for now had not; None if it is unknown."""
        ended = self._ended_for_now(sink)
        over = tuple(source for source in ended if not source.superseded)
        if not over:
            # If a live source took over and has ended too, the frontier recorded last remains valid.
            return now if now.elements or not ended else None
        if (sink, over) not in self._later:
            self._later[sink, over] = self._from_later_runs(sink, over)
        later = self._later[sink, over]
        return None if later is None else now.union(later)

    def _from_later_runs(self, sink: Location, over: Iterable[Location]) -> Antichain[Any] | None:
        """The times that later runs of ended sources may bring to a sink; None if they are unknown."""
        keeping, frontiers = self._stream, self._run.scope.sidecar.frontiers
        counts: list[dict[Any, int]] = [{} for _ in frontiers.places]
        for source in over:
            time = source.reached
            if time in (BEGINNING, NOTHING) or keeping.strangers(source, time):
                return None
            if any(below.traits.later for below in keeping.carrying(source)):
                return None
            counts[source.output][time] = 1
        tracker = Tracker(frontiers.graph(), monotone=False, counts=counts)
        for below in (each for each in frontiers.locations if each.cuts):
            # Only its holds show what it may emit; its own times are nested in those of its input.
            for outer in tracker.frontier(below.ports[0].place):
                tracker.update(below.output, (outer, BEGINNING), 1)
        return tracker.frontier(sink.output)

    def _record(self, frontiers: dict[Location, SinkFrontiers]) -> Record:
        sinks = {
            location.node: SinkState(
                pickled(frontiers[location], f"it is a time at {location}"), self._results.get(location)
            )
            for location in frontiers
            if frontiers[location] != self._written[location]
            or self._results.get(location) != self._results_written.get(location)
        }
        if not sinks:
            return Record()
        cut = Cut(self._stream.consequences, frontiers)
        memory: dict[int, MemoryChanges] = {}
        ledger: dict[int, MemoryChanges] = {}
        notes: dict[int, list[bytes]] = {}
        for location, kept in self._stream.memories.items():
            done = remembered(partial(cut.input_done, location))
            if changes := kept.take(done):
                memory[location.node] = changes
            if noted := kept.notes.take(done):
                notes[location.node] = noted
            if decided := kept.ledger.take():
                ledger[location.node] = decided
        return Record(sinks, memory, ledger, self._about, notes)

    async def until_recorded(self, location: Location, time: Hashable) -> None:
        """Wait until the journal records everything that follows from a time at a module's output as complete."""
        consequences = self._stream.consequences
        while not Cut(consequences, self._written).output_done(location, time):
            if self.failure is not None:
                raise self.failure
            if self._over:
                raise JournalError(f"the effects of {time!r} at {location}, were not recorded: the run is ending")
            if not Cut(consequences, self._look()).output_done(location, time):
                sinks = consequences.sinks_below(location)
                others = {str(source): None for sink in sinks for source in self._ended_for_now(sink)}
                raise JournalError(
                    f"the journal cannot record that {time!r} is complete at {location}: {' and '.join(others)}, has "
                    f"ended, and a later run may have more values for it. Give each of these sources a pipeline and a "
                    f"journal of its own"
                )
            self._urgent.set()
            await self._recorded.wait()

    def stop(self) -> None:
        """Stop recording: sources are about to end in the middle of a time, which will look complete."""
        if not self._over:
            self._over = True
            self._recorded.set()
            try:
                # Later, complete times and cut-off times look the same.
                self._last = self._record(self._look())
            except Exception as exc:  # noqa: BLE001 - raised by `end`, which follows soon
                self.failure = exc

    async def end(self) -> None:
        """End the run: record what it has completed and close the journal."""
        with trio.CancelScope(shield=True):
            try:
                if self.failure is None:
                    await self.record()
                if isinstance(self.failure, Exception):
                    # Also raised if the sinks finished just when the error was found.
                    raise self.failure
                if self.failure is None and self._last:
                    await in_thread(self._store.write, self._last)
            finally:
                self.close()

    def close(self) -> None:
        """Close the journal of a run that did not reach `end`."""
        self._over = True
        self._recorded.set()
        self._store.close()


async def in_thread(function: Callable[..., R], *given: Any) -> R:
    """Call a function that waits for the disk, in a thread.

    The thread does not count towards trio's default limit: a run must end even if calls hang in all of those threads.
    """
    return await trio.to_thread.run_sync(function, *given, limiter=trio.CapacityLimiter(1))
