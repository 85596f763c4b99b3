"""A DataFrame's batches from its partitions, in order: a window of jobs over what Spark has planned."""

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
from .window import Spans, Window, ample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_THREADS: Final = 8
"""Jobs at once; where there are more slots than that, each reads several partitions."""

SHARE: Final = 8
"""The part of the Java heap, one in so many, that jobs which have not been taken may bring."""


ROUNDS: Final = 5
"""Times that what was handed on is compared before a read is given up, if shuffles are computed again meanwhile."""


@attrs.frozen(eq=False)
class Part:
    """The result of a job."""

    span: range
    batches: list[RecordBatch]
    digest: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Its bytes, about."""
        return sum(batch.nbytes for batch in self.batches)


class Partitions:
    """The batches of a DataFrame in its order; for one thread at a time.

    Jobs, one for each partition or for a few small ones, are as many ahead of what is taken as Spark has slots, and
    what they bring is at once in Python: so an idle consumer holds no slot, and nothing in Java.

    Where Spark has computed a shuffle again (`reruns`), all that was not handed on is read anew, and what was is read
    again and compared: if the rows are the same, the stream goes on.
    """

    def __init__(self, frame: "DataFrame", jobs: Jobs) -> None:
        self._frame = frame
        self._jobs = jobs
        self._reruns: Reruns | None = None
        self._digests = False
        self._window: Window[Part] | None = None
        self._handed_on: list[tuple[range, tuple[int, int] | None]] = []
        self._next = 0
        """The first partition that was not handed on."""
        self._batches: deque[RecordBatch] = deque()

    @property
    def ready(self) -> bool:
        """Whether `next` has nothing to wait for."""
        return bool(self._batches)

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
        """Wait for what is being read; its jobs have ended, or were cancelled. Twice is once."""
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
        # In one process with the driver nothing of a shuffle is lost, unless somebody deletes its files; and what a
        # partition is made of, and sent as, is in the same memory.
        self._local = master == "local" or master.startswith("local[")
        if self._rdd.shuffled:
            self._reruns = Reruns(session)
            self._digests = not self._local

    def _opened(self) -> Window[Part]:
        alone = self._local and not self._next and not self._ample
        spans = Spans(self._rdd.partitions, self._budget, self._least, self._next, alone=alone)
        return Window(self._read, spans, self._width, _size)

    def _read(self, span: range) -> Part:
        if self._reruns is None:
            return Part(span, self._jobs.submit(lambda: self._rdd.read(span)))
        tag = f"{self._jobs.tag}-{uuid4().hex}"
        batches = self._jobs.submit(lambda: self._rdd.read(span), tag)
        self._jobs.call(partial(self._reruns.look, tag))
        return Part(span, batches, digest(batches) if self._digests else None)

    def _compare(self) -> None:
        """Read again what was handed on, and go on only if it is the same, and no shuffle has run meanwhile."""
        assert self._reruns is not None, "it has noticed something"
        for _ in range(ROUNDS):
            if not self._handed_on:
                return
            if not self._digests:
                raise changed("what was handed on cannot be compared with it")
            spans = Spans(len(self._handed_on), self._budget, grows=False)
            again = Window(lambda place: self._read(self._handed_on[place.start][0]), spans, self._width, _size)
            try:
                for span, before in self._handed_on:
                    part = again.take()
                    if part is not None and part.digest != before:
                        raise changed(f"{_named(span)}, handed on before, has other rows now")
            finally:
                again.close()
            self._jobs.check()
            if not self._reruns.due:
                return
            self._reruns.due = False
        raise changed("has done so again each time it was compared")


def _size(part: Part) -> int:
    return part.size


def _named(span: range) -> str:
    return f"partition {span.start}" if len(span) == 1 else f"one of the partitions {span.start} to {span.stop - 1}"
