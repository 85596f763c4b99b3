# wrong: R4
"""Two tasks ask one reader."""

import trio

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    async def work():
        while (batch := await upstream.ask(1)) is not ps.DONE:
            await save(batch.values[0])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        nursery.start_soon(work)
