"""`to_channel`: from a stream into a trio channel."""

from collections.abc import Sequence
from typing import Annotated, Any

import trio
from typing_extensions import TypeVar

from pullstream.blueprint import Instance
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.pace import Pace
from pullstream.protocol import DONE, Reader

A = TypeVar("A")


@sink
async def to_channel(
    upstream: Reader[A],
    ctx: Context,
    channel: Annotated[trio.abc.SendChannel[A], Instance(trio.abc.SendChannel, "needs a trio SendChannel", once=True)],
) -> None:
    """Send every value to a trio channel, waiting for room in it, and close the channel at the end.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     send, receive = trio.open_memory_channel(0)
    ...     async with ps.pipe(ps.count(), ps.to_channel(send)).open(), receive:
    ...         return [await receive.receive(), await receive.receive()]
    >>> trio.run(main)
    [0, 1]

    When the receiver has closed its end, which the next value tells, the stream is aborted and the run ends quietly;
    times whose values were not all sent are `Abandoned`. The channel is closed however the stream ends, so a receiver
    that must know of a failure looks at the run. A value counts as handled when the channel has taken it; one is asked
    for at a time, and more as long as the channel takes them in a moment. The channel can be used by one run: a second
    is refused with `ReuseError`.
    """
    pace = Pace()
    async with channel:
        while (batch := await upstream.ask(min(ctx.limit, pace.next()))) is not DONE:
            pace.took(len(batch.values))
            try:
                await _send(channel, batch.values)
            except trio.BrokenResourceError:
                ctx.abandon()
                return
            await ctx.breathe()


async def _send(channel: trio.abc.SendChannel[Any], values: Sequence[Any]) -> None:
    nowait = channel.send_nowait if isinstance(channel, trio.MemorySendChannel) else None
    for value in values:
        # Where there is room it costs no turn of the scheduler.
        if nowait is not None:
            try:
                nowait(value)
            except trio.WouldBlock:
                pass
            else:
                continue
        await channel.send(value)
