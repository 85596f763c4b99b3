"""`from_dataframe`: a DataFrame as a source in time order."""

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar

import trio
from typing_extensions import override

from adapters.arrow import Shape
from adapters.spark.reading.ordered import OrderedBatches
from adapters.spark.reading.timed import TimedFrame, timed
from pullstream.blueprint import Module, Source
from pullstream.engine.kernel import Kernel
from pullstream.protocol import DONE, Batch, Done

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Stretch = tuple[Hashable, list[Any]]


def from_dataframe(df: "DataFrame", *, time: "str | Column") -> Source[Any]:
    """Read a DataFrame in time order: every row a named tuple, every batch at its rows' time.

    `time` is a column's name, or an expression over the columns, of type DATE (a `datetime.date`), TIMESTAMP (an int:
    microseconds since 1970, in UTC), a whole number, or STRING. Spark sorts by it. For rows see `adapters.arrow.Shape`.

    Nothing runs in Spark before the first ask; a partition is computed when the one before has been read. The driver
    holds one Arrow batch (10,000 rows) in Python, and in Java one partition, which is never less than all rows of one
    time. Every run of the blueprint is a query of its own. An abort cancels the Spark job.

    Raises:
        CompositionError: when composing; the time does not exist, or cannot be one.
        NullTimeError: at the first ask; a row has no time.
        SparkJobError: at an ask; the job failed, with Spark's message.

    ```python
    ps.run(ps.pipe(spark.from_dataframe(flights, time="day"), ps.map(lambda row: row.carrier), ps.collect()))
    ```
    """
    checked = timed(df, time)
    return Source((Module("from_dataframe", FrameSource, (checked,)),))


class FrameSource(Kernel[Any]):
    """Reads a DataFrame in a thread, a batch when what there was has been handed on."""

    trusted: ClassVar[bool] = True

    def __init__(self, frame: TimedFrame) -> None:
        self._frame = frame
        self._shape = Shape("rows", frame.names)
        self._runs: deque[Stretch] = deque()
        self._stretch: Stretch | None = None
        self._given = 0

    @override
    async def acquire(self) -> None:
        self._batches = OrderedBatches(self._frame)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while self._stretch is None:
            if self._runs:
                self._stretch = self._runs.popleft()
            # A cancelled wait leaves the thread behind, and `release` makes it come back and waits for it.
            elif (runs := await trio.to_thread.run_sync(self._read, abandon_on_cancel=True)) is None:
                return DONE
            else:
                self._runs.extend(runs)
        time, rows = self._stretch
        part = rows[self._given : self._given + limit] if len(rows) - self._given > limit or self._given else rows
        self._given += len(part)
        if self._given == len(rows):
            self._stretch, self._given = None, 0
        return Batch(time, part)

    @override
    async def release(self) -> None:
        await trio.to_thread.run_sync(self._batches.close, abandon_on_cancel=True)

    def _read(self) -> "list[Stretch] | None":
        batch = self._batches.next()
        if batch is None:
            return None
        *columns, time = range(batch.num_columns)
        return list(self._shape.runs(batch.select(columns), batch.column(time), self._frame.time))
