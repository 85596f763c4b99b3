# wrong: R6
"""It takes a failure from above for the end."""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    while True:
        try:
            batch = await upstream.ask(ctx.limit)
        except Exception:
            return
        if batch is ps.DONE:
            return
        for value in batch.values:
            await save(value)
