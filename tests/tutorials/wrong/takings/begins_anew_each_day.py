# wrong: values
"""It sums up each day without the days before."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = ctx.memory.get((batch.time, item), 0) + price
            ctx.memory.at(batch.time)[batch.time, item] = total
            yield ps.Batch(batch.time, [(item, total)])
