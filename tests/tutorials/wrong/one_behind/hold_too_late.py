# wrong: R12
"""It takes the hold only just before it answers."""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept = None
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if kept is not None:
                with ctx.hold(kept[0]):
                    yield ps.Batch(*kept)
            kept = batch.time, [value]
    if kept is not None:
        with ctx.hold(kept[0]):
            yield ps.Batch(*kept)
