# wrong: resumed
"""It changes a dict of the memory in place, which the memory does not notice."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        if "taken" not in ctx.memory:
            ctx.memory.at(batch.time)["taken"] = {}
        taken = ctx.memory["taken"]
        for item, price in batch.values:
            taken[item] = taken.get(item, 0) + price
            yield ps.Batch(batch.time, [(item, taken[item])])
