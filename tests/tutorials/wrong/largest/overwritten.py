# wrong: batching
"""It keeps the largest value of the last batch of a time."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max(values)
            case ps.Completed(time):
                yield ps.Batch(time, [found.pop(time)])
