"""`reduce_by_key` in two steps: executors fold what is theirs, and the driver merges what they have come to."""

import pickle
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypeVar

from adapters.arrow import As
from adapters.spark.executing.function import on_executors, time_column
from adapters.spark.reading import from_dataframe
from pullstream.blueprint import Source, sync_argument
from pullstream.pipe import pipe
from pullstream.time.fold import Fold, fold_argument
from pullstream.time.reduce import reduce_by_key as reduced
from pullstream.transformers.expand import flat_map, map_batches

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_TIME, _PART = "time", "part"


def reduce_by_key(
    df: "DataFrame",
    key: Callable[[Any], K],
    fold: Fold[Any, R],
    *,
    time: "str | Column | None" = None,
    as_: As = "rows",
    **options: Any,
) -> Source[tuple[K, R]]:
    """Fold a DataFrame's rows for each key and time, on the executors, and merge on the driver as times complete.

    ```python
    mean = ps.agg.mean(lambda row: row.delay)
    daily = spark.reduce_by_key(flights, lambda row: row.carrier, mean, time="day")
    ps.run(ps.pipe(daily, ps.collect(timed=True)))  # [(day, (carrier, mean)), ...]
    ```

    The results are those of `ps.pipe(spark.from_dataframe(df, time=time), ps.reduce_by_key(key, fold))`, and come as
    they do there: `(key, result)`, when the time is complete. But no row leaves its executor: every partition is sorted
    by time, folded with `fold.partial()`, and sends a state for each of its keys when it has passed a time; the driver
    merges them with `fold.merging()`, in no order. Without `time` everything is at time 0.

    A time is complete when every partition has passed it, so where there are more partitions than Spark runs at once,
    that is when the last of them are running (`df.coalesce(n)` makes fewer). An executor keeps the states of one time,
    the driver those of the times that are not complete. States are pickled. `as_` is what `key` and `fold` are given;
    further options are those of `from_dataframe`, as `since` or `retry`.

    Raises:
        CompositionError: the fold has no `merge`, the time cannot be one, or the functions cannot be pickled.
    """
    sync_argument("reduce_by_key", "key", key, "a key is computed at once")
    fold_argument("reduce_by_key", fold)
    merging = fold.merging()
    column = time_column(df, time)
    parts = on_executors(
        reduced(key, fold.partial()),
        map_batches(_packed),
        schema=_schema(df, column),
        time=None if column is None else column.alias(_TIME),
        as_=as_,
    )
    frame = df.transform(parts)
    if column is not None:
        options = {"time": _TIME, "clock": "partition", **options}
    source: Source[Any] = from_dataframe(frame, as_="tuples", **options)
    states: Fold[Any, Any] = Fold(merging.initial, partial(_merged, merging.step), merging.finish)
    merged: Source[Any] = pipe(source, flat_map(_pairs), reduced(_key, states))
    return cast("Source[tuple[K, R]]", merged)


def _schema(df: "DataFrame", column: "Column | None") -> Any:
    from pyspark.sql.types import BinaryType, StructField, StructType  # noqa: PLC0415 - an optional dependency

    part = StructField(_PART, BinaryType(), nullable=False)
    if column is None:
        return StructType([part])
    (field,) = df.select(column.alias(_TIME)).schema.fields
    return StructType([field, part])


def _packed(pairs: Sequence[tuple[Any, Any]]) -> list[bytes]:
    # By value where a class cannot be imported, as one of the driver's own script; there it becomes the same class.
    dumps: Callable[[object], bytes] = import_module("pyspark.cloudpickle").dumps
    return [dumps(list(pairs))]


def _pairs(row: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return pickle.loads(row[-1])  # noqa: S301 - from an executor of this session


def _key(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _merged(merge: Callable[[Any, Any], Any], state: Any, pair: tuple[Any, Any]) -> Any:
    return merge(state, pair[1])
