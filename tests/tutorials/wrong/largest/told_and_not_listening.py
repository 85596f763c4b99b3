# wrong: holding
"""It requests notifications, but reads batches only."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = {}
    async for batch in ctx.batches(upstream):
        ctx.notify_at(batch.time)
        found[batch.time] = max([found[batch.time], *batch.values] if batch.time in found else batch.values)
    for time, value in found.items():
        yield ps.Batch(time, [value])
