"""Read a DataFrame's partitions in order, with several jobs ahead of the consumer."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import uuid4

import attrs

from pullstream.authoring import start_in_thread

from ...arrow import RecordBatch
from ..types import DataFrame
from .arrow_rdd import ArrowRdd, heap, job_numbers
from .jobs import Jobs, in_one_process
from .reruns import Reruns, changed, digest

T = TypeVar("T")

SHORT: Final = 0.25
"""Seconds below which the cost of a job's start (about 20 ms) matters, so that the next job reads more partitions."""

GROWTH: Final = 4
"""The factor by which the number of partitions grows if the last ones were too small to predict the next ones."""

PREDICTIVE: Final = 64_000
"""The size in bytes from which a partition predicts the next ones: as many are then read as are expected to fit."""

MOST: Final = 16
"""The maximum number of partitions in a job, because the size of its result is known only afterwards."""

LITTLE: Final = 32_000_000
"""The largest expected result of a job with several partitions, in bytes."""

LARGE: Final = 500_000_000
"""The size of a large partition in bytes; most are smaller."""

COPIES: Final = 4
"""The number of copies of a partition in the driver's Java while it arrives."""


def ample(memory: int, width: int) -> bool:
    """Whether `width` jobs may start at once before the size of a partition is known."""
    return memory >= width * COPIES * LARGE


@attrs.define(eq=False)
class Spans:
    """Chooses the neighbouring partitions of each job: one, or several small ones to offset the cost of its start."""

    partitions: int
    budget: int
    """The maximum bytes that may wait to be taken, estimated from earlier results; one job is always allowed."""
    least: int = 1
    """The minimum number of partitions in a job, so that no executor is idle."""
    next: int = 0
    grows: bool = True
    """Whether a job may read several partitions because they are small."""
    alone: bool = False
    """Whether the first job runs alone, because its result may fill the memory."""
    _several: int = 1
    _largest: int | None = None

    def following(self) -> range | None:
        """Return the partitions of the next job; None if there are no more."""
        if self.next >= self.partitions:
            return None
        span = range(self.next, min(self.next + max(self._several, self.least), self.partitions))
        self.next = span.stop
        return span

    def fits(self, ahead: int) -> bool:
        """Whether another job may start while the results of `ahead` jobs were not taken yet."""
        if self._largest is None:
            return not (ahead and self.alone)
        return not ahead or (ahead + 1) * self._largest <= self.budget

    def took(self, span: range, seconds: float, size: int) -> None:
        """Note the duration and the size of a job's result."""
        self._largest = max(self._largest or 0, size)
        growth = 1
        if self.grows and seconds < SHORT and len(span) >= self._several:
            growth = MOST if size >= PREDICTIVE * len(span) else GROWTH
        fitting = LITTLE * len(span) // max(1, size)
        self._several = max(1, min(growth * self._several, fitting, MOST))


class SpansAhead(Generic[T]):
    """Reads spans in threads, at most `width` ahead of the consumer.

    `take` is for one thread at a time, `close` for any thread.
    """

    def __init__(self, read: Callable[[range], T], spans: Spans, width: int, size: Callable[[T], int]) -> None:
        self._read = read
        self._spans = spans
        self._width = width
        self._size = size
        self._turn = threading.RLock()
        self._results: deque[Future[T]] = deque()
        self._over = False

    def take(self) -> T | None:
        """Wait for the result of the next span, or raise its error; None at the end or after `close`."""
        self._begin()
        if not self._results:
            return None
        result = self._results[0]
        try:
            return result.result()
        finally:
            with self._turn:
                self._results.popleft()
            self._begin()

    def close(self) -> None:
        """Start no more jobs, and wait for the running ones. Idempotent."""
        with self._turn:
            self._over = True
        wait(list(self._results))

    def _begin(self) -> None:
        """Start the jobs for which there is room."""
        with self._turn:
            ahead, spans = self._results, self._spans
            while not self._over and len(ahead) < self._width and spans.fits(len(ahead)):
                span = spans.following()
                if span is None:
                    break
                ahead.append(start_in_thread(self._work, span))

    def _work(self, span: range) -> T:
        start = time.monotonic()
        try:
            result = self._read(span)
        except BaseException:
            self._over = True
            raise
        with self._turn:
            self._spans.took(span, time.monotonic() - start, self._size(result))
        self._begin()
        return result


MOST_THREADS: Final = 8
"""The maximum number of jobs at once; if there are more slots, each job reads several partitions."""

SHARE: Final = 8
"""The results of jobs that were not taken yet may use this fraction of the Java heap: 1 / SHARE."""

ROUNDS: Final = 5
"""The number of comparisons of delivered rows after which a read fails, if shuffles are recomputed during each."""


@attrs.frozen(eq=False)
class JobResult:
    """The result of a job."""

    span: range
    batches: list[RecordBatch]
    digest: tuple[int, int] | None = None


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
        self._delivered: list[tuple[range, tuple[int, int] | None]] = []
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
            if part is None:
                return None
            self._next = part.span.stop
            if self._reruns is not None:
                self._delivered.append((part.span, part.digest))
            self._batches.extend(part.batches)
        return self._batches.popleft()

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
        # In local mode no executor can be lost, so shuffle files stay unless they are deleted by hand. But the driver's
        # heap also holds the data that a partition is computed from, and the Arrow data that is sent.
        self._local = in_one_process(context)
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
        self._jobs.call(partial(self._reruns.look, partial(job_numbers, self._frame.sparkSession, tag)))
        return JobResult(span, batches, digest(batches) if self._digests else None)

    def _compare(self) -> None:
        """Read the delivered partitions again; raise unless they are the same and no shuffle ran meanwhile."""
        assert self._reruns is not None, "a rerun was detected"
        for _ in range(ROUNDS):
            if not self._delivered:
                return
            if not self._digests:
                raise changed("the rows already delivered cannot be compared")
            spans = Spans(len(self._delivered), self._budget, grows=False)
            again = SpansAhead(lambda place: self._read(self._delivered[place.start][0]), spans, self._width, _size)
            try:
                for span, before in self._delivered:
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
    return sum(batch.nbytes for batch in part.batches)


def _named(span: range) -> str:
    return f"partition {span.start}" if len(span) == 1 else f"one of the partitions {span.start} to {span.stop - 1}"
