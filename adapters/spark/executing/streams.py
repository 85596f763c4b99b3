"""Streams of the keys of a streaming DataFrame: the driver's side, which has Spark keep them (`transformWithState`)."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from pullstream import CompositionError, JournalError

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
"""Spark's note at the column by which a frame has its watermark."""


def keyed_streams(asked: Asked, frame: Frame, schema: "StructType") -> "DataFrame":
    """The streaming DataFrame of what transformers make of each key's rows.

    Raises:
        CompositionError: it cannot be done with this frame, in this session, or with these transformers.
    """
    if not asked.by or asked.time is None:
        raise refusal(
            "has a stream for each key of a streaming DataFrame, at the times of its watermark: it needs both by= and "
            "time=; or neither, and rows go through as they come"
        )
    df = frame.df
    place, name = _time(frame, asked.time)
    keys = [frame.column("by", key, KEYS) for key in asked.by]
    _check_session(df)
    given = {key: 1 + number for number, (key, _) in enumerate(keys)}
    given.setdefault(name, 0)
    # By position, and the keys in columns of their own: names may be there twice, and keys expressions.
    numbered = df.select("*", *(column for _, column in keys))
    width = len(df.columns)
    names = [*(f"c{number}" for number in range(width)), *(f"m{number}" for number in range(len(keys)))]
    numbered = numbered.toDF(*names)
    plan = KeyedPlan(
        asked.modules,
        asked.site,
        asked.as_,
        tuple(df.columns),
        tuple(key for key, _ in keys),
        name,
        arrow_schema(schema),
        {column: number for column, number in given.items() if column in schema.names},
        asked.module,
        columns=arrow_schema(numbered.schema),
    )
    try:
        plan.instalments.ahead()
    except JournalError as exc:
        raise CompositionError(f"{asked.module}() at {asked.site} cannot keep a stream's state: {exc}") from None
    processor = keyed(pickled(asked.modules, plan))
    timed = numbered.select("*", functions(df).unix_micros(names[place]).alias("t"))
    keyed_rows: Any = timed.groupBy(*names[width:])
    return cast("DataFrame", keyed_rows.transformWithState(processor, schema, "Append", "EventTime"))


def _time(frame: Frame, time: "str | Column") -> tuple[int, str]:
    """The place and name of the column of the watermark."""
    name, column = frame.column("time", time, TIMES)
    (field,) = frame.df.select(column).schema.fields
    columns = frame.df.columns
    if _WATERMARK not in field.metadata or columns.count(name) != 1:
        raise refusal(
            f"goes by the watermark of a streaming DataFrame, and time={time!r} is not the column that has it: "
            f"df.withWatermark(column, delay) says which one, and how late rows may be; restamp() makes other times"
        )
    return columns.index(name), name


def _check_session(df: "DataFrame") -> None:
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise SparkMissing.of("protobuf")
    if df.sparkSession.conf.get(_PROVIDER, None) != _ROCKSDB:
        raise refusal(
            f"keeps a stream's state in Spark, which has room for it in RocksDB only: "
            f"session.conf.set({_PROVIDER!r}, {_ROCKSDB!r}) before the query is started"
        )
