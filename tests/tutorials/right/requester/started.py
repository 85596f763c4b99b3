"""Both are tasks."""

import trio


async def requester(reader):
    await reader.ask(2)

    async def enough():
        await trio.sleep(0.5)
        await reader.lane().abort()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        nursery.start_soon(enough)
