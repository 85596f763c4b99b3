"""5.1 Store every value.

`store(save)` is a sink that calls `await save(value)` for every value; `save` takes a while. A time must be complete
when all its values are stored, and not before: code that awaits `progress.completed(day)` reads the day's file next.

If a save fails, the run must fail. If the stream fails, this must not look like its end.
"""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            print(value)
