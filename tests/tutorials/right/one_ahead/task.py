"""A task that asks, and a channel without room."""

import trio

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "gets [1]", "reads 2", "gets [2]", "reads 3", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "gets [1, 2]", "reads 3", "gets [3]"]


@ps.transformer
async def one_ahead(upstream, ctx):
    send, receive = trio.open_memory_channel(0)

    async def ask():
        async with send:
            try:
                while (batch := await upstream.ask(1)) is not ps.DONE:
                    with ctx.hold(batch.time):
                        taken = trio.Event()
                        await send.send((batch, taken))
                        await taken.wait()
            except Exception as failure:
                await send.send((failure, None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch, taken in receive:
            if taken is None:
                raise batch
            with ctx.hold(batch.time):
                taken.set()
                yield batch
