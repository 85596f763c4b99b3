"""Midnights and sales are events of one list."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    last = max((hour for hour, _ in sales), default=0)
    midnights = [(24 * day, None) for day in range(1, last // 24 + 1)]
    for hour, item in sorted([*sales, *midnights], key=lambda event: (event[0], event[1] is not None)):
        await trio.sleep_until(hour)
        if item is None:
            ctx.advance(hour // 24)
        else:
            yield ps.Batch(hour // 24, [item])
