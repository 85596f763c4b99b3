"""The ordered route: Spark sorts, and the batches come to the driver one partition after the other.

Nothing is submitted before the first `next`. Spark sorts by time, a range of times to a partition; each partition is
a job of its own, started when the one before has been read, whose rows cross as Arrow batches packed into binary
cells. So the driver holds one batch in Python, and one partition's packed batches in Java. A task that fails and is
tried again changes nothing, because a partition is handed over only when it is whole.

This class knows nothing of the pull protocol; it blocks, and is meant for a thread.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from adapters.arrow import RecordBatch, pyarrow
from adapters.spark.errors import JobCancelled
from adapters.spark.failures import job_error, unlogged
from adapters.spark.reading.timed import TimedFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETRY_SECONDS = 0.05
"""How soon a cancellation is repeated while a call is under way: Spark forgets one that falls between two jobs."""


class OrderedBatches:
    """The Arrow batches of a DataFrame in the order of their times, read on demand.

    The last column of a batch is the time of its rows. `next` and `close` are for one thread at a time each; `cancel`
    may be called from any.
    """

    def __init__(self, timed: TimedFrame) -> None:
        self._frame = timed.frame
        self._context = timed.frame.sparkSession.sparkContext
        self._tag = f"pullstream-{uuid4().hex}"
        self._turn = threading.Lock()
        self._cells: Iterator[Any] | None = None
        self._submitted = False
        self._cancelled = False
        self._ended = False

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end, for ever.

        Raises:
            SparkJobError: the job failed, with Spark's message.
            JobCancelled: `cancel` or `close` was called.
        """
        with self._turn:
            if self._cancelled:
                raise JobCancelled("the Spark job was cancelled")
            if self._ended:
                return None
            cell = self._guarded(self._next_cell)
            if cell is None:
                self._ended = True
                self._cells = None
                return None
        with pyarrow().ipc.open_stream(cell) as reader:
            return reader.read_next_batch()

    def cancel(self) -> None:
        """Cancel the job and have a blocked `next` raise; does not wait for it. Twice is once."""
        self._cancelled = True
        # A context that was stopped (it has then no Java side) has stopped its jobs.
        if self._submitted and not self._ended and self._context._jsc is not None:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            self._context.cancelJobsWithTag(self._tag)

    def close(self) -> None:
        """Cancel the job if it has not ended, and wait until nothing of it is left here. Twice is once."""
        self.cancel()
        while not self._turn.acquire(timeout=RETRY_SECONDS):
            self.cancel()
        try:
            # Dropping the iterator tells Spark to close its end, and reads what it has sent until then.
            self._cells = None
            self._ended = True
        finally:
            self._turn.release()

    def _guarded(self, step: Callable[[], bytes | None]) -> bytes | None:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional dependency

        try:
            with unlogged():
                return step()
        except (Py4JError, PySparkException, OSError, EOFError) as exc:
            self._cells = None
            self._ended = True
            if self._cancelled:
                raise JobCancelled("the Spark job was cancelled") from None
            raise job_error(exc) from None

    def _next_cell(self) -> bytes | None:
        if self._cells is None:
            self._cells = self._submit()
        row = next(self._cells, None)
        return None if row is None else bytes(row[0])

    def _submit(self) -> Iterator[Any]:
        self._submitted = True
        # A tag belongs to the thread that submits, and is inherited by what Spark starts from it. The thread goes
        # back to a pool afterwards, where the next user must not find it.
        self._context.addJobTag(self._tag)
        try:
            packed: DataFrame = cast("Any", self._frame).mapInArrow(_packing(), "batch binary")
            return packed.toLocalIterator()
        finally:
            self._context.removeJobTag(self._tag)


def _packing() -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    """The function that the executors run; an inner one, because those travel by value and need no install there."""

    def pack(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        # Imported where it runs, and not through this package, which need not be there.
        pa: Any = import_module("pyarrow")
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            cell = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], ["batch"])

    return pack
