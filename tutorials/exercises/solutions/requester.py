"""1.2 Write the requester of a drawing: a task asks on its own lane, and still waits when the abort comes."""

import trio


async def requester(reader):
    """Ask for two, ask again, and abort in the meantime."""
    await reader.ask(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()
