# wrong: early R12
"""When one time is complete, it answers all open times."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    found = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                found[time] = max([found[time], *values] if time in found else values)
            case ps.Completed():
                for time in sorted(found):
                    yield ps.Batch(time, [found.pop(time)])
