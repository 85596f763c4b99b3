"""A DataFrame's batches from its partitions, in order: a window of jobs over what Spark has planned."""

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs

from adapters.arrow import RecordBatch
from adapters.spark.reading.arrow_rdd import ArrowRdd, heap
from adapters.spark.reading.jobs import Jobs
from adapters.spark.reading.window import Spans, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_THREADS: Final = 8
"""Jobs at once; where there are more slots than that, each reads several partitions."""

SHARE: Final = 8
"""The part of the Java heap, one in so many, that jobs which have not been taken may bring."""


@attrs.frozen(eq=False)
class Part:
    """What a job has read."""

    span: range
    batches: list[RecordBatch]

    @property
    def size(self) -> int:
        """Its bytes, about."""
        return sum(batch.nbytes for batch in self.batches)


class Partitions:
    """The batches of a DataFrame in its order; for one thread at a time.

    Jobs, one for each partition or for a few small ones, are as many ahead of what is taken as Spark has slots, and
    what they bring is at once in Python: so an idle consumer holds no slot, and nothing in Java.
    """

    def __init__(self, frame: "DataFrame", jobs: Jobs) -> None:
        self._frame = frame
        self._jobs = jobs
        self._window: Window[Part] | None = None
        self._batches: deque[RecordBatch] = deque()

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end. Raises as `OrderedBatches.next` does."""
        while not self._batches:
            part = self.part()
            if part is None:
                return None
            self._batches.extend(part.batches)
        return self._batches.popleft()

    def part(self) -> Part | None:
        """Wait for the next job's batches; raises as `next` does."""
        if self._window is None:
            self._window = self._jobs.submit(self._opened)
        return self._window.take()

    def close(self) -> None:
        """Wait for what is being read; its jobs have ended, or were cancelled. Twice is once."""
        if self._window is not None:
            self._window.close()
        self._batches.clear()

    def _opened(self) -> Window[Part]:
        context: Any = self._frame.sparkSession.sparkContext
        self._rdd = ArrowRdd(self._frame)
        slots = max(1, context.defaultParallelism)
        width = min(slots, MOST_THREADS)
        spans = Spans(self._rdd.partitions, heap(context) // SHARE, -(-slots // width))
        return Window(self._read, spans, width, lambda part: part.size)

    def _read(self, span: range) -> Part:
        return Part(span, self._jobs.submit(lambda: self._rdd.read(span)))
