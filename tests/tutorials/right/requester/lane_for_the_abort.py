"""The abort is on another lane."""

import trio


async def requester(reader):
    await reader.ask(2)

    async def enough():
        await trio.sleep(0.5)
        await other.abort()

    other = reader.lane()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(enough)
        await reader.ask()
