"""`from_channel`: the values that a trio channel receives."""

from collections.abc import Callable, Hashable, Iterator
from typing import Annotated, Any

import trio
from typing_extensions import override

from pullstream.blueprint import Instance, Source, TimeOf
from pullstream.blueprint.variables import T
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.modules.sources.batcher import Batcher
from pullstream.modules.sources.closing import close_unread
from pullstream.protocol import DONE, Batch, Done


class _Received(Kernel[Any]):
    """Receives in the asker's task, together with everything that a memory channel has waiting."""

    traits = Traits(trusted=True)

    def __init__(self, channel: trio.abc.ReceiveChannel[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        self._channel = channel
        self._batcher = Batcher(time)
        self._begun = False

    @override
    async def acquire(self) -> None:
        self._begun = True

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
        if not self._begun:
            await close_unread(self, self._channel)


@source
def from_channel(
    channel: Annotated[
        trio.abc.ReceiveChannel[T], Instance(trio.abc.ReceiveChannel, "needs a trio ReceiveChannel", once=True)
    ],
    *,
    time: TimeOf[T] = None,
) -> Source[T]:
    """Give the values that a trio channel receives, until its senders are closed. The channel is closed at any end.

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

    The channel is read only as far as values are asked for, so senders wait for the reader. Values are at time 0, or at
    the times that `time` gives them, which must not go back. The channel can be read by one run; a second one is
    refused with `ReuseError` (`channel.clone()` makes another channel).
    """
    return opens(_Received(channel, time))
