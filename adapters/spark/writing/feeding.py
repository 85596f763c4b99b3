"""Feed a Spark task with a source's values: one Arrow batch per request."""

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NoReturn, TypeAlias

import attrs
import trio

from pullstream import DONE, Batch, Context, Reader, Sink, Source, pipe
from pullstream.authoring import Done, Module, Site, without_cancelled

from ...arrow import Packing, RecordBatch, row_count, serialized
from . import frames

ROWS = 10_000
"""The maximum number of rows in an Arrow batch; a larger number is no faster."""

LINGER = 0.01
"""Seconds to wait for more values after the first ones of an Arrow batch."""

TOGETHER = 16
"""The maximum number of Arrow batches to ask for at once, because the next ones may be larger."""

GONE_SECONDS = 1.0
"""Seconds between checks that Spark still needs the rows of a slow source."""

Body: TypeAlias = Callable[[Reader[Any], Context], Awaitable[None]]
"""The body of the sink that passes values to Spark."""


async def fed(source: Callable[[], Source[Any]], body: Body, site: Site) -> BaseException | None:
    """Run a source into a sink until its end; return the failure, if it failed."""
    try:
        sink = Sink[Any, None]((Module("to_dataframe", lambda: body, site=site),))
        async with pipe(source(), sink).open(limit=ROWS) as running:
            await running.result()
    except BaseException as exc:
        # An abandoned run is a failure, too: something that the source waited for was abandoned, not this run.
        if without_cancelled(exc) is None:
            raise
        return exc
    return None


@attrs.define(eq=False)
class TaskFeed:
    """Answers the requests of one Spark task, as the sink of the pipeline that reads the source."""

    _stream: trio.SocketStream
    _alive: Callable[[], Awaitable[bool]]
    _packing: Packing
    _nursery: trio.Nursery
    _finished: Callable[[], None]
    _asked: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def listen(self, scope: trio.CancelScope) -> None:
        """Receive the task's requests; cancel `scope` when the task disconnects."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while await frames.receive_frame(self._stream) is not None:
                self._asked.set()
        scope.cancel()

    async def send(self, upstream: Reader[Any], ctx: Context) -> None:
        """Send the values, as a sink: one Arrow batch per request."""
        gather = BatchJoiner(upstream, ctx, self._nursery)
        batches: deque[RecordBatch] = deque()
        with ExitStack() as held:
            while True:
                await self._asked.wait()
                self._asked = trio.Event()
                if not batches:
                    # A new request means that the task has received the last batch.
                    held.close()
                    values = await self._watched(gather, held)
                    if not values:
                        break
                    batches.extend(self._packing.batches([(part, {}) for part in values]))
                await self._send(b"B", memoryview(serialized(batches.popleft())))
        self._finished()
        await self._send(b"E")

    async def _send(self, kind: bytes, content: bytes | memoryview = b"") -> None:
        try:
            await frames.send_frame(self._stream, kind, content)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The task has disconnected, and `listen` has not noticed yet: this is not a failure of the source.
            await self._abandoned()

    async def _abandoned(self) -> NoReturn:
        """Abort the run that this call is part of, because Spark needs no more rows."""
        self._nursery.cancel_scope.cancel()
        await trio.sleep_forever()

    async def _watched(self, gather: "BatchJoiner", held: ExitStack) -> Sequence[Sequence[Any]]:
        """Return the next values; while there are none, check that Spark still needs them.

        A Python worker that waits for them does not notice that its task has ended, for example at a limit.
        """
        while True:
            with trio.move_on_after(GONE_SECONDS) as waiting:
                await gather.answered()
            if not waiting.cancelled_caught:
                return await gather.values(held)
            if not await self._alive():
                await self._abandoned()


class BatchJoiner:
    """Joins batches that arrive shortly after each other."""

    def __init__(self, upstream: Reader[Any], ctx: Context, nursery: trio.Nursery) -> None:
        self._upstream = upstream
        self._ctx = ctx
        self._nursery = nursery
        self._most = 1
        self._asking = False
        self._answer: Batch[Any] | Done | None = None
        self._failure: BaseException | None = None
        self._answered = trio.Event()

    async def values(self, held: ExitStack) -> list[Sequence[Any]]:
        """Wait for values, and for more that arrive soon after; return them in the parts that arrived, none at the end.

        `held` receives holds on their times, so that no time is complete before the task has its values.
        """
        parts: list[Sequence[Any]] = []
        last: object = BatchJoiner
        deadline = math.inf
        count = 0
        while count < ROWS:
            with trio.move_on_at(deadline):
                await self.answered()
            if self._failure is not None:
                if parts:
                    break
                raise self._failure
            if self._answer is None or self._answer is DONE:
                break
            batch, self._answer = self._answer, None
            for time in batch.least:
                if time != last:
                    held.enter_context(self._ctx.hold(time))
                    last = time
            if not parts:
                deadline = trio.current_time() + LINGER
            values = batch.values
            parts.append(values)
            rows = row_count(values)
            # Values with many rows are asked for one at a time, small Arrow batches a few at a time.
            few = max(1, min(TOGETHER, ROWS * len(values) // max(1, rows)))
            self._most = self._ctx.limit if rows == len(values) else few
            count += rows
            if trio.current_time() > deadline:
                break
        return parts

    async def answered(self) -> None:
        """Wait until there is an answer; if cancelled, it can be called again."""
        if self._answer is None and self._failure is None:
            if not self._asking:
                self._asking, self._answered = True, trio.Event()
                self._nursery.start_soon(self._ask_upstream)
            await self._answered.wait()

    async def _ask_upstream(self) -> None:
        try:
            await self._ctx.breathe()
            self._answer = await self._upstream.ask_many(self._most)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised by `values`, after earlier values
            self._failure = exc
        finally:
            self._asking = False
            self._answered.set()
