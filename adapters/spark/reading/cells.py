"""Read a DataFrame through Python workers: as Arrow batches, packed into binary cells, one partition after another.

This is for a PySpark without access to Spark's own Arrow format (`arrow_rdd`). Each partition is a separate job, which
starts when the previous one has been read. If Spark recomputes a shuffle between two of them (`reruns`), that is an
error.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, cast

from ...arrow import RecordBatch, pa
from ..types import DataFrame
from .arrow_rdd import job_numbers
from .jobs import Jobs
from .reruns import Reruns, changed


class Cells:
    """The batches of a DataFrame, in order; for one thread at a time."""

    ready = False
    doing = ""

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
            raise changed("the rows already delivered cannot be compared")
        if row is None:
            return None
        with pa.ipc.open_stream(bytes(row[0])) as reader:
            return reader.read_next_batch()

    def close(self) -> None:
        """Release the iterator; its jobs must have ended. Idempotent."""
        # Dropping the iterator makes Spark close its end, and reads what it sent before.
        self._cells = None

    def _first(self) -> Any:
        packed: DataFrame = cast("Any", self._frame).mapInArrow(packing(), "batch binary")
        self._cells = packed.toLocalIterator()
        row = self._following()
        # Nothing was delivered yet, so every stage up to now ran for the first time.
        self._reruns.due = False
        return row

    def _following(self) -> Any:
        row = next(cast("Iterator[Any]", self._cells), None)
        new = set(job_numbers(self._frame.sparkSession, self._jobs.tag)) - self._seen
        self._seen |= new
        if new:
            self._reruns.look(lambda: new)
        return row


def packing() -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    """Make the function that executors run: a nested one, which is pickled by value and needs no install there."""

    def pack(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        # Imported on the executor, and not through this package, which need not be installed there.
        pa: Any = import_module("pyarrow")
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            cell = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], ["batch"])

    return pack
