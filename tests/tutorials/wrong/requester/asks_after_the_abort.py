# wrong: R9
"""It asks again after it has aborted."""

import trio


async def requester(reader):
    await reader.ask(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()
    await reader.ask()
