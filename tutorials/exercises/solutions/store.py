"""5.1 Store every value: a sink that has stored a batch before it asks again needs nothing else.

To ask is to say that what came before has been dealt with (R11).
"""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    """Save every value."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            await save(value)
