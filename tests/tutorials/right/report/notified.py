"""With a generator of its own."""

from collections import Counter

import pullstream as ps


@ps.transformer
async def counted(upstream, ctx):
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, sales):
                ctx.notify_at(time)
                found.setdefault(time, Counter()).update(item for _, item in sales)
            case ps.Completed(time):
                yield ps.Batch(time, [dict(found.pop(time))])


def report(sales):
    by_hour = ps.pipe(ps.values(sales), ps.stamp(lambda sale: sale[0], lateness=6))
    return ps.pipe(by_hour, ps.map_time(lambda hour: hour // 24), counted(), ps.collect(timed=True))
