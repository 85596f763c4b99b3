"""`aiterate`: read the values of a source in the caller's own `async for`."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, NoReturn, cast

import trio
from typing_extensions import override

from pullstream.blueprint import READS, Call, Module, Sink, Site, Source
from pullstream.blueprint.variables import T
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.pace import WaitingPace
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.minima import Minima
from pullstream.errors import PullstreamError, ReuseError
from pullstream.frames import cut
from pullstream.program.pipe import pipe
from pullstream.program.running import Running, check_limits, trio_needed
from pullstream.protocol import DONE, Batch, Done, Reader


class Reading(AsyncIterator[T], Generic[T]):
    """A source that a block reads, by batches or value by value."""

    def __init__(self) -> None:
        self.running: Running[None]
        self._reader: Reader[T]
        self._ctx: Context
        self._task = trio.lowlevel.current_task()
        self._begun = False
        self._pace = WaitingPace()
        self._rest: Iterator[T] = iter(())
        self._ready = trio.Event()
        self._left: Signal
        self._ended = self._cancelled = False

    async def batch(self) -> Batch[T] | Done:
        """Ask for the next batch and acknowledge the previous one."""
        if self._cancelled:
            raise PullstreamError(
                f"{cast('Lane[T]', self._reader).port.location}: an earlier wait for a value was cancelled, which "
                f"aborted the stream, so the values after it are missing. To wait for a limited time and continue, run "
                f"pipe(source, to_channel(channel)), and receive from the channel"
            )
        if self._begun:
            await self._ctx.breathe()
        self._begun = True
        try:
            batch = await self._reader.ask_many(min(self._ctx.limit, self._pace.next()))
        except trio.Cancelled:
            self._cancelled = True
            raise
        if batch is DONE:
            self._ended = True
        else:
            self._pace.took(len(batch.values))
        return batch

    @override
    async def __anext__(self) -> T:
        for value in self._rest:
            return value
        try:
            batch = await self.batch()
        except BaseException as exc:
            cut(exc)
            raise
        if batch is DONE:
            raise StopAsyncIteration
        self._rest = iter(batch.values) if batch.uniform else self._run_by_run(batch)
        return next(self._rest)

    def _run_by_run(self, batch: Batch[T]) -> Iterator[T]:
        """Yield the values of a multi-time batch; a step to the next run acknowledges the runs before.

        Without this, a block that waits for a time to complete would wait for values it has already read.
        """
        lane = cast("Lane[T]", self._reader)
        minima, taken = Minima(batch), 0
        for run in batch.runs():
            if taken:
                lane.ack_before(minima.at(taken))
            yield from run.values
            taken += len(run.values)

    async def hand_out(self, reader: Reader[T], ctx: Context) -> None:
        """Act as a sink whose reader belongs to the block until the block is left."""
        self._reader, self._ctx = reader, ctx
        run = cast("Lane[T]", reader).edge.run
        self._left = run.signal()
        run.detector.read_by(self._task)
        self._ready.set()
        await self._left.wait()
        if not self._ended:
            # Values the block has not read must not count as handled.
            ctx.abandon()

    async def begin(self) -> None:
        """Wait for the reader."""
        await self._ready.wait()

    def leave(self) -> None:
        """Leave the block: abort upstream, unless it has ended."""
        self._rest = iter(())
        self._left.set()


@asynccontextmanager
async def reading(
    name: str, source: Source[T], site: Site, limit: int, release_timeout: float
) -> AsyncGenerator[Reading[T], None]:
    """Open a source for a block to read."""
    trio_needed()
    block: Reading[T] = Reading()

    def made() -> Callable[[Reader[Any], Context], Awaitable[None]]:
        return block.hand_out

    sink: Sink[T, None] = Sink((Module(name, made, site=site),))
    block.running = pipe(source, sink).open(limit=limit, release_timeout=release_timeout)
    async with block.running:
        await block.begin()
        yield block
        block.leave()


def aiterate(
    source: Source[T], *, limit: int = 4096, release_timeout: float = 5.0
) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    """Read a source in your own `async for`, which you may leave at any value.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     async with ps.aiterate(ps.integers()) as values:
    ...         async for value in values:
    ...             if value * value > 50:
    ...                 return value
    >>> trio.run(main)
    8

    Leaving the block (at its end, by `break`, `return`, an exception or a cancellation) aborts the stream and waits
    until everything is released. This is why there is a block: nothing is notified when a bare `async for` is left
    early, so files would stay open and tasks keep running until the garbage collector runs.

    Values are asked for as the loop proceeds: one at a time at first, and more while the loop handles them within a few
    milliseconds. `limit` and `release_timeout` are as in `Pipeline.open`. The stream's failure is raised in the loop,
    unchanged. Only one task may read. A cancelled wait for a value aborts the stream, and the next one raises an error.
    """
    READS(Call("aiterate"), source)
    check_limits("aiterate", limit, release_timeout)
    return _Aiterating(reading("aiterate", source, Site.here(), limit, release_timeout))


class _Aiterating(AbstractAsyncContextManager[AsyncIterator[T]]):
    """The block of `aiterate`; a loop without the block gets an error that says how to write it."""

    def __init__(self, block: AbstractAsyncContextManager[Reading[T]]) -> None:
        self._block = block
        self._entered = False

    def __aiter__(self) -> NoReturn:
        raise TypeError(
            "aiterate() needs a block around the loop, which releases everything when it is left: "
            "async with aiterate(source) as values: async for value in values: ... A plain `for` is for iterate(source)"
        )

    __iter__ = __aiter__

    @override
    async def __aenter__(self) -> AsyncIterator[T]:
        if self._entered:
            raise ReuseError("this aiterate() was entered before: call it again, for another run")
        self._entered = True
        return await self._block.__aenter__()

    @override
    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return await self._block.__aexit__(kind, exc, traceback)
        except BaseException as raised:
            cut(raised)
            raise
