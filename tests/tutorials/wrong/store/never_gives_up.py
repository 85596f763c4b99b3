# wrong: spin R9
"""It retries after any exception."""

import pullstream as ps


@ps.sink
async def store(upstream, ctx, save):
    while True:
        try:
            batch = await upstream.ask(1)
        except BaseException:
            continue
        if batch is ps.DONE:
            return
        await save(batch.values[0])
