# wrong: R6
"""It leaves the table open."""


async def requester(reader):
    await reader.ask(2)
    await reader.ask()
