"""`on_executors`: transformers as a function of a DataFrame."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import attrs

from pullstream import CompositionError, Transformer, pipe
from pullstream.authoring import Call, Module, Site, advice, checked, of_extra
from pullstream.errors import JournalError
from pullstream.types import Blueprint

from ...arrow import As, Schema, shape_argument
from ..columns import check_frame, functions, typed_column
from ..errors import SparkMissing, distinct
from ..schemas import arrow_schema, spark_schema
from ..types import Column, DataFrame, StructType
from .keyed import KeyedPlan
from .partition import PartitionPlan
from .shipping import keyed, pickled, shipped

_refusal = Call("on_executors").refuse

_KEYS = ("boolean", "binary", "decimal")
"""The Spark types that a key may have and a time may not."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_WATERMARK = "spark.watermarkDelayMs"
"""Spark's metadata key for the column that has a frame's watermark."""


@attrs.frozen(eq=False, repr=False)
class OnExecutors:
    """A function of a DataFrame, made by `on_executors`; for `DataFrame.transform`."""

    modules: tuple[Module, ...]
    schema: "str | StructType | Schema"
    time: "str | Column | None"
    by: "tuple[str | Column, ...]"
    as_: As
    site: Site

    instead_of_a_module: ClassVar = "it is a function of a DataFrame: a source is from_dataframe(df.transform(...))"

    def __repr__(self) -> str:
        return f"on_executors({', '.join(map(str, self.modules))})"

    def __call__(self, df: "DataFrame") -> "DataFrame":
        """Apply the transformers to a DataFrame, lazily; nothing runs until Spark needs the result.

        Raises:
            CompositionError: the schema, the time or a key is invalid for this DataFrame; or, for streams of keys, the
                session or a module does not support them.
        """
        check_frame(_refusal, df)
        if self.as_ == "dicts":
            distinct(_refusal, df.columns)
        schema = spark_schema(_refusal, self.schema)
        if df.isStreaming and (self.by or self.time is not None):
            return self._streams(df, schema)
        keys, names = self._keys(df)
        times = [] if self.time is None else [typed_column(_refusal, df, "time", self.time)]
        plan = PartitionPlan(*self._plan(df, names, times[0][1].name if times else None, schema))
        # Spark computes each expression once, and sorts by columns: it would take a literal for a column's position.
        rows: Any = _numbered(df, [*keys, *(column for column, _ in times)])
        marks = rows.columns[len(df.columns) :]
        if keys:
            rows = rows.repartition(*marks[: len(keys)])
        if keys or times:
            rows = rows.sortWithinPartitions(*marks)
        return rows.mapInArrow(shipped(pickled(self.modules, plan)), schema)

    def _keys(self, df: "DataFrame") -> "tuple[list[Column], tuple[str, ...]]":
        keys = [typed_column(_refusal, df, "by", key, _KEYS) for key in self.by]
        return [column for column, _ in keys], tuple(field.name for _, field in keys)

    def _plan(self, df: "DataFrame", names: tuple[str, ...], time: str | None, schema: "StructType") -> tuple[Any, ...]:
        """The fields of the executors' plan; `names` are those of the keys."""
        places = {name: 1 + place for place, name in enumerate(names)}
        if time is not None:
            places.setdefault(time, 0)
        given = {name: place for name, place in places.items() if name in schema.names}
        return self.modules, self.site, self.as_, tuple(df.columns), names, time, arrow_schema(schema), given

    def _streams(self, df: "DataFrame", schema: "StructType") -> "DataFrame":
        """The results of a stream for each key, which Spark keeps (`transformWithState`)."""
        if not self.by or self.time is None:
            raise _refusal(
                "runs a stream for each key of a streaming DataFrame, at the times of its watermark: give both by= and "
                "time=, or neither to process rows as they arrive"
            )
        _, field = typed_column(_refusal, df, "time", self.time)
        if _WATERMARK not in field.metadata or df.columns.count(field.name) != 1:
            raise _refusal(
                f"uses the watermark of a streaming DataFrame, but time={self.time!r} is not its column: "
                f"df.withWatermark(column, delay) sets the column, and how late rows may be; map_time() makes other "
                f"times"
            )
        keys, names = self._keys(df)
        _check_session(df)
        numbered = _numbered(df, keys)
        plan = KeyedPlan(*self._plan(df, names, field.name, schema), columns=arrow_schema(numbered.schema))
        try:
            plan.instalments.ahead()
        except JournalError as exc:
            raise CompositionError(f"on_executors() at {self.site} cannot keep a stream's state: {exc}") from None
        processor = keyed(pickled(self.modules, plan))
        marks = numbered.columns[len(df.columns) :]
        # As numbers: in Spark's worker, the two instants of an hour that a time zone repeats are equal datetimes.
        instants = {"t": numbered.columns[df.columns.index(field.name)]}
        instants |= {name: name for name in marks if numbered.schema[name].dataType.typeName() == "timestamp"}
        micros = functions(df).unix_micros
        rows: Any = numbered.withColumns({name: micros(column) for name, column in instants.items()}).groupBy(*marks)
        return cast("DataFrame", rows.transformWithState(processor, schema, "Append", "EventTime"))


