"""Holds are entered and left by hand."""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept = []
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            hold = ctx.hold(batch.time)
            hold.__enter__()
            kept.append((batch.time, value, hold))
            if len(kept) > 1:
                time, value, hold = kept.pop(0)
                yield ps.Batch(time, [value])
                hold.__exit__(None, None, None)
    for time, value, hold in kept:
        yield ps.Batch(time, [value])
        hold.__exit__(None, None, None)
