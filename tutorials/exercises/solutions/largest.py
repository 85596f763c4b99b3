"""8.1 The largest of each time: a dict by time; the first batch of a time requests its notification."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    """Emit the largest value of every time."""
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed(time):
                yield ps.Batch(time, [found.pop(time)])
