"""5.1 Store every value.

`store(save)` is a sink that calls `await save(value)` for every value; `save` takes a while. A time counts as complete
when all its values are stored, and not before: whoever awaits `progress.completed(day)` reads the day's file next.

If a save fails, so does the run; if the stream fails, nothing looks like an end.
"""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            print(value)
