# wrong: R8
"""It lets a failure overtake the values read before it."""

from contextlib import ExitStack

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        async with send:
            while (batch := await upstream.ask(1)) is not ps.DONE:
                hold = ExitStack()
                hold.enter_context(ctx.hold(batch.time))
                await send.send((batch, hold))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch, hold in receive:
            yield batch
            hold.close()
