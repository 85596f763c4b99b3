"""A DataFrame's rows by way of Python workers: as Arrow batches, packed into binary cells, a partition after the other.

The way of a PySpark whose own Arrow cannot be had (`arrow_rdd`). Every partition is a job of its own, started when the
one before has been read. Where Spark has computed a shuffle again between two of them (`reruns`), that is an error.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ...arrow import RecordBatch, pyarrow
from .arrow_rdd import job_numbers
from .jobs import Jobs
from .reruns import Reruns, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Cells:
    """The batches of a DataFrame in its order; for one thread at a time."""

    ready = False

    def __init__(self, frame: "DataFrame", jobs: Jobs) -> None:
        self._frame = frame
        self._jobs = jobs
        self._cells: Iterator[Any] | None = None
        self._reruns = Reruns(frame.sparkSession)
        self._seen: set[int] = set()

    def next(self) -> RecordBatch | None:
        """Wait for the next batch; None at the end. Raises as `OrderedBatches.next` does."""
        row = self._jobs.submit(self._first) if self._cells is None else self._jobs.call(self._following)
        if self._reruns.due:
            raise changed("what was handed on cannot be compared with it")
        if row is None:
            return None
        with pyarrow().ipc.open_stream(bytes(row[0])) as reader:
            return reader.read_next_batch()

    def close(self) -> None:
        """Let go of it; its jobs have ended, or were cancelled. Twice is once."""
        # Dropping the iterator tells Spark to close its end, and reads what it has sent until then.
        self._cells = None

    def _first(self) -> Any:
        packed: DataFrame = cast("Any", self._frame).mapInArrow(packing(), "batch binary")
        self._cells = packed.toLocalIterator()
        row = self._following()
        # Nothing was handed on yet, and whatever has run was to run.
        self._reruns.due = False
        return row

    def _following(self) -> Any:
        row = next(cast("Iterator[Any]", self._cells), None)
        new = set(job_numbers(self._frame.sparkSession, self._jobs.tag)) - self._seen
        self._seen |= new
        self._reruns.look_at(new)
        return row


def packing() -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
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
