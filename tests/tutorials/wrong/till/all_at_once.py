# wrong: values
"""It emits everything at time 0."""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    for hour, item in sales:
        await trio.sleep_until(hour)
        yield item
