# wrong: R12
"""It emits a sale at the day before."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    today = 0
    for hour, item in sales:
        while today < hour // 24:
            today += 1
            await trio.sleep_until(24 * today)
            ctx.advance(today)
        await trio.sleep_until(hour)
        yield ps.Batch(max(0, today - 1), [item])
