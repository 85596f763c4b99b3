# wrong: holding
"""It holds the first time until the end."""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    batch = await upstream.ask(1)
    if batch is ps.DONE:
        return
    with ctx.hold(batch.time):
        kept = batch
        while (batch := await upstream.ask(1)) is not ps.DONE:
            yield kept
            kept = batch
        yield kept
