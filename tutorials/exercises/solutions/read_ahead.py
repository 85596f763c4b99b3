"""6.2 Read ahead by n: kept values have a hold, and a failure comes after the values before it.

A channel of size n - 1, and one value in the task that waits to send it: that makes n.
"""

from contextlib import ExitStack

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    """Pass values on, and ask for n ahead."""
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        async with send:
            try:
                while (batch := await upstream.ask(1)) is not ps.DONE:
                    hold = ExitStack()
                    hold.enter_context(ctx.hold(batch.time))
                    await send.send((batch, hold))
            except Exception as failure:
                await send.send((failure, None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch, hold in receive:
            if hold is None:
                raise batch
            yield batch
            hold.close()
