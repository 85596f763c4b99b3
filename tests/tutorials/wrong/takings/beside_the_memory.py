# wrong: resumed
"""It keeps its sums where the journal does not save them."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    taken = {}
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            total = taken.get(item, 0) + price
            taken[item] = total
            yield ps.Batch(batch.time, [(item, total)])
