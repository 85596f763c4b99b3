# wrong: holding
"""It requests notifications, but reads batches only."""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept = None
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            ctx.notify_at(batch.time)
            if kept is not None:
                yield ps.Batch(*kept)
            kept = batch.time, [value]
    if kept is not None:
        yield ps.Batch(*kept)
