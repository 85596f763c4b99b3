"""Partitions of a table, written through Spark Connect: sent with the query that writes them, and replaced by Spark.

This program has no access to the server's file systems, and needs none: Spark writes new partitions separately, and
renames them when they are complete. If this program is killed, the server completes or undoes the write.
"""

from collections.abc import Sequence
from itertools import chain

from typing_extensions import override

from ...arrow import RecordBatch, Spool
from ..writing.table_folder import TableTargetError, claim, release
from ..writing.table_partitions import TablePartitions
from .local import MOST_BYTES, sent_inline


class ConnectTable(TablePartitions):
    """The table's end; a job has the rows of as many times as can be sent with it."""

    _claimed: str | None = None

    @override
    def close(self) -> None:
        if self._claimed is not None:
            release(self._claimed)

    @override
    def _write(self, spools: Sequence[Spool]) -> None:
        due: list[tuple[Spool, list[RecordBatch]]] = []
        size = 0
        for spool in spools:
            batches = list(spool.batches())
            its_size = sum(batch.nbytes for batch in batches)
            if its_size > MOST_BYTES:
                raise TableTargetError(
                    f"write_table({self._plan.target!r}): the time {spool.time!r} has more than {MOST_BYTES >> 20} MB "
                    f"of rows, the limit with Spark Connect: use finer times, or a classic session"
                )
            if due and size + its_size > MOST_BYTES:
                self._write_some(due)
                due, size = [], 0
            due.append((spool, batches))
            size += its_size
        self._write_some(due)

    def _write_some(self, due: Sequence[tuple[Spool, list[RecordBatch]]]) -> None:
        if self._jobs.cancelled:
            return
        plan, session = self._plan, self._session
        frame = sent_inline(list(chain.from_iterable(batches for _, batches in due)), self._full, session)
        writer = frame.write.format(plan.format).options(**plan.options).partitionBy(plan.time)
        if plan.format == "delta":
            self._replace(writer, [spool for spool, _ in due])
            return
        path = self._location() if plan.catalog else plan.target
        if self._claimed is None:
            name = f"{session.client.host} {path}"
            claim(name)
            self._claimed = name
        writer.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
        if plan.catalog:
            session.catalog.recoverPartitions(plan.target)
            session.catalog.refreshTable(plan.target)
