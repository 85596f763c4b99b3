"""14.1 Takings that survive: the sum of each item is in the memory, at the time of the sale."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    """Emit the takings of each item so far."""
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = ctx.memory.get(item, 0) + price
            ctx.memory.at(batch.time)[item] = total
            yield ps.Batch(batch.time, [(item, total)])
