"""8.1 The largest of each time.

`largest()` gives for every time the largest of its values, at that time, when it is complete. Times may be open side by
side, and come in any order; what is kept for one is dropped when it has been answered.

    ctx.notify_at(time)      asks to be told when the time is complete, and holds the right to answer at it
    ctx.events(upstream)     gives batches, and `ps.Completed(time)` for times that were asked for
"""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [max(batch.values)])  # of this batch; and the time's others?
