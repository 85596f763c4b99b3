"""Per-key streams of a streaming DataFrame: the driver's side, which lets Spark keep them (`transformWithState`)."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from pullstream import CompositionError
from pullstream.errors import JournalError

from ..columns import TIMES, functions
from ..errors import SparkMissing
from ..schemas import arrow_schema
from .frames import KEYS, Asked, Frame, refusal
from .keyed import KeyedPlan
from .shipping import keyed, pickled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_WATERMARK = "spark.watermarkDelayMs"
"""Spark's metadata key for the column that has a frame's watermark."""


def keyed_streams(asked: Asked, frame: Frame, schema: "StructType") -> "DataFrame":
    """The streaming DataFrame of the transformers' results for each key.

    Raises:
        CompositionError: this frame, session or module does not support it.
    """
    if not asked.by or asked.time is None:
        raise refusal(
            "has a stream for each key of a streaming DataFrame, at the times of its watermark: give both by= and "
            "time=, or neither to process rows as they come"
        )
    df = frame.df
    place, name = _time(frame, asked.time)
    keys = [frame.column("by", key, KEYS) for key in asked.by]
    _check_session(df)
    # By position, with the keys in their own columns: names may repeat, and keys may be expressions.
    numbered = df.select("*", *(column for _, column in keys))
    width = len(df.columns)
    names = [*(f"c{number}" for number in range(width)), *(f"m{number}" for number in range(len(keys)))]
    numbered = numbered.toDF(*names)
    key_names = [key for key, _ in keys]
    plan = asked.plan(KeyedPlan, df.columns, key_names, name, schema, columns=arrow_schema(numbered.schema))
    try:
        plan.instalments.ahead()
    except JournalError as exc:
        raise CompositionError(f"{asked.module}() at {asked.site} cannot keep a stream's state: {exc}") from None
    processor = keyed(pickled(asked.modules, plan))
    timed = numbered.select("*", functions(df).unix_micros(names[place]).alias("t"))
    keyed_rows: Any = timed.groupBy(*names[width:])
    return cast("DataFrame", keyed_rows.transformWithState(processor, schema, "Append", "EventTime"))


def _time(frame: Frame, time: "str | Column") -> tuple[int, str]:
    """The position and name of the column of the watermark."""
    name, column = frame.column("time", time, TIMES)
    (field,) = frame.df.select(column).schema.fields
    columns = frame.df.columns
    if _WATERMARK not in field.metadata or columns.count(name) != 1:
        raise refusal(
            f"uses the watermark of a streaming DataFrame, but time={time!r} is not its column: "
            f"df.withWatermark(column, delay) sets the column, and how late rows may be; map_time() makes other times"
        )
    return columns.index(name), name


def _check_session(df: "DataFrame") -> None:
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise SparkMissing.of("protobuf")
    if df.sparkSession.conf.get(_PROVIDER, None) != _ROCKSDB:
        raise refusal(
            f"keeps a stream's state in Spark, which supports this only with RocksDB: call "
            f"session.conf.set({_PROVIDER!r}, {_ROCKSDB!r}) before the query starts"
        )
