"""`collect_table`: all rows in one table."""

from typing import Any

from pullstream import DONE, Context, Reader, sink
from pullstream.authoring import Emits

from ..arrow import ArrowRows
from .frames import ColumnReader, Frame, frame_of_all
from .package import pl


@sink
@Emits.AT_THE_END
async def collect_table(upstream: Reader[Any], ctx: Context) -> Frame:
    """Collect all rows in one polars DataFrame, which notebooks display as a table; no rows are created.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "AA", "delay": 30}, {"carrier": "UA", "delay": None}])
    >>> ps.run(ps.pipe(flights, columns.collect_table())).shape
    (2, 2)

    Without rows, the table has no columns. `table.to_arrow()` and `table.to_pandas()` convert it.

    Raises:
        ColumnError: the values are not rows, or do not have the same columns.
    """
    reader = ColumnReader("collect_table()")
    parts: list[ArrowRows] = []
    while (batch := await upstream.ask_many(ctx.limit)) is not DONE:
        parts.append(reader.rows(batch.values))
        await ctx.breathe()
    return frame_of_all(reader.where, parts) if parts else pl.DataFrame()
