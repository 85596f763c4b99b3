"""`on_executors`: transformers as a function of a DataFrame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from adapters.arrow import As, Schema, shape_argument
from adapters.spark.errors import SparkMissing
from adapters.spark.executing.partition import PartitionPlan
from adapters.spark.executing.shipping import pickled, shipped
from adapters.spark.failures import first_line, unlogged
from adapters.spark.reading.jobs import STOPPED, stands
from adapters.spark.reading.timed import functions
from adapters.spark.refusals import no_frame, refused
from adapters.spark.schemas import arrow_schema, spark_schema
from pullstream import Blueprint, CompositionError, Transformer, pipe
from pullstream.authoring import Module, Site, advice

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})
_KEYS = _TIMES | {"boolean", "binary"}


@attrs.frozen(eq=False, repr=False)
class OnExecutors:
    """A function of a DataFrame, made by `on_executors`; for `DataFrame.transform`."""

    modules: tuple[Module, ...]
    schema: "str | StructType | Schema"
    time: "str | Column | None"
    by: "tuple[str | Column, ...]"
    as_: As
    site: Site
    module: str = "on_executors"
    """The name by which failures go."""

    def __repr__(self) -> str:
        return f"on_executors({', '.join(map(str, self.modules))})"

    def __call__(self, df: "DataFrame") -> "DataFrame":
        """The DataFrame of what the transformers make of another's rows; nothing runs until Spark needs it.

        Raises:
            CompositionError: the schema, the time or a key cannot be what they were said to be.
        """
        frame = _Frame(df)
        schema = spark_schema("on_executors", self.schema)
        keys = [frame.column("by", key, _KEYS) for key in self.by]
        time = None if self.time is None else frame.column("time", self.time, _TIMES)
        marks = [*keys, *([] if time is None else [time])]
        given = {name: 1 + place for place, (name, _) in enumerate(keys)}
        if time is not None:
            given.setdefault(time[0], 0)
        plan = PartitionPlan(
            self.modules,
            self.site,
            self.as_,
            tuple(df.columns),
            tuple(name for name, _ in keys),
            None if time is None else time[0],
            arrow_schema(schema),
            {name: place for name, place in given.items() if name in schema.names},
            self.module,
        )
        arranged = frame.arranged([column for _, column in keys], [column for _, column in marks])
        return cast("Any", arranged).mapInArrow(shipped(pickled(self.modules, plan)), schema)


def on_executors(
    *transformers: Transformer[Any, Any],
    schema: "str | StructType | Schema",
    time: "str | Column | None" = None,
    by: "str | Column | Sequence[str | Column]" = (),
    as_: As = "rows",
) -> OnExecutors:
    """Run transformers inside Spark's Python workers, a run for every partition; a function of a DataFrame.

    `df.transform(on_executors(...))` is another DataFrame, with the columns of `schema`: DDL, a StructType or a
    pyarrow.Schema. It is lazy, and as good as any for Spark and for `from_dataframe`. Rows go through as Spark reads
    them, and no faster than Spark takes the results.

    What the transformers get is said by `as_`: named tuples, `"tuples"`, `"dicts"` or Arrow record `"batches"`, as in
    `from_dataframe`. What they give becomes rows: tuples and lists by position, named tuples and dicts by name (a
    column that is not there is null), Arrow batches as they are; anything else fills the only column. A timestamp is a
    datetime, or whole microseconds since 1970 in UTC.

    With `time`, a column or an expression, rows are sorted within each partition, and come at their times, so that
    modules that wait until a time is complete do so for the partition. With `by`, one or several, all rows of a key are
    brought together, and go through transformers of their own, one key after the other, in the order of their times;
    what is kept is kept for one key. Columns of the schema that are called as the time's, or a key's, need not be
    given: they are filled with the time of the answer, and the key.

    The blueprints are pickled; a failure arrives with the exception's own name, message and notes. A partition whose
    task fails is tried again by Spark, from its beginning. When Spark has enough (`limit`) the stream is aborted; when
    a stream has enough (`take`) Spark still reads the rest of its partition, and drops it.

    Raises:
        CompositionError: an argument cannot be what it should be, or a module cannot be pickled. Columns are looked at
            when the function is called.

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
    site = Site.here()
    composed = _composed(transformers, site)
    shape_argument("on_executors", as_)
    if isinstance(by, str) or not isinstance(by, Sequence):
        by = (by,)
    frame = OnExecutors(composed, schema, time, tuple(by), as_, site)
    pickled(composed, composed)
    return frame


