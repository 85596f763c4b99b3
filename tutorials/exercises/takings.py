"""14.1 Takings that survive.

Sales are pairs (item, price), each at its day. For each sale, `takings()` answers the pair (item, the takings of that
item since the first day), at the sale's day. The run has a journal, and may be killed at any moment. When it is started
again, it resumes after the last complete day, and its answers must be those of an undisturbed run.

    ctx.memory                a dict, saved by the journal as of the complete days: read it like any other
    ctx.memory.at(time)       the same dict, for changes caused by values at that time
"""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    taken = {}  # what is left of it when the run is killed?
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            taken[item] = taken.get(item, 0) + price
            yield ps.Batch(batch.time, [(item, taken[item])])
