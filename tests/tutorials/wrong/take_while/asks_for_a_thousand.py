# wrong: R2
"""It asks for a thousand values, whatever it was asked for."""

import pullstream as ps


@ps.transformer
async def take_while(upstream, ctx, test):
    while (batch := await upstream.ask(1000)) is not ps.DONE:
        for value in batch.values:
            if not test(value):
                return
            yield ps.Batch(batch.time, [value])
