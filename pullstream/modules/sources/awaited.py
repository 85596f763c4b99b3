"""`from_awaitable`, `from_async_iterable` and `from_channel`: results of trio code."""

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Hashable,
    Iterator,
)
from typing import Annotated, Any, cast

import trio
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Instance, OneShot, Source, TimeOf
from pullstream.blueprint.variables import T
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.generator import GeneratorKernel
from pullstream.engine.traits import Traits
from pullstream.errors import ReleaseTimeout, raised_by_closing
from pullstream.modules.sources.batcher import Batcher, stamped
from pullstream.protocol import DONE, Batch, Done


async def aclose(source: object) -> None:
    """Close an async iterator or a channel, if it can be closed."""
    close: Any = getattr(source, "aclose", None)
    if close is not None:
        await close()


async def close_unread(kernel: Kernel[Any], source: object) -> None:
    """Close a channel or iterator that was never read; otherwise its producer would wait forever."""
    with kernel.run.grace() as grace:
        await aclose(source)
    if grace.cancelled_caught:
        raise ReleaseTimeout(f"{kernel.location} did not close {source!r} within {kernel.run.release_timeout} s")


class _FromAwaitable(Kernel[Any]):
    traits = Traits(trusted=True)

    def __init__(
        self, given: Callable[[], Awaitable[Any]] | Awaitable[Any], time: Callable[[Any], Hashable] | None = None
    ) -> None:
        self._given = given
        self._time = time
        self._begun = False

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._begun:
            return DONE
        self._begun = True
        awaitable: Any = self._given() if callable(self._given) else self._given
        if not hasattr(awaitable, "__await__"):
            raise TypeError(
                f"from_awaitable needs a function that returns an awaitable, such as an async function, "
                f"but it returned {awaitable!r}"
            )
        value = await awaitable
        return Batch(stamped(value, self._time), [value])

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # Close the coroutine, or Python warns that it was never awaited.
        if not self._begun and isinstance(self._given, Coroutine):
            cast("Coroutine[Any, Any, Any]", self._given).close()


def _awaitable(call: Call, awaitable: Any) -> Any:
    # The `__await__` and `__aiter__` of a module only raise errors that say what to use.
    usable = (callable(awaitable) or inspect.isawaitable(awaitable)) and not isinstance(awaitable, Blueprint)
    if not usable or _is_future(awaitable):
        hint = ". Use from_asyncio() for asyncio's futures" if _is_future(awaitable) else ""
        raise call.refuse(f"needs an async function or an awaitable, but got {awaitable!r}{hint}")
    return awaitable if callable(awaitable) else OneShot(awaitable)


@source
def from_awaitable(
    awaitable: Annotated[Callable[[], Awaitable[T]] | Awaitable[T], _awaitable], *, time: TimeOf[T] = None
) -> Source[T]:
    """Emit one value: the result of an async function, which is called at the first ask of every run.

    >>> import trio, pullstream as ps
    >>> async def answer():
    ...     await trio.sleep(0.001)
    ...     return 42
    >>> ps.run(ps.pipe(ps.from_awaitable(answer), ps.collect()))
    [42]

    A coroutine or another awaitable also works, but only for one run: a second one is refused with `ReuseError`. `time`
    is as in `values`. An abort cancels the call. For asyncio's coroutines, use `from_asyncio`.
    """
    return opens(_FromAwaitable(awaitable, time))


def _is_future(value: object) -> bool:
    # The attribute that marks asyncio's futures and tasks; checking it needs no import of asyncio.
    return hasattr(value, "_asyncio_future_blocking")