def _numbered(df: "DataFrame", marks: "Sequence[Column]") -> "DataFrame":
    """The rows with keys and time in extra columns at the end, all named by their positions: names may repeat."""
    if not (df.columns or marks):
        # Rows without columns would be lost.
        marks = [functions(df).lit(0)]
    names = [*(f"c{place}" for place in range(len(df.columns))), *(f"m{place}" for place in range(len(marks)))]
    return df.select("*", *marks).toDF(*names)


def _check_session(df: "DataFrame") -> None:
    of_extra("spark", "google.protobuf", SparkMissing, named="protobuf")
    if df.sparkSession.conf.get(_PROVIDER, None) != _ROCKSDB:
        raise _refusal(
            f"keeps a stream's state in Spark, which supports this only with RocksDB: call "
            f"session.conf.set({_PROVIDER!r}, {_ROCKSDB!r}) before the query starts"
        )


@checked
def on_executors(
    *transformers: Transformer[Any, Any],
    schema: "str | StructType | Schema",
    time: "str | Column | None" = None,
    by: "str | Column | Sequence[str | Column]" = (),
    as_: As = "rows",
) -> OnExecutors:
    """Run transformers inside Spark's Python workers, one run per partition or key; gives a function of a DataFrame.

    `df.transform(on_executors(...))` is a new DataFrame with the columns of `schema`: DDL, a StructType or a
    pyarrow.Schema. It is lazy, and works everywhere in Spark and with `from_dataframe`. Rows are processed as Spark
    reads them, and only as fast as Spark takes the results.

    `as_` gives the form of the input: named tuples, `"tuples"`, `"dicts"` or Arrow record `"batches"`, as in
    `from_dataframe`. The output becomes rows: tuples and lists match by position, named tuples, PySpark's `Row` and
    dicts by name (a missing column is null), and Arrow batches pass unchanged; any other value fills the only column. A
    timestamp is a datetime, or an int of microseconds since 1970, UTC.

    With `time`, a column or an expression, rows are sorted within each partition and come at their times, so per-time
    modules complete a time for the partition. With `by`, one or several columns, all rows of a key are brought
    together. Each key has its own transformers and state; the keys are processed one after another, each in the order
    of its times. Columns of the schema with the name of the time or of a key may be left out of the output: they are
    filled with the time of the batch, and the key.

    With both `time` and `by`, a *streaming* DataFrame has a stream for each key that continues across micro-batches:
    windows, sessions, folds, running folds, your own modules. `time` must be the column of its watermark
    (`df.withWatermark`), and times are ints of microseconds since 1970; `map_time` makes coarser ones. Rows wait in
    Spark's state. When the watermark has passed their times, they go through the transformers in that order; rows with
    the same time keep their order of arrival. Results are emitted as soon as their times are complete, each once, in
    append mode. They equal the results of a single run over all rows that Spark has not dropped as late, regardless of
    the order of arrival.

    Spark's checkpoint, with RocksDB, holds the rows that must be replayed until all their results are complete, and
    state that modules keep beyond a time (`ctx.memory`, as with a journal). So a killed query resumes where it was, and
    its state may move to other partitions. A stream never ends, and a key without state costs nothing. A row is kept as
    long as it matters, so a window of a day keeps its rows for a day; let Spark aggregate large inputs first. This
    needs PySpark 4.1 and the package protobuf. Modules that use a clock, set their own times, have a sink beside them,
    or whose state cannot be saved in a journal are refused.

    The blueprints are pickled. A failure arrives with the exception's own name, message and notes. If a task fails,
    Spark retries its partition from the beginning. When Spark has enough (`limit`), the stream is aborted. When a
    stream has enough (`take`), Spark still reads the rest of its partition and drops it.

    Raises:
        CompositionError: an argument is invalid, or a module cannot be pickled. Columns, and whether a stream's state
            can be kept, are checked when the function is called.

    ```python
    clean = spark.on_executors(ps.map(parse), ps.filter(valid), schema="carrier string, delay double")
    delays = flights.transform(clean).groupBy("carrier").avg("delay")

    daily = spark.on_executors(
        ps.reduce_by_time(ps.agg.mean(lambda row: row.delay)),
        schema="carrier string, day date, delay double",
        by="carrier",
        time="day",
    )
    ps.run(ps.pipe(spark.from_dataframe(flights.transform(daily), time="day"), ps.collect()))
    ```
    """
    composed = _composed(transformers)
    shape_argument("on_executors", as_)
    if isinstance(by, str) or not isinstance(by, Sequence):
        by = (by,)
    frame = OnExecutors(composed, schema, time, tuple(by), as_, Site.here())
    pickled(composed, composed)
    return frame


def _composed(transformers: Sequence[object]) -> tuple[Module, ...]:
    if not transformers:
        raise _refusal("needs at least one transformer")
    for number, part in enumerate(transformers):
        if not isinstance(part, Transformer):
            kind = f"a {part.kind}" if isinstance(part, Blueprint) else "not a module"
            raise _refusal(
                f"runs transformers only, from a DataFrame's rows to a DataFrame's rows, but part {number + 1}, "
                f"{part!r}, is {kind}{advice('on_executors', part)}"
            )
    composed: Blueprint = cast("Any", pipe)(*transformers)
    return composed.modules
