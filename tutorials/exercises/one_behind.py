"""8.2 One behind.

`one_behind()` keeps each value until the next has come, and then emits it, at its own time; it emits the last value
when there are no more. By then the value's time may be complete upstream. So the module must hold the right to answer
at it, and release the hold when it has emitted the value, so that a time is complete as soon as its last value is out.

    hold = ctx.hold(time)       enter it while a batch at that time is the current one: `hold.__enter__()`
    hold.__exit__(*[None] * 3)  releases it; `with` does both, and `contextlib.ExitStack` keeps one to close later
"""

import pullstream as ps


@ps.transformer
async def one_behind(upstream, ctx):
    kept = None
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if kept is not None:
                yield ps.Batch(*kept)
            kept = batch.time, [value]
    if kept is not None:
        yield ps.Batch(*kept)
