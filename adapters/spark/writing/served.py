"""A source that Spark may read once: what it says to whoever asks, and how its only reading goes."""

import json
import math
import threading
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import trio

from adapters.arrow import Packing, RecordBatch, SchemaError, pyarrow
from adapters.spark.schemas import arrow_schema
from adapters.spark.writing import frames
from adapters.spark.writing.source_log import Offset, Offsets, SourceLog
from pullstream import DONE, Abandoned, Batch, Context, Done, PullstreamError, Reader, Sink, Source, TimedBatch, pipe
from pullstream.authoring import Module, Site, minimal, without_cancelled

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

ROWS = 10_000
"""The most rows of an Arrow batch: more are no faster."""

LINGER = 0.01
"""Seconds in which more values may join the first ones of an Arrow batch."""

GONE_SECONDS = 1.0
"""Seconds between looks whether Spark still works on what waits for a slow source."""


class SourceRefused(PullstreamError):
    """Spark asked for a source that it cannot read: there is none of this name, or it has been read."""


def row_packing(shown: str, schema: "StructType") -> Packing:
    """A packing of rows for Spark; `shown` is what is told of, when a value does not fit."""
    return Packing(arrow_schema(schema), lambda why: SchemaError(f"{shown}: {why}"), most=ROWS)


class ServedSource:
    """A source, its schema, and who reads it. Everything but `wait` and `failure` happens in the server's thread."""

    def __init__(
        self, name: str, source: Source[Any], schema: "StructType", offsets: Offsets = "values", *, shown: str
    ) -> None:
        self.name = name
        self.shown = shown
        self._site = Site.here()
        self._source: Source[Any] | None = source
        self._schema = schema
        self._packing = row_packing(shown, schema)
        self._offsets: Offsets = offsets
        self._log: SourceLog | None = None
        self._scope: trio.CancelScope | None = None
        self._how = ""
        self.failure: BaseException | None = None
        self.over = threading.Event()

    @property
    def in_use(self) -> bool:
        """Whether Spark is reading it."""
        return self._scope is not None and not self.over.is_set()

    def describe(self) -> bytes:
        """The schema, as Spark writes it."""
        return self._schema.json().encode()

    def check(self) -> None:
        """Refuse a second reading, and tell what became of the first.

        Raises:
            SourceRefused: Spark has read it, or reads it, already.
        """
        if self.failure is not None:
            raise SourceRefused(failure_text(self.shown, self.failure))
        if self._log is not None:
            raise SourceRefused(f"{self.shown} is read as a stream: use readStream, or register it again")
        if self._source is None:
            raise SourceRefused(
                f"{self.shown} can be read once, and {self._how}. To use the rows several times, call .persist() "
                f"before the first action, or write them to files first; to read the source anew, register it, or call "
                f"to_dataframe, again"
            )

    def claim(self) -> Source[Any]:
        """Take the source: nobody else gets it."""
        self.check()
        assert self._source is not None
        source, self._source = self._source, None
        self._how = "it is being read"
        return source

    def withdraw(self) -> None:
        """Withdraw it: nobody is to read it (any more)."""
        if self._scope is not None:
            self._scope.cancel()
        else:
            self.over.set()
        if not self._how or self.in_use:
            self._how = "it has been withdrawn"
        self._source = None

    # ---- one reading, from its beginning to its end

    async def read(self, stream: trio.SocketStream, alive: Callable[[], Awaitable[bool]]) -> None:
        """Give all of it to the task at the other end, as that asks for it."""
        source = self.claim()
        self._scope = trio.CancelScope()
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    task = _Task(stream, alive, self._packing, nursery, self._finished)
                    nursery.start_soon(task.listen, self._scope)
                    try:
                        sink = Sink[Any, None]((Module("to_dataframe", task.sink, site=self._site),))
                        async with pipe(source, sink).open(limit=ROWS) as running:
                            await running.result()
                    except BaseException as exc:
                        if without_cancelled(exc) is None or isinstance(exc, Abandoned):
                            raise
                        self.failure = exc
                    nursery.cancel_scope.cancel()
            if self._how == "it is being read":
                self._how = "its reader went away before the end (a limit, a cancellation, or a task that died)"
            if self.failure is not None:
                raise SourceRefused(failure_text(self.shown, self.failure))
        finally:
            self.over.set()

    def _finished(self) -> None:
        self._how = "it has been read already"

    # ---- as a stream

    def log(self, nursery: trio.Nursery, rows: int | None) -> SourceLog:
        """The log that queries read; the source begins with the first one."""
        if self._log is None:
            source = self.claim()
            self._scope = trio.CancelScope()
            self._log = SourceLog(self.shown, source, self._offsets)
            nursery.start_soon(self._keep, self._log)
        if rows is not None:
            self._log.rows = rows
        return self._log

    def known_log(self) -> SourceLog:
        """The log, if a query has begun it."""
        if self._log is None:
            self.check()
            raise SourceRefused(f"{self.shown} has no stream yet: a query of another driver was restarted here")
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
        values = self.known_log().slice(begin, end)
        for start in range(0, len(values), ROWS):
            for batch in self._packing.batches([(values[start : start + ROWS], {})]):
                if await frames.receive_frame(stream) is None:
                    return
                await frames.send_frame(stream, b"B", frames.packed(batch))
        if await frames.receive_frame(stream) is not None:
            await frames.send_frame(stream, b"E")

    async def query(self, stream: trio.SocketStream, log: SourceLog) -> None:
        """Answer the process that leads a query."""
        with log.querying():
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
                        answer = log.commit(said)
                    case _:
                        answer = log.until_the_end()
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


