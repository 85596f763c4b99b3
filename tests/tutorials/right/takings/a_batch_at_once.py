"""A batch is summed up, and then told as one."""

import pullstream as ps


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        answers = []
        memory = ctx.memory.at(batch.time)
        for item, price in batch.values:
            memory[item] = memory.get(item, 0) + price
            answers.append((item, memory[item]))
        yield ps.Batch(batch.time, answers)
