"""3.2 A till that closes at midnight: it wakes at each midnight before the next sale, and says so."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    """Sales as they are made; a day is over at midnight."""
    today = 0
    for hour, item in sales:
        while today < hour // 24:
            today += 1
            await trio.sleep_until(24 * today)
            ctx.advance(today)
        await trio.sleep_until(hour)
        yield ps.Batch(today, [item])
