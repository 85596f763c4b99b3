# wrong: R8
"""It loses the values before the one at which the test raises."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        passed = []
        for value in batch.values:
            if not test(value):
                break
            passed.append(value)
        if passed:
            yield ps.Batch(batch.time, passed)
        if len(passed) < len(batch.values):
            return
