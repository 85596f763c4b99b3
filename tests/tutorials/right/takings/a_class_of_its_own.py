"""What is kept is of a class of its own, and never changed."""

from typing import NamedTuple

import pullstream as ps


class Till(NamedTuple):
    total: int = 0

    def add(self, price):
        return Till(self.total + price)


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            till = ctx.memory.get(item, Till()).add(price)
            ctx.memory.at(batch.time)[item] = till
            yield ps.Batch(batch.time, [(item, till.total)])
