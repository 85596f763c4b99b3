# wrong: R12 CapabilityError
"""It advances its hold before it has answered, and then moves it back."""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    batch = await upstream.ask(1)
    if batch is ps.DONE:
        return
    with ctx.hold(batch.time) as held:
        kept = batch
        while (batch := await upstream.ask(1)) is not ps.DONE:
            held.downgrade(batch.time)
            held.downgrade(kept.time)
            yield kept
            kept = batch
        yield kept
