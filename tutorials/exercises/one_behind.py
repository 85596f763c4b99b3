"""8.2 One behind.

`one_behind()` keeps each value until the next has come, and gives it then, at its own time; the last one it gives when
there are no more. Its time may be complete above by then: the right to answer at it has to be kept, by a hold, and let
go of when the value has been given, so that a time is complete as soon as its last value is.

    hold = ctx.hold(time)       enter it while a batch at that time is the current one: `hold.__enter__()`
    hold.__exit__(*[None] * 3)  lets go; `with` does both, and `contextlib.ExitStack` keeps one to be closed later
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
