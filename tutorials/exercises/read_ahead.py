"""6.2 Read ahead by n.

`read_ahead(n)` passes the values on unchanged, and asks ahead: while the consumer works, up to `n` values have been
read that it has not received, and never more. Nothing else changes: values come in order and at their times, a failure
comes after the values before it, and when the stream ends no task is left.

It is `ps.prefetch(n)` by hand: a task that asks, a trio channel, a nursery. Asking again acknowledges the batch before,
so a kept batch needs a hold. A `contextlib.ExitStack` can enter a hold in one place and close it in another.
"""

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        async with send:
            async for batch in ctx.batches(upstream):
                await send.send(batch)  # who holds its time until it is yielded?

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch in receive:
            yield batch
