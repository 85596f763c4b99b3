"""4.1 Values as long as they pass a test.

`take_while(test)` gives the values that come, until the first that does not pass; that one, and whatever would come
after it, is not given. Then the stream ends, above as well.

    take_while(lambda n: n < 3) of 1, 2, 3, 0 gives 1, 2

A batch may hold many values, some of which pass. The test may raise: what passed before it is given first.
"""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    async for batch in ctx.batches(upstream):
        yield batch  # not all of it, and not for ever
