"""It looks at the clock."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    for hour, item in sales:
        while trio.current_time() < hour // 24 * 24:
            midnight = int(trio.current_time()) // 24 + 1
            await trio.sleep_until(midnight * 24)
            ctx.advance(midnight)
        await trio.sleep_until(hour)
        yield ps.Batch(hour // 24, [item])
