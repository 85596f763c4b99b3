# wrong: early
"""It starts to save and asks for the next value at once."""

import trio

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async with trio.open_nursery() as nursery:
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                nursery.start_soon(save, value)
