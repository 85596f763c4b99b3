# wrong: demand
"""After the first value that does not pass, it reads all others and delivers none."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    done = False
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            done = done or not test(value)
            if done:
                break
            yield ps.Batch(batch.time, [value])
