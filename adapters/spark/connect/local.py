"""Rows that are sent to a Connect server before anything reads them.

The server's processes cannot reach this program, as executors reach the driver of a classic session. So all values of
a source are sent at once, as Arrow, up to a limit.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import trio

from pullstream import DONE, Batch, Context, Pipeline, Reader, Source, pipe, run, sink
from pullstream.authoring import Site

from ...arrow import Packing, RecordBatch, pyarrow
from ..refusals import refused
from ..schemas import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MOST_BYTES = 256 << 20
"""The maximum bytes of Arrow that are sent with one DataFrame."""

INLINE_BYTES = 32 << 20
"""The maximum bytes in a query: a server accepts messages up to 128 MB."""

_THRESHOLD = "spark.sql.session.localRelationCacheThreshold"


def local_dataframe(
    source: Source[Any], schema: "StructType", packing: Packing, session: "SparkSession", site: Site
) -> "DataFrame":
    """Make a DataFrame of all values of a source, which is read now; it may be read any number of times.

    Raises:
        CompositionError: there is too much data.
    """
    return _sent(session, _table(_ran(pipe(source, _kept(packing, site))), schema), schema)


def sent_inline(batches: Sequence[RecordBatch], schema: "StructType", session: "SparkSession") -> "DataFrame":
    """Make a DataFrame of batches for a single query, with one partition.

    PySpark sends data above a session's threshold separately, and the server keeps it as long as the session. So the
    data is split into smaller parts inside the query itself, unless that would become too large.
    """
    table = _table(batches, schema)
    most = int(cast("str", session.conf.get(_THRESHOLD))) // 2
    if table.nbytes > INLINE_BYTES or not table.nbytes:
        return _sent(session, table, schema).coalesce(1)
    rows = max(1, table.num_rows * most // table.nbytes)
    parts = [_sent(session, table.slice(at, rows), schema) for at in range(0, table.num_rows, rows)]
    return reduce(lambda frame, part: frame.unionAll(part), parts).coalesce(1)


def _sent(session: Any, table: Any, schema: "StructType") -> "DataFrame":
    return session.createDataFrame(table, schema)


def _table(batches: Sequence[RecordBatch], schema: "StructType") -> Any:
    return pyarrow().Table.from_batches(batches, schema=arrow_schema(schema))


@sink
async def _kept(upstream: Reader[Any], ctx: Context, packing: Packing, site: Site) -> list[RecordBatch]:
    """Collect all values as Arrow."""
    batches: list[RecordBatch] = []
    size = 0
    while (answer := await upstream.ask(ctx.limit)) is not DONE:
        assert isinstance(answer, Batch)
        for batch in packing.batches([(answer.values, {})]):
            batches.append(batch)
            size += batch.nbytes
        if size > MOST_BYTES:
            raise refused(
                "to_dataframe",
                f"got more than {MOST_BYTES >> 20} MB, and with Spark Connect all data is sent before Spark can "
                f"begin: write it with write_table or to files that Spark can read, or use a classic session",
                site,
            )
    return batches


def _ran(pipeline: Pipeline[list[RecordBatch]]) -> list[RecordBatch]:
    """Run a pipeline to its end, even in a thread that is inside another run."""
    if not trio.lowlevel.in_trio_run():
        return run(pipeline)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run, pipeline).result()
