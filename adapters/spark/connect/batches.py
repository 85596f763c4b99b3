"""A DataFrame of Spark Connect, read as the Arrow batches in which Connect itself sends every result.

One query brings all of it, in the order of the partitions, and no Python runs for it on the executors. The server goes
on computing while nobody reads here, and keeps what was not fetched yet: a reader that has enough, or fails, has to
interrupt it. This class blocks, and is meant for a thread.
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

    `next` and `close` are for one thread at a time each; `cancel` may be called from any.
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
        """Wait for the next batch; None at the end, for ever; and so for a failure.

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
            # What is left of the result would look like its end.
            self._failure = exc
            raise
        finally:
            self._thread = None
        if batch is None:
            self._ended = True
            self._jobs.ended()
        return batch

    def doing(self) -> str:
        """Say what Spark does at the moment, as its server has said it last."""
        return self._doing

    def cancel(self) -> None:
        """Interrupt the query and have a blocked `next` raise; does not wait for it. Twice is once."""
        self._jobs.cancel()

    def close(self) -> None:
        """Interrupt the query if it has not ended, and wait until nothing of it is left here. Twice is once."""
        self._jobs.close()
        batches, self._batches = self._batches, None
        if batches is not None:
            self._session.removeProgressHandler(self._progress)
            # Tells the server that what it has kept is not wanted any more.
            batches.close()

    def _first(self) -> RecordBatch | None:
        self._batches = _batches(self._frame)
        self._session.registerProgressHandler(self._progress)
        return self._following()

    def _following(self) -> RecordBatch | None:
        return next(self._batches, None)

    def _progress(self, stages: "Sequence[Any] | None", **_: object) -> None:
        # Of all operations of the session, each is told of in the thread that reads it.
        if threading.get_ident() != self._thread:
            return
        at_work = [stage for stage in stages or () if not stage.done]
        done, of_all = sum(stage.num_completed_tasks for stage in at_work), sum(stage.num_tasks for stage in at_work)
        numbers = ", ".join(str(stage.stage_id) for stage in at_work)
        self._doing = f"Spark: stage {numbers}, {done} of {of_all} tasks done" if at_work else ""


def _batches(frame: "DataFrame") -> Generator[RecordBatch]:
    """The batches of a result, as they come.

    PySpark's rows come from these, too, and there is no public way to have them one after the other. Where they are
    not, the public way brings all of them at once.
    """
    used: Any = frame
    read: Any = getattr(used.sparkSession.client, "to_table_as_iterator", None)
    if read is None or not hasattr(used, "_plan"):
        yield from used.toArrow().to_batches()
        return
    plan = used._plan  # noqa: SLF001
    for table in read(plan.to_proto(used.sparkSession.client), plan.observations):
        # The first that comes is the schema.
        if hasattr(table, "to_batches"):
            yield from table.to_batches()
