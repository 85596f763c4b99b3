"""4.3 Differences between neighbours.

`steps()` emits the difference of each value to the one before; the first value is compared with 0.

    5, 7, 4 gives 5, 2, -3

Values come in batches, and the results must not depend on where a batch ends. The module may be used in any number of
runs.
"""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, list(batch.values))
