"""As a generator."""

import pullstream as ps


@ps.source
async def rows(ctx, table):
    with table:
        while values := table.read(ctx.limit):
            yield ps.Batch(0, values)
