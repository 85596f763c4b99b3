"""Feeding a task of Spark's with a source's values: an Arrow batch for every question."""

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn, TypeAlias

import trio

from pullstream import DONE, Batch, Context, Reader, Sink, Source, pipe
from pullstream.authoring import Done, Module, Site, TimedBatch, minimal, without_cancelled

from ...arrow import Packing, RecordBatch, pyarrow
from . import frames

ROWS = 10_000
"""The most rows of an Arrow batch: more are no faster."""

LINGER = 0.01
"""Seconds in which more values may join the first ones of an Arrow batch."""

GONE_SECONDS = 1.0
"""Seconds between looks whether Spark still works on what waits for a slow source."""


Body: TypeAlias = Callable[[Reader[Any], Context], Awaitable[None]]
"""The function of the sink that Spark reads: it sends on what comes."""


async def fed(source: Callable[[], Source[Any]], body: Callable[[], Body], site: Site) -> BaseException | None:
    """Feed a sink with a source until its end; the failure that it ended with, if there was one."""
    try:
        sink = Sink[Any, None]((Module("to_dataframe", body, site=site),))
        async with pipe(source(), sink).open(limit=ROWS) as running:
            await running.result()
    except BaseException as exc:
        # One that was abandoned is a failure, too: what the source waited for was, and not this run of it.
        if without_cancelled(exc) is None:
            raise
        return exc
    return None


class Task:
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

    def sink(self) -> Body:
        """A run's sink: an Arrow batch for every question of the task."""

        async def body(upstream: Reader[Any], ctx: Context) -> None:
            gather = Gather(upstream, ctx, self._nursery)
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

    async def _watched(self, gather: "Gather", held: ExitStack) -> Sequence[Any]:
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


class Gather:
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
        last: object = Gather
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
