"""It asks for one value at a time, and closes one hold when the next is taken."""

from contextlib import ExitStack

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept = None
    with ExitStack() as held:
        while (batch := await upstream.ask(1)) is not ps.DONE:
            hold = ExitStack()
            hold.enter_context(ctx.hold(batch.time))
            if kept is not None:
                yield kept
            held.close()
            held.push(hold)
            kept = ps.Batch(batch.time, list(batch.values))
        if kept is not None:
            yield kept
