"""8.1 The largest of each time.

`largest()` emits, for every time, the largest of its values, at that time, when it is complete. Several times may be
open at once, and come in any order. Delete the state of a time when you have answered it.

    ctx.notify_at(time)      requests a notification when the time is complete, and holds the right to answer at it
    ctx.events(upstream)     yields batches, and `ps.Completed(time)` for the requested times
"""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [max(batch.values)])  # of this batch; what about other batches at this time?
