# wrong: JournalError
"""It says another time than that of the batch, and times are in no order then."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = ctx.memory.get(item, 0) + price
            ctx.memory.at(-batch.time)[item] = total
            yield ps.Batch(batch.time, [(item, total)])
