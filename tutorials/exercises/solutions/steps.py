"""4.3 Differences between neighbours: the state is a local variable, which is new in each run."""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    """Emit the difference of each value to the one before."""
    last = 0
    async for batch in ctx.batches(upstream):
        found = []
        for value in batch.values:
            found.append(value - last)
            last = value
        yield ps.Batch(batch.time, found)
