# wrong: resumed
"""It counts a sale from the next day on: when the day is complete, the journal has the state of the day before."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = ctx.memory.get(item, 0) + price
            ctx.memory.at(batch.time + 1)[item] = total
            yield ps.Batch(batch.time, [(item, total)])
