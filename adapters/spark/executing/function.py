"""`on_executors`: transformers as a function of a DataFrame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import attrs

from pullstream import Blueprint, CompositionError, Transformer, pipe
from pullstream.authoring import Module, Site, advice, checked

from ...arrow import As, Schema, shape_argument
from ..columns import TIMES
from ..schemas import arrow_schema, spark_schema
from .frames import KEYS, Asked, Frame
from .partition import PartitionPlan
from .shipping import pickled, shipped
from .streams import keyed_streams

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


@attrs.frozen(eq=False, repr=False)
class OnExecutors(Asked):
    """A function of a DataFrame, made by `on_executors`; for `DataFrame.transform`."""

    instead_of_a_module: ClassVar = "it is a function of a DataFrame: a source is from_dataframe(df.transform(...))"

    def __repr__(self) -> str:
        return f"on_executors({', '.join(map(str, self.modules))})"

    def __call__(self, df: "DataFrame") -> "DataFrame":
        """The DataFrame of what the transformers make of another's rows; nothing runs until Spark needs it.

        Raises:
            CompositionError: the schema, the time or a key cannot be what they were said to be.
        """
        frame = Frame(df)
        schema = spark_schema("on_executors", self.schema)
        if df.isStreaming and (self.by or self.time is not None):
            return keyed_streams(self, frame, schema)
        keys = [frame.column("by", key, KEYS) for key in self.by]
        time = None if self.time is None else frame.column("time", self.time, TIMES)
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


@checked
def on_executors(
    *transformers: Transformer[Any, Any],
    schema: "str | StructType | Schema",
    time: "str | Column | None" = None,
    by: "str | Column | Sequence[str | Column]" = (),
    as_: As = "rows",
) -> OnExecutors:
    """Run transformers inside Spark's Python workers, a run for every partition or key; a function of a DataFrame.

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

    With both, a *streaming* DataFrame has a stream for each key that goes on from micro-batch to micro-batch: windows,
    sessions, folds, running ones, modules of your own. `time` is the column of its watermark (`df.withWatermark`), and
    times are whole microseconds since 1970; `restamp` makes coarser ones. Rows wait in Spark's state. When the
    watermark has passed their times they go through the transformers in that order, those of one time as they came,
    and results come as soon as their times are complete, each once, in append mode: what one run over all rows that
    Spark has not dropped as late would give, however they came. What must come again until all that follows from it is
    complete, and what modules keep beyond a time (`ctx.memory`, as with a journal), are in Spark's checkpoint, under
    RocksDB: so a query goes on where it was killed, and its state may be spread over other partitions. A stream never
    ends, and a key of which nothing is kept costs nothing. A row waits for as long as it matters, so a window of a day
    keeps its rows for a day; let Spark fold first what is much. It takes PySpark 4.1 and the package protobuf. Modules
    that go by a clock, give times of their own, have a sink beside, or whose state no journal could save are refused.

    The blueprints are pickled; a failure arrives with the exception's own name, message and notes. A partition whose
    task fails is tried again by Spark, from its beginning. When Spark has enough (`limit`) the stream is aborted; when
    a stream has enough (`take`) Spark still reads the rest of its partition, and drops it.

    Raises:
        CompositionError: an argument cannot be what it should be, or a module cannot be pickled. Columns, and whether a
            stream's state can be kept, are looked at when the function is called.

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
    frame = Frame(df)
    return None if time is None else frame.column("time", time, TIMES)
