"""14.1 Takings that survive.

Sales come in, pairs (item, price), each at its day. `takings()` answers each with the pair (item, what the item has
brought in so far, since the first day), at the sale's day. The run has a journal, and may be killed at any moment: when
it is started again, it goes on after the last day that is done, and its answers are those of a run that nobody has
disturbed.

    ctx.memory                a dict, which a journal saves as of the days that are done: read it as any other
    ctx.memory.at(time)       the same, to be changed because of what came at that time
"""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    taken = {}  # who knows of it when the run is killed?
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            taken[item] = taken.get(item, 0) + price
            yield ps.Batch(batch.time, [(item, taken[item])])
