"""A source that Spark can read: its answers to requests, and its reads (only one without `replay`)."""

import json
import os
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
import trio

from pullstream import PullstreamError, Source
from pullstream.authoring import READS, Call, Site

from ...arrow import Packing, SchemaError, serialized
from ...stopping import in_thread
from ..schemas import arrow_schema, variants
from ..types import SparkContext, StructType
from . import frames
from .feeding import ROWS, TaskFeed, fed
from .filters import Prune, RowFilter
from .reading_task import AGAIN, ReadingTask
from .replay import ReplayFile
from .source_log import Offset, Offsets, SourceLog

WITHDRAWN = "it has been withdrawn"

_HELP = (
    "To use the rows several times, call .persist() on the DataFrame before the first action, write them to files "
    "first, or keep them on disk with to_dataframe(..., replay=BYTES). To read the source again, call register_source "
    "or to_dataframe again"
)

_TWICE = (
    "This is one action, for which Spark reads it more than once: before it sorts or partitions by range (orderBy, "
    "repartitionByRange, from_dataframe with time=) it reads a sample, and a join or a union with itself reads each "
    "side. "
)


class SourceRefused(PullstreamError):
    """Spark asked for a source that it cannot read: there is none with this name, or it has been read."""


class ReadAlready(SourceRefused):
    """Spark asked for a source a second time."""


def row_packing(shown: str, schema: "StructType") -> Packing:
    """Make a packing of rows for Spark; `shown` names the source in errors about values that do not fit."""

    def refusal(why: str) -> SchemaError:
        return SchemaError(f"{shown}: {why}")

    return Packing(arrow_schema(schema), refusal, most=ROWS, bared=variants(schema))


