# wrong: values
"""It stores only one batch."""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    batch = await upstream.ask(ctx.limit)
    if batch is not ps.DONE:
        for value in batch.values:
            await save(value)
