"""8.2 One behind: a hold for what is kept, taken while its batch is there, left when it has been given."""

from contextlib import ExitStack

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    """Each value when the next has come."""
    kept, held = None, ExitStack()
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            holds = ExitStack()
            holds.enter_context(ctx.hold(batch.time))
            if kept is not None:
                yield ps.Batch(*kept)
                held.close()
            kept, held = (batch.time, [value]), holds
    if kept is not None:
        yield ps.Batch(*kept)
        held.close()
