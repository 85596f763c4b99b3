"""`reduce_by_key` in two steps: executors fold their rows, and the driver merges the states."""

import pickle
from collections.abc import Callable, Hashable
from functools import partial
from operator import itemgetter
from typing import Any, cast

import attrs
from typing_extensions import TypeVar

from pullstream import Fold, Source, flat_map, reduce_by_key as reduced
from pullstream.authoring import Call, Module, Site, Sync, a_fold, bound
from pullstream.types import Blueprint

from ...arrow import As, shape_argument
from ..reading.source import from_dataframe
from ..reading.timed import TIME, TimedFrame, timed
from ..schemas import arrow_schema
from ..types import Column, DataFrame, StructType, pyspark
from .combining import CombiningPlan
from .shipping import pickled, shipped

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_NAME = "reduce_by_key"
_refusal = Call(_NAME).refuse
_STATES = "__pullstream_states__"


@bound
def reduce_by_key(
    df: "DataFrame",
    fold: Fold[Any, R],
    *,
    key: Callable[[Any], K],
    time: "str | Column | None" = None,
    as_: As = "rows",
) -> Source[tuple[K, R]]:
    """Fold a DataFrame's rows per key and time on the executors, and merge on the driver as times complete.

    ```python
    mean = ps.agg.mean(lambda row: row.delay)
    daily = spark.reduce_by_key(flights, mean, key=lambda row: row.carrier, time="day")
    ps.run(ps.pipe(daily, ps.collect(timed=True)))  # [(day, (carrier, mean)), ...]
    ```

    The results equal those of `ps.pipe(spark.from_dataframe(df, time=time), ps.reduce_by_key(fold, key=key))`, in the
    same form and order: `(key, result)`, in the order of time. But rows stay on their executors: every partition is
    folded with `fold.partial()`, Spark collects the states of a time, and the driver merges them with `fold.merging()`,
    one time after another. Without `time`, everything is at time 0.

    The first result arrives after all rows have been folded. An executor emits its states after every 500,000 rows of a
    partition, so this pays off if many rows share a key and time. States are pickled. `as_` is the form of the rows
    that `key` and `fold` get.

    Raises:
        CompositionError: the fold has no `merge`, the time is invalid, or the functions cannot be pickled.
    """
    shape_argument(_NAME, as_)
    Sync("a key is computed at once")(Call(_NAME, name="key"), key)
    a_fold(Call(_NAME), fold)
    if fold.merge is None:
        raise _refusal(
            "got a fold without merge=, which combines the states of two parts: use Fold(..., merge=lambda "
            "state, other: ...)"
        )
    merging = fold.merging()
    rows = timed(df, time, _refusal)
    (reducing,) = reduced(fold.partial(), key=key).modules
    schema = _schema(rows)
    plan = CombiningPlan(fold.partial(), key, as_, rows.names, rows.time, arrow_schema(schema), Site.here())
    frame: DataFrame = cast("Any", rows.frame).mapInArrow(shipped(pickled((reducing,), plan), "combining"), schema)
    name = None if time is None else TIME
    if name is not None:
        # Spark samples the input of a sort first. With a shuffle in between, nothing is folded twice.
        frame = frame.repartition(name)
    source = from_dataframe(frame, time=name, as_="tuples")
    states: Fold[Any, Any] = Fold(merging.initial, partial(_merged, merging.step), merging.finish)
    # Modules of one pipeline need different names, and the last one has the user's.
    reading = (*_renamed(source, f"{_NAME}[executors]"), *_renamed(flat_map(_pairs), f"{_NAME}[states]"))
    return cast("Source[tuple[K, R]]", Source((*reading, *reduced(states, key=itemgetter(0)).modules)))


def _renamed(blueprint: Blueprint, name: str) -> tuple[Module, ...]:
    return tuple(attrs.evolve(module, name=name) for module in blueprint.modules)


def _schema(rows: TimedFrame) -> "StructType":
    types = pyspark.sql.types
    time = [] if rows.time is None else [types.StructField(TIME, rows.frame.schema[TIME].dataType)]
    return types.StructType([*time, types.StructField(_STATES, types.BinaryType(), nullable=False)])


def _pairs(row: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return pickle.loads(row[-1])  # noqa: S301 - from an executor of this session


def _merged(merge: Callable[[Any, Any], Any], state: Any, pair: tuple[Any, Any]) -> Any:
    return merge(state, pair[1])
