"""Read partitions of a DataFrame in Spark's own Arrow format, several per job, as `toArrow` does: in Java only.

PySpark has no public API for it. All access to PySpark's internals for reading is in this module, and `offered` tells
whether a session supports it. The calls exist in PySpark 4.1 to 4.3. Without them, rows come through Python workers
(`cells`).
"""

import logging
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Final, cast

from ...arrow import RecordBatch, pa
from ..schemas import arrow_schema
from ..types import DataFrame, SparkSession, pyspark

_log = logging.getLogger("pullstream.spark")

_SHUFFLE: Final = "+-"
"""The mark in an RDD's debug string in front of everything before a shuffle."""

_offered: "weakref.WeakKeyDictionary[Any, bool]" = weakref.WeakKeyDictionary()


class ArrowRdd:
    """The partitions of a DataFrame. Calls block; any thread may read."""

    def __init__(self, frame: "DataFrame") -> None:
        """Let Spark plan the DataFrame. With adaptive execution, all its shuffles run now, as jobs of this thread."""
        session: Any = frame.sparkSession
        context: Any = session.sparkContext
        # Looked up once, because each attribute takes one or two calls to Java.
        self._gateway: Any = context._gateway  # noqa: SLF001
        self._scala: Any = context._jsc.sc()  # noqa: SLF001
        self._run: Any = context._jvm.PythonRDD.runJob  # noqa: SLF001
        self._rdd: Any = cast("Any", frame)._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001
        large = session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
        # Batches are sent without their schema; their timestamps are in UTC.
        self.schema = arrow_schema(frame.schema, large=large)
        self.partitions: int = self._rdd.getNumPartitions()
        self.shuffled: bool = _SHUFFLE in self._rdd.toDebugString()
        """Whether it depends on a shuffle: several jobs may then read results of different evaluations."""

    def read(self, partitions: Iterable[int]) -> list[RecordBatch]:
        """Read some partitions with one job; return their batches in order.

        All batches are fetched at once: the rest would stay in Java's heap until it is read.
        """
        job: Any = self._run(self._scala, self._rdd, list(partitions))
        server: Any = job[2]
        try:
            return self._received(job, server)
        finally:
            self._release(job, server)

    def _received(self, job: Any, server: Any) -> list[RecordBatch]:
        batches: list[RecordBatch] = []
        made: Any = pyspark.util._create_local_socket(job)  # noqa: SLF001
        # PySpark 4.1 returns only the stream.
        ends: tuple[Any, ...] = cast("Any", made) if isinstance(made, tuple) else (made,)
        with ExitStack() as stack:
            stream = ends[0]
            for each in reversed(ends):
                stack.enter_context(each)
            while head := stream.read(4):
                size = int.from_bytes(head, "big")
                body = stream.read(size)
                if len(body) < size:
                    raise EOFError("Spark's Java ended in the middle of a batch")
                batches.append(pa.ipc.read_record_batch(pa.py_buffer(body), self.schema))
        # A stream that was cut off looks as if it had ended: this raises the cause.
        server.getResult()
        return [batch for batch in batches if batch.num_rows]

    def _release(self, *served: Any) -> None:
        """Make Java drop the objects now.

        Some versions of py4j do so up to a second late: Java would hold all rows of that second. Others do so at once,
        and need no call.
        """
        client: Any = self._gateway._gateway_client  # noqa: SLF001
        if hasattr(client, "finalizer_deque"):
            for each in served:
                client.garbage_collect_object(each._target_id, enqueue=False)  # noqa: SLF001


def heap(context: Any) -> int:
    """The maximum heap of the driver's Java, in bytes."""
    return int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())  # noqa: SLF001


def job_numbers(session: "SparkSession", tag: str) -> Sequence[int]:
    """The numbers of the jobs with a tag; the public tracker only finds groups."""
    context: Any = session.sparkContext
    return list(context._jsc.sc().statusTracker().getJobIdsForTag(tag))  # noqa: SLF001


def map_stages(session: "SparkSession", jobs: Iterable[int]) -> set[tuple[int, int]] | None:
    """The map stages that ran for jobs, each with its last attempt; None until all jobs have ended and are recorded.

    The public tracker would take seven calls to Java per stage.
    """
    context: Any = session.sparkContext
    tracker: Any = context._jsc.statusTracker()  # noqa: SLF001
    ran: set[tuple[int, int]] = set()
    for job in jobs:
        info = tracker.getJobInfo(job)
        if info is None or info.status().toString() == "RUNNING":
            return None
        # A stage is created, and numbered, after all stages that it depends on: the last one is the result stage.
        for number in sorted(info.stageIds())[:-1]:
            stage = tracker.getStageInfo(number)
            if stage is None:
                return None
            # The number of tasks that ran says nothing: it is reset to 0 when another job that shares the stage
            # begins. A later attempt may have had no tasks, and then was never submitted: if two jobs miss the same
            # files, the second one finds that the first has made them again.
            if stage.submissionTime() or stage.currentAttemptId():
                ran.add((number, stage.currentAttemptId()))
    return ran


def offered(session: "SparkSession") -> bool:
    """Whether a classic session supports this; tried once, with a frame without partitions, so no job starts."""
    context = session.sparkContext
    if context not in _offered:
        try:
            ArrowRdd(session.range(0)).read(())
        except Exception as exc:
            if not context._jsc:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                # The session was stopped, which the caller reports.
                raise
            _log.warning("this PySpark provides no Arrow as expected (%s): rows are read through Python workers", exc)
            _offered[context] = False
        else:
            _offered[context] = True
    return _offered[context]
