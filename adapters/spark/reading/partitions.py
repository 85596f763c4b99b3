"""Read a DataFrame's partitions in order, with several jobs ahead of the consumer."""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import attrs

from ...arrow import RecordBatch
from .arrow_rdd import ArrowRdd, heap
from .digests import digest
from .jobs import Jobs
from .reruns import Reruns, changed
from .window import Spans, SpansAhead, ample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_THREADS: Final = 8
"""The most jobs at once; if there are more slots, each job reads several partitions."""

SHARE: Final = 8
"""The results of jobs that were not taken yet may use this fraction of the Java heap: 1 / SHARE."""

ROUNDS: Final = 5
"""The most comparisons of delivered rows before a read fails, if shuffles are recomputed during each."""


@attrs.frozen(eq=False)
class JobResult:
    """The result of a job."""

    span: range
    batches: list[RecordBatch]
    digest: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return sum(batch.nbytes for batch in self.batches)


class Partitions:
    """The batches of a DataFrame, in order; for one thread at a time.

    A job reads one partition or a few small ones. As many jobs run ahead of the consumer as Spark has slots. Their
    results move to Python at once, so an idle consumer occupies no slot and no memory in Java.

    If Spark recomputes a shuffle (`reruns`), partitions that were not delivered yet are read again, and delivered ones
    are read again and compared. If the rows are the same, the stream continues.
    """

    doing = ""

    def __init__(self, frame: "DataFrame", jobs: Jobs) -> None:
        self._frame = frame
        self._jobs = jobs
        self._reruns: Reruns | None = None
        self._digests = False
        self._window: SpansAhead[JobResult] | None = None
        self._handed_on: list[tuple[range, tuple[int, int] | None]] = []
        self._next = 0
        """The first partition that was not delivered."""
        self._batches: deque[RecordBatch] = deque()

    @property
    def ready(self) -> bool:
        """Whether `next` returns without waiting."""
        return bool(self._batches)

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end. Raises as `OrderedBatches.next` does."""
        while not self._batches:
            part = self.part()
            if part is None:
                return None
            self._batches.extend(part.batches)
        return self._batches.popleft()

    def part(self) -> JobResult | None:
        """Wait for the next job's batches; raises as `next` does."""
        if self._window is None:
            self._jobs.submit(self._open)
            self._window = self._opened()
        part = self._window.take()
        while self._reruns is not None and self._reruns.due:
            self._window.close()
            self._reruns.due = False
            self._compare()
            self._window = self._opened()
            part = self._window.take()
        if part is not None:
            self._next = part.span.stop
            if self._reruns is not None:
                self._handed_on.append((part.span, part.digest))
        return part

    def close(self) -> None:
        """Wait for the threads that read; their jobs must have ended or been cancelled. Idempotent."""
        if self._window is not None:
            self._window.close()
        self._batches.clear()

    def _open(self) -> None:
        session = self._frame.sparkSession
        context: Any = session.sparkContext
        self._rdd = ArrowRdd(self._frame)
        self._width = min(max(1, context.defaultParallelism), MOST_THREADS)
        self._least = -(-context.defaultParallelism // self._width)
        memory = heap(context)
        self._budget = memory // SHARE
        self._ample = ample(memory, self._width)
        master = context.master or ""
        # In local mode no executor can be lost, so shuffle files stay unless they are deleted by hand. But the driver's
        # heap also holds the data that a partition is computed from, and the Arrow data that is sent.
        self._local = master == "local" or master.startswith("local[")
        if self._rdd.shuffled:
            self._reruns = Reruns(session)
            self._digests = not self._local

    def _opened(self) -> SpansAhead[JobResult]:
        alone = self._local and not self._next and not self._ample
        spans = Spans(self._rdd.partitions, self._budget, self._least, self._next, alone=alone)
        return SpansAhead(self._read, spans, self._width, _size)

    def _read(self, span: range) -> JobResult:
        if self._reruns is None:
            return JobResult(span, self._jobs.submit(lambda: self._rdd.read(span)))
        tag = f"{self._jobs.tag}-{uuid4().hex}"
        batches = self._jobs.submit(lambda: self._rdd.read(span), tag)
        self._jobs.call(partial(self._reruns.look, tag))
        return JobResult(span, batches, digest(batches) if self._digests else None)

    def _compare(self) -> None:
        """Read the delivered partitions again; raise unless they are the same and no shuffle ran meanwhile."""
        assert self._reruns is not None, "a rerun was detected"
        for _ in range(ROUNDS):
            if not self._handed_on:
                return
            if not self._digests:
                raise changed("the rows already delivered cannot be compared")
            spans = Spans(len(self._handed_on), self._budget, grows=False)
            again = SpansAhead(lambda place: self._read(self._handed_on[place.start][0]), spans, self._width, _size)
            try:
                for span, before in self._handed_on:
                    part = again.take()
                    if part is not None and part.digest != before:
                        raise changed(f"{_named(span)}, already delivered, has other rows now")
            finally:
                again.close()
            self._jobs.check()
            if not self._reruns.due:
                return
            self._reruns.due = False
        raise changed("has done so again each time it was compared")


def _size(part: JobResult) -> int:
    return part.size


def _named(span: range) -> str:
    return f"partition {span.start}" if len(span) == 1 else f"one of the partitions {span.start} to {span.stop - 1}"
