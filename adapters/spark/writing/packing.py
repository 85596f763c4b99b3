"""From a stream's values to the Arrow batches of one Spark schema."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from adapters import arrow
from adapters.arrow import RecordBatch, SchemaError, pyarrow
from pullstream.blueprint import Site
from pullstream.errors import CompositionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10_000
"""How many rows go into an Arrow batch at most: more are no faster."""


class Packing:
    """Makes Arrow batches of values: dicts, tuples, named tuples, Arrow batches, or what fills the only column."""

    def __init__(self, shown: str, schema: Any) -> None:
        self._packing = arrow.Packing(schema, lambda why: SchemaError(f"{shown}: {why}"))

    def batches(self, values: Sequence[Any]) -> Iterator[RecordBatch]:
        """The values' rows, in order.

        Raises:
            SchemaError: a value does not fit.
        """
        for batch in self._packing.batches([(values, {})]):
            for begin in range(0, batch.num_rows, ROWS):
                yield batch.slice(begin, ROWS)


def packed(batch: RecordBatch) -> memoryview:
    """A batch as it travels."""
    pa = pyarrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def active_session(module: str, session: "SparkSession | None") -> "SparkSession":
    """The session that was given, or else the active one, or a new local one; a classic one."""
    from adapters.spark.session import session as found  # noqa: PLC0415 - only wanted here

    chosen = found() if session is None else session
    if type(chosen).__module__.startswith("pyspark.sql.connect"):
        raise CompositionError(
            f"{module}() at {Site.here()} needs a classic session: through Spark Connect the executors are another "
            f"program's, and do not find the way here; write the rows to files, and read those"
        )
    return chosen
