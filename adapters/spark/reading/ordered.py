"""Read a DataFrame's batches in order, and the source that delivers them.

`OrderedBatches` reads Spark's own Arrow format, a window of partitions at a time (`partitions`), or else through Python
workers (`cells`); with Spark Connect, it reads what the server sends (`connect.batches`). It is independent of the pull
protocol: its calls block, and are meant for a thread.
"""

from bisect import bisect_left
from contextlib import suppress
from typing import Any, Final

import trio
from typing_extensions import override

from pullstream import DONE, Batch
from pullstream.authoring import Ascending, Backlog, Done, Kernel, Late, Location, Traits
from pullstream.errors import CapabilityError

from ...arrow import As, RecordBatch
from ...stopping import in_thread
from ..connect.batches import ConnectBatches
from ..types import DataFrame
from .arrow_rdd import offered
from .cells import Cells
from .jobs import Jobs, is_connect, spark_errors
from .partitions import Partitions
from .timed import Cutting, TimedFrame


class Lateness:
    """Tracks the earliest time that may still arrive: the latest time so far, minus the lateness."""

    def __init__(self, lateness: Any, late: object, location: Location) -> None:
        self._lateness = lateness
        self._late = late
        self._location = location
        self._latest: Any = None
        self._least: Any = None

    def admitted(self, batch: Batch[Any]) -> Batch[Any] | None:
        """Return the values of a batch that are not late, in order of time; None if there are none."""
        times, values = batch.times, batch.values
        count = 0 if self._least is None else bisect_left(times, self._least)
        if not count:
            return batch
        if self._late == "error":
            raise CapabilityError(
                f"{self._location} got a value that is too late: {values[0]!r} is at {times[0]!r}, after "
                f"{self._latest!r} arrived, and may be at most {self._lateness!r} behind. Allow more lateness, or "
                f'set late="drop" or late= a sink for such values'
            )
        if self._late == "drop":
            self._location.leave_out(count)
            return batch.part(count) if count < len(values) else None
        marks = map(Late, values[:count])
        return Batch.of(Ascending([self._least] * count + list(times[count:])), [*marks, *values[count:]])

    def passed(self, time: Any) -> None:
        """Note the latest time of a batch, in the step in which it is delivered."""
        if self._latest is None or time > self._latest:
            self._latest = time
            # There may be no date that early: then every date may still arrive.
            with suppress(OverflowError):
                self._least = time - self._lateness
                self._location.advance(self._least)


LOOK_SECONDS: Final = 1.0
"""Seconds between checks of Spark's progress while no rows arrive."""

TOGETHER: Final = 16
"""The maximum number of batches delivered at once: a whole partition would be kept until its last batch is taken."""


class OrderedBatches:
    """The Arrow batches of a DataFrame in the order of its partitions, read on demand.

    Nothing is submitted before the first `next`. A retried task changes nothing, because a partition is delivered only
    when it is complete. `next` and `close` may each be called by one thread at a time, `cancel` by any thread.
    """

    def __init__(self, frame: "DataFrame") -> None:
        self._frame = frame
        self._jobs = Jobs(frame.sparkSession)
        self._way: Partitions | Cells | ConnectBatches | None = None
        self._failure: Exception | None = None
        self._ended = False

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None from the end on. Raises as `Jobs.submit` does, and again in later calls."""
        if self._ended:
            return None
        self._jobs.check()
        if self._failure is not None:
            raise self._failure
        try:
            if self._way is None:
                self._way = self._jobs.call(self._choose)
            batch = self._way.next()
        except Exception as exc:
            self._failure = exc
            raise
        if batch is None:
            self._ended = True
            self._jobs.ended()
        return batch

    @property
    def ready(self) -> bool:
        """Whether `next` returns without waiting, because its batch has already arrived."""
        return self._way is not None and self._way.ready

    def doing(self) -> str:
        """Describe what Spark is doing; any thread may call it, and it blocks briefly."""
        return self._jobs.doing() or ("" if self._way is None else self._way.doing)

    def cancel(self) -> None:
        """Cancel the jobs, so that a blocked `next` raises; does not wait for it. Idempotent."""
        self._jobs.cancel()

    def close(self) -> None:
        """Cancel the jobs if they have not ended, and wait until all threads and buffers are released. Idempotent."""
        self._jobs.close()
        if self._way is not None:
            self._way.close()

    def _choose(self) -> Partitions | Cells | ConnectBatches:
        if is_connect(self._frame):
            return ConnectBatches(self._frame, self._jobs)
        return (Partitions if offered(self._frame.sparkSession) else Cells)(self._frame, self._jobs)


class OrderedSource(Kernel[Any]):
    """Reads a DataFrame in a thread: the next batches when all earlier values have been delivered."""

    traits = Traits(trusted=True)

    def __init__(self, timed: TimedFrame, *, as_: As = "rows", lateness: Any = None, late: object = "error") -> None:
        self._allowed, self._late = lateness, late
        self._lateness: Lateness | None = None
        if lateness is not None:
            # Its frontier follows the lateness of rows, not the times of delivered values.
            self.traits = Traits(trusted=True, follows=True)
        self._frame = timed.frame
        self._cutting = Cutting(as_, timed.names, timed.time, timed.jumbled)
        # Converting ten thousand rows takes time, and other tasks run in between.
        self._together = TOGETHER if as_ == "batches" and not timed.jumbled else 1
        self._rest = Backlog()
        self._waiting = False
        self._doing = ""
        self._looking = trio.CancelScope()

    @override
    async def acquire(self) -> None:
        self._batches = OrderedBatches(self._frame)
        if self._allowed is not None:
            self._lateness = Lateness(self._allowed, self._late, self.location)
        self.run.spawn_watch(self._look)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._rest:
            # If this wait is cancelled, the thread continues: `release` ends its call and waits for it.
            self._waiting = True
            answers = await in_thread(self._read)
            self._waiting, self._doing = False, ""
            if answers is None:
                return DONE
            for answer in answers:
                admitted = answer if self._lateness is None else self._lateness.admitted(answer)
                if admitted is not None:
                    self._rest.put(admitted)
        batch = self._rest.take(limit)
        if self._lateness is not None:
            self._lateness.passed(batch.times[-1])
        return batch

    @override
    async def release(self) -> None:
        self._looking.cancel()
        await in_thread(self._batches.close)

    @override
    def status(self) -> str:
        return self._doing

    async def _look(self) -> None:
        """Update the status from Spark's progress while no rows arrive, for example because Spark sorts."""
        with self._looking, suppress(*spark_errors()):
            while True:
                await trio.sleep(LOOK_SECONDS)
                if self._waiting:
                    doing = await in_thread(self._batches.doing)
                    self._doing = doing if self._waiting else ""

    def _read(self) -> list[Batch[Any]] | None:
        batch = self._batches.next()
        if batch is None:
            return None
        batches = [batch]
        while len(batches) < self._together and self._batches.ready and (batch := self._batches.next()) is not None:
            batches.append(batch)
        return self._cutting.cut(batches)
