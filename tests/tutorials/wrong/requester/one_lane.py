# wrong: R4
"""It asks twice on one lane."""

import trio


async def requester(reader):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.ask, 2)
        nursery.start_soon(reader.ask)
        await trio.sleep(1.5)
        await reader.abort()
