# wrong: batching
"""Of the batch in which one does not pass it gives nothing."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        if not all([test(value) for value in batch.values]):
            return
        yield batch
