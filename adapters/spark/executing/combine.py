"""`reduce_by_key` in two steps: executors fold what is theirs, and the driver merges what they have come to."""

import pickle
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import attrs
from typing_extensions import TypeVar

from pullstream import Blueprint, Fold, Source, Transformer, flat_map, map_batches
from pullstream import reduce_by_key as reduced
from pullstream.authoring import Call, Module, Sync, a_fold

from ...arrow import As, shape_argument
from ..columns import column as column_of
from ..reading.source import from_dataframe
from ..refusals import in_the_name_of, refused
from .function import on_executors, time_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_NAME = "reduce_by_key"
_PART = "__pullstream_states__"


def reduce_by_key(
    df: "DataFrame",
    fold: Fold[Any, R],
    *,
    key: Callable[[Any], K],
    time: "str | Column | None" = None,
    as_: As = "rows",
) -> Source[tuple[K, R]]:
    """Fold a DataFrame's rows for each key and time, on the executors, and merge on the driver as times complete.

    ```python
    mean = ps.agg.mean(lambda row: row.delay)
    daily = spark.reduce_by_key(flights, mean, key=lambda row: row.carrier, time="day")
    ps.run(ps.pipe(daily, ps.collect(timed=True)))  # [(day, (carrier, mean)), ...]
    ```

    The results are those of `ps.pipe(spark.from_dataframe(df, time=time), ps.reduce_by_key(fold, key=key))`, and come
    as they do there: `(key, result)`, in the order of time. But no row leaves its executor: every partition is sorted
    by time and folded with `fold.partial()`, Spark brings the states of a time together, and the driver, which keeps
    those of one time, merges them with `fold.merging()`. Without `time` everything is at time 0.

    The first result comes when every row has been folded. An executor keeps the states of one time. States are pickled.
    `as_` is what `key` and `fold` are given.

    Raises:
        CompositionError: the fold has no `merge`, the time cannot be one, or the functions cannot be pickled.
    """
    shape_argument(_NAME, as_)
    Sync("a key is computed at once")(Call(_NAME, name="key"), key)
    a_fold(Call(_NAME), fold)
    if fold.merge is None:
        raise refused(
            _NAME,
            "got a fold that says nothing of how the states of two parts become one; give it Fold(..., merge=lambda "
            "state, other: ...)",
        )
    merging = fold.merging()
    with in_the_name_of(_NAME):
        at = time_column(df, time)
        if df.isStreaming:
            raise refused(_NAME, "reads a DataFrame that has an end, and got a streaming one")
        name, column = at or (None, None)
        folded: Transformer[Any, Any] = Transformer(
            (*reduced(fold.partial(), key=key).modules, *_renamed(map_batches(_packed), _NAME))
        )
        parts = on_executors(folded, schema=_schema(df, name, column), time=column, as_=as_)
        frame = df.transform(attrs.evolve(parts, module=_NAME))
        if name is not None:
            # To sort, Spark looks at all there is beforehand: behind a shuffle nothing is folded again for it.
            frame = frame.repartition(column_of(frame, "time", name, partial(refused, _NAME)))
        source = from_dataframe(frame, time=name, as_="tuples")
    states: Fold[Any, Any] = Fold(merging.initial, partial(_merged, merging.step), merging.finish)
    # Of the same stream, and yet names by which they can be told from the one that gives the results.
    reading = (*_renamed(source, f"{_NAME}[executors]"), *_renamed(flat_map(_pairs), f"{_NAME}[states]"))
    return cast("Source[tuple[K, R]]", Source((*reading, *reduced(states, key=_key).modules)))


def _renamed(blueprint: Blueprint, name: str) -> tuple[Module, ...]:
    return tuple(attrs.evolve(module, name=name) for module in blueprint.modules)


def _schema(df: "DataFrame", name: str | None, column: "Column | None") -> Any:
    from pyspark.sql.types import BinaryType, StructField, StructType  # noqa: PLC0415 - an optional dependency

    part = StructField(_PART, BinaryType(), nullable=False)
    if name is None or column is None:
        return StructType([part])
    return StructType([StructField(name, df.select(column).schema.fields[0].dataType), part])


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
