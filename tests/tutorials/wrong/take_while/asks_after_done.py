# wrong: R9
"""It does not check whether upstream has already ended."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    missed = 0
    while missed < 2:
        batch = await upstream.ask(ctx.limit)
        if batch is ps.DONE:
            missed += 1
            continue
        for value in batch.values:
            if not test(value):
                return
            yield ps.Batch(batch.time, [value])
