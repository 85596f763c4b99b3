# wrong: state
"""It keeps its state in a default argument, which is made only once."""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx, last=[0]):
    async for batch in ctx.batches(upstream):
        found = []
        for value in batch.values:
            found.append(value - last[0])
            last[0] = value
        yield ps.Batch(batch.time, found)
