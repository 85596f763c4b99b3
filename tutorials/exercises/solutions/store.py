"""5.1 Store every value: a sink that stores a batch before it asks again needs nothing else.

Asking acknowledges the batch before (R11).
"""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    """Save every value."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            await save(value)
