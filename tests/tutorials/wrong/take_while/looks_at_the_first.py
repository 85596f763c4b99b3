# wrong: batching
"""It tests the first value of a batch only."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        if not test(batch.values[0]):
            return
        yield batch