class _Iterated(GeneratorKernel):
    """Reads an async iterable in a task of its own, where a generator's cancel scopes are safe."""

    def __init__(self, iterable: AsyncIterable[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        super().__init__(self._read, (time,), {})
        self.bare = time is None
        self._iterable = iterable
        self._iterator: AsyncIterator[Any] | None = iterable if isinstance(iterable, AsyncIterator) else None

    async def _read(self, _: Context, time: Callable[[Any], Hashable] | None) -> AsyncGenerator[Any, None]:
        self._iterator = aiter(self._iterable)
        try:
            async for value in self._iterator:
                try:
                    yield value if time is None else Batch(stamped(value, time), [value])
                except trio.Cancelled:
                    # The iterable's own nursery has cancelled the scope around its yield, and raises its failure now.
                    try:
                        await self._close_iterator()
                    except BaseExceptionGroup as group:
                        if (failure := raised_by_closing(group)) is not None:
                            raise failure from None
                    raise
        except GeneratorExit:
            # Close it inside the scopes that it may have opened. After a cancellation there are none, and `closed`
            # closes it.
            await self._close_iterator()
            raise

    @override
    async def closed(self) -> None:
        await self._close(self._close_iterator)

    async def _close_iterator(self) -> None:
        iterator, self._iterator = self._iterator, None
        await aclose(iterator)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        if not self.edge.acquired:
            await close_unread(self, self._iterator)


def _readable(call: Call, iterable: Any) -> Any:
    if not isinstance(iterable, AsyncIterable) or isinstance(iterable, Blueprint):
        hint = ". Use values() for ordinary iterables" if hasattr(iterable, "__iter__") else ""
        if type(iterable).__module__ == "asyncio.queues":
            hint = ". Use from_asyncio(f) with an async generator f that awaits queue.get()"
        if isinstance(iterable, Blueprint):
            hint = ". Use a source as it is"
        elif inspect.isasyncgenfunction(iterable):
            hint = ". Call it, or decorate it with @ps.source"
        raise call.refuse(f"needs an async iterable, but got {iterable!r}{hint}")
    return OneShot(cast("object", iterable)) if isinstance(iterable, AsyncIterator) else cast("object", iterable)


@source
def from_async_iterable(iterable: Annotated[AsyncIterable[T], _readable], *, time: TimeOf[T] = None) -> Source[T]:
    """Emit the values of an async iterable, in order, as they are asked for.

    >>> import trio, pullstream as ps
    >>> async def ticks():
    ...     for n in range(3):
    ...         await trio.sleep(0.001)
    ...         yield n
    >>> ps.run(ps.pipe(ps.from_async_iterable(ticks()), ps.collect()))
    [0, 1, 2]

    An iterable that makes a new iterator each time can be read by any number of runs. An async iterator or generator
    can be read by one run, which closes it (`aclose`) however the stream ends; a second run is refused with
    `ReuseError`. For a generator function of your own, `@ps.source` is better, because every run calls it anew. `time`
    is as in `values`.

    The iterable is advanced in a task of its own, so it may open cancel scopes around its `yield`s. It must be written
    for trio; for asyncio's iterators, use `from_asyncio`.
    """
    return opens(_Iterated(iterable, time))


class _Received(Kernel[Any]):
    """Receives in the asker's task, together with everything that a memory channel has waiting."""

    traits = Traits(trusted=True)

    def __init__(self, channel: trio.abc.ReceiveChannel[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        self._channel = channel
        self._batcher = Batcher(time)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._batcher.pending:
            return self._batcher.batch(self._waiting(), limit) or DONE
        try:
            value = await self._channel.receive()
        except trio.EndOfChannel:
            return DONE
        return self._batcher.batch(self._waiting(value), limit) or DONE

    def _waiting(self, *values: Any) -> Iterator[Any]:
        yield from values
        if isinstance(self._channel, trio.MemoryReceiveChannel):
            try:
                while True:
                    yield self._channel.receive_nowait()
            except (trio.WouldBlock, trio.EndOfChannel):
                return

    @override
    async def release(self) -> None:
        await self._channel.aclose()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        if not self.edge.acquired:
            await close_unread(self, self._channel)


@source
def from_channel(
    channel: Annotated[
        trio.abc.ReceiveChannel[T], Instance(trio.abc.ReceiveChannel, "needs a trio ReceiveChannel", once=True)
    ],
    *,
    time: TimeOf[T] = None,
) -> Source[T]:
    """Emit the values that a trio channel receives, until its senders are closed. The channel is always closed.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     send, receive = trio.open_memory_channel(0)
    ...     async with ps.pipe(ps.from_channel(receive), ps.collect()).open() as running:
    ...         async with send:
    ...             await send.send("a")
    ...             await send.send("b")
    ...         return await running.result()
    >>> trio.run(main)
    ['a', 'b']

    The channel is read only as far as values are asked for, so senders wait for the reader. `time` is as in `values`.
    The channel can be read by one run; a second one is refused with `ReuseError` (`channel.clone()` makes another).
    """
    return opens(_Received(channel, time))
