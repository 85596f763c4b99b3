"""DataFrames of Spark Connect, read as the Arrow batches in which Connect sends every result.

One query delivers all rows in the order of the partitions, and runs no Python on the executors. The server continues to
compute while nobody reads, and keeps results that were not fetched yet, so a reader that has enough, or fails, must
interrupt it. This class blocks, and runs in a thread.
"""

import threading
from collections.abc import Generator, Sequence
from typing import Any

from ...arrow import RecordBatch
from ..reading.jobs import Jobs, progress
from ..types import DataFrame


class ConnectBatches:
    """The batches of a DataFrame, in order; for one thread at a time."""

    ready = False

    def __init__(self, frame: "DataFrame", jobs: Jobs) -> None:
        self._frame = frame
        self._session: Any = frame.sparkSession
        self._jobs = jobs
        self._batches: Any = None
        self._thread: int | None = None
        self.doing = ""
        """The current activity of Spark, as its server last reported it."""

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end. Raises as `OrderedBatches.next` does."""
        self._thread = threading.get_ident()
        try:
            return self._jobs.submit(self._first) if self._batches is None else self._jobs.call(self._following)
        finally:
            self._thread = None

    def close(self) -> None:
        """Release the query, which must have ended or been interrupted. Idempotent."""
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
        self.doing = progress([stage.stage_id for stage in at_work], done, of_all) if at_work else ""


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
