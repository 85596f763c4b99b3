"""The packages that all tests of columns need, a source and a sink."""

import pytest

import pullstream as ps
from adapters.arrow import ArrowRows

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed


def aggregate_together(patch, rows):
    """Set the least number of rows that are aggregated together."""
    for module in (columns.reducing, columns.windowing, columns.windows):
        patch.setattr(module, "TOGETHER", rows)


def in_arrow(*batches, form="dicts", times=None):
    """Emit the rows of record batches, which stay in Arrow, at the time 0 or at `times`."""

    @ps.source
    async def rows(ctx):
        for batch in batches:
            values = ArrowRows(batch, form)
            yield ps.Batch(0, values) if times is None else ps.Batch.of(times, values)

    return rows()


@ps.sink
async def answers(upstream, ctx, log, limit=None):
    """Append each answer to a log, which survives a failed run; `limit` is the number of values to ask for."""
    while (answer := await upstream.ask(limit or ctx.limit)) is not ps.DONE:
        log.append(answer)
