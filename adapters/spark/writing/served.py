"""A source that Spark may read once: what it says to whoever asks, and how its only reading goes."""

import json
import os
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import trio

from pullstream import PullstreamError, Source
from pullstream.authoring import READS, Call, Site

from ...arrow import Packing, SchemaError
from ..schemas import arrow_schema
from ..threads import in_thread
from . import frames
from .feeding import ROWS, Task, fed
from .filters import Prune, RowFilter
from .readings import AGAIN, Reading
from .source_log import Offset, Offsets, SourceLog
from .tape import Tape
from .variants import variants

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.types import StructType

WITHDRAWN = "it has been withdrawn"

_HELP = (
    "To use the rows several times, call .persist() on the DataFrame before the first action, write them to files "
    "first, or have to_dataframe(..., replay=BYTES) keep them on the disk; to read the source anew, register it, or "
    "call to_dataframe, again"
)

_TWICE = (
    "This is one action, for which Spark reads it more than once: what it sorts or partitions by range (orderBy, "
    "repartitionByRange, from_dataframe with time=) it samples first, and a join or a union with itself reads each "
    "side. "
)


class SourceRefused(PullstreamError):
    """Spark asked for a source that it cannot read: there is none of this name, or it has been read."""


class ReadAlready(SourceRefused):
    """Spark asked for a source a second time."""


def row_packing(shown: str, schema: "StructType") -> Packing:
    """A packing of rows for Spark; `shown` is what is told of, when a value does not fit."""

    def refusal(why: str) -> SchemaError:
        return SchemaError(f"{shown}: {why}")

    return Packing(arrow_schema(schema), refusal, most=ROWS, bared=variants(schema))


