# wrong: early
"""It reports each day so far, at every sale."""

from collections import Counter

import pullstream as ps


@ps.transformer
async def so_far(upstream, ctx):
    found = {}
    async for batch in ctx.batches(upstream):
        for _, item in batch.values:
            found.setdefault(batch.time, Counter())[item] += 1
            yield ps.Batch(batch.time, [dict(found[batch.time])])


def report(sales):
    by_hour = ps.pipe(ps.values(sales), ps.stamp(lambda sale: sale[0], lateness=6))
    return ps.pipe(by_hour, ps.map_time(lambda hour: hour // 24), so_far(), ps.collect(timed=True))
