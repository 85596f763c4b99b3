# wrong: drawing
"""It waits for the second answer, and then aborts."""


async def requester(reader):
    await reader.ask(2)
    await reader.ask()
    await reader.abort()
