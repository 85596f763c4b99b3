# wrong: R12
"""At the end it answers everything again."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed(time):
                yield ps.Batch(time, [found[time]])
    for time, value in found.items():
        yield ps.Batch(time, [value])
