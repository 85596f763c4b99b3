"""`aiterate`: the values of a source in an `async for` of the caller's own."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, cast

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import READS, Call, Module, Sink, Site, Source
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.pace import Pace
from pullstream.engine.runtime.deadlock import Signal
from pullstream.program.pipe import pipe
from pullstream.program.running import Running, trio_needed
from pullstream.protocol import DONE, Batch, Done, Reader

T = TypeVar("T")


class Reading(AsyncIterator[T], Generic[T]):
    """A source being read by a block: by batches, or value by value."""

    def __init__(self) -> None:
        self.running: Running[None]
        self._reader: Reader[T]
        self._ctx: Context
        self._task = trio.lowlevel.current_task()
        self._begun = False
        self._pace = Pace()
        self._rest: Iterator[T] = iter(())
        self._ready = trio.Event()
        self._left: Signal
        self._ended = False

    async def batch(self) -> Batch[T] | Done:
        """Ask for the next batch; the one before is acknowledged."""
        if self._begun:
            await self._ctx.breathe()
        self._begun = True
        batch = await self._reader.ask(min(self._ctx.limit, self._pace.next()))
        if batch is DONE:
            self._ended = True
        else:
            self._pace.took(len(batch.values))
        return batch

    @override
    async def __anext__(self) -> T:
        for value in self._rest:
            return value
        batch = await self.batch()
        if batch is DONE:
            raise StopAsyncIteration
        self._rest = iter(batch.values)
        return next(self._rest)

    async def hand_out(self, reader: Reader[T], ctx: Context) -> None:
        """Serve as a sink's body, whose reader belongs to the block until that is left."""
        self._reader, self._ctx = reader, ctx
        run = cast("Lane[T]", reader).edge.run
        self._left = run.signal()
        run.detector.read_by(self._task)
        self._ready.set()
        await self._left.wait()
        if not self._ended:
            # What the block has not read must not look handled.
            ctx.abandon()

    async def begin(self) -> None:
        """Wait for the reader."""
        await self._ready.wait()

    def leave(self) -> None:
        """The block is left: what is upstream is aborted, unless it has ended."""
        self._rest = iter(())
        self._left.set()


@asynccontextmanager
async def reading(
    name: str, source: Source[T], site: Site, limit: int, release_timeout: float
) -> AsyncGenerator[Reading[T], None]:
    """Open a source for the block to read."""
    trio_needed()
    hands: Reading[T] = Reading()

    def made() -> Callable[[Reader[Any], Context], Awaitable[None]]:
        return hands.hand_out

    sink: Sink[T, None] = Sink((Module(name, made, site=site),))
    hands.running = pipe(source, sink).open(limit=limit, release_timeout=release_timeout)
    async with hands.running:
        await hands.begin()
        yield hands
        hands.leave()


def aiterate(
    source: Source[T], *, limit: int = 4096, release_timeout: float = 5.0
) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    """Read a source in an `async for` of one's own, which may be left at any value.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     async with ps.aiterate(ps.count()) as values:
    ...         async for value in values:
    ...             if value * value > 50:
    ...                 return value
    >>> trio.run(main)
    8

    Leaving the block, by its end, `break`, `return`, an exception or a cancellation, aborts the stream and waits until
    everything has been released. That is why there is a block: a bare `async for` has no end that anybody is told
    of when it is left early, and would leave files open and tasks running until the garbage collector comes.

    Values are asked for as the loop goes on, one at a time, and more as long as the loop deals with them in a few
    milliseconds; `limit` and `release_timeout` are those of
    `Pipeline.open`. The stream's failure is raised in the loop, as itself. One task reads.
    """
    READS(Call("aiterate"), source)
    return _aiterate(source, Site.here(), limit, release_timeout)


@asynccontextmanager
async def _aiterate(
    source: Source[T], site: Site, limit: int, release_timeout: float
) -> AsyncGenerator[AsyncIterator[T], None]:
    async with reading("aiterate", source, site, limit, release_timeout) as values:
        yield values
