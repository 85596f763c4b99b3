# wrong: batching
"""It keeps the largest of a time's last batch."""

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
