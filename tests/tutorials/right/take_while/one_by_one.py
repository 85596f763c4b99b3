"""It asks for one value at a time."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    while (batch := await upstream.ask(1)) is not ps.DONE:
        if not test(batch.values[0]):
            break
        yield batch
