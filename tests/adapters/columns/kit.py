"""The packages that all tests of columns need, and a source."""

import pytest

import pullstream as ps
from adapters.arrow import ArrowRows

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed


def aggregate_together(patch, rows):
    """Set how many rows are aggregated together, at the least."""
    for module in (columns.reducing, columns.windowing, columns.windows):
        patch.setattr(module, "TOGETHER", rows)


def in_arrow(*batches, form="dicts", times=None):
    """The rows of record batches, which stay in Arrow, at the time 0 or at `times`."""

    @ps.source
    async def rows(ctx):
        for batch in batches:
            values = ArrowRows(batch, form)
            yield ps.Batch(0, values) if times is None else ps.Batch.of(times, values)

    return rows()


@ps.sink
async def answers(upstream, ctx, log, limit=None):
    """Note each answer to an ask for so many values; the log lives on when the run fails."""
    while (answer := await upstream.ask(limit or ctx.limit)) is not ps.DONE:
        log.append(answer)
