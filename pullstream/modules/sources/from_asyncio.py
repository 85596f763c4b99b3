"""`from_asyncio`: results of asyncio code."""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import suppress
from typing import Annotated, Any, cast

from typing_extensions import override

from pullstream.asyncio_bridge import AsyncioLoop, AsyncioTask, bridge_to, caused_by_cancellation
from pullstream.blueprint import Blueprint, Call, OneShot, Source, TimeOf
from pullstream.blueprint.variables import T
from pullstream.decorators import opens, source
from pullstream.engine.edge.backlog import Backlog
from pullstream.modules.sources.awaited import aclose
from pullstream.modules.sources.callback import ThreadedSource


class _Bridged(ThreadedSource):
    """An asyncio task makes the values, no more than were asked for; trio takes them as they become ready."""

    def __init__(
        self, given: Any, time: Callable[[Any], Hashable] | None = None, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._given = given
        self._loop = loop
        super().__init__(time)
        self._made: deque[Any] = deque()
        self._taken = 0
        self._end = Backlog()
        self._release_failure: BaseException | None = None
        self._running = False
        self._stopping = False
        self._wanted = 0

    # ---- in trio's thread

    @override
    async def acquire(self) -> None:
        bridge = await bridge_to(self._loop)
        await super().acquire()
        self._call = bridge.loop.call_soon_threadsafe
        self._demand = asyncio.Event()
        self._job = AsyncioTask(bridge.loop, self._drive)

    @override
    def asked(self, limit: int) -> Backlog:
        self._call(self._want, self._taken - self.batcher.pending + limit)
        return self._end

    @override
    def taken(self) -> Iterator[Any]:
        while self._made:
            self._taken += 1
            yield self._made.popleft()

    @override
    def halt(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, and the task has ended with it
            self._call(self._halt)

    @override
    async def release(self) -> None:
        await self._job.ended.wait()
        if self._release_failure is not None:
            raise self._release_failure

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # Close the coroutine, or Python warns that it was never awaited.
        if inspect.iscoroutine(self._given) and inspect.getcoroutinestate(self._given) == inspect.CORO_CREATED:
            self._given.close()

    # ---- in asyncio's thread

    def _want(self, wanted: int) -> None:
        self._wanted = wanted
        self._demand.set()

    def _halt(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._demand.set()
        if self._running:
            self._job.cancel_here()

    async def _drive(self) -> None:
        values = _values(self._given)
        number = 0
        try:
            while True:
                while number >= self._wanted and not self._stopping:
                    self._demand.clear()
                    await self._demand.wait()
                if self._stopping:
                    break
                self._running = True
                value = await anext(values)
                self._running = False
                number += 1
                self._made.append(value)
                self.wake()
        except StopAsyncIteration:
            self._end.end()
        except BaseException as exc:  # noqa: BLE001 - raised in the asker's task or, after the last ask, by release
            if not self._stopping:
                self._end.end(exc)
            elif caused_by_cancellation(exc):
                self._release_failure = exc
        self._running = False
        self.wake()
        try:
            await values.aclose()
        except BaseException as exc:  # noqa: BLE001 - as above
            self._release_failure = self._release_failure or exc


async def _values(given: Any) -> AsyncGenerator[Any, None]:
    source: Any = given() if callable(given) else given
    if isinstance(source, AsyncIterable):
        iterator = aiter(cast("AsyncIterable[Any]", source))
        try:
            async for value in iterator:
                yield value
        finally:
            await aclose(iterator)
    elif inspect.isawaitable(source):
        yield await source
    else:
        raise TypeError(
            f"from_asyncio needs a function that returns an awaitable or an async iterable, but it returned {source!r}"
        )


def _given(call: Call, given: Any) -> Any:
    if callable(given):
        return given
    if asyncio.isfuture(given) and call["loop"] is None:
        raise call.refuse(
            f"got {given!r}, which already belongs to an asyncio loop. Pass that loop as loop=, or pass an async "
            f"function"
        )
    module = isinstance(given, Blueprint)
    if isinstance(given, AsyncIterable) and not (isinstance(given, AsyncIterator) or module):
        return cast("object", given)
    if (isinstance(given, AsyncIterator) or inspect.isawaitable(given)) and not module:
        return OneShot(cast("object", given))
    raise call.refuse(f"needs an async function, an awaitable or an async iterable, but got {given!r}")


@source
def from_asyncio(
    source: Annotated[Callable[[], AsyncIterable[T] | Awaitable[T]] | AsyncIterable[T] | Awaitable[T], _given],
    *,
    time: TimeOf[T] = None,
    loop: AsyncioLoop = None,
) -> Source[T]:
    """Emit the values of an asyncio async iterable, or the one value of an asyncio awaitable.

    >>> import asyncio, pullstream as ps
    >>> async def lines():
    ...     for line in ["a", "b"]:
    ...         await asyncio.sleep(0.001)
    ...         yield line
    >>> ps.run(ps.pipe(ps.from_asyncio(lines), ps.collect()))
    ['a', 'b']

    Prefer to pass a function, async or not: every run calls it in asyncio's thread, so the objects it creates (a queue,
    a connection) belong to the right loop. A coroutine or an async iterator can be read by one run. Everything runs in
    one asyncio task, which makes no more values than were asked for and is cancelled by an abort. An async iterator is
    closed (`aclose`) however the stream ends. See `asyncio_call` for the loop, for `loop=`, and for how exceptions and
    cancellations cross. `time` is as in `values`.
    """
    return opens(_Bridged(source, time, loop))