class ServedSource:
    """A source, its schema, and who reads it. Everything but `wait` and `failure` happens in the server's thread."""

    def __init__(
        self,
        name: str,
        source: Source[Any],
        schema: "StructType",
        offsets: Offsets = "values",
        journal: "str | os.PathLike[str] | None" = None,
        *,
        prune: Prune | None = None,
        replay: int | None = None,
        shown: str,
    ) -> None:
        self.name = name
        self.shown = shown
        self._site = Site.here()
        self._source: Source[Any] | None = source
        self._schema = schema
        self._packing = row_packing(shown, schema)
        self._offsets: Offsets = offsets
        self._journal = journal
        self._prune = prune
        self._replay = replay
        self._tape: Tape | None = None
        self._log: SourceLog | None = None
        self._scope: trio.CancelScope | None = None
        self._how = ""
        self._reader = Reading()
        self.failure: BaseException | None = None
        self.over = threading.Event()

    @property
    def in_use(self) -> bool:
        """Whether Spark is reading it."""
        return self._scope is not None and not self.over.is_set()

    @property
    def prunes(self) -> bool:
        """Whether it wants to know what Spark looks for."""
        return self._prune is not None

    def describe(self) -> bytes:
        """The schema, as Spark writes it, and whether it wants to know what Spark looks for."""
        return json.dumps({"schema": self._schema.jsonValue(), "prunes": self.prunes}).encode()

    def check(self) -> None:
        """Refuse a second reading, and tell what became of the first.

        Raises:
            SourceRefused: Spark has read it, or reads it, already.
        """
        if self.failure is not None:
            raise SourceRefused(failure_text(self.shown, self.failure))
        if self._log is not None:
            raise SourceRefused(f"{self.shown} is read as a stream: use readStream, or register it again")
        if self._source is None and (self._tape is None or self._how == WITHDRAWN):
            raise ReadAlready(f"{self.shown} {AGAIN}, and {self._how}. {_HELP}")

    def claim(self) -> Source[Any]:
        """Take the source: nobody else gets it."""
        self.check()
        assert self._source is not None
        source, self._source = self._source, None
        self._how = "it is being read"
        return source

    def withdraw(self) -> None:
        """Withdraw it: nobody is to read it (any more)."""
        if self._tape is not None:
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
        """Keep nothing of it."""
        if self._tape is not None:
            self._tape.close()

    # ---- one reading, from its beginning to its end

    async def read(
        self,
        stream: trio.SocketStream,
        reading: Reading,
        context: "SparkContext",
        beside: trio.Nursery,
        filters: Sequence[RowFilter] = (),
    ) -> None:
        """Give all of it, but for what Spark does not look for, to the task at the other end, as that asks for it."""

        async def alive() -> bool:
            return await in_thread(reading.goes_on, context)

        if self._replay is not None:
            await self._play(stream, alive, self._taped(beside, self._replay))
            return
        try:
            source = self.claim()
        except ReadAlready as exc:
            raise await self._why(exc, reading, context) from None
        self._reader = reading
        self._scope = trio.CancelScope()
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    task = Task(stream, alive, self._packing, nursery, self._finished)
                    nursery.start_soon(task.listen, self._scope)
                    self.failure = await fed(lambda: self._pruned(source, filters), task.sink, self._site)
                    nursery.cancel_scope.cancel()
            if self._how == "it is being read":
                self._how = "its reader went away before the end (a limit, a cancellation, or a task that died)"
            if self.failure is not None:
                raise SourceRefused(failure_text(self.shown, self.failure))
        finally:
            self.over.set()

    def _pruned(self, source: Source[Any], filters: Sequence[RowFilter]) -> Source[Any]:
        if self._prune is not None:
            source = self._prune(source, filters)
            READS(Call("prune"), source)
        return source

    def _finished(self) -> None:
        self._how = "it has been read already"

    async def _why(self, refusal: "ReadAlready", reading: Reading, context: "SparkContext") -> SourceRefused:
        """The refusal of a second reading, with what it comes from."""
        if reading.retries(self._reader):
            failure = await in_thread(reading.failed_before, context)
            if failure is None:
                lost = "what the first attempt gave was lost with its executor, and Spark tries the task again"
                return SourceRefused(f"{refusal}. ({lost})")
            # What the user did wrong, or what broke, is the error.
            return SourceRefused(f"{failure}\n(Spark tried the task again after that, in vain: {refusal})")
        if reading.shares_its_action(self._reader):
            return SourceRefused(f"{self.shown} {AGAIN}, and {self._how}. {_TWICE}{_HELP}")
        return refusal

    # ---- several readings, of what was kept

    def _taped(self, beside: trio.Nursery, most: int) -> Tape:
        self.check()
        if self._tape is None:
            # Where there is no place for it, nothing has begun.
            tape = Tape(self.shown, most)
            source = self.claim()
            self._scope = trio.CancelScope()
            self._tape = tape
            beside.start_soon(self._record, self._tape, source, self._scope)
        return self._tape

    async def _record(self, tape: Tape, source: Source[Any], scope: trio.CancelScope) -> None:
        try:
            with scope:
                await tape.record(source, self._packing, self._site)
                self.failure = tape.failure
        finally:
            self.over.set()

    async def _play(self, stream: trio.SocketStream, alive: Callable[[], Awaitable[bool]], tape: Tape) -> None:
        number = 0
        while await frames.receive_frame(stream) is not None:
            batch = await _while_there(stream, tape.play, number, alive)
            if batch is None:
                if tape.failure is not None:
                    raise SourceRefused(failure_text(self.shown, tape.failure))
                self.check()
                # Else Spark is not known to work on it any more: who reads all the same must not take that for the end.
                if tape.ends_before(number):
                    await frames.send_frame(stream, b"E")
                return
            await frames.send_frame(stream, b"B", batch)
            number += 1

    # ---- as a stream

    async def log(self, nursery: trio.Nursery) -> SourceLog:
        """The log that queries read; the source begins with the first one."""
        if self._log is None:
            source = self.claim()
            self._scope = trio.CancelScope()
            self._log = SourceLog(self.shown, source, self._offsets, self._journal)
            nursery.start_soon(self._keep, self._log)
        await self._log.ready()
        return self._log

    async def known_log(self) -> SourceLog:
        """The log, if a query has begun it."""
        if self._log is None:
            self.check()
            raise SourceRefused(f"{self.shown} has no stream yet: a query of another driver was restarted here")
        await self._log.ready()
        return self._log

    async def _keep(self, log: SourceLog) -> None:
        assert self._scope is not None
        try:
            with self._scope:
                await log.run()
                self.failure = log.failure
        finally:
            log.withdrawn = self._scope.cancelled_caught
            log.changed.set()
            self.over.set()

    async def slice(self, stream: trio.SocketStream, begin: Offset, end: Offset) -> None:
        """Give a part of the log to the task at the other end."""
        values = await (await self.known_log()).slice(begin, end)
        for start in range(0, len(values), ROWS):
            for batch in self._packing.batches([(values[start : start + ROWS], {})]):
                if await frames.receive_frame(stream) is None:
                    return
                await frames.send_frame(stream, b"B", frames.packed(batch))
        if await frames.receive_frame(stream) is not None:
            await frames.send_frame(stream, b"E")

    async def query(self, stream: trio.SocketStream, log: SourceLog, rows: int | None) -> None:
        """Answer the process that leads a query, whose micro-batches have at most so many rows."""
        with log.querying(rows):
            while (frame := await frames.receive_frame(stream)) is not None:
                kind, content = frame
                said: Any = json.loads(content) if content else None
                match kind:
                    case b"I":
                        answer: Any = log.first()
                    case b"L":
                        answer = await _while_there(stream, log.latest, said["start"], said["most"])
                        if answer is None:
                            return
                    case b"C":
                        answer = None
                        log.commit(said)
                    case _:
                        answer = None
                        log.until_the_end()
                await frames.send_frame(stream, b"J", json.dumps(answer).encode())


async def _while_there(stream: trio.SocketStream, function: Callable[..., Awaitable[Any]], *args: object) -> Any:
    """The result of a function for the process that leads a query; None if that has gone meanwhile."""
    answer: Any = None
    failure: Exception | None = None

    async def hear() -> None:
        # It asks one thing at a time: what comes while it waits can only be its end.
        with suppress(trio.BrokenResourceError):
            await stream.receive_some(1)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear)
        try:
            answer = await function(*args)
        except Exception as exc:  # noqa: BLE001 - raised below, outside the nursery
            failure = exc
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return answer


def failure_text(shown: str, failure: BaseException) -> str:
    """The text that Spark's action is to say of a source that failed."""
    return f"{shown} failed: {''.join(traceback.format_exception_only(failure)).strip()}"
