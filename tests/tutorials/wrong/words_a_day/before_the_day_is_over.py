# wrong: early
"""It emits each day's number so far, at every line."""

import pullstream as ps


def words_a_day(lines):
    @ps.transformer
    async def so_far(upstream, ctx):
        found = {}
        async for batch in ctx.batches(upstream):
            for _, text in batch.values:
                found[batch.time] = found.get(batch.time, 0) + len(text.split())
                yield ps.Batch(batch.time, [found[batch.time]])

    return ps.pipe(ps.values(lines, time=lambda line: line[0]), so_far(), ps.collect(timed=True))
