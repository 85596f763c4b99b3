"""A source as a log for `readStream`: numbered values, which are kept until Spark has committed them."""

import itertools
import math
import os
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Generator, Hashable, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

import trio

from pullstream import DONE, Batch, Completed, Context, PullstreamError, Reader, Source, pipe, sink, transformer
from pullstream.authoring import without_cancelled

from ...files.writing.disk import Disk
from ...stopping import in_thread

Offsets: TypeAlias = Literal["values", "times"]

BATCH_ROWS = 100_000
"""The maximum number of values in a micro-batch, unless the query sets another (`maxRowsPerBatch`)."""

GATHER_SECONDS = 0.2
"""Seconds to wait for a micro-batch to fill."""


class Offset(TypedDict):
    """A position: the number of values before it, and the name of the log that counts them."""

    values: int
    log: str


class LogRefused(PullstreamError):
    """A query asked for values that the log does not hold, or while another query reads it."""


class SourceLog:
    """Holds the values that Spark has planned but not committed; asks the source only for planned micro-batches.

    An offset counts values from the source's beginning. It names the log, because a checkpoint may belong to another
    log. With `offsets="times"`, a micro-batch holds whole times: a time's values are delivered when it is complete.
    Times are complete for the source when Spark has committed their values. A journal records these times as done, and
    the next program's log continues from there, with the same name and numbers.
    """

    def __init__(
        self, shown: str, source: Source[Any], offsets: Offsets, journal: "str | os.PathLike[str] | None" = None
    ) -> None:
        self.failure: BaseException | None = None
        self.withdrawn = False
        self._changed = trio.lowlevel.ParkingLot()
        self._begun = trio.Event()
        self._begins = False
        self._name = secrets.token_hex(8)
        self._shown = shown
        self._source = source
        self._by_times = offsets == "times"
        self._journal = journal
        self._values: list[Any] = []
        self._cuts: list[int] = []
        self._held: deque[tuple[int, ExitStack]] = deque()
        self._base = 0
        self._committed = 0
        self.passed = 0
        """The number of values that the source has emitted."""
        self._planned = 0
        self._from = 0
        """The beginning of the last micro-batch that Spark has planned."""
        self._wanted = 0
        """The number of values up to which the source may be asked."""
        self._queried = False
        self._rows = BATCH_ROWS
        self._ended = False
        self.to_the_end = False
        """Whether the query reads to the source's end (`availableNow`), because all of a pull source is available."""

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # A journal identifies a program by its modules' arguments. The content of this log must not be part of that.
        return str, (self._shown,)

    async def ready(self) -> None:
        """Wait until the number of its first value is known; raise if the source could not be opened."""
        await self._begun.wait()
        if not self._begins and self.failure is not None:
            raise self.failure

    # ---- requests of queries

    @contextmanager
    def querying(self, rows: int | None) -> Generator[None, None, None]:
        """Reserve the log for one query, whose micro-batches have at most `rows` rows (None: the default)."""
        if self._queried:
            raise LogRefused(
                f"{self._shown} is being read by another query, and only one can read it at a time: stop() it first"
            )
        self._queried = True
        self.to_the_end = False
        self._rows = BATCH_ROWS if rows is None else rows
        try:
            yield
        finally:
            self._queried = False

    def first(self) -> Offset:
        """The start of a query without a checkpoint: the source's beginning."""
        if self._base:
            anew = "with another journal" if self._journal else "again"
            raise LogRefused(
                f"{self._shown}: its first {self._base} values have been committed by an earlier query, and are gone. "
                f"Start the query with the checkpointLocation of the earlier one, or register the source {anew}"
            )
        return self._offset(0)

    async def latest(self, start: Offset | None, most: int | None) -> Offset:
        """Wait for values, and return the end of a micro-batch that begins at `start`, at most at its limit.

        Spark plans a micro-batch when all values before `start` are in its commit log.
        """
        begin = self._planned
        if start is not None:
            begin = self._number(start)
            await self._reach(begin)
            self._check(begin, begin)
            self.commit(start)
        rows = self._rows if most is None else min(most, self._rows)
        self._planned = self._from = begin
        self._wanted = begin + rows
        self._changed.unpark_all()
        await self._gather(begin, rows)
        end = self._end(begin, rows)
        if end == begin and self.failure is not None:
            raise self.failure
        if end == begin and self.withdrawn:
            raise LogRefused(f"{self._shown} has been withdrawn")
        self._planned = end
        return self._offset(end)

    async def _gather(self, begin: int, rows: int) -> None:
        """Wait until a micro-batch is full, at most `GATHER_SECONDS` (with `availableNow`, after its first values)."""
        deadline = math.inf if self.to_the_end else trio.current_time() + GATHER_SECONDS
        while self._there < begin + rows and not self._over:
            if self._end(begin, rows) > begin:
                deadline = min(deadline, trio.current_time() + GATHER_SECONDS)
            with trio.move_on_at(deadline) as waiting:
                await self._changed.park()
            if waiting.cancelled_caught:
                return

    def commit(self, end: Offset) -> None:
        """Forget the values before `end`: their times are now complete for the source."""
        number = self._number(end)
        # A journal may continue from a place before the one that Spark has committed.
        self._committed = max(self._committed, number if self._journal else min(number, self._there))
        self._forget()
        self._changed.unpark_all()

    async def slice(self, begin: Offset, end: Offset) -> list[Any]:
        """Return the values between two offsets; a restarted query may need values that were planned before."""
        start, stop = self._number(begin), self._number(end)
        await self._reach(stop)
        self._check(start, stop)
        return self._values[start - self._base : stop - self._base]

    async def _reach(self, number: int) -> None:
        """With a journal, read again up to a place that an earlier program had reached."""
        if self._journal is None:
            return
        self._wanted = max(self._wanted, number)
        self._changed.unpark_all()
        while self._there < number and not self._over:
            await self._changed.park()
        if self._there < number and self.failure is not None:
            raise self.failure

    @property
    def _there(self) -> int:
        return self._base + len(self._values)

    @property
    def _over(self) -> bool:
        """Whether there will be no more values."""
        return self._ended or self.withdrawn or self.failure is not None

    def _offset(self, number: int) -> Offset:
        return {"values": number, "log": self._name}

    def _number(self, offset: Offset) -> int:
        if offset.get("log") != self._name:
            raise LogRefused(
                f"{self._shown} did not emit the values in the query's checkpoint, which belongs to another source, to "
                f"an earlier registration of this one, or to another program without this journal: use a new "
                f"checkpointLocation"
            )
        return offset["values"]

    def _check(self, begin: int, end: int) -> None:
        if not self._base <= begin <= end <= self._there:
            raise LogRefused(
                f"{self._shown} keeps the values {self._base} to {self._there}, but a query asks for {begin} to {end}: "
                f"its checkpoint is an old copy. Use a new checkpointLocation, and register the source again"
            )

    def _end(self, begin: int, rows: int) -> int:
        if not self._by_times:
            return min(self._there, begin + rows)
        cuts = [cut for cut in self._cuts if cut > begin]
        within = [*itertools.takewhile(lambda cut: cut <= begin + rows, cuts)]
        # A time that is larger than a micro-batch becomes a micro-batch of its own.
        return within[-1] if within else cuts[0] if cuts else begin

    def _forget(self) -> None:
        gone = self._committed - self._base
        if gone > 0:
            self._base += len(self._values[:gone])
            del self._values[:gone]
            self._cuts = [cut for cut in self._cuts if cut > self._base]
        while self._held and self._held[0][0] <= self._base:
            self._held.popleft()[1].close()

    # ---- values from the source

    async def run(self) -> BaseException | None:
        """Read the source on demand, until it has ended and all its values are committed; return the failure."""
        try:
            async with pipe(self._source, _as_planned(self), _read_stream(self)).open(journal=self._journal) as running:
                end = await running.result()
            # If the journal's run had ended before, this is its result, and nothing was read.
            self._name, self._base = end["log"], end["values"]
            self._planned = max(self._planned, self._base)
        except BaseException as exc:
            if without_cancelled(exc) is None:
                self.withdrawn = True
                raise
            self.failure = exc
        else:
            self._ended = True
        finally:
            self._held.clear()
            self._begun.set()
            self._changed.unpark_all()
        return self.failure

    async def fill(self, upstream: Reader[Any], ctx: Context) -> Offset:
        """Keep the values, as a sink; return when the source has ended and all values are committed."""
        if ctx.journal is not None:
            self._name = await in_thread(_lasting_name, ctx.journal)
        self._base = self._planned = self.passed = ctx.memory.get("values", 0)
        self._begins = True
        self._begun.set()
        await (self._take_times if self._by_times else self._take_values)(upstream, ctx)
        self._ended = True
        self._changed.unpark_all()
        while self._values:
            await self._changed.park()
        return self._offset(self._base)

    async def wanted(self) -> int:
        """Wait until the source may be asked; return for how many values."""
        if not self._begins:
            # An earlier run with this journal had ended: the source ends without values.
            return 1
        while not (room := self._room()):
            await self._changed.park()
        return room

    def _room(self) -> int:
        """The number of values that the source may be asked for now."""
        room = self._wanted - self.passed
        if room > 0 or not self._by_times or not self._wanted:
            return max(0, room)
        # By times: keep asking while complete times have too few values. Often only a value of the next time shows that
        # a time is complete. A time that is larger than a micro-batch is read in steps of increasing size.
        enough = (self._there >= self._wanted or room < 0) and self._there > self._from
        return 0 if enough else 1 - room

    async def _take_values(self, upstream: Reader[Any], ctx: Context) -> None:
        async for batch in ctx.batches(upstream, many=True):
            self._keep(batch.values, ctx, *batch.least)

    async def _take_times(self, upstream: Reader[Any], ctx: Context) -> None:
        pending: dict[Hashable, list[Any]] = {}
        async for event in ctx.events(upstream):
            match event:
                case Batch(time, values):
                    ctx.notify_at(time)
                    pending.setdefault(time, []).extend(values)
                case Completed(time):
                    values = pending.pop(time)
                    ctx.memory.at(time)["values"] = self._there + len(values)
                    self._cuts.append(self._there + len(values))
                    self._keep(values, ctx, time)

    def _keep(self, values: Sequence[Any], ctx: Context, *times: Hashable) -> None:
        """Add values, and hold their times until the values are committed."""
        held = ExitStack()
        for time in times:
            held.enter_context(ctx.hold(time))
        self._values.extend(values)
        self._held.append((self._there, held))
        self._forget()
        self._changed.unpark_all()


@transformer
async def _as_planned(upstream: Reader[Any], ctx: Context, log: SourceLog) -> AsyncGenerator[Any, None]:
    while True:
        # The sink holds the times of delivered values; here they must not stay open until the next request.
        upstream.ack()
        batch = await upstream.ask_many(min(ctx.limit, await log.wanted()))
        if batch is DONE:
            return
        log.passed += len(batch.values)
        yield batch


@sink
async def _read_stream(upstream: Reader[Any], ctx: Context, log: SourceLog) -> Offset:
    return await log.fill(upstream, ctx)


def _lasting_name(journal: Path) -> str:
    """Get the name of a log that later programs continue, from a file beside the journal.

    No other program uses that file, because the journal is locked. Spark records the name in its checkpoint before the
    journal can record anything as done. So the file must survive a power cut from here on.
    """
    path = journal.with_name(f"{journal.name}.log")
    disk = Disk(durable=True)
    if not path.exists():
        new = journal.with_name(f"{journal.name}.log.new")
        new.write_text(secrets.token_hex(8))
        disk.flush(new)
        disk.rename(new, path)
    # Also if it exists: the program that made it may have been killed before this.
    disk.flush(path.parent.resolve())
    return path.read_text()
