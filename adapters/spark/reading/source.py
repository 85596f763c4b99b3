"""`from_dataframe`: a DataFrame as a source."""

import datetime as dt
from typing import Any, Final, Literal

import attrs

from pullstream import Sink, Source
from pullstream.authoring import Call, LateOption, Module, bound

from ...arrow import As, shape_argument
from ..types import Column, DataFrame
from .ordered import OrderedSource
from .timed import TimedFrame, timed

_MICROSECOND = dt.timedelta(microseconds=1)
_LATE: Final = LateOption()

refusal = Call("from_dataframe").refuse


@bound
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

    For the attributes of rows (`row.unit_price` for "unit price") see `pullstream.arrow.Shape`.

    **Times.** Without `time`, all rows are at 0. `time` is a column's name, or an expression of columns, of type DATE
    (a `datetime.date`), TIMESTAMP (an int: microseconds since 1970, UTC), a whole number, or STRING. For coarser times,
    use an expression (`sql.to_date("at")`), or `ps.map_time` after the source. There are two ways in which times
    complete:

    - By default, Spark sorts by time: a time is complete when a later one arrives.
    - With `lateness` (a number or a timedelta), Spark does not sort. Each Arrow batch is sorted, and a time is complete
      when a time more than `lateness` later arrives: see `ps.stamp`, also for `late`.

    **Order and memory.** Rows come in the DataFrame's order, one partition after another, in Spark's Arrow format. No
    Python runs on the executors, and `as_="batches"` is the cheapest form (`ps.map(arrow.by_column)` converts it to
    NumPy arrays). Spark computes as many partitions at once as it has slots. Small ones are combined, up to 32 MB per
    job; all jobs together may hold up to an eighth of the driver's heap. If the driver has less than 2 GB per slot, the
    first job runs alone, to measure the size of a partition. Computed partitions wait in the driver's memory and occupy
    no slot. Nothing runs in Spark before the first ask. Every run of the blueprint is its own query, and an abort
    cancels it.

    **Large partitions.** A partition is delivered as a whole. While it arrives, the driver's Java holds several copies:
    a partition of 300 MB uses nearly all of 2 GB, so it is read alone (`toArrow()` would hold all partitions at once).
    For larger partitions, use more of them (`df.repartition(n)`, or a smaller `spark.sql.files.maxPartitionBytes`), or
    give Java more memory (`spark.driver.memory`). Or let Spark write files, and read those (`files.read_parquet`),
    which holds a few thousand rows, regardless of the size. To read only some rows, tell Spark as well: `df.limit(n)`.

    **Retries.** A retried task changes nothing. If Spark recomputes a shuffle during the read, because an executor was
    lost, this is detected: partitions that were not delivered yet are read again, and delivered ones are read again and
    compared. If the rows are the same, in any order, the stream continues. If they differ, because rows are placed by
    values that change (a random salt, `monotonically_increasing_id()` after a shuffle), it fails with
    `ShuffleRerunError`. No row is lost or delivered twice without an error.

    **With a journal**, the columns (their names), `time` and the other options must be those of the earlier run. The
    content of the DataFrame is not compared: it must give the same rows at every completed time, whose rows are
    dropped.

    Raises:
        CompositionError: when composing; the time does not exist or has an invalid type, or options contradict each
            other.
        NullTimeError: at an ask; a row has no time.
        CapabilityError: at an ask; a row is later than `lateness` allows.
        ShuffleRerunError: at an ask; see above.
        SparkJobError: at an ask; the job failed, with Spark's message.
        JavaEnded: at an ask; Spark's Java was killed, ran out of memory, or crashed.
    """
    shape_argument("from_dataframe", as_)
    frame = timed(df, time, refusal)
    if late != "error":
        _LATE(Call("from_dataframe", {"lateness": lateness}, name="late"), late)
    allowed = None if lateness is None else _lateness(frame, lateness)
    options: tuple[tuple[str, Any], ...] = (("as_", as_),) if as_ != "rows" else ()
    if allowed is not None:
        frame = attrs.evolve(frame, jumbled=True)
        options += (("lateness", allowed), *((("late", late),) if late != "error" else ()))
    elif time is not None:
        frame = frame.sorted()
    module = Module("from_dataframe", OrderedSource, (frame,), options)
    return Source((module, *_LATE.below(module, late)))


def _lateness(frame: TimedFrame, lateness: Any) -> Any:
    """The lateness in the type in which it is subtracted from times."""
    if frame.time is None:
        raise refusal(f"got lateness={lateness!r} without time=, to which it would apply")
    if frame.kind == "string":
        raise refusal(f"got lateness={lateness!r} for times that are strings: cast them to numbers or dates")
    wanted: Any = dt.timedelta if frame.kind == "date" else int
    allowed: Any = lateness
    if isinstance(lateness, dt.timedelta) and str(frame.kind).startswith("timestamp"):
        allowed = lateness // _MICROSECOND
    if not isinstance(allowed, wanted) or allowed < wanted(0):
        raise refusal(
            f"got lateness={lateness!r}, but its times are of type {frame.kind}: their lateness must be of type "
            f"{wanted.__name__}, and not negative"
        )
    return allowed
