"""A DataFrame and the column or expression that gives its rows their time, checked when composing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from adapters.spark.errors import SparkMissing
from adapters.spark.failures import first_line, unlogged
from adapters.spark.reading.jobs import STOPPED, is_connect, stands
from adapters.spark.refusals import distinct, no_frame, refused

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pullstream import CompositionError

TIME = "__pullstream_time__"
"""The name of the column that carries a row's time, last of all, on its way to the driver."""

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})


@attrs.frozen(eq=False, repr=False)
class TimedFrame:
    """A handle: a DataFrame with the time of every row, if they have any, in a last column of its own."""

    frame: "DataFrame"
    names: tuple[str, ...]
    time: str | None = None
    """The time's argument, for messages."""
    kind: str | None = None
    """The time's type in Spark."""
    jumbled: bool = False
    """Whether its batches are not in the order of time."""

    def __repr__(self) -> str:
        # A journal tells one pipeline from another by what they look like: at another time there are other rows.
        return f"DataFrame[{', '.join(self.names)}]{'' if self.time is None else f', time={self.time}'}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"from_dataframe({self!r}) cannot be pickled: a DataFrame lives in its driver")

    def sorted(self) -> "TimedFrame":
        """The same in the order of time."""
        # Nulls come first, so that a row without a time is found at the first ask and not at the end of the year.
        return attrs.evolve(self, frame=self.frame.sort(functions(self.frame).col(TIME).asc_nulls_first()))


def timed(df: "DataFrame", time: "str | Column | None" = None) -> TimedFrame:
    """Check a DataFrame and its time; no job is started.

    Raises:
        CompositionError: `df` is no batch DataFrame, `time` does not exist in it (the message lists what does), or is
            of a type that cannot be a time.
        SparkMissing: pyarrow or pandas is not installed.
    """
    check_packages()
    _check_frame(df)
    # Spark looks the columns up by name once more, and stumbles over dots: on the way they go by position.
    plain = [f"c{position}" for position in range(len(df.columns))]
    if time is None:
        # A row of no columns would not travel.
        frame = df.toDF(*plain) if plain else df.select(functions(df).lit(0).alias(TIME))
        return TimedFrame(frame, tuple(df.columns))
    column, shown = _column(df, time)
    frame, kind = _with_time(df, column, shown)
    if kind not in _TIMES:
        raise refusal(
            f"cannot use time={shown}, which is of type {kind}: a time is a DATE, a TIMESTAMP, a whole number or a "
            f"STRING, so cast it to one, for example with to_date or floor",
        )
    return TimedFrame(frame.toDF(*plain, TIME), tuple(df.columns), shown, kind)


def functions(df: "DataFrame") -> Any:
    """Spark's functions for the kind of session that a DataFrame has."""
    return import_module("pyspark.sql.connect.functions" if is_connect(df) else "pyspark.sql.functions")


def _with_time(df: "DataFrame", column: "Column", shown: str) -> "tuple[DataFrame, str]":
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an optional dependency

    try:
        with unlogged():
            frame = df.select("*", column.alias(TIME))
            return frame, frame.schema[TIME].dataType.simpleString()
    except AnalysisException as exc:
        if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise refusal(f"has no column for time={shown}; its columns are {', '.join(df.columns)}") from None
        raise refusal(f"cannot use time={shown}: {first_line(exc)}") from None


def check_packages() -> None:
    """Refuse to go on where Spark's Python packages are missing."""
    for name in ("pyspark", "pyarrow", "pandas"):
        try:
            __import__(name)
        except ImportError as exc:
            raise SparkMissing.of(name) from exc


def _check_frame(df: Any) -> None:
    from pyspark.sql import DataFrame  # noqa: PLC0415 - an optional dependency

    if not isinstance(df, DataFrame):
        raise refusal(no_frame("a Spark DataFrame", df))
    if not stands(df.sparkSession):
        raise refusal(f"got a DataFrame, and {STOPPED}")
    if df.isStreaming:
        raise refusal("reads a DataFrame that has an end, and got a streaming one")
    distinct("from_dataframe", df.columns)
    months = [field.name for field in df.schema if "interval year" in field.dataType.simpleString()]
    months += [field.name for field in df.schema if "interval month" in field.dataType.simpleString()]
    if months:
        raise refusal(f"cannot read {', '.join(months)}: Arrow in Python has no months; cast it to STRING or INT")


def _column(df: "DataFrame", time: Any) -> "tuple[Column, str]":
    from pyspark.sql import Column  # noqa: PLC0415 - an optional dependency

    if isinstance(time, str):
        # A column's own name may hold dots, which otherwise lead into a struct.
        quoted = f"`{time.replace('`', '``')}`" if time in df.columns else time
        return functions(df).col(quoted), repr(time)
    if isinstance(time, Column):
        return time, str(time)
    raise refusal(f"needs the name of a column, or a column expression, as its time, and got {time!r}")


def refusal(what: str) -> "CompositionError":
    """The error for what from_dataframe cannot be given."""
    return refused("from_dataframe", what)
