# wrong: PullstreamError
"""It removes the values from a batch that other consumers may have received, too."""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async for batch in ctx.batches(upstream):
        while batch.values:
            await save(batch.values.pop(0))
