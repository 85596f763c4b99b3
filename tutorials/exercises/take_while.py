"""4.1 Values until one fails a test.

`take_while(test)` emits values up to the first that does not pass. It emits neither that one nor any after it. Then the
stream ends, upstream as well.

    take_while(lambda n: n < 3) of 1, 2, 3, 0 gives 1, 2

A batch may hold many values, and only some may pass. The test may raise: the values that passed before must be emitted
first.
"""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        yield batch  # not all of it, and not forever