def _composed(transformers: Sequence[object], site: Site) -> tuple[Module, ...]:
    if not transformers:
        raise CompositionError(f"on_executors() at {site} needs at least one transformer")
    for number, part in enumerate(transformers):
        if not isinstance(part, Transformer):
            kind = f"a {part.kind}" if isinstance(part, Blueprint) else "no module"
            raise CompositionError(
                f"on_executors() at {site} runs transformers between a DataFrame's rows and a DataFrame's rows; part "
                f"{number + 1}, {part!r}, is {kind}{advice('on_executors', part)}"
            )
    composed: Blueprint = cast("Any", pipe)(*transformers)
    return composed.modules


def time_column(df: "DataFrame", time: "str | Column | None") -> "tuple[str, Column] | None":
    """The name of a DataFrame's time, and the time itself, both checked."""
    frame = _Frame(df)
    return None if time is None else frame.column("time", time, _TIMES)


class _Frame:
    """A DataFrame whose columns are looked up."""

    def __init__(self, df: Any) -> None:
        try:
            from pyspark.sql import DataFrame  # noqa: PLC0415 - an optional dependency
        except ImportError as exc:
            raise SparkMissing.of("pyspark") from exc
        if not isinstance(df, DataFrame):
            raise _refusal(no_frame("a Spark DataFrame", df))
        if not stands(df.sparkSession):
            raise _refusal(f"got a DataFrame, and {STOPPED}")
        self.df = df

    def column(self, option: str, given: Any, kinds: frozenset[str]) -> "tuple[str, Column]":
        """A column's name, and the column."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - an optional dependency
        from pyspark.sql import Column  # noqa: PLC0415

        if isinstance(given, str):
            # A column's own name may hold dots, which otherwise lead into a struct.
            chosen = functions(self.df).col(f"`{given.replace('`', '``')}`" if given in self.df.columns else given)
        elif isinstance(given, Column):
            chosen = given
        else:
            raise _refusal(f"needs the name of a column, or a column expression, as its {option}, and got {given!r}")
        try:
            with unlogged():
                (field,) = self.df.select(chosen).schema.fields
        except AnalysisException as exc:
            if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
                columns = ", ".join(self.df.columns)
                raise _refusal(f"has no column for {option}={given!r}; its columns are {columns}") from None
            raise _refusal(f"cannot use {option}={given!r}: {first_line(exc)}") from None
        kind = field.dataType.simpleString()
        if kind.partition("(")[0] not in kinds | ({"decimal"} if option == "by" else set()):
            names = "a DATE, a TIMESTAMP, a whole number or a STRING" + (
                ", BOOLEAN, BINARY, DECIMAL" * (option == "by")
            )
            raise _refusal(f"cannot use {option}={given!r}, which is of type {kind}: it is {names}, so cast it to one")
        return field.name, chosen

    def arranged(self, keys: "list[Column]", marks: "list[Column]") -> "DataFrame":
        """The rows as the executors need them, with keys and time in columns of their own at the end."""
        df = self.df
        if df.isStreaming and marks:
            raise _refusal("cannot have Spark sort a streaming DataFrame: leave out time and by, or use foreachBatch")
        if keys:
            df = df.repartition(*keys)
        if marks:
            df = df.sortWithinPartitions(*marks)
        width = len(self.df.columns)
        names = [f"c{place}" for place in range(width)]
        names += [f"m{place}" for place in range(len(marks))]
        return df.select("*", *marks).toDF(*names)


def _refusal(what: str) -> CompositionError:
    return refused("on_executors", what)
