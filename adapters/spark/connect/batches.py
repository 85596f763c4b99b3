"""DataFrames of Spark Connect, read as the Arrow batches in which Connect sends every result.

One query delivers all rows in the order of the partitions, and runs no Python on the executors. The server continues to
compute while nobody reads, and keeps results that were not fetched yet, so a reader that has enough, or fails, must
interrupt it. This class blocks, and runs in a thread.
"""

import threading
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from ...arrow import RecordBatch
from ..reading.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ConnectBatches:
    """The Arrow batches of a DataFrame, read on demand.

    `next` and `close` may each be called from one thread at a time; `cancel` from any.
    """

    ready = False

    def __init__(self, frame: "DataFrame") -> None:
        self._frame = frame
        self._session: Any = frame.sparkSession
        self._jobs = Jobs(frame.sparkSession)
        self._batches: Any = None
        self._thread: int | None = None
        self._doing = ""
        self._failure: Exception | None = None
        self._ended = False

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end and ever after. A failure is raised again at each call.

        Raises:
            SparkJobError: the query failed, with Spark's message.
            JobCancelled: `cancel` or `close` was called.
        """
        if self._ended:
            return None
        if self._failure is not None:
            raise self._failure
        self._thread = threading.get_ident()
        try:
            batch = self._jobs.submit(self._first) if self._batches is None else self._jobs.call(self._following)
        except Exception as exc:
            # The rest of the result would look like its end.
            self._failure = exc
            raise
        finally:
            self._thread = None
        if batch is None:
            self._ended = True
            self._jobs.ended()
        return batch

    def doing(self) -> str:
        """The current activity of Spark, as its server last reported it."""
        return self._doing

    def cancel(self) -> None:
        """Interrupt the query and make a blocked `next` raise; does not wait. A second call has no effect."""
        self._jobs.cancel()

    def close(self) -> None:
        """Interrupt the query if it has not ended, and wait until it has released everything. Can be called twice."""
        self._jobs.close()
        batches, self._batches = self._batches, None
        if batches is not None:
            self._session.removeProgressHandler(self._progress)
            # Lets the server drop the results that it keeps.
            batches.close()

    def _first(self) -> RecordBatch | None:
        self._batches = _batches(self._frame)
        self._session.registerProgressHandler(self._progress)
        return self._following()

    def _following(self) -> RecordBatch | None:
        return next(self._batches, None)

    def _progress(self, stages: "Sequence[Any] | None", **_: object) -> None:
        # The session reports all of its operations, each in the thread that reads it.
        if threading.get_ident() != self._thread:
            return
        at_work = [stage for stage in stages or () if not stage.done]
        done, of_all = sum(stage.num_completed_tasks for stage in at_work), sum(stage.num_tasks for stage in at_work)
        numbers = ", ".join(str(stage.stage_id) for stage in at_work)
        self._doing = f"Spark: stage {numbers}, {done} of {of_all} tasks done" if at_work else ""


def _batches(frame: "DataFrame") -> Generator[RecordBatch]:
    """Iterate over the batches of a result as they arrive.

    PySpark makes its rows from these, but has no public way to get them one by one. If the private way is missing, the
    public one fetches all of them at once.
    """
    used: Any = frame
    read: Any = getattr(used.sparkSession.client, "to_table_as_iterator", None)
    if read is None or not hasattr(used, "_plan"):
        yield from used.toArrow().to_batches()
        return
    plan = used._plan  # noqa: SLF001
    for table in read(plan.to_proto(used.sparkSession.client), plan.observations):
        # The first item is the schema.
        if hasattr(table, "to_batches"):
            yield from table.to_batches()
