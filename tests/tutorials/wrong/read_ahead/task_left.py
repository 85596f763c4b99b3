# wrong: R10
"""Its task belongs to no scope, and still runs after the end."""

from contextlib import ExitStack

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        try:
            while (batch := await upstream.ask(1)) is not ps.DONE:
                hold = ExitStack()
                hold.enter_context(ctx.hold(batch.time))
                await send.send((batch, hold))
            await send.send((ps.DONE, None))
        except Exception as failure:
            await send.send((failure, None))
        await trio.sleep_forever()

    trio.lowlevel.spawn_system_task(ask)
    async for batch, hold in receive:
        if batch is ps.DONE:
            return
        if hold is None:
            raise batch
        yield batch
        hold.close()
