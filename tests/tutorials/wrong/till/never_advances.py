# wrong: holding
"""It does not advance at midnight."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    for hour, item in sales:
        await trio.sleep_until(hour)
        yield ps.Batch(hour // 24, [item])
        trio.lowlevel.current_task()
