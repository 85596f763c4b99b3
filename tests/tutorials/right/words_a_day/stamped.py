"""With times that are given below the source, and days put together in an at_completion."""

import pullstream as ps


def words_a_day(lines):
    @ps.sink
    async def counts(upstream, ctx):
        found = {}
        async for batch in ctx.batches(upstream):
            for _, text in batch.values:
                if text.split():
                    found[batch.time] = found.get(batch.time, 0) + len(text.split())
        return list(found.items())

    return ps.pipe(ps.values(lines), ps.stamp(lambda line: line[0]), counts())
