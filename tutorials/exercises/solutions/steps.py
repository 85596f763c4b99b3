"""4.3 Differences between neighbours: what is kept from batch to batch is a local variable, which each run has anew."""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    """Each value's difference to the one before."""
    last = 0
    async for batch in ctx.batches(upstream):
        found = []
        for value in batch.values:
            found.append(value - last)
            last = value
        yield ps.Batch(batch.time, found)
