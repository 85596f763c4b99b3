"""Sources for all tests of columns."""

import pullstream as ps
from adapters.arrow import ArrowRows


def in_arrow(*batches, form="dicts", times=None):
    """The rows of record batches, which stay in Arrow, at the time 0 or at `times`."""

    @ps.source
    async def rows(ctx):
        for batch in batches:
            values = ArrowRows(batch, form)
            yield ps.Batch(0, values) if times is None else ps.Batch.of(times, values)

    return rows()
