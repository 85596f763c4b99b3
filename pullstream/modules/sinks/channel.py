"""`to_channel`: sends a stream into a trio channel."""

from collections.abc import Sequence
from typing import Annotated, Any

import trio

from pullstream.blueprint import Instance
from pullstream.blueprint.variables import A
from pullstream.decorators import sink
from pullstream.engine.parts.context import Context
from pullstream.engine.parts.pace import WaitingPace
from pullstream.protocol import DONE, Reader


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
    ...     async with ps.pipe(ps.integers(), ps.to_channel(send)).open(), receive:
    ...         return [await receive.receive(), await receive.receive()]
    >>> trio.run(main)
    [0, 1]

    If the receiver closes its end, the next value detects it: the stream is aborted, and the run ends without an error.
    Times whose values were not all sent are `Abandoned`. The channel is closed however the stream ends, so a receiver
    that must know of a failure checks the run. A value counts as processed when the channel has taken it. Values are
    asked for one at a time, and more at a time while the channel takes them quickly. The channel can be used by one
    run; a second one is refused with `ReuseError`.
    """
    pace = WaitingPace()
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
        # If there is room, this saves a turn of the scheduler.
        if nowait is not None:
            try:
                nowait(value)
            except trio.WouldBlock:
                pass
            else:
                continue
        await channel.send(value)
