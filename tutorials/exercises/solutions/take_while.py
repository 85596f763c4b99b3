"""4.1 Values as long as they pass a test: whoever yields value by value has given what passed, whatever comes next.

`return` is all it takes to end: what is upstream is aborted, and has confirmed, before downstream is told (R7).
"""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    """The values before the first that does not pass."""
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if not test(value):
                return
            yield ps.Batch(batch.time, [value])
