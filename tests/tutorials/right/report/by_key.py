"""Counted by key, and put together at the completion of the day."""

import pullstream as ps


def report(sales):
    by_day = ps.pipe(ps.values(sales), ps.stamp(lambda sale: sale[0], lateness=6), ps.map_time(lambda hour: hour // 24))

    @ps.sink
    async def reports(upstream, ctx):
        found = {}
        async for batch in ctx.batches(upstream):
            for item, number in batch.values:
                found.setdefault(batch.time, {})[item] = number
        return sorted(found.items())

    return ps.pipe(by_day, ps.count_by_key(lambda sale: sale[1]), reports())
