"""As a generator of plain values."""

import pullstream as ps


@ps.source
async def rows(ctx, table):
    table.__enter__()
    try:
        while values := table.read(1):
            yield values[0]
    finally:
        table.__exit__(None, None, None)
