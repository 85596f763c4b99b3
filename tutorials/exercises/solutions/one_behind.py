"""8.2 One behind: a hold for each kept value, entered at its batch, left when the value has been emitted."""

from contextlib import ExitStack

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    """Emit each value when the next has come."""
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
