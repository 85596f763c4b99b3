# wrong: batching
"""It compares with 0 at the beginning of every batch."""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    async for batch in ctx.batches(upstream):
        last, found = 0, []
        for value in batch.values:
            found.append(value - last)
            last = value
        yield ps.Batch(batch.time, found)
