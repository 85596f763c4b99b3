"""A DataFrame and the column or expression that gives its rows their time, checked when composing."""

from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from adapters.spark.errors import SparkMissing
from adapters.spark.failures import unlogged
from pullstream.blueprint import Site
from pullstream.errors import CompositionError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TIME = "__pullstream_time__"
"""The name of the column that carries a row's time, last of all, on its way to the driver."""

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})


@attrs.frozen(eq=False, repr=False)
class TimedFrame:
    """A handle: a DataFrame with the time of every row in a last column of its own. It cannot be pickled."""

    frame: "DataFrame"
    names: tuple[str, ...]
    time: str

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(self.names)}]"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"from_dataframe({self!r}, time={self.time!r}) cannot be pickled: a DataFrame lives in its driver"
        )


def timed(df: "DataFrame", time: "str | Column") -> TimedFrame:
    """Check a DataFrame and its time; no job is started.

    Raises:
        CompositionError: `df` is no batch DataFrame of a classic session, `time` does not exist in it (the message
            lists what does), or is of a type that cannot be a time.
        SparkMissing: pyarrow or pandas is not installed.
    """
    _check_packages()
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an optional dependency
    from pyspark.sql import functions as sql  # noqa: PLC0415

    _check_frame(df)
    column, shown = _column(df, time)
    try:
        with unlogged():
            frame = df.select("*", column.alias(TIME))
            kind = frame.schema[TIME].dataType.simpleString()
    except AnalysisException as exc:
        if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise _refusal(f"has no column for time={shown}; its columns are {', '.join(df.columns)}") from None
        raise _refusal(f"cannot use time={shown}: {str(exc).partition(chr(10))[0]}") from None
    if kind not in _TIMES:
        raise _refusal(
            f"cannot use time={shown}, which is of type {kind}: a time is a DATE, a TIMESTAMP, a whole number or a "
            f"STRING, so cast it to one, for example with to_date or floor",
        )
    # Spark looks the columns up by name once more, and stumbles over dots: on the way they go by position.
    # Nulls come first, so that a row without a time is found at the first ask and not at the end of the year.
    plain = frame.toDF(*(f"c{position}" for position in range(len(df.columns))), TIME)
    return TimedFrame(plain.sort(sql.col(TIME).asc_nulls_first()), tuple(df.columns), shown)


def _check_packages() -> None:
    for name in ("pyspark", "pyarrow", "pandas"):
        try:
            __import__(name)
        except ImportError as exc:
            raise SparkMissing(f"{name} is not installed: `pip install 'pullstream[spark]'`", name=name) from exc


def _check_frame(df: Any) -> None:
    from pyspark.sql import DataFrame  # noqa: PLC0415 - an optional dependency

    if not isinstance(df, DataFrame):
        raise _refusal(f"needs a Spark DataFrame, and got {df!r} ({type(df).__name__})")
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise _refusal(
            "needs a DataFrame of a classic session, and got one of Spark Connect, whose jobs it cannot cancel"
        )
    if df.isStreaming:
        raise _refusal("reads a DataFrame that has an end, and got a streaming one")
    doubled = sorted({name for name in df.columns if df.columns.count(name) > 1})
    if doubled:
        raise _refusal(f"needs every column to have a name of its own, but has several named {', '.join(doubled)}")


def _column(df: "DataFrame", time: Any) -> "tuple[Column, str]":
    from pyspark.sql import Column  # noqa: PLC0415 - an optional dependency
    from pyspark.sql import functions as sql  # noqa: PLC0415

    if isinstance(time, str):
        # A column's own name may hold dots, which otherwise lead into a struct.
        quoted = f"`{time.replace('`', '``')}`" if time in df.columns else time
        return sql.col(quoted), repr(time)
    if isinstance(time, Column):
        return time, str(time)
    raise _refusal(f"needs the name of a column, or a column expression, as its time, and got {time!r}")


def _refusal(what: str) -> CompositionError:
    return CompositionError(f"from_dataframe() at {Site.here()} {what}")
