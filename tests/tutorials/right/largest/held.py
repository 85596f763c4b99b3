"""A dict of lists; the time is asked for once."""

import pullstream as ps


@ps.transformer
async def largest(upstream, ctx):
    kept = {}
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Completed):
            yield ps.Batch(event.time, [max(kept.pop(event.time))])
            continue
        if event.time not in kept:
            ctx.notify_at(event.time)
        kept.setdefault(event.time, []).extend(event.values)
