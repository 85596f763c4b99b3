"""`from_dataframe`: a DataFrame as a source."""

import datetime as dt
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from pullstream import Sink, Source, Transformer, flat_map, pipe, stamp
from pullstream.authoring import Module

from ...arrow import As, shape_argument
from .cutting import Run
from .ordered import OrderedSource
from .timed import TimedFrame, refusal, timed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MICROSECOND = dt.timedelta(microseconds=1)


def from_dataframe(
    df: "DataFrame",
    *,
    time: "str | Column | None" = None,
    as_: As = "rows",
    lateness: Any = None,
    late: Literal["error", "drop"] | Sink[Any, Any] = "error",
) -> Source[Any]:
    """Read a DataFrame: its rows as named tuples, tuples, dicts or Arrow record batches, each at its time.

    ```python
    ps.run(ps.pipe(spark.from_dataframe(flights, time="day"), ps.map(lambda row: row.carrier), ps.collect()))
    ```

    Where a column's name is none in Python, the attribute of a row is what is left of it, `row.unit_price` of "unit
    price" and `row.class_` of "class", or else its position, `row._0`; what takes rows by name (writers, key=,
    `row._asdict()`) goes by the column's own.

    **Times.** Without `time` everything is at 0. `time` is a column's name, or an expression over the columns, of type
    DATE (a `datetime.date`), TIMESTAMP (an int: microseconds since 1970, in UTC), a whole number, or STRING; a coarser
    time is an expression (`sql.to_date("at")`), or `ps.restamp` behind the source. How times complete:

    - alone, Spark sorts by it: a time is complete when a later one has come;
    - with `lateness` (a number, or a timedelta) nothing is sorted, and a time is complete when one has come that is
      more than `lateness` later: see `ps.stamp`, and there for `late`, whose `"drop"` counts every time in an Arrow
      batch once.

    **Order and memory.** Rows come in the DataFrame's order, a partition after the other, and as Spark makes Arrow of
    them: no Python runs for it on the executors, and `as_="batches"` costs least (`ps.map(arrow.by_column)` makes NumPy
    arrays of them). Spark computes as many partitions at once as it has slots, and of small ones several instead of
    each, 32 MB together (up to the bytes of an eighth of the driver's heap; on one machine whose driver has less than 2
    GB a slot the first is alone, which tells how large they are); they are that far ahead of what was handed on, wait
    in the driver's memory, and hold no slot. Nothing runs in Spark before the first ask, every run of the blueprint is
    a query of its own, and an abort cancels it.

    **Large partitions.** A partition is handed on when it is whole, and while it arrives, the driver's Java has it
    several times over: of 2 GB one of 300 MB takes nearly all, and it is then read alone, where `toArrow()` has all of
    them at once. For larger ones make more of them (`df.repartition(n)`, or a smaller
    `spark.sql.files.maxPartitionBytes`), or give Java more (`spark.driver.memory`); or have Spark write files, and read
    these (`files.read_parquet`), which holds a few thousand rows, whatever there are. Who wants some rows only says so
    to Spark, too: `df.limit(n)`.

    **What Spark does again.** A task that is tried again changes nothing. A shuffle that Spark computes again in the
    midst of the read, because an executor was lost, is noticed: what was not handed on yet is read anew, and what was
    is read again and compared. If the rows are the same, in whatever order, the stream goes on; where they are placed
    by what is not the same twice (a random salt, `monotonically_increasing_id()` after a shuffle), it fails with
    `ShuffleRerunError`. Nothing is lost, or given twice, without an error.

    **With a journal**, columns (their names), `time` and the other options must be those of the run before. What is in
    the DataFrame is not compared: it must give the same rows at every time that was completed, whose rows are dropped.

    Raises:
        CompositionError: when composing; the time does not exist or cannot be one, or options contradict each other.
        NullTimeError: at an ask; a row has no time.
        CapabilityError: at an ask; a row is later than `lateness` allows.
        ShuffleRerunError: at an ask; see above.
        SparkJobError: at an ask; the job failed, with Spark's message.
        JavaEnded: at an ask; Spark's Java has ended, killed or without memory.
    """
    shape_argument("from_dataframe", as_)
    frame = timed(df, time)
    stamping = _stamping(frame, lateness, late)
    if stamping is not None:
        frame = attrs.evolve(frame, jumbled=True)
    elif time is not None:
        frame = frame.sorted()
    options = (("as_", as_),) if as_ != "rows" else ()
    source: Source[Any] = Source((Module("from_dataframe", OrderedSource, (frame,), options),))
    return source if stamping is None else pipe(source, stamping, flat_map(_values))


def _stamping(frame: TimedFrame, lateness: Any, late: Any) -> Transformer[Any, Any] | None:
    """A transformer that gives runs their times, if they come in no order."""
    if lateness is None:
        if late != "error":
            raise refusal(
                f"got late={late!r}, and no lateness= to judge it by: lateness=0 (of dates, timedelta(0)) has all that "
                f"is behind the latest time be late"
            )
        return None
    if frame.time is None:
        raise refusal(f"got lateness={lateness!r}, and no time= that it could be about")
    if frame.kind == "string":
        raise refusal(f"got lateness={lateness!r} for times that are strings: cast them to what can be subtracted from")
    wanted: Any = dt.timedelta if frame.kind == "date" else int
    allowed: Any = lateness
    if isinstance(lateness, dt.timedelta) and str(frame.kind).startswith("timestamp"):
        allowed = lateness // _MICROSECOND
    if not isinstance(allowed, wanted) or allowed < wanted(0):
        raise refusal(
            f"got lateness={lateness!r}, and its times are of type {frame.kind}: their lateness is of type "
            f"{wanted.__name__}, and not negative"
        )
    if isinstance(late, Sink):
        late = pipe(flat_map(_values), cast("Sink[Any, Any]", late))
    return stamp(_time, lateness=allowed, late=late)


def _time(run: Run) -> Hashable:
    return run.time


def _values(run: Run) -> list[Any]:
    return run.values
