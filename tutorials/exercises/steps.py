"""4.3 Differences between neighbours.

`steps()` gives each value's difference to the value before it; the first value is compared with 0.

    5, 7, 4 gives 5, 2, -3

Values come in batches; nobody may see where one ends. It may be used in any number of runs.
"""

import pullstream as ps


@ps.transformer
async def steps(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, list(batch.values))
