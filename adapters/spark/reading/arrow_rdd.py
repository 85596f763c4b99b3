"""A DataFrame's partitions as Spark's own Arrow, some of them a job: what `toArrow` stands on, in Java alone.

PySpark has no public way to it. Whatever reading needs of its inside is in this file, and `offered` says whether a
session has it; the calls were there from 4.1 to 4.3, and where they are missing the rows come through Python workers
(`cells`).
"""

import logging
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from ...arrow import RecordBatch, Schema, pyarrow
from ..schemas import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("pullstream.spark")

_SHUFFLE: Final = "+-"
"""The mark in front of all that is behind a shuffle in an RDD's description of itself."""

_offered: "weakref.WeakKeyDictionary[Any, bool]" = weakref.WeakKeyDictionary()


class ArrowRdd:
    """The partitions of a DataFrame. It blocks, and any thread may read."""

    def __init__(self, frame: "DataFrame") -> None:
        """Let Spark plan it; with adaptive execution, all its shuffles run now, as jobs of this thread."""
        session: Any = frame.sparkSession
        context: Any = session.sparkContext
        # Looked up once: each name on the way to Java's is a call or two.
        self._gateway: Any = context._gateway  # noqa: SLF001
        self._scala: Any = context._jsc.sc()  # noqa: SLF001
        self._run: Any = context._jvm.PythonRDD.runJob  # noqa: SLF001
        self._rdd: Any = cast("Any", frame)._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001
        self.schema = _schema(frame)
        self.partitions: int = self._rdd.getNumPartitions()
        self.shuffled: bool = _SHUFFLE in self._rdd.toDebugString()
        """Whether there is a shuffle before it: what several jobs read may then come from several evaluations."""

    def read(self, partitions: Iterable[int]) -> list[RecordBatch]:
        """The batches of some partitions, in their order; a job.

        It is taken over at once: whatever is left in Java would be in its heap until somebody asks.
        """
        job: Any = self._run(self._scala, self._rdd, list(partitions))
        server: Any = job[2]
        try:
            return self._received(job, server)
        finally:
            self._let_go(job, server)

    def _received(self, job: Any, server: Any) -> list[RecordBatch]:
        batches: list[RecordBatch] = []
        made: Any = import_module("pyspark.util")._create_local_socket(job)  # noqa: SLF001
        # In 4.1 it is the stream alone.
        ends: tuple[Any, ...] = cast("Any", made) if isinstance(made, tuple) else (made,)
        with ExitStack() as stack:
            stream = ends[0]
            for each in reversed(ends):
                stack.enter_context(each)
            while head := stream.read(4):
                size = int.from_bytes(head, "big")
                body = stream.read(size)
                if len(body) < size:
                    raise EOFError("Spark's Java ended in the midst of a batch")
                batches.append(pyarrow().ipc.read_record_batch(pyarrow().py_buffer(body), self.schema))
        # The end of the stream is no word for its being whole; this raises what has broken it off.
        server.getResult()
        return [batch for batch in batches if batch.num_rows]

    def _let_go(self, *served: Any) -> None:
        """Let Java drop what it has served, which py4j tells it up to a second late: all rows of that second.

        Where it tells at once, it needs no word.
        """
        client: Any = self._gateway._gateway_client  # noqa: SLF001
        if hasattr(client, "finalizer_deque"):
            for each in served:
                client.garbage_collect_object(each._target_id, enqueue=False)  # noqa: SLF001


def heap(context: Any) -> int:
    """The bytes that the driver's Java may have."""
    return int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())  # noqa: SLF001


def job_numbers(session: "SparkSession", tag: str) -> Sequence[int]:
    """The numbers of the jobs that have a tag; the public tracker knows groups only."""
    context: Any = session.sparkContext
    return list(context._jsc.sc().statusTracker().getJobIdsForTag(tag))  # noqa: SLF001


def map_stages(session: "SparkSession", jobs: Iterable[int]) -> set[tuple[int, int]] | None:
    """The map stages that had to run for jobs, each with its last attempt; None as long as not all is known of them.

    The public tracker asks Java seven times about a stage.
    """
    context: Any = session.sparkContext
    tracker: Any = context._jsc.statusTracker()  # noqa: SLF001
    ran: set[tuple[int, int]] = set()
    for job in jobs:
        info = tracker.getJobInfo(job)
        if info is None or info.status().toString() == "RUNNING":
            return None
        # Those that a stage stands on are made, and numbered, before it.
        for number in sorted(info.stageIds())[:-1]:
            stage = tracker.getStageInfo(number)
            if stage is None:
                return None
            # How many of its tasks have run says less: a job that begins, and shares the stage, has the record of its
            # attempt begin anew, with none. An attempt after the first one may have had no tasks, and then was not
            # submitted: of two jobs that miss the same files the later one finds that they have been made again.
            if stage.submissionTime() or stage.currentAttemptId():
                ran.add((number, stage.currentAttemptId()))
    return ran


def offered(session: "SparkSession") -> bool:
    """Whether a classic session has what this needs; tried once, with a frame of no partitions, which is no job."""
    context = session.sparkContext
    if context not in _offered:
        try:
            ArrowRdd(session.range(0)).read(())
        except Exception as exc:
            if not context._jsc:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                # It was stopped, and what that means is told by who asks.
                raise
            _log.warning("this PySpark does not give Arrow as others do (%s): rows come by way of Python workers", exc)
            _offered[context] = False
        else:
            _offered[context] = True
    return _offered[context]


def _schema(frame: "DataFrame") -> Schema:
    """The schema of the batches, which travel without; their times are in UTC."""
    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    return arrow_schema(frame.schema, large=large)
