"""7.3 A till that closes at midnight.

`till(sales)` is a source of sales as they are made. `sales` are pairs of an hour and an item, in order; hour 9 is
Monday at 9, hour 33 Tuesday at 9. An hour lasts a second: `await trio.sleep_until(hour)` waits for one.

A sale is at the time of its day, `hour // 24`. At every midnight the till announces that the day is over, whether or
not there is a sale on the next day: `ctx.advance(day)` says that nothing before that day will come any more.

    sales at 9, 15 and 57: day 0 is complete at 24, day 1 at 48, and day 2 when the till ends, at 57
"""

import trio

import pullstream as ps


@ps.source
async def till(ctx, sales):
    for hour, item in sales:
        await trio.sleep_until(hour)
        yield ps.Batch(hour // 24, [item])
