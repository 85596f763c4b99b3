"""A source as a log for `readStream`: its values by their number, kept until Spark has committed them."""

import itertools
import secrets
from collections.abc import Awaitable, Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypedDict

import trio

from pullstream import DONE, Abandoned, Batch, Completed, Context, PullstreamError, Reader, Sink, Source, pipe
from pullstream.authoring import Module, without_cancelled

Offsets: TypeAlias = Literal["values", "times"]

BATCH_ROWS = 100_000
"""The most values of a micro-batch, unless the query says otherwise (`maxRowsPerBatch`)."""


class Offset(TypedDict):
    """The number of values before a place, and the log that has counted them."""

    values: int
    log: str


class LogRefused(PullstreamError):
    """A query wants what the log does not hold, or while another one reads it."""


class SourceLog:
    """The values that a source has given and Spark has not committed, and at most a micro-batch more.

    An offset counts values from the source's beginning, and names the log, for a checkpoint may be of another. With
    offsets by times a micro-batch holds whole times only: a time's values come when it is complete.
    """

    def __init__(self, shown: str, source: Source[Any], offsets: Offsets) -> None:
        self.rows = BATCH_ROWS
        self.failure: BaseException | None = None
        self.withdrawn = False
        self.changed = trio.Event()
        self._name = secrets.token_hex(8)
        self._shown = shown
        self._source = source
        self._by_times = offsets == "times"
        self._values: list[Any] = []
        self._cuts: list[int] = []
        self._base = 0
        self._planned = 0
        self._queried = False
        self._ended = False
        self._to_the_end = False

    # ---- what queries ask for

    @contextmanager
    def querying(self) -> Generator[None, None, None]:
        """Read it for one query at a time."""
        if self._queried:
            raise LogRefused(f"{self._shown} is being read by another query: one reads it at a time; stop() that first")
        self._queried = True
        self._to_the_end = False
        try:
            yield
        finally:
            self._queried = False

    def first(self) -> Offset:
        """The offset of a query without a checkpoint: the source's beginning."""
        if self._base:
            raise LogRefused(
                f"{self._shown}: its first {self._base} values have been committed by an earlier query, and are gone; "
                f"start the query with that one's checkpointLocation, or register the source again"
            )
        return self._offset(0)

    def until_the_end(self) -> None:
        """The query takes what is there (`availableNow`), which is, of a source that is pulled, all until its end."""
        self._to_the_end = True

    async def latest(self, start: Offset | None, most: int | None) -> Offset:
        """The end of a micro-batch that begins at `start`: no further than what is there, and what is allowed."""
        begin = self._planned if start is None else self._number(start)
        self._check(begin, begin)
        rows = self.rows if most is None else min(most, self.rows)
        while True:
            self._planned = begin
            self._change()
            end = self._end(begin, rows)
            if end > begin or self.withdrawn or not self._to_the_end:
                break
            if self._ended or self.failure is not None:
                break
            await self.changed.wait()
        if end == begin and self.failure is not None:
            raise self.failure
        if end == begin and self.withdrawn:
            raise LogRefused(f"{self._shown} has been withdrawn")
        self._planned = end
        self._change()
        return self._offset(end)

    def commit(self, end: Offset) -> None:
        """Forget what is before `end`."""
        count = min(self._number(end), self._base + len(self._values)) - self._base
        if count > 0:
            del self._values[:count]
            self._base += count
            self._cuts = [cut for cut in self._cuts if cut > self._base]

    def slice(self, begin: Offset, end: Offset) -> list[Any]:
        """The values between two offsets."""
        start, stop = self._number(begin), self._number(end)
        self._check(start, stop)
        return self._values[start - self._base : stop - self._base]

    def _offset(self, number: int) -> Offset:
        return {"values": number, "log": self._name}

    def _number(self, offset: Offset) -> int:
        if offset.get("log") != self._name:
            raise LogRefused(
                f"{self._shown} did not give what the query's checkpoint has recorded: that is of another source, of "
                f"an earlier registration of this one, or of another program; give a new checkpointLocation"
            )
        return offset["values"]

    def _check(self, begin: int, end: int) -> None:
        there = self._base + len(self._values)
        if not self._base <= begin <= end <= there:
            raise LogRefused(
                f"{self._shown} keeps the values {self._base} to {there}, and a query asks for {begin} to {end}: its "
                f"checkpoint is an old copy; give a new checkpointLocation, and register the source again"
            )

    def _end(self, begin: int, rows: int) -> int:
        there = self._base + len(self._values)
        if not self._by_times:
            return min(there, begin + rows)
        cuts = [cut for cut in self._cuts if cut > begin]
        within = [*itertools.takewhile(lambda cut: cut <= begin + rows, cuts)]
        # A time that is larger than a micro-batch is one of its own.
        return within[-1] if within else cuts[0] if cuts else begin

    # ---- what the source gives

    async def run(self) -> None:
        """Read the source, as far ahead as is allowed."""
        sink = Sink[Any, None]((Module("read_stream", self._sink),))
        try:
            async with pipe(self._source, sink).open() as running:
                await running.result()
        except BaseException as exc:
            if without_cancelled(exc) is None or isinstance(exc, Abandoned):
                raise
            self.failure = exc
        else:
            self._ended = True

    def _sink(self) -> Callable[[Reader[Any], Context], Awaitable[None]]:
        return self._take_times if self._by_times else self._take_values

    async def _take_values(self, upstream: Reader[Any], ctx: Context) -> None:
        while True:
            room = await self._room()
            batch = await upstream.ask_many(min(ctx.limit, room))
            if batch is DONE:
                return
            self._values.extend(batch.values)
            self._change()
            await ctx.breathe()

    async def _take_times(self, upstream: Reader[Any], ctx: Context) -> None:
        pending: dict[Hashable, list[Any]] = {}
        async for event in ctx.events(upstream):
            match event:
                case Batch(time, values):
                    ctx.notify_at(time)
                    pending.setdefault(time, []).extend(values)
                case Completed(time):
                    await self._room()
                    self._values.extend(pending.pop(time))
                    self._cuts.append(self._base + len(self._values))
                    self._change()

    async def _room(self) -> int:
        """Wait until less than a micro-batch is ahead of what Spark has planned, and say how much less."""
        while (room := self._planned + self.rows - self._base - len(self._values)) <= 0:
            await self.changed.wait()
        return room

    def _change(self) -> None:
        self.changed.set()
        self.changed = trio.Event()
