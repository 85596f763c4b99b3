# wrong: JournalError
"""It keeps a generator for each item, which cannot be saved."""

import pullstream as ps


def till():
    total = 0
    while True:
        total += yield total


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            adding = ctx.memory.get(item)
            if adding is None:
                adding = till()
                next(adding)
            total = adding.send(price)
            ctx.memory.at(batch.time)[item] = adding
            yield ps.Batch(batch.time, [(item, total)])
