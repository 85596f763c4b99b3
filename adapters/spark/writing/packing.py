"""From a stream's values to the Arrow batches of one Spark schema."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adapters.arrow import RecordBatch, pyarrow
from adapters.files.writing.columns import Columns
from adapters.spark.errors import SparkMissing
from pullstream.blueprint import Site
from pullstream.errors import CompositionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

ROWS = 10_000
"""How many rows go into an Arrow batch at most: more are no faster."""


def spark_schema(module: str, schema: object, site: Site | None = None) -> "StructType":
    """A schema as Spark has it: of DDL ("id BIGINT, name STRING"), a StructType, or a pyarrow.Schema.

    `site` is where the module was composed, if that is not now.

    Raises:
        CompositionError: it is none of these, or Spark cannot read it.
    """
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional dependency
        from pyspark.sql.types import StructType  # noqa: PLC0415
    except ImportError as exc:
        raise SparkMissing("pyspark is not installed: `pip install 'pullstream[spark]'`", name="pyspark") from exc
    try:
        if isinstance(schema, str):
            made = StructType.fromDDL(schema)
        elif isinstance(schema, pyarrow().Schema):
            made: Any = _types().from_arrow_schema(schema, prefer_timestamp_ntz=True)
        else:
            made = schema
    except PySparkException as exc:
        at = site or Site.here()
        raise CompositionError(f"{module}() at {at} cannot read the schema {schema!r}: {exc}") from None
    if not isinstance(made, StructType) or not made.fields:
        raise CompositionError(
            f"{module}() at {site or Site.here()} needs the columns as its schema, as 'id BIGINT, name STRING', a "
            f"StructType or a pyarrow.Schema, and got {schema!r}"
        )
    return made


def arrow_schema(schema: "StructType") -> Any:
    """The same in Arrow, exactly as Spark expects it of a Python data source."""
    return _types().to_arrow_schema(schema, timezone="UTC")


def _types() -> Any:
    return import_module("pyspark.sql.pandas.types")


class Packing:
    """Makes Arrow batches of values: dicts, tuples, named tuples, Arrow batches, or what fills the only column."""

    def __init__(self, shown: str, schema: Any) -> None:
        self._columns = Columns(shown, schema)
        self._single = len(schema) == 1
        self._whole = (Mapping, tuple, list, pyarrow().RecordBatch, pyarrow().Table)

    def batches(self, values: Sequence[Any]) -> list[RecordBatch]:
        """The values' rows, in order.

        Raises:
            SchemaError: a value does not fit.
        """
        if self._single and not isinstance(values[0], self._whole):
            values = [(value,) for value in values]
        return [
            batch.slice(begin, ROWS)
            for batch in self._columns.batches(values)
            for begin in range(0, batch.num_rows, ROWS)
        ]


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
