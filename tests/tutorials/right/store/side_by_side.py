"""The values of a batch are saved side by side."""

import trio

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async for batch in ctx.batches(upstream):
        async with trio.open_nursery() as nursery:
            for value in batch.values:
                nursery.start_soon(save, value)
