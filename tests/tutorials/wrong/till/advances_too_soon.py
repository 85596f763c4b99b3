# wrong: R12
"""It advances past a day before the day's last sale."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    for hour, item in sales:
        await trio.sleep_until(hour)
        ctx.advance(hour // 24 + 1)
        yield ps.Batch(hour // 24, [item])
