# wrong: values times
"""It keeps the largest of all times so far."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = -1
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found = max(found, *values)
            case ps.Completed(time):
                yield ps.Batch(time, [found])
