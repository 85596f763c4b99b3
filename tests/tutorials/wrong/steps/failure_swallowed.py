# wrong: R6
"""It treats a failure from upstream as the end."""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    last = 0
    try:
        async for batch in ctx.batches(upstream):
            found = []
            for value in batch.values:
                found.append(value - last)
                last = value
            yield ps.Batch(batch.time, found)
    except Exception:
        return
