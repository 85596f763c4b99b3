"""6.2 Read ahead by n.

`read_ahead(n)` gives the values as they are, and asks for them ahead: while whoever is below works, up to `n` values
have been read that it has not had, and never more. Everything else is as without it: values come in order and at their
times, a failure after the values before it, and when the stream ends nothing of it is left.

It is `ps.prefetch(n)` by hand: a task that asks, a channel of trio's, a nursery. To ask again is to acknowledge what
came before, so what you keep needs a hold: `contextlib.ExitStack` is one that can be entered here and closed there.
"""

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    send, receive = trio.open_memory_channel(n - 1)

    async def ask():
        async with send:
            async for batch in ctx.batches(upstream):
                await send.send(batch)  # until it is given, whose time is it?

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        async for batch in receive:
            yield batch
