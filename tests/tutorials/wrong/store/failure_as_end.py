# wrong: R6
"""It treats a failure from upstream as the end."""

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
