# wrong: R8
"""It treats an exception of its test as the end."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            try:
                if not test(value):
                    return
            except Exception:
                return
            yield ps.Batch(batch.time, [value])
