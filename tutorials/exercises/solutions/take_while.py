"""4.1 Values until one fails a test: yield value by value, and a failing test loses no value before it.

`return` is enough to end: upstream is aborted, and has confirmed, before the consumer receives DONE (R7).
"""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    """Emit the values before the first that does not pass."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if not test(value):
                return
            yield ps.Batch(batch.time, [value])