@attrs.define(eq=False, slots=False)
class ServedSource:
    """A source, its schema, and its reads. Only `over` and `failure` may be used outside of the server's thread."""

    name: str
    _source: Source[Any] | None
    _schema: "StructType"
    _offsets: Offsets = "values"
    _journal: "str | os.PathLike[str] | None" = None
    prune: Prune | None = attrs.field(default=None, kw_only=True)
    _replay: int | None = attrs.field(default=None, kw_only=True, alias="replay")
    shown: str = attrs.field(kw_only=True)
    failure: BaseException | None = attrs.field(default=None, init=False)
    over: threading.Event = attrs.field(factory=threading.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._site = Site.here()
        self._packing = row_packing(self.shown, self._schema)
        self._file: ReplayFile | None = None
        self._log: SourceLog | None = None
        self._scope: trio.CancelScope | None = None
        self._how = ""
        self._reader = ReadingTask()

    @property
    def in_use(self) -> bool:
        """Whether Spark is reading it."""
        return self._scope is not None and not self.over.is_set()

    def describe(self) -> bytes:
        """Encode the schema, in Spark's JSON format, and whether it uses Spark's filters."""
        return json.dumps({"schema": self._schema.jsonValue(), "prunes": self.prune is not None}).encode()

    def check(self) -> None:
        """Refuse a second read, and report what happened to the first."""
        if self.failure is not None:
            raise SourceRefused(failure_text(self.shown, self.failure))
        if self._log is not None:
            raise SourceRefused(f"{self.shown} is read as a stream: use readStream, or register it again")
        if self._source is None and (self._file is None or self._how == WITHDRAWN):
            raise ReadAlready(f"{self.shown} {AGAIN}, and {self._how}. {_HELP}")

    def claim(self) -> Source[Any]:
        """Take the source, so that no other read can."""
        self.check()
        assert self._source is not None
        source, self._source = self._source, None
        self._how = "it is being read"
        return source

    def withdraw(self) -> None:
        """Withdraw it: abort a read, and refuse all further ones."""
        if self._file is not None:
            self._how = WITHDRAWN
        if self._scope is not None:
            self._scope.cancel()
        else:
            self.over.set()
        if not self._how or self.in_use:
            self._how = WITHDRAWN
        self._source = None
        self.forget()

    def forget(self) -> None:
        """Delete the rows that were kept."""
        if self._file is not None:
            self._file.close()

    # ---- a single read

    async def read(
        self,
        stream: trio.SocketStream,
        reading: ReadingTask,
        context: "SparkContext",
        nursery: trio.Nursery,
        filters: Sequence[RowFilter] = (),
    ) -> None:
        """Send the rows that meet Spark's filters to the task at the other end, one batch per request.

        A source that is kept for replay is read by a task in `nursery`, the server's.
        """

        async def alive() -> bool:
            return await in_thread(reading.runs, context)

        if self._replay is not None:
            await self._play(stream, alive, self._kept(nursery, self._replay))
            return
        try:
            source = self.claim()
        except ReadAlready as exc:
            raise await self._why(exc, reading, context) from None
        self._reader = reading
        self._scope = trio.CancelScope()
        try:
            with self._scope:
                async with trio.open_nursery() as own:
                    feed = TaskFeed(stream, alive, self._packing, own, self._finished)
                    own.start_soon(feed.listen, self._scope)
                    self.failure = await fed(lambda: self._pruned(source, filters), feed.send, self._site)
                    own.cancel_scope.cancel()
            if self._how == "it is being read":
                self._how = "its reader went away before the end (a limit, a cancellation, or a task that died)"
            if self.failure is not None:
                raise SourceRefused(failure_text(self.shown, self.failure))
        finally:
            self.over.set()

    def _pruned(self, source: Source[Any], filters: Sequence[RowFilter]) -> Source[Any]:
        if self.prune is not None:
            source = self.prune(source, filters)
            READS(Call("prune"), source)
        return source

    def _finished(self) -> None:
        self._how = "it has been read already"

    async def _why(self, refusal: "ReadAlready", reading: ReadingTask, context: "SparkContext") -> SourceRefused:
        """Make the error for a second read, with its reason."""
        if reading.retries(self._reader):
            failure = await in_thread(reading.failed_before, context)
            if failure is None:
                lost = "the rows of the first attempt were lost with its executor, and Spark retried the task"
                return SourceRefused(f"{refusal}. ({lost})")
            # The first attempt's failure is the error that matters to the user.
            return SourceRefused(f"{failure}\n(Spark then retried the task, which failed: {refusal})")
        if reading.shares_its_action(self._reader):
            return SourceRefused(f"{self.shown} {AGAIN}, and {self._how}. {_TWICE}{_HELP}")
        return refusal

    # ---- several reads, of rows that are kept

    def _kept(self, nursery: trio.Nursery, most: int) -> ReplayFile:
        self.check()
        if self._file is None:
            # Make the file before the claim: if that fails, the source was not taken.
            file = ReplayFile(self.shown, most)
            self._begin(nursery, partial(file.record, self.claim(), self._packing, self._site))
            self._file = file
        return self._file

    def _begin(self, nursery: trio.Nursery, keep: Callable[[], Awaitable[BaseException | None]]) -> None:
        """Keep the source's values for several reads, in a task that a withdrawal ends."""
        self._scope = scope = trio.CancelScope()

        async def work() -> None:
            try:
                with scope:
                    self.failure = await keep()
            finally:
                self.over.set()

        nursery.start_soon(work)

    async def _play(self, stream: trio.SocketStream, alive: Callable[[], Awaitable[bool]], file: ReplayFile) -> None:
        number = 0
        while await frames.receive_frame(stream) is not None:
            batch = await _unless_disconnected(stream, file.play, number, alive)
            if batch is None:
                if file.failure is not None:
                    raise SourceRefused(failure_text(self.shown, file.failure))
                self.check()
                # Otherwise Spark seems to have ended the task. If it reads on anyway, it must not see an end.
                if file.ends_before(number):
                    await frames.send_frame(stream, b"E")
                return
            await frames.send_frame(stream, b"B", batch)
            number += 1

    # ---- as a stream

    async def log(self, nursery: trio.Nursery) -> SourceLog:
        """The log that queries read; the source starts with the first query."""
        if self._log is None:
            self._log = SourceLog(self.shown, self.claim(), self._offsets, self._journal)
            self._begin(nursery, self._log.run)
        await self._log.ready()
        return self._log

    async def known_log(self) -> SourceLog:
        """The log; a query must have started it."""
        if self._log is None:
            self.check()
            raise SourceRefused(f"{self.shown} was not read as a stream here yet: the query comes from another driver")
        await self._log.ready()
        return self._log

    async def slice(self, stream: trio.SocketStream, begin: Offset, end: Offset) -> None:
        """Send a part of the log to the task at the other end."""
        values = await (await self.known_log()).slice(begin, end)
        for start in range(0, len(values), ROWS):
            for batch in self._packing.batches([(values[start : start + ROWS], {})]):
                if await frames.receive_frame(stream) is None:
                    return
                await frames.send_frame(stream, b"B", memoryview(serialized(batch)))
        if await frames.receive_frame(stream) is not None:
            await frames.send_frame(stream, b"E")

    async def query(self, stream: trio.SocketStream, log: SourceLog, rows: int | None) -> None:
        """Answer the process that plans a query, whose micro-batches have at most `rows` rows."""
        with log.querying(rows):
            while (frame := await frames.receive_frame(stream)) is not None:
                kind, content = frame
                message: Any = json.loads(content) if content else None
                match kind:
                    case b"I":
                        answer: Any = log.first()
                    case b"L":
                        answer = await _unless_disconnected(stream, log.latest, message["start"], message["most"])
                        if answer is None:
                            return
                    case b"C":
                        answer = None
                        log.commit(message)
                    case _:
                        answer = None
                        log.to_the_end = True
                await frames.send_frame(stream, b"J", json.dumps(answer).encode())


async def _unless_disconnected(
    stream: trio.SocketStream, function: Callable[..., Awaitable[Any]], *args: object
) -> Any:
    """Await a function for the process at the other end; None if that disconnects meanwhile."""
    answer: Any = None
    failure: Exception | None = None

    async def listen() -> None:
        # The process sends one request at a time, so while it waits it can only disconnect.
        with suppress(trio.BrokenResourceError):
            await stream.receive_some(1)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        try:
            answer = await function(*args)
        except Exception as exc:  # noqa: BLE001 - raised below, outside the nursery
            failure = exc
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return answer


def failure_text(shown: str, failure: BaseException) -> str:
    """The text for Spark's error about a source that failed."""
    return f"{shown} failed: {''.join(traceback.format_exception_only(failure)).strip()}"
