# wrong: holding
"""It holds the time of each value and never releases it."""

import trio

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async with trio.open_nursery() as nursery:

        async def keep(time, value, held):
            with ctx.hold(time):
                held.set()
                await save(value)
                await trio.sleep_forever()

        async for batch in ctx.batches(upstream):
            for value in batch.values:
                held = trio.Event()
                nursery.start_soon(keep, batch.time, value, held)
                await held.wait()
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
