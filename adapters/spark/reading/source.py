"""`from_dataframe`: a DataFrame as a source."""

import datetime as dt
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from adapters.arrow import As, shape_argument
from adapters.spark.reading.attempts import Retry
from adapters.spark.reading.cutting import Run
from adapters.spark.reading.jobs import is_connect
from adapters.spark.reading.ordered import OrderedSource
from adapters.spark.reading.pushed import PushedSource
from adapters.spark.reading.timed import TimedFrame, refusal, timed
from pullstream import Sink, Source, Transformer, flat_map, pipe, stamp
from pullstream.authoring import Module

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MICROSECOND = dt.timedelta(microseconds=1)
_PYTHON = {"date": dt.date, "string": str}


def from_dataframe(
    df: "DataFrame",
    *,
    time: "str | Column | None" = None,
    as_: As = "rows",
    route: Literal["pushed", "ordered"] | None = None,
    lateness: Any = None,
    late: Literal["error", "drop"] | Sink[Any, Any] = "error",
    clock: Literal["partition"] | None = None,
    since: Hashable = None,
    retry: Retry = "fail",
    host: str | None = None,
    port: int = 0,
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
      batch once;
    - with `clock="partition"` every partition is in order by itself (as after `sortWithinPartitions`) and has a clock
      of its own: a time is complete when all partitions have passed it or ended. `progress.explain` names the
      partitions that have not. One that Spark has not begun yet may bring anything from `since` on, which is the
      least time, if it is known.

    **Order and memory.** Rows come in the DataFrame's order, a partition after the other, and as Spark makes Arrow of
    them: no Python runs for it on the executors, and `as_="batches"` costs least. Spark computes as many partitions at
    once as it has slots (up to the bytes of an eighth of the driver's heap); they are that far ahead of what was handed
    on, wait in the driver's memory, and hold no slot. Nothing runs in Spark before the first ask, every run of the
    blueprint is a query of its own, and an abort cancels it.

    **Large partitions.** A partition is handed on when it is whole, and while it arrives, the driver's Java has it
    several times over: one of 300 MB is too much for a Java of 2 GB, here as in `toArrow()`. Make more of them
    (`df.repartition(n)`, or a smaller `spark.sql.files.maxPartitionBytes`), give Java more (`spark.driver.memory`), or
    say `route="pushed"`: then Python workers on the executors send the driver what they compute as it is computed, all
    partitions side by side, in no order. That takes three times as long, but a partition may be of any size, or take
    for ever: a task is at most one Arrow batch (10,000 rows) ahead of what has been read, beside what fits into the
    pipes between Spark's own processes (some MB). It waits, in its slot, while nothing is asked for: two such sources
    that are read in step (`zip`, `join`) may wait for each other's slots. `clock="partition"` has this route.

    **What Spark does again.** A task that is tried again changes nothing. A shuffle that Spark computes again in the
    midst of the read, because an executor was lost, is noticed: what was not handed on yet is read anew, and what was
    is read again and compared. If the rows are the same, in whatever order, the stream goes on; where they are placed
    by what is not the same twice (a random salt, `monotonically_increasing_id()` after a shuffle), it fails with
    `ShuffleRerunError`. Nothing is lost, or given twice, without an error.

    On the pushed route, rows of a task that is tried again would come twice, so the stream fails, with
    `RetriedTaskError`; an attempt of which nothing has been handed on is replaced. With `retry="buffer"` a partition is
    handed on when Spark counts its task as done: exact, at the price of as many partitions in the driver's memory as
    run at once. Of two attempts that run at once (speculation) the second waits for the first. A partition's clock
    stops when Spark counts its task, too, not when its rows cease.

    **Listening.** On the pushed route the driver listens for its executors: on the loopback if Spark's master is local,
    or else at `spark.driver.bindAddress` (`spark.driver.host`), at a `port` of the system's choice; `host` and `port`
    say otherwise. Who connects without this run's token is refused, and logged (`logging`). What is sent is not
    encrypted.

    **With a journal**, columns (their names), `time` and the other options must be those of the run before. What is in
    the DataFrame is not compared: it must give the same rows at every time that was completed, whose rows are dropped.

    Raises:
        CompositionError: when composing; the time does not exist or cannot be one, or options contradict each other.
        CannotListen: at the first ask; the host or port cannot be had.
        NullTimeError: at an ask; a row has no time.
        CapabilityError: at an ask; a row goes back in time in its partition, or is too late.
        ShuffleRerunError, RetriedTaskError: at an ask; see above.
        SparkJobError: at an ask; the job failed, with Spark's message.
        JavaEnded: at an ask; Spark's Java has ended, killed or without memory.
    """
    shape_argument("from_dataframe", as_)
    frame = timed(df, time)
    pushed = _pushed_options(frame, clock=clock, since=since, retry=retry, host=host, port=port)
    chosen = _route(df, route, frame, lateness, clock)
    if chosen == "ordered" and pushed:
        raise refusal(f'got {next(iter(pushed))}=, which is for the pushed route: say route="pushed", or leave it out')
    stamping = _stamping(frame, lateness, late, clock)
    if stamping is not None:
        frame = attrs.evolve(frame, jumbled=True)
    elif chosen == "ordered" and time is not None:
        frame = frame.sorted()
    kernel: type[OrderedSource | PushedSource] = OrderedSource if chosen == "ordered" else PushedSource
    options = {"as_": as_, **pushed} if as_ != "rows" else pushed
    source: Source[Any] = Source((Module("from_dataframe", kernel, (frame,), tuple(options.items())),))
    return source if stamping is None else pipe(source, stamping, flat_map(_values))


def _route(df: "DataFrame", route: object, frame: TimedFrame, lateness: object, clock: object) -> str:
    sorts = frame.time is not None and lateness is None and clock is None
    if route not in (None, "pushed", "ordered"):
        raise refusal(f"got route={route!r}: it is 'pushed' or 'ordered'")
    if route != "ordered" and is_connect(df):
        if route is None and clock is None:
            return "ordered"
        raise refusal(
            "got a DataFrame of Spark Connect, which has the ordered route only: its executors cannot be told where "
            "this program is" + ("; leave out clock=" if clock is not None else "")
        )
    if route == "pushed" and sorts:
        raise refusal(
            "got time= for the pushed route, whose partitions come in no order: say lateness=, by how much times may "
            'be out of order, or clock="partition", or leave the route to it, and Spark sorts'
        )
    if route == "ordered" and clock is not None:
        raise refusal('got clock="partition", which is for the pushed route: leave out one of the two')
    return str(route) if route is not None else "ordered" if clock is None else "pushed"


def _pushed_options(
    frame: TimedFrame, *, clock: object, since: Hashable, retry: object, host: object, port: object
) -> dict[str, object]:
    """The options of the pushed route that were given, each checked."""
    if clock not in (None, "partition"):
        raise refusal(f"got clock={clock!r}: it is 'partition', or left out")
    if clock is not None and frame.time is None:
        raise refusal('got clock="partition" and no time= that it could tell')
    if since is not None:
        kind = _PYTHON.get(frame.kind or "", int)
        if clock is None:
            raise refusal('got since=, which is where partitions begin that have a clock: say clock="partition", too')
        if type(since) is not kind:
            raise refusal(f"got since={since!r}, and its times are of type {kind.__name__}")
    if retry not in ("fail", "buffer"):
        raise refusal(f"got retry={retry!r}: it is 'fail' or 'buffer'")
    if host is not None and not isinstance(host, str):
        raise refusal(f"needs the name or the address of this machine as its host, and got {host!r}")
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise refusal(f"needs a whole number below 65536 as its port, and got {port!r}")
    options = {"clock": clock, "since": since, "retry": retry, "host": host, "port": port}
    usual = {"retry": "fail", "port": 0}
    return {name: value for name, value in options.items() if value != usual.get(name)}


def _stamping(frame: TimedFrame, lateness: Any, late: Any, clock: object) -> Transformer[Any, Any] | None:
    """A transformer that gives runs their times, if they come in no order."""
    if lateness is None:
        if late != "error":
            raise refusal(f"got late={late!r}, and no lateness= to judge it by")
        return None
    if frame.time is None:
        raise refusal(f"got lateness={lateness!r}, and no time= that it could be about")
    if clock is not None:
        raise refusal('got both lateness= and clock="partition": leave out one of the two')
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
