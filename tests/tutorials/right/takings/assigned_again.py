"""One dict in the memory, made anew whenever it changes."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            taken = ctx.memory.get("taken", {})
            ctx.memory.at(batch.time)["taken"] = {**taken, item: taken.get(item, 0) + price}
            yield ps.Batch(batch.time, [(item, ctx.memory["taken"][item])])