class _Task:
    """The driver's end of a reading: the sink of the pipeline that reads the source."""

    def __init__(
        self,
        stream: trio.SocketStream,
        alive: Callable[[], Awaitable[bool]],
        packing: Packing,
        nursery: trio.Nursery,
        finished: Callable[[], None],
    ) -> None:
        self._finished = finished
        self._stream = stream
        self._alive = alive
        self._packing = packing
        self._nursery = nursery
        self._asked = trio.Event()

    async def listen(self, scope: trio.CancelScope) -> None:
        """Hear what the task asks for, and when it goes away: then nobody wants more."""
        try:
            while await frames.receive_frame(self._stream) is not None:
                self._asked.set()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        scope.cancel()

    def sink(self) -> Callable[[Reader[Any], Context], Awaitable[None]]:
        """A run's sink: an Arrow batch for every question of the task."""

        async def body(upstream: Reader[Any], ctx: Context) -> None:
            gather = _Gather(upstream, ctx, self._nursery)
            batches: deque[RecordBatch] = deque()
            with ExitStack() as held:
                while True:
                    await self._wanted()
                    if not batches:
                        # The task has what was sent before, and asks for more.
                        held.close()
                        values = await self._watched(gather, held)
                        if not values:
                            break
                        batches.extend(self._packing.batches([(values, {})]))
                    await self._say(b"B", frames.packed(batches.popleft()))
            self._finished()
            await self._say(b"E")

        return body

    async def _say(self, kind: bytes, content: bytes | memoryview = b"") -> None:
        try:
            await frames.send_frame(self._stream, kind, content)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The task has gone, which `listen` has not heard yet: no failure of the source's.
            await self._abandoned()

    async def _abandoned(self) -> NoReturn:
        """Wait for the abort of the run, in whose midst this is, as nobody wants more."""
        self._nursery.cancel_scope.cancel()
        await trio.sleep_forever()

    async def _wanted(self) -> None:
        await self._asked.wait()
        self._asked = trio.Event()

    async def _watched(self, gather: "_Gather", held: ExitStack) -> Sequence[Any]:
        """The next values; while there are none, look whether Spark still wants them.

        A Python worker that waits here does not notice that its task is over (a limit was reached, say).
        """
        while True:
            with trio.move_on_after(GONE_SECONDS) as waiting:
                await gather.answered()
            if not waiting.cancelled_caught:
                return await gather.values(held)
            if not await self._alive():
                await self._abandoned()


class _Gather:
    """Makes one list of the batches that come shortly after each other."""

    def __init__(self, upstream: Reader[Any], ctx: Context, nursery: trio.Nursery) -> None:
        self._upstream = upstream
        self._ctx = ctx
        self._nursery = nursery
        self._most = 1
        self._tables: tuple[type, ...] = (pyarrow().RecordBatch, pyarrow().Table)
        self._asking = False
        self._answer: Batch[Any] | Done | None = None
        self._failure: BaseException | None = None
        self._answered = trio.Event()

    async def values(self, held: ExitStack) -> list[Any]:
        """Wait for values, and take those that are not long in coming; none at the end.

        `held` gets the right to their times, so that these are not complete before the task has them.
        """
        rows: list[Any] = []
        last: object = _Gather
        deadline = math.inf
        count = 0
        while count < ROWS:
            with trio.move_on_at(deadline):
                await self.answered()
            if self._failure is not None:
                if rows:
                    break
                raise self._failure
            if self._answer is None or self._answer is DONE:
                break
            batch, self._answer = self._answer, None
            for time in minimal(batch.times) if isinstance(batch, TimedBatch) else (batch.time,):
                if time != last:
                    held.enter_context(self._ctx.hold(time))
                    last = time
            if not rows:
                deadline = trio.current_time() + LINGER
            rows.extend(batch.values)
            if isinstance(rows[0], self._tables):
                # Each is as much as many rows.
                self._most = 1
                count = sum(table.num_rows for table in rows)
            else:
                self._most = self._ctx.limit
                count = len(rows)
            if trio.current_time() > deadline:
                break
        return rows

    async def answered(self) -> None:
        """Wait until there is an answer; it may be waited for again."""
        if self._answer is None and self._failure is None:
            if not self._asking:
                self._ask()
            await self._answered.wait()

    def _ask(self) -> None:
        self._asking = True
        self._answered = trio.Event()
        self._nursery.start_soon(self._ask_beside)

    async def _ask_beside(self) -> None:
        try:
            await self._ctx.breathe()
            self._answer = await self._upstream.ask_many(self._most)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised by `values`, after what came before
            self._failure = exc
        finally:
            self._asking = False
            self._answered.set()
