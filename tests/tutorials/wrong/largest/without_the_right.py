# wrong: R12
"""It does not hold the time, and answers at it when the next one arrives."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = {}
    last = None
    async for batch in ctx.batches(upstream):
        if last is not None and batch.time != last:
            yield ps.Batch(last, [found.pop(last)])
        last = batch.time
        found[last] = max([found[last], *batch.values] if last in found else batch.values)
    if last is not None:
        yield ps.Batch(last, [found.pop(last)])
