# wrong: sharing
"""It takes the values out of a batch that others may have been given as well."""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async for batch in ctx.batches(upstream):
        while batch.values:
            await save(batch.values.pop(0))
