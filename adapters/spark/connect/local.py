"""Rows that are sent to a Connect server before anything reads them, for a DataFrame or for partitions of a table.

Unlike the executors of a classic session, the server's processes cannot reach this program. So all values of a source
are sent at once, as Arrow, up to a limit. The partitions of a table are sent with the query that writes them:
Spark writes new ones separately, and renames them when they are complete. If this program is killed, the server
completes or undoes the write.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import chain
from typing import Any, cast

import trio
from more_itertools import constrained_batches
from typing_extensions import override

from pullstream import DONE, Batch, Context, Pipeline, Reader, Source, pipe, run, sink

from ...arrow import Packing, RecordBatch, Spool, pa
from ..errors import Refusal
from ..schemas import arrow_schema, whole_arrays
from ..types import DataFrame, DataFrameWriter, StructType
from ..writing.table_partitions import TablePartitions, TableTargetError

MOST_BYTES = 256 << 20
"""The maximum bytes of Arrow that are sent with one DataFrame."""

INLINE_BYTES = 32 << 20
"""The maximum bytes in a query: a server accepts messages up to 128 MB."""

_THRESHOLD = "spark.sql.session.localRelationCacheThreshold"


def local_dataframe(
    source: Source[Any], schema: "StructType", packing: Packing, session: Any, refusal: Refusal
) -> "DataFrame":
    """Make a DataFrame of all values of a source. The source is read now, the DataFrame any number of times."""
    table = _table(_ran(pipe(source, _kept(packing, refusal))), schema)
    # PySpark would lose rows without columns.
    return session.createDataFrame(table, schema) if len(schema) else session.range(len(table)).select()


def sent_inline(batches: Sequence[RecordBatch], schema: "StructType", session: Any) -> "DataFrame":
    """Make a DataFrame of batches for a single query, with one partition.

    PySpark sends data above a session's threshold separately, and the server keeps it as long as the session. So the
    data is split into smaller parts inside the query itself, unless that would become too large.
    """
    table = _table(batches, schema)
    most = int(cast("str", session.conf.get(_THRESHOLD))) // 2
    inside = 0 < table.nbytes <= INLINE_BYTES
    rows = max(1, table.num_rows * most // table.nbytes if inside else table.num_rows)
    parts = [whole_arrays(table.slice(at, rows)) for at in range(0, max(1, table.num_rows), rows)]
    frames = [session.createDataFrame(part, schema) for part in parts]
    return reduce(lambda frame, part: frame.unionAll(part), frames).coalesce(1)


def _table(batches: Sequence[RecordBatch], schema: "StructType") -> Any:
    return pa.Table.from_batches(batches, schema=arrow_schema(schema))


@sink
async def _kept(upstream: Reader[Any], ctx: Context, packing: Packing, refusal: Refusal) -> list[RecordBatch]:
    batches: list[RecordBatch] = []
    size = 0
    while (answer := await upstream.ask(ctx.limit)) is not DONE:
        assert isinstance(answer, Batch)
        for batch in packing.batches([(answer.values, {})]):
            batches.append(batch)
            size += batch.nbytes
        if size > MOST_BYTES:
            raise refusal(
                f"got more than {MOST_BYTES >> 20} MB, and with Spark Connect all data is sent before Spark can "
                f"begin: write it with write_table or to files that Spark can read, or use a classic session"
            )
    return batches


def _ran(pipeline: Pipeline[list[RecordBatch]]) -> list[RecordBatch]:
    """Run a pipeline to its end, even in a thread that is inside another run."""
    if not trio.lowlevel.in_trio_run():
        return run(pipeline)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run, pipeline).result()


class ConnectTable(TablePartitions):
    """Partitions of a table through Spark Connect; one job has the rows of as many times as can be sent with it."""

    @override
    def _write(self, spools: Sequence[Spool]) -> None:
        parts = ((spool, self._sendable(spool)) for spool in spools)
        for due in constrained_batches(parts, MOST_BYTES, get_len=lambda part: _size(part[1])):
            if self._jobs.cancelled:
                return
            batches = list(chain.from_iterable(batches for _, batches in due))
            self._write_frame(sent_inline(batches, self._full, self._session), [spool for spool, _ in due])
            del due, batches  # before the next rows are loaded

    def _sendable(self, spool: Spool) -> list[RecordBatch]:
        """The rows of a time; refused if they are too many to be sent at once."""
        batches = list(spool.batches())
        if _size(batches) > MOST_BYTES:
            raise TableTargetError(
                f"write_table({self._plan.target!r}): the time {spool.time!r} has more than {MOST_BYTES >> 20} MB "
                f"of rows, the limit with Spark Connect: use finer times, or a classic session"
            )
        return batches

    @override
    def _publish(self, writer: "DataFrameWriter") -> None:
        path = self._location()
        if self._claimed is None:
            client: Any = self._session.client
            self._claim(f"{client.host} {path.rstrip('/')}")
        writer.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
        self._refresh()


def _size(batches: Sequence[RecordBatch]) -> int:
    return sum(batch.nbytes for batch in batches)
