"""7.3 A till that closes at midnight: it wakes at each midnight before the next sale, and announces it."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    """Yield sales as they are made; announce the end of each day at midnight."""
    today = 0
    for hour, item in sales:
        while today < hour // 24:
            today += 1
            await trio.sleep_until(24 * today)
            ctx.advance(today)
        await trio.sleep_until(hour)
        yield ps.Batch(today, [item])
