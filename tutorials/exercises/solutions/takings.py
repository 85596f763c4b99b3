"""14.1 Takings that survive: what an item has brought in is in the memory, at the time of the sale."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    """What each item has brought in so far."""
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = ctx.memory.get(item, 0) + price
            ctx.memory.at(batch.time)[item] = total
            yield ps.Batch(batch.time, [(item, total)])
