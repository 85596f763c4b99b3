"""1.2 Write the requester of a drawing: a task asks on a lane of its own, and is still waiting when the abort comes."""

import trio


async def requester(reader):
    """Asks for two, asks again, and aborts meanwhile."""
    await reader.ask(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()
