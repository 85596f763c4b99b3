# wrong: R10
"""It closes the table at its end and again in `finally`."""

import pullstream as ps


@ps.source
async def rows(ctx, table):
    table.__enter__()
    try:
        while values := table.read(ctx.limit):
            yield ps.Batch(0, values)
        table.__exit__(None, None, None)
    finally:
        table.__exit__(None, None, None)
