# wrong: batching
"""It drops the whole batch in which one value does not pass."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        if not all([test(value) for value in batch.values]):
            return
        yield batch
