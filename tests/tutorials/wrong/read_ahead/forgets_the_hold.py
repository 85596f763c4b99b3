# wrong: R12
"""It stores values without holding their times."""

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        async with send:
            try:
                while (batch := await upstream.ask(1)) is not ps.DONE:
                    await send.send(batch)
            except Exception as failure:
                await send.send(failure)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch in receive:
            if isinstance(batch, Exception):
                raise batch
            yield batch
