"""The ordered route: the batches come to the driver one partition after the other.

Nothing is submitted before the first `next`. Each partition is a job of its own, started when the one before has been
read (through Spark Connect the server decides), whose rows cross as Arrow batches packed into binary cells. So the
driver holds one batch in Python, and one partition's packed batches in Java. A task that fails and is tried again
changes nothing, because a partition is handed over only when it is whole.

`OrderedBatches` knows nothing of the pull protocol; it blocks, and is meant for a thread.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import trio
from typing_extensions import override

from adapters.arrow import As, RecordBatch, pyarrow
from adapters.spark.connect.batches import ConnectBatches
from adapters.spark.reading.cutting import Cutting
from adapters.spark.reading.jobs import Jobs, is_connect, spark_errors
from adapters.spark.reading.timed import TimedFrame
from adapters.spark.threads import in_thread
from pullstream import DONE, Batch, Done, Kernel
from pullstream.authoring import Remainder, Traits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


LOOK_SECONDS: Final = 1.0
"""Seconds between looks at what Spark does, while nothing comes."""


class OrderedBatches:
    """The Arrow batches of a DataFrame in the order of its partitions, read on demand.

    `next` and `close` are for one thread at a time each; `cancel` may be called from any.
    """

    def __init__(self, frame: "DataFrame") -> None:
        self._frame = frame
        self._jobs = Jobs(frame.sparkSession)
        self._cells: Iterator[Any] | None = None
        self._ended = False

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end, for ever.

        Raises:
            SparkJobError: the job failed, with Spark's message.
            JobCancelled: `cancel` or `close` was called.
        """
        if self._ended:
            return None
        row = self._jobs.submit(self._first) if self._cells is None else self._jobs.call(self._following)
        if row is None:
            self._ended = True
            self._jobs.ended()
            return None
        with pyarrow().ipc.open_stream(bytes(row[0])) as reader:
            return reader.read_next_batch()

    def doing(self) -> str:
        """Say what Spark does at the moment; any thread may ask, and it takes a moment."""
        return self._jobs.doing()

    def cancel(self) -> None:
        """Cancel the job and have a blocked `next` raise; does not wait for it. Twice is once."""
        self._jobs.cancel()

    def close(self) -> None:
        """Cancel the job if it has not ended, and wait until nothing of it is left here. Twice is once."""
        self._jobs.close()
        # Dropping the iterator tells Spark to close its end, and reads what it has sent until then.
        self._cells = None

    def _first(self) -> Any:
        packed: DataFrame = cast("Any", self._frame).mapInArrow(_packing(), "batch binary")
        self._cells = packed.toLocalIterator()
        # Spark Connect sends the query with the first row that is wanted.
        return self._following()

    def _following(self) -> Any:
        return next(cast("Iterator[Any]", self._cells), None)


class OrderedSource(Kernel[Any]):
    """Reads a DataFrame in a thread, a batch when what there was has been handed on."""

    traits = Traits(trusted=True)

    def __init__(self, timed: TimedFrame, *, as_: As = "rows") -> None:
        self._frame = timed.frame
        self._cutting = Cutting.of(timed, as_)
        self._answers: deque[Batch[Any]] = deque()
        self._rest = Remainder()
        self._waiting = False
        self._doing = ""
        self._looking = trio.CancelScope()

    @override
    async def acquire(self) -> None:
        self._batches = ConnectBatches(self._frame) if is_connect(self._frame) else OrderedBatches(self._frame)
        self.run.spawn_watch(self._look)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._rest.left:
            if self._answers:
                self._rest.put(self._answers.popleft())
                continue
            # A cancelled wait leaves the thread behind, and `release` makes it come back and waits for it.
            self._waiting = True
            answers = await in_thread(self._read)
            self._waiting, self._doing = False, ""
            if answers is None:
                return DONE
            self._answers.extend(answers)
        return self._rest.part(limit)

    @override
    async def release(self) -> None:
        self._looking.cancel()
        await in_thread(self._batches.close)

    @override
    def status(self) -> str:
        return self._doing

    async def _look(self) -> None:
        """Look how far Spark is, while nothing comes because it sorts, say."""
        with self._looking, suppress(*spark_errors()):
            while True:
                await trio.sleep(LOOK_SECONDS)
                if self._waiting:
                    doing = await in_thread(self._batches.doing)
                    self._doing = doing if self._waiting else ""

    def _read(self) -> list[Batch[Any]] | None:
        batch = self._batches.next()
        return None if batch is None else list(self._cutting.cut(batch))


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
