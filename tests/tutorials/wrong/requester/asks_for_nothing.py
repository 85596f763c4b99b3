# wrong: ValueError
"""It asks for zero values to find out whether there are any."""

import trio


async def requester(reader):
    await reader.ask(0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()
