"""From a stream's values to the Arrow batches of one Spark schema."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from adapters import arrow
from adapters.arrow import RecordBatch, SchemaError, pyarrow
from adapters.spark.reading.jobs import is_connect, stands
from adapters.spark.refusals import refused
from adapters.spark.session import session as active
from pullstream.authoring import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10_000
"""The most rows of an Arrow batch: more are no faster."""


class RowPacking:
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


def active_session(module: str, session: "SparkSession | None", site: Site | None = None) -> "SparkSession":
    """The session that was given, or else the active one, or a new local one; a classic one.

    `site` is where the module was composed, if that is not now.

    Raises:
        CompositionError: it is none, is of Spark Connect, or was stopped.
    """
    chosen = active() if session is None else session
    if is_connect(chosen):
        raise refused(
            module,
            "needs a classic session: through Spark Connect the executors are another program's, and do not find the "
            "way here; write the rows to files, and read those",
            site,
        )
    if not hasattr(chosen, "sparkContext"):
        raise refused(module, f"needs a Spark session, such as spark.session() gives, and got {chosen!r}", site)
    if not stands(chosen):
        raise refused(module, "got a session that was stopped: take another, as spark.session()", site)
    return chosen
