# wrong: values
"""It loses the last value."""

from contextlib import ExitStack

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept, held = None, ExitStack()
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            holds = ExitStack()
            holds.enter_context(ctx.hold(batch.time))
            if kept is not None:
                yield ps.Batch(*kept)
                held.close()
            kept, held = (batch.time, [value]), holds
