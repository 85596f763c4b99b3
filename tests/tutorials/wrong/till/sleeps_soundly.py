# wrong: R5 ReleaseTimeout
"""Its sleep cannot be cancelled."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    today = 0
    for hour, item in sales:
        with trio.CancelScope(shield=True):
            while today < hour // 24:
                today += 1
                await trio.sleep_until(24 * today)
                ctx.advance(today)
            await trio.sleep_until(hour)
        yield ps.Batch(today, [item])
