# wrong: batching
"""It tests only the first value of a batch."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        if not test(batch.values[0]):
            return
        yield batch
